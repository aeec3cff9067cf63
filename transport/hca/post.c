/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

#include <errno.h>
#include <string.h>

/* Work requests into the rings. What a request needs on its way is worked out here, once: length,
 * PSNs, the slots of its keys. */

enum { MESSAGE_BITS = 31, READ_PACKETS_MAX = (1 << 23) - 1, ATOMIC_BYTES = 8 };

enum { RC = 1 << HCA_QPT_RC, UC = 1 << HCA_QPT_UC, UD = 1 << HCA_QPT_UD };

static const struct kind {
	uint8_t types; /* of queue pairs that know it */
	bool answered, may_be_inline, has_imm, has_rkey, has_receive;
} kinds[] = {
	[HCA_WR_RDMA_WRITE] = {.types = RC | UC, .may_be_inline = true},
	[HCA_WR_RDMA_WRITE_WITH_IMM] = {.types = RC | UC,
					.may_be_inline = true,
					.has_imm = true,
					.has_receive = true},
	[HCA_WR_SEND] = {.types = RC | UC | UD, .may_be_inline = true, .has_receive = true},
	[HCA_WR_SEND_WITH_IMM] = {.types = RC | UC | UD,
				  .may_be_inline = true,
				  .has_imm = true,
				  .has_receive = true},
	[HCA_WR_RDMA_READ] = {.types = RC, .answered = true},
	[HCA_WR_ATOMIC_CMP_AND_SWP] = {.types = RC, .answered = true},
	[HCA_WR_ATOMIC_FETCH_AND_ADD] = {.types = RC, .answered = true},
	[HCA_WR_LOCAL_INV] = {.types = RC, .has_rkey = true},
	[HCA_WR_SEND_WITH_INV] = {.types = RC,
				  .may_be_inline = true,
				  .has_rkey = true,
				  .has_receive = true},
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* Of a list that has been found to be no longer than the queue pair takes. */
static uint64_t list_bytes(const struct hca_sge *sge, uint32_t sge_count)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < sge_count; i++)
		bytes += sge[i].length;
	return bytes;
}

static void copy_list(const struct hca_device *dev, struct hca_local_sge *to,
		      const struct hca_sge *from, uint32_t sge_count)
{
	for (uint32_t i = 0; i < sge_count; i++)
		to[i] = (struct hca_local_sge){from[i].addr, from[i].length, from[i].lkey,
					       hca_mr_slot_of(dev, from[i].lkey)};
}

static void copy_inline(uint8_t *to, const struct hca_sge *from, uint32_t sge_count)
{
	for (uint32_t i = 0; i < sge_count; i++) {
		if (from[i].length)
			memcpy(to, (const void *)(uintptr_t)from[i].addr, from[i].length);
		to += from[i].length;
	}
}

static bool send_is_valid(const struct hca_qp *qp, const struct hca_send_wr *wr, uint64_t bytes)
{
	const struct kind *kind = &kinds[wr->opcode < KIND_COUNT ? wr->opcode : 0];

	if (qp->state < HCA_QPS_RTS)
		return false;
	if (wr->opcode >= KIND_COUNT || !(kind->types >> qp->type & 1) ||
	    bytes > (uint64_t)1 << MESSAGE_BITS)
		return false;
	if (qp->sq.paths && (!wr->path || wr->path->priority >= qp->dev->priority_count ||
			     wr->dest_qpn > WIRE_U24_MAX))
		return false;
	if (wr->flags & HCA_SEND_INLINE) {
		if (!kind->may_be_inline || bytes > qp->inline_max)
			return false;
	}
	if (wr->opcode == HCA_WR_ATOMIC_CMP_AND_SWP || wr->opcode == HCA_WR_ATOMIC_FETCH_AND_ADD)
		return bytes == ATOMIC_BYTES;
	if (wr->opcode == HCA_WR_RDMA_READ)
		return bytes <= (uint64_t)READ_PACKETS_MAX * qp->mtu;
	return true;
}

/* A SEND carries which of the receives it is for. */
static void number_receive(struct hca_recovery *recovery, struct hca_wqe *wqe)
{
	if (wqe->opcode != HCA_WR_RDMA_WRITE_WITH_IMM)
		wqe->rkey = recovery->receives & WIRE_U24_MAX;
	recovery->receives++;
}

static void hca_post_fill(struct hca_qp *qp, struct hca_wqe *wqe, const struct hca_send_wr *wr,
			  uint32_t bytes)
{
	struct hca_sq *sq = &qp->sq;

	*wqe = (struct hca_wqe){
		.wr_id = wr->wr_id,
		.remote_addr = wr->remote_addr,
		.length = bytes,
		.first_psn = sq->end_psn,
		.packets = bytes ? (bytes - 1) / qp->mtu + 1 : 1,
		.rkey = wr->rkey,
		.opcode = (uint8_t)wr->opcode,
		.flags = (uint8_t)wr->flags,
		.answered = kinds[wr->opcode].answered,
		.sge_count = wr->sge_count,
		.sge = hca_sq_list(qp, sq->tail),
		.compare_add = wr->compare_add,
		.swap = wr->swap,
	};
	if (kinds[wr->opcode].has_imm)
		wqe->word = hca_swap_imm(wr->imm);
	else if (kinds[wr->opcode].has_rkey)
		wqe->word = wr->imm;
	if (wr->opcode == HCA_WR_LOCAL_INV)
		wqe->packets = 0;
	if (sq->recovery && kinds[wr->opcode].has_receive)
		number_receive(sq->recovery, wqe);
	wqe->held = wqe->answered || wqe->flags & HCA_SEND_FENCE || wqe->packets == 0;
	if (wr->flags & HCA_SEND_INLINE) {
		wqe->inline_bytes = hca_sq_inline(qp, sq->tail);
		copy_inline(wqe->inline_bytes, wr->sge, wr->sge_count);
	} else {
		copy_list(qp->dev, wqe->sge, wr->sge, wr->sge_count);
	}
}

int hca_qp_post_send(struct hca_device *dev, struct hca_qp *qp, const struct hca_send_wr *wr,
		     ps_t now)
{
	struct hca_sq *sq = &qp->sq;
	struct hca_wqe *wqe;
	uint64_t bytes;

	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
	if (!hca_has_requester(qp) || wr->sge_count > qp->send_sge_max)
		return -EINVAL;
	bytes = list_bytes(wr->sge, wr->sge_count);
	if (!send_is_valid(qp, wr, bytes))
		return -EINVAL;
	if (sq->tail - sq->una == sq->depth)
		return -ENOMEM;
	wqe = &sq->ring[sq->tail & sq->mask];
	hca_post_fill(qp, wqe, wr, (uint32_t)bytes);
	if (sq->paths)
		hca_ud_posted(qp, wqe, wr, now);
	sq->end_psn = wire_psn_add(sq->end_psn, wqe->packets);
	sq->tail++;
	if (qp->state >= HCA_QPS_SQE)
		hca_qp_flush_send(qp, now);
	else
		hca_requester_update(qp, now);
	return 0;
}

int hca_qp_post_recv(struct hca_device *dev, struct hca_qp *qp, const struct hca_recv_wr *wr,
		     ps_t now)
{
	struct hca_rq *rq = &qp->rq;
	struct hca_rwqe *wqe;
	uint64_t bytes;

	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
	if (!hca_has_responder(qp) || qp->state == HCA_QPS_RESET ||
	    wr->sge_count > qp->recv_sge_max)
		return -EINVAL;
	bytes = list_bytes(wr->sge, wr->sge_count);
	if (bytes > (uint64_t)1 << MESSAGE_BITS)
		return -EINVAL;
	if (rq->tail - rq->head == rq->depth)
		return -ENOMEM;
	wqe = &rq->ring[rq->tail & rq->mask];
	*wqe = (struct hca_rwqe){
		.wr_id = wr->wr_id,
		.length = (uint32_t)bytes,
		.sge_count = wr->sge_count,
		.sge = hca_rq_list(qp, rq->tail),
	};
	copy_list(dev, wqe->sge, wr->sge, wr->sge_count);
	rq->tail++;
	if (qp->state == HCA_QPS_ERR)
		hca_qp_flush_recv(qp, now);
	return 0;
}
