/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/dma.h"

#include "transport/hca/internal.h"

/* What is handed to a memory side, and what comes back from it. Devices without one never get
 * here. */

static void hca_dma_hand(struct hca_device *dev, struct hca_dma *dma, const uint8_t *bytes)
{
	dma->sequence = ++dev->dma_sequence;
	dev->dma->hand(dev->world, dma, bytes);
}

static struct hca_dma touch(const struct hca_qp *qp, enum hca_dma_kind kind,
			    const struct hca_mr *mr, uint64_t offset, uint32_t length)
{
	return (struct hca_dma){
		.qpn = qp->qpn,
		.kind = (uint8_t)kind,
		.synthetic = mr->ops == &hca_mem_synthetic,
		.region = mr->number,
		.place = mr->place,
		.address = mr->address + offset,
		.offset = offset,
		.stream = mr->stream,
		.length = length,
	};
}

void hca_dma_fetch(const struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset,
		   uint32_t length, uint32_t at, bool fenced, bool by_reference)
{
	struct hca_dma dma = touch(qp, HCA_DMA_FETCH, mr, offset, length);

	dma.at = at;
	dma.fenced = fenced;
	dma.by_reference = by_reference;
	hca_dma_hand(qp->dev, &dma, NULL);
}

void hca_dma_place(struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset, uint32_t length,
		   const uint8_t *bytes, bool is_word)
{
	struct hca_dma dma = touch(qp, HCA_DMA_PLACE, mr, offset, length);

	dma.is_word = is_word;
	hca_dma_hand(qp->dev, &dma, bytes);
}

void hca_dma_read_word(struct hca_qp *qp, const struct hca_mr *mr, const struct wire_pkt *pkt)
{
	struct hca_dma dma =
		touch(qp, HCA_DMA_ATOMIC, mr, pkt->va - mr->iova, (uint32_t)sizeof(uint64_t));

	dma.fenced = true;
	dma.is_word = true;
	dma.is_swap = pkt->opcode == WIRE_COMPARE_SWAP;
	dma.psn = pkt->psn;
	dma.swap_add = pkt->rare.swap_add;
	dma.compare = pkt->rare.compare;
	hca_dma_hand(qp->dev, &dma, NULL);
}

void hca_dma_complete(const struct hca_cq *cq, uint32_t qpn)
{
	struct hca_dma dma = {.qpn = qpn, .kind = HCA_DMA_COMPLETE, .fenced = true, .cqn = cq->cqn};

	hca_dma_hand(cq->dev, &dma, NULL);
}

void hca_dma_completed(struct hca_device *dev, uint32_t cqn, ps_t now)
{
	struct hca_cq *cq = util_idmap_find(&dev->cqs, cqn);

	if (cq)
		hca_cq_show(cq, now);
}

/* Segments of 16 bytes, a control one, the remote address, what is sent or where it lies, in basic
 * blocks of 64: struct mlx5_wqe_ctrl_seg and its neighbours in providers/mlx5/wqe.h of rdma-core.
 */
static uint32_t wqe_bytes(const struct hca_wqe *wqe)
{
	const uint32_t data = wqe->inline_bytes ? (4 + wqe->length + 15) / 16 : wqe->sge_count;
	const bool has_address = wqe->opcode != HCA_WR_SEND && wqe->opcode != HCA_WR_SEND_WITH_IMM;

	return (1 + (has_address ? 1u : 0u) + data + 3) / 4 * 64;
}

void hca_dma_ring(const struct hca_qp *qp, const struct hca_wqe *wqe)
{
	struct hca_dma dma = {.qpn = qp->qpn,
			      .kind = HCA_DMA_DOORBELL,
			      .psn = qp->sq.tail,
			      .length = wqe_bytes(wqe)};

	hca_dma_hand(qp->dev, &dma, NULL);
}

void hca_dma_posted(struct hca_device *dev, const struct hca_dma *dma, ps_t now)
{
	struct hca_qp *qp = util_idmap_find(&dev->qps, dma->qpn);

	/* A queue that was emptied since counts anew. */
	if (!qp || dma->sequence <= qp->request_from || (int32_t)(dma->psn - qp->sq.known) <= 0)
		return;
	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
	qp->sq.known = dma->psn;
	hca_requester_update(qp, now);
}

/* The one that waits for this; NULL: its queue pair has gone on without it. */
static struct hca_resource *resource_of(const struct hca_qp *qp, const struct hca_dma *dma)
{
	const struct hca_rq *rq = &qp->rq;
	const uint32_t oldest = rq->res_next - rq->res_max;

	if (dma->sequence <= qp->response_from)
		return NULL;
	for (uint32_t i = rq->res_next; i != oldest; i--) {
		struct hca_resource *res = &rq->resources[(i - 1) & rq->res_mask];

		if (res->awaits && res->first_psn == dma->psn)
			return res;
	}
	return NULL;
}

/* An atomic that was taken is executed, whatever has become of its queue pair. */
uint64_t hca_dma_atomic(struct hca_device *dev, const struct hca_dma *dma, uint64_t original,
			ps_t now)
{
	struct hca_qp *qp = util_idmap_find(&dev->qps, dma->qpn);
	struct hca_resource *res = qp ? resource_of(qp, dma) : NULL;

	if (res) {
		res->original = original;
		res->awaits = false;
		hca_responder_update(qp, now);
	}
	return hca_dma_result(dma, original);
}

static bool may_start(const struct hca_qp *qp, const struct hca_dma_ticket *ticket)
{
	if (!qp)
		return false;
	if (ticket->kind == HCA_TURN_RESPONSE || !hca_has_requester(qp))
		return ticket->sequence > qp->response_from;
	return ticket->sequence > qp->request_from;
}

static void request_started(struct hca_qp *qp, const struct hca_dma_ticket *ticket, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	if (wire_psn_diff(ticket->end_psn, sq->wire_psn) > 0)
		sq->wire_psn = ticket->end_psn;
	if (ticket->is_timed)
		hca_rtt_stamp(qp, ticket->psn, now);
	/* After a NAK the answer may be here already. */
	if (sq->timer_at == PS_NEVER && sq->timeout != PS_NEVER && sq->una_psn != sq->high_psn)
		hca_timer_set(qp, now + sq->timeout);
}

bool hca_dma_start(struct hca_device *dev, const struct hca_dma_ticket *ticket, ps_t now)
{
	struct hca_qp *qp = ticket->qp;

	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
	if (__builtin_expect(ticket->sequence <= dev->dma_ended, false)) {
		qp = util_idmap_find(&dev->qps, ticket->qpn);
		if (!may_start(qp, ticket))
			return false;
	}
	dev->counters.tx_packets++;
	dev->counters.tx_bytes += ticket->length;
	if (ticket->again)
		hca_sent_again(qp, ticket->again_psn, ticket->kind != HCA_TURN_REQUEST);
	if (ticket->kind == HCA_TURN_REQUEST)
		request_started(qp, ticket, now);
	else if (ticket->kind == HCA_TURN_UNRELIABLE)
		hca_unreliable_started(qp, ticket, now);
	else
		dev->counters.np_cnp_sent += ticket->kind == HCA_TURN_CNP;
	return true;
}
