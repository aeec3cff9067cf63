/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

#include <errno.h>
#include <string.h>

/* Work requests into the rings. What a request needs on its way is worked out here, once: length,
 * PSNs, the slots of its keys. */

enum { READ_PACKETS_MAX = (1 << 23) - 1, ATOMIC_BYTES = 8 };

enum {
	RC = 1 << HCA_QPT_RC | 1 << HCA_QPT_XRC_SEND,
	UC = 1 << HCA_QPT_UC,
	UD = 1 << HCA_QPT_UD,
	RAW = 1 << HCA_QPT_RAW_PACKET
};

static const struct kind {
	uint16_t types; /* of queue pairs that know it */
	bool answered, may_be_inline, has_imm, has_rkey, has_receive;
} kinds[] = {
	[HCA_WR_RDMA_WRITE] = {.types = RC | UC, .may_be_inline = true},
	[HCA_WR_RDMA_WRITE_WITH_IMM] = {.types = RC | UC,
					.may_be_inline = true,
					.has_imm = true,
					.has_receive = true},
	[HCA_WR_SEND] = {.types = RC | UC | UD | RAW, .may_be_inline = true, .has_receive = true},
	[HCA_WR_SEND_WITH_IMM] = {.types = RC | UC | UD,
				  .may_be_inline = true,
				  .has_imm = true,
				  .has_receive = true},
	[HCA_WR_RDMA_READ] = {.types = RC, .answered = true},
	[HCA_WR_ATOMIC_CMP_AND_SWP] = {.types = RC, .answered = true},
	[HCA_WR_ATOMIC_FETCH_AND_ADD] = {.types = RC, .answered = true},
	[HCA_WR_LOCAL_INV] = {.types = RC, .has_rkey = true},
	[HCA_WR_BIND_MW] = {.types = RC | UC, .has_rkey = true},
	[HCA_WR_SEND_WITH_INV] = {.types = RC,
				  .may_be_inline = true,
				  .has_rkey = true,
				  .has_receive = true},
	[HCA_WR_FLUSH] = {.types = RC, .answered = true},
	[HCA_WR_ATOMIC_WRITE] = {.types = RC, .answered = true, .may_be_inline = true},
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static void copy_inline(uint8_t *to, const struct hca_sge *from, uint32_t sge_count)
{
	for (uint32_t i = 0; i < sge_count; i++) {
		if (from[i].length)
			memcpy(to, (const void *)(uintptr_t)from[i].addr, from[i].length);
		to += from[i].length;
	}
}

/* IBTA annex A19; the headers of HCA_SELECTIVE have no place for it. */
static __attribute__((noinline, cold)) bool
annex_is_valid(const struct hca_qp *qp, const struct hca_send_wr *wr, uint64_t bytes)
{
	const uint64_t places = wr->swap & WIRE_FETH_PLACES;

	if (qp->dev->selective)
		return false;
	if (wr->opcode == HCA_WR_ATOMIC_WRITE)
		return wr->sge_count == 0 || bytes == ATOMIC_BYTES;
	return wr->sge_count == 0 && wr->compare_add <= HCA_MESSAGE_MAX && places != 0 &&
	       (wr->swap &
		~(uint64_t)(WIRE_FETH_GLOBAL | WIRE_FETH_PERSISTENT | WIRE_FETH_REGION)) == 0;
}

static bool send_is_valid(const struct hca_qp *qp, const struct hca_send_wr *wr, uint64_t bytes)
{
	const struct kind *kind = &kinds[wr->opcode < KIND_COUNT ? wr->opcode : 0];

	if (qp->state < HCA_QPS_RTS)
		return false;
	if (wr->opcode >= KIND_COUNT || !(kind->types >> qp->type & 1) || bytes > HCA_MESSAGE_MAX)
		return false;
	if (qp->sq.paths && (!wr->path || wr->path->priority >= qp->dev->priority_count ||
			     wr->dest_qpn > WIRE_U24_MAX))
		return false;
	if (qp->type == HCA_QPT_XRC_SEND && wr->srqn > WIRE_U24_MAX)
		return false;
	if (wr->flags & HCA_SEND_INLINE) {
		if (!kind->may_be_inline || bytes > qp->inline_max)
			return false;
	}
	if (wr->opcode == HCA_WR_ATOMIC_CMP_AND_SWP || wr->opcode == HCA_WR_ATOMIC_FETCH_AND_ADD)
		return bytes == ATOMIC_BYTES;
	if (wr->opcode == HCA_WR_RDMA_READ)
		return bytes <= (uint64_t)READ_PACKETS_MAX * qp->mtu;
	return wr->opcode < HCA_WR_FLUSH || annex_is_valid(qp, wr, bytes);
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
		.srqn = wr->srqn,
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
	if (wr->opcode == HCA_WR_LOCAL_INV || wr->opcode == HCA_WR_BIND_MW)
		wqe->packets = 0;
	if (sq->recovery && kinds[wr->opcode].has_receive)
		number_receive(sq->recovery, wqe);
	wqe->held = wqe->answered || wqe->flags & HCA_SEND_FENCE || wqe->packets == 0;
	if (wr->flags & HCA_SEND_INLINE) {
		wqe->inline_bytes = hca_sq_inline(qp, sq->tail);
		copy_inline(wqe->inline_bytes, wr->sge, wr->sge_count);
	} else {
		hca_list_copy(qp->dev, wqe->sge, wr->sge, wr->sge_count);
	}
}

static __attribute__((cold, noinline)) void tell_posted(const struct hca_qp *qp,
							const struct hca_wqe *wqe,
							const struct hca_send_wr *wr, ps_t now)
{
	const bool is_datagram = qp->sq.paths != NULL;
	const struct hca_posted posted = {
		.wr_id = wr->wr_id,
		.send_cq = qp->send_cq,
		.path = is_datagram ? wr->path : &qp->path,
		.qpn = qp->qpn,
		.dest_qpn = is_datagram ? wr->dest_qpn : qp->dest_qpn,
		.opcode = wr->opcode,
		.bytes = wqe->length,
		.first_psn = wqe->first_psn,
		.packets = wqe->packets,
		.answered = wqe->answered,
	};

	qp->dev->watcher->on_post(qp->dev->watcher, &posted, now);
}

static inline int check_send(const struct hca_qp *qp, const struct hca_send_wr *wr,
			     uint64_t *ret_bytes)
{
	const struct hca_sq *sq = &qp->sq;

	if (!hca_has_requester(qp) || wr->sge_count > qp->send_sge_max)
		return -EINVAL;
	*ret_bytes = hca_list_bytes(wr->sge, wr->sge_count);
	if (!send_is_valid(qp, wr, *ret_bytes))
		return -EINVAL;
	return sq->tail - sq->una >= sq->depth ? -ENOMEM : 0;
}

struct hca_qp *hca_qp_find(const struct hca_device *dev, uint32_t qpn)
{
	return util_idmap_find(&dev->qps, qpn);
}

uint32_t hca_qp_send_room(const struct hca_qp *qp, uint32_t ended)
{
	const uint32_t open = qp->sq.tail - ended;

	return open < qp->sq.depth ? qp->sq.depth - open : 0;
}

int hca_qp_check_send(const struct hca_qp *qp, const struct hca_send_wr *wr, uint32_t count)
{
	uint64_t bytes;
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < count; i++)
		ret = check_send(qp, &wr[i], &bytes);
	return ret;
}

int hca_qp_post_send(struct hca_device *dev, struct hca_qp *qp, const struct hca_send_wr *wr,
		     ps_t now)
{
	struct hca_sq *sq = &qp->sq;
	struct hca_wqe *wqe;
	uint64_t bytes;
	int ret;

	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
	ret = check_send(qp, wr, &bytes);
	if (ret != 0)
		return ret;
	wqe = &sq->ring[sq->tail & sq->mask];
	hca_post_fill(qp, wqe, wr, (uint32_t)bytes);
	if (sq->paths)
		hca_ud_posted(qp, wqe, wr, now);
	sq->end_psn = wire_psn_add(sq->end_psn, wqe->packets);
	sq->tail++;
	if (__builtin_expect(dev->dma && dev->dma->has_doorbells, false))
		hca_dma_ring(qp, wqe);
	else
		sq->known = sq->tail;
	if (__builtin_expect(dev->watcher != NULL, false))
		tell_posted(qp, wqe, wr, now);
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
	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
	if (!hca_has_responder(qp) || qp->srq || qp->type == HCA_QPT_XRC_RECV ||
	    qp->state == HCA_QPS_RESET || wr->sge_count > qp->recv_sge_max)
		return -EINVAL;
	if (hca_list_bytes(wr->sge, wr->sge_count) > HCA_MESSAGE_MAX)
		return -EINVAL;
	if (rq->tail - rq->head == rq->depth)
		return -ENOMEM;
	hca_receive_fill(dev, &rq->ring[rq->tail & rq->mask], hca_rq_list(qp, rq->tail), wr);
	rq->tail++;
	if (qp->state == HCA_QPS_ERR)
		hca_qp_flush_recv(qp, now);
	return 0;
}
