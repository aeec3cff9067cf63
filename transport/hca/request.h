/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_REQUEST_H
#define HCA_REQUEST_H

/* What every responder asks of a request, whatever it answers: for responder.c (RC) and uc.c. Each
 * has its own copies, since both are asked for every packet. */
#include "transport/hca/internal.h"

enum { ATOMIC_BYTES = 8, PACKETS_MAX = (1 << 23) - 1 };

static inline bool needs_receive(const struct hca_rq *rq, const struct wire_op *op)
{
	return op->send ? op->start : op->write && op->imm && !rq->wqe_taken;
}

static inline uint32_t right_of(const struct wire_op *op)
{
	if (op->read)
		return HCA_ACCESS_REMOTE_READ;
	if (op->atomic)
		return HCA_ACCESS_REMOTE_ATOMIC;
	return op->write ? HCA_ACCESS_REMOTE_WRITE : 0;
}

static inline uint32_t packets_of(const struct hca_qp *qp, uint32_t length)
{
	return length ? (length - 1) / qp->mtu + 1 : 1;
}

/* Whether the payload is what the place in the message and the MTU demand. */
static inline bool length_is_valid(const struct hca_qp *qp, const struct wire_pkt *pkt,
				   const struct wire_op *op)
{
	const struct hca_rq *rq = &qp->rq;
	uint32_t total = op->reth ? pkt->dma_length : rq->write_length;

	if (op->read)
		return total <= HCA_MESSAGE_MAX && packets_of(qp, total) <= PACKETS_MAX;
	if (op->atomic)
		return true;
	if (!op->end ? pkt->length != qp->mtu : pkt->length > qp->mtu)
		return false;
	if (op->end && !op->start && pkt->length == 0)
		return false;
	if (op->send)
		return true;
	if (total > HCA_MESSAGE_MAX)
		return false;
	return op->end ? total - (op->reth ? 0 : rq->placed) == pkt->length
		       : total - (op->reth ? 0 : rq->placed) > pkt->length;
}

static inline bool fits_receive(const struct hca_rq *rq, const struct wire_pkt *pkt,
				const struct wire_op *op)
{
	const struct hca_rwqe *wqe = &rq->ring[rq->head & rq->mask];
	uint32_t placed = op->start ? 0 : rq->placed;

	return pkt->length <= wqe->length - placed;
}

/* The region that the request may touch as it wants to; NULL: none, unless nothing is touched. */
static inline struct hca_mr *find_region(const struct hca_qp *qp, const struct wire_pkt *pkt,
					 const struct wire_op *op)
{
	const struct hca_rq *rq = &qp->rq;
	uint32_t right = right_of(op);

	if (!op->write)
		return hca_mr_find(qp->dev, qp->pd, pkt->rkey, pkt->va,
				   op->atomic ? ATOMIC_BYTES : pkt->dma_length, right);
	if (op->reth) /* the whole message, before its first byte */
		return hca_mr_find(qp->dev, qp->pd, pkt->rkey, pkt->va, pkt->dma_length, right);
	return hca_mr_at(qp->dev, rq->write_slot, qp->pd, rq->write_key, rq->write_va + rq->placed,
			 pkt->length, right);
}

/* The same, of windows that this queue pair alone may reach: asked where there is no region. */
static inline struct hca_mr *find_window(const struct hca_qp *qp, const struct wire_pkt *pkt,
					 const struct wire_op *op)
{
	const struct hca_rq *rq = &qp->rq;

	if (op->write && !op->reth)
		return hca_mw_at(qp, rq->write_slot, rq->write_key, rq->write_va + rq->placed,
				 pkt->length, right_of(op));
	return hca_mw_at(qp, hca_mr_slot_of(qp->dev, pkt->rkey), pkt->rkey, pkt->va,
			 op->atomic ? ATOMIC_BYTES : pkt->dma_length, right_of(op));
}

static inline bool touches_memory(const struct wire_pkt *pkt, const struct wire_op *op)
{
	return op->atomic || (op->reth ? pkt->dma_length > 0 : op->write);
}

/* False: the memory behind the region is gone. */
static inline bool place_write(struct hca_qp *qp, const struct wire_pkt *pkt,
			       const struct wire_op *op, struct hca_mr *mr, ps_t now)
{
	struct hca_rq *rq = &qp->rq;

	if (op->reth) {
		qp->dev->counters.rx_write_requests += op->start;
		rq->write_va = pkt->va - rq->placed;
		rq->write_key = pkt->rkey;
		rq->write_slot = hca_mr_slot_of(qp->dev, pkt->rkey);
		rq->write_length = pkt->dma_length + rq->placed;
	}
	if (op->imm)
		rq->wqe_taken = true;
	return !mr || rq->is_placed ||
	       hca_place(qp, mr, rq->write_va + rq->placed - mr->iova, pkt, 0, pkt->length, now);
}

#endif
