/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

#include <string.h>

/* Bytes between packets and memory. Every access is behind hca_mr_at(). */

bool hca_fetch_part(const struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset,
		    uint32_t length, uint32_t at, bool fenced, struct wire_pkt *pkt)
{
	if (!qp->dev->dma)
		return mr->ops->read(mr, offset, pkt->payload + at, length);
	hca_dma_fetch(qp, mr, offset, length, at, fenced, false);
	return true;
}

bool hca_fetch_moved(const struct hca_qp *qp, const struct hca_mr *mr, uint64_t offset,
		     uint32_t length, bool fenced, struct wire_pkt *pkt)
{
	if (mr->ops == &hca_mem_synthetic) {
		pkt->synthetic = true;
		pkt->pattern = wire_pattern(mr->stream, offset);
		hca_dma_fetch(qp, mr, offset, length, 0, fenced, true);
		return true;
	}
	if (mr->is_lent && hca_loan_make(qp, mr, offset, pkt))
		return true;
	return hca_fetch_part(qp, mr, offset, length, 0, fenced, pkt);
}

/* A piece of a list that begins at byte @done of it and does not cross an entry's end. */
struct piece {
	struct hca_mr *mr;
	uint64_t offset;
	uint32_t length;
};

/* False: a key, a right or a bound is wrong. @length bytes at least follow @done in the list. */
static bool find_piece(const struct hca_qp *qp, const struct hca_pd *pd,
		       const struct hca_local_sge *sge, uint32_t sge_count, uint32_t done,
		       uint32_t length, uint32_t access, struct piece *ret_piece)
{
	uint64_t va;

	for (; sge_count > 0 && done >= sge->length; sge++, sge_count--)
		done -= sge->length;
	if (sge_count == 0)
		return false;
	ret_piece->length = length < sge->length - done ? length : sge->length - done;
	va = sge->addr + done;
	ret_piece->mr = hca_mr_at(qp->dev, sge->slot, pd, sge->lkey, va, ret_piece->length, access);
	if (!ret_piece->mr)
		return false;
	ret_piece->offset = va - ret_piece->mr->iova;
	return true;
}

static inline __attribute__((always_inline)) bool gather(const struct hca_qp *qp,
							 const struct hca_wqe *wqe, uint32_t done,
							 uint32_t length, struct wire_pkt *pkt)
{
	struct piece piece;

	if (length == 0)
		return true;
	if (wqe->inline_bytes) {
		pkt->length = (uint16_t)length;
		memcpy(pkt->payload, wqe->inline_bytes + done, length);
		return true;
	}
	if (wqe->sge_count == 1) { /* nearly always */
		const struct hca_local_sge *sge = wqe->sge;
		uint64_t va = sge->addr + done;

		piece.mr = hca_mr_at(qp->dev, sge->slot, qp->pd, sge->lkey, va, length,
				     HCA_ACCESS_LOCAL_READ);
		if (!piece.mr)
			return false;
		return hca_fetch(qp, piece.mr, va - piece.mr->iova, length, false, pkt);
	}
	if (!find_piece(qp, qp->pd, wqe->sge, wqe->sge_count, done, length, HCA_ACCESS_LOCAL_READ,
			&piece))
		return false;
	if (piece.length == length)
		return hca_fetch(qp, piece.mr, piece.offset, length, false, pkt);
	for (uint32_t at = 0; at < length; at += piece.length)
		if (!find_piece(qp, qp->pd, wqe->sge, wqe->sge_count, done + at, length - at,
				HCA_ACCESS_LOCAL_READ, &piece))
			return false;
	for (uint32_t at = 0; at < length; at += piece.length) {
		CHECK(find_piece(qp, qp->pd, wqe->sge, wqe->sge_count, done + at, length - at,
				 HCA_ACCESS_LOCAL_READ, &piece));
		if (!hca_fetch_part(qp, piece.mr, piece.offset, piece.length, at, false, pkt))
			return false;
	}
	pkt->length = (uint16_t)length;
	return true;
}

bool hca_gather(const struct hca_qp *qp, const struct hca_wqe *wqe, uint32_t done, uint32_t length,
		struct wire_pkt *pkt)
{
	return gather(qp, wqe, done, length, pkt);
}

__attribute__((hot)) bool hca_gather_ahead(const struct hca_qp *qp, const struct hca_wqe *wqe,
					   uint32_t done, uint32_t length, struct wire_pkt *pkt)
{
	return gather(qp, wqe, done, length, pkt);
}

__attribute__((cold)) bool hca_gather_apart(const struct hca_qp *qp, const struct hca_wqe *wqe,
					    uint32_t done, uint32_t length, struct wire_pkt *pkt)
{
	return gather(qp, wqe, done, length, pkt);
}

/* Synthetic bytes into memory that is not: made here, in order, so that the last come last. */
static __attribute__((noinline)) bool place_pattern(struct hca_mr *mr, uint64_t offset,
						    uint64_t pattern, uint32_t length)
{
	uint8_t bytes[256];

	for (uint32_t done = 0; done < length; done += (uint32_t)sizeof(bytes)) {
		uint32_t n =
			length - done < sizeof(bytes) ? length - done : (uint32_t)sizeof(bytes);

		wire_pattern_bytes(wire_pattern_add(pattern, done), bytes, n);
		if (!mr->ops->write(mr, offset + done, bytes, n))
			return false;
	}
	return true;
}

/* Of an atomic: the number that it brings home. */
static bool is_word(const struct wire_pkt *pkt, uint32_t length)
{
	return pkt->opcode == WIRE_ATOMIC_ACKNOWLEDGE && length == sizeof(uint64_t);
}

/* Bytes that are only said, into memory that has some. */
static __attribute__((noinline)) void place_made(struct hca_qp *qp, struct hca_mr *mr,
						 uint64_t offset, uint64_t pattern, uint32_t length)
{
	uint8_t made[WIRE_MTU_MAX];

	wire_pattern_bytes(pattern, made, length);
	hca_dma_place(qp, mr, offset, length, made, false);
}

/* What goes into memory without bytes is only compared, and that needs no bus. */
static __attribute__((noinline)) void place_by_dma(struct hca_qp *qp, struct hca_mr *mr,
						   uint64_t offset, const struct wire_pkt *pkt,
						   uint32_t from, uint32_t length)
{
	const bool keeps_bytes = mr->ops != &hca_mem_synthetic;

	if (!pkt->synthetic) {
		const uint8_t *bytes = pkt->payload + from;

		if (!keeps_bytes)
			mr->ops->write(mr, offset, bytes, length);
		hca_dma_place(qp, mr, offset, length, keeps_bytes ? bytes : NULL,
			      is_word(pkt, length));
		return;
	}
	if (keeps_bytes) {
		place_made(qp, mr, offset, wire_pattern_add(pkt->pattern, from), length);
		return;
	}
	if (wire_pattern_add(pkt->pattern, from) != wire_pattern(mr->stream, offset))
		place_pattern(mr, offset, wire_pattern_add(pkt->pattern, from), length);
	hca_dma_place(qp, mr, offset, length, NULL, false);
}

/* What is lent belongs to a message, of which a WRITE says how long it is. */
static __attribute__((noinline, cold)) bool place_loan(struct hca_qp *qp, struct hca_mr *mr,
						       uint64_t offset, const struct wire_pkt *pkt,
						       uint32_t from, uint32_t length)
{
	const struct hca_rq *rq = &qp->rq;
	const uint64_t done = (uint64_t)rq->placed + length;
	const bool is_write = wire_ops[pkt->opcode].write && rq->write_length > done;

	return hca_loan_place(qp->dev, mr, offset, pkt->address + from, length,
			      is_write ? rq->write_length - done : 0);
}

static bool place_moved(struct hca_qp *qp, struct hca_mr *mr, uint64_t offset,
			const struct wire_pkt *pkt, uint32_t from, uint32_t length)
{
	if (pkt->synthetic)
		return place_pattern(mr, offset, wire_pattern_add(pkt->pattern, from), length);
	if (pkt->apart)
		return place_loan(qp, mr, offset, pkt, from, length);
	return mr->ops->write(mr, offset, pkt->payload + from, length);
}

bool hca_place(struct hca_qp *qp, struct hca_mr *mr, uint64_t offset, const struct wire_pkt *pkt,
	       uint32_t from, uint32_t length, ps_t now)
{
	struct hca_device *dev = qp->dev;

	if (!pkt->synthetic || !mr->is_pattern ||
	    wire_pattern_add(pkt->pattern, from) != wire_pattern(mr->stream, offset)) {
		if (dev->dma) {
			place_by_dma(qp, mr, offset, pkt, from, length);
			return true;
		}
		if (!place_moved(qp, mr, offset, pkt, from, length))
			return false;
	}
	dev->observer->on_place(dev->world, mr, offset, length, is_word(pkt, length), now);
	return true;
}

/* Nothing is placed where any piece is refused; what is gone is met while placing. */
bool hca_scatter(struct hca_qp *qp, const struct hca_pd *pd, const struct hca_local_sge *sge,
		 uint32_t sge_count, uint32_t done, const struct wire_pkt *pkt, ps_t now)
{
	const uint32_t access = HCA_ACCESS_LOCAL_WRITE;
	struct piece piece = {0};

	for (uint32_t at = 0; at < pkt->length; at += piece.length) {
		if (!find_piece(qp, pd, sge, sge_count, done + at, pkt->length - at, access,
				&piece))
			return false;
		if (piece.length == pkt->length)
			return hca_place(qp, piece.mr, piece.offset, pkt, 0, piece.length, now);
	}
	for (uint32_t at = 0; at < pkt->length; at += piece.length) {
		CHECK(find_piece(qp, pd, sge, sge_count, done + at, pkt->length - at, access,
				 &piece));
		if (!hca_place(qp, piece.mr, piece.offset, pkt, at, piece.length, now))
			return false;
	}
	return true;
}
