/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/shared.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

enum { OOO_LEAST = 16 }; /* packets there is room for, where there is any */

/* The responder of HCA_SELECTIVE: packets before their turn. Their payload is placed at once; all
 * else that they do waits for what is missing. What cannot be taken early is as if it were lost,
 * and judged when it comes at its turn. */

static void ooo_give_back(struct hca_qp *qp)
{
	struct hca_ooo *ooo = qp->rq.ooo;

	hca_room_give_back(qp->dev, ooo->pkts, ooo->piece_bytes);
	ooo->pkts = NULL;
	ooo->here = ooo->refused = (struct hca_psn_set){.words = NULL};
	ooo->kept_bytes = NULL;
	ooo->is_kept = false;
	ooo->refused_count = 0;
}

/* From room that is to be given back. */
static void move_packets(const struct hca_qp *qp, struct hca_ooo *to, const struct hca_ooo *from)
{
	for (uint32_t i = 0; i <= from->here.mask; i++) {
		const uint32_t psn = wire_psn_add(qp->rq.expected_psn, i);

		hca_psn_set_put(&to->refused, psn, hca_psn_set_has(&from->refused, psn));
		if (!hca_psn_set_has(&from->here, psn))
			continue;
		hca_psn_set_put(&to->here, psn, true);
		to->pkts[psn & to->here.mask] = from->pkts[psn & from->here.mask];
	}
	if (from->is_kept && !from->kept.synthetic) {
		memcpy(to->kept_bytes, from->kept_bytes, from->kept.length);
		to->kept.payload = to->kept_bytes;
	}
}

/* One piece: packets, which are written before they are read, bits, the bytes of one. */
static bool grow(struct hca_qp *qp, uint32_t count)
{
	struct hca_ooo *ooo = qp->rq.ooo, larger = *ooo;
	const size_t words = hca_psn_set_words(count - 1);

	larger.piece_bytes = count * sizeof(*ooo->pkts) + 2 * words * sizeof(uint64_t) + qp->mtu;
	larger.pkts = hca_room_take(qp->dev, larger.piece_bytes);
	if (!larger.pkts)
		return false;
	larger.here.mask = larger.refused.mask = count - 1;
	larger.here.words = (uint64_t *)(void *)(larger.pkts + count);
	larger.refused.words = larger.here.words + words;
	larger.kept_bytes = (uint8_t *)(larger.refused.words + words);
	memset(larger.here.words, 0, 2 * words * sizeof(uint64_t));
	if (ooo->pkts)
		move_packets(qp, &larger, ooo);
	ooo_give_back(qp);
	*ooo = larger;
	return true;
}
_Static_assert(sizeof(struct wire_pkt) % sizeof(uint64_t) == 0, "words follow packets");

/* For what comes @ahead of its turn. False: no memory. */
static bool ooo_make_room(struct hca_qp *qp, uint32_t ahead)
{
	const struct hca_ooo *ooo = qp->rq.ooo;

	if (ooo->pkts && ahead <= ooo->here.mask)
		return true;
	return grow(qp, ahead < OOO_LEAST ? (uint32_t)OOO_LEAST : hca_pow2(ahead + 1));
}

int hca_ooo_create(struct hca_qp *qp, uint32_t request_packets)
{
	const uint32_t window = qp->dev->psn_window;
	const uint32_t most =
		request_packets > 0 && request_packets < window ? request_packets : window;
	struct hca_ooo *ooo = util_calloc(1, sizeof(*ooo));

	qp->rq.ooo = ooo;
	if (!ooo)
		return -ENOMEM;
	ooo->ahead_max = most < 64 ? 63 : hca_pow2(most) - 1;
	ooo->packets = request_packets;
	ooo->is_over = true;
	return 0;
}

void hca_ooo_destroy(struct hca_qp *qp)
{
	if (!qp->rq.ooo)
		return;
	ooo_give_back(qp);
	util_free(qp->rq.ooo);
}

void hca_ooo_start(struct hca_qp *qp)
{
	struct hca_ooo *ooo = qp->rq.ooo;

	ooo->turn_psn = qp->rq.expected_psn;
	ooo->end_psn = wire_psn_add(qp->rq.expected_psn, ooo->packets);
	ooo->is_over = ooo->packets == HCA_REQUESTS_NONE;
}

void hca_ooo_rest(struct hca_qp *qp)
{
	struct hca_ooo *ooo = qp->rq.ooo;

	/* More than half the numbers: the end could not be told from what is past. */
	if (ooo->packets > 0 && ooo->packets < 1u << 23 && qp->rq.expected_psn == ooo->end_psn)
		ooo->is_over = true;
	if (ooo->pkts && (ooo->is_over || ooo->refused_count == 0))
		ooo_give_back(qp);
}

void hca_ooo_reset(struct hca_qp *qp)
{
	struct hca_ooo *ooo = qp->rq.ooo;

	ooo_give_back(qp);
	*ooo = (struct hca_ooo){
		.packets = ooo->packets, .ahead_max = ooo->ahead_max, .is_over = true};
}

static void mark_refused(struct hca_ooo *ooo, uint32_t psn, bool refused)
{
	if (hca_psn_set_has(&ooo->refused, psn) == refused)
		return;
	hca_psn_set_put(&ooo->refused, psn, refused);
	ooo->refused_count += refused ? 1 : -1u;
}

/* Whether everything of the message before its end @psn is here. */
static bool is_message_here(const struct hca_qp *qp, uint32_t psn)
{
	const struct hca_ooo *ooo = qp->rq.ooo;

	for (;;) {
		psn = wire_psn_add(psn, WIRE_U24_MAX);
		if (wire_psn_diff(psn, qp->rq.expected_psn) < 0)
			return true;
		if (!hca_psn_set_has(&ooo->here, psn))
			return false;
		if (wire_op_find(ooo->pkts[psn & ooo->here.mask].opcode)->start)
			return true;
	}
}

static bool ooo_place_send(struct hca_qp *qp, const struct wire_pkt *pkt, ps_t now)
{
	struct hca_rq *rq = &qp->rq;
	const uint32_t ahead = (pkt->rkey - rq->head) & WIRE_U24_MAX;
	const struct hca_rwqe *wqe = &rq->ring[(rq->head + ahead) & rq->mask];

	while (ahead <= rq->mask && ahead >= rq->tail - rq->head && hca_srq_take(qp, now))
		;
	if (ahead >= rq->tail - rq->head) {
		qp->dev->counters.out_of_buffer++;
		return false;
	}
	return pkt->va <= wqe->length && pkt->length <= wqe->length - pkt->va &&
	       hca_scatter(qp, hca_recv_pd(qp), wqe->sge, wqe->sge_count, (uint32_t)pkt->va, pkt,
			   now);
}

static bool place_write(struct hca_qp *qp, const struct wire_pkt *pkt, ps_t now)
{
	struct hca_mr *mr;

	if (!(qp->access & HCA_ACCESS_REMOTE_WRITE) || pkt->dma_length < pkt->length)
		return false;
	if (pkt->length == 0)
		return true;
	mr = hca_mr_find(qp->dev, qp->pd, pkt->rkey, pkt->va, pkt->dma_length,
			 HCA_ACCESS_REMOTE_WRITE);
	if (!mr)
		mr = hca_mw_at(qp, hca_mr_slot_of(qp->dev, pkt->rkey), pkt->rkey, pkt->va,
			       pkt->dma_length, HCA_ACCESS_REMOTE_WRITE);
	return mr && hca_place(qp, mr, pkt->va - mr->iova, pkt, 0, pkt->length, now);
}

/* The last bytes of a message are placed last. */
static bool ooo_keep(struct hca_ooo *ooo, const struct wire_pkt *pkt)
{
	if (ooo->is_kept)
		return false;
	ooo->is_kept = true;
	ooo->kept = *pkt;
	if (!pkt->synthetic) {
		ooo->kept.payload = ooo->kept_bytes;
		memcpy(ooo->kept_bytes, pkt->payload, pkt->length);
	}
	return true;
}

static bool ooo_take(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		     ps_t now)
{
	if (op->read || op->atomic)
		return true;
	if ((!op->send && !op->write) || !(op->seth || (op->reth && pkt->opcode >= WIRE_IRN)) ||
	    (op->end ? pkt->length > qp->mtu : pkt->length != qp->mtu))
		return false;
	if (op->end && !op->start && !is_message_here(qp, pkt->psn))
		return ooo_keep(qp->rq.ooo, pkt);
	return op->send ? ooo_place_send(qp, pkt, now) : place_write(qp, pkt, now);
}

bool hca_ooo_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		   ps_t now)
{
	struct hca_ooo *ooo = qp->rq.ooo;
	const uint32_t ahead = (uint32_t)wire_psn_diff(pkt->psn, qp->rq.expected_psn);

	if (ahead > ooo->ahead_max || ooo->is_over || !ooo_make_room(qp, ahead))
		return false;
	if (hca_psn_set_has(&ooo->here, pkt->psn)) {
		qp->dev->counters.duplicate_request++;
	} else if (ooo_take(qp, pkt, op, now)) {
		hca_psn_set_put(&ooo->here, pkt->psn, true);
		mark_refused(ooo, pkt->psn, false);
		ooo->pkts[pkt->psn & ooo->here.mask] = *pkt;
		ooo->count++;
	} else {
		mark_refused(ooo, pkt->psn, true);
		return false;
	}
	ooo->sack_psn = pkt->psn;
	return true;
}

bool hca_ooo_take(struct hca_qp *qp, struct wire_pkt *ret_pkt)
{
	struct hca_ooo *ooo = qp->rq.ooo;
	const uint32_t psn = qp->rq.expected_psn;

	if (ooo->count == 0 || !hca_psn_set_has(&ooo->here, psn))
		return false;
	hca_psn_set_put(&ooo->here, psn, false);
	ooo->count--;
	*ret_pkt = ooo->pkts[psn & ooo->here.mask];
	if (ret_pkt->psn != psn) /* a peer that counted on */
		return false;
	qp->rq.is_placed = true;
	if (ooo->is_kept && ooo->kept.psn == psn) {
		*ret_pkt = ooo->kept;
		ooo->is_kept = false;
		qp->rq.is_placed = false;
	}
	return true;
}

/* A READ has the PSNs of its response: of what somebody sent under these, too, nothing is left. */
static void forget_passed(struct hca_qp *qp, uint32_t first_psn)
{
	struct hca_ooo *ooo = qp->rq.ooo;
	uint32_t count = (uint32_t)wire_psn_diff(qp->rq.expected_psn, first_psn);

	count = count <= ooo->here.mask ? count : ooo->here.mask + 1;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t psn = wire_psn_add(first_psn, i);

		mark_refused(ooo, psn, false);
		if (!hca_psn_set_has(&ooo->here, psn))
			continue;
		hca_psn_set_put(&ooo->here, psn, false);
		ooo->count--;
		ooo->is_kept = ooo->is_kept && ooo->kept.psn != psn;
	}
}

void hca_ooo_had_its_turn(struct hca_qp *qp, uint32_t psn)
{
	struct hca_ooo *ooo = qp->rq.ooo;

	if (ooo->pkts && psn == ooo->turn_psn && psn != qp->rq.expected_psn)
		forget_passed(qp, psn);
	ooo->turn_psn = qp->rq.expected_psn;
}

bool hca_ooo_was_refused(struct hca_qp *qp)
{
	struct hca_ooo *ooo = qp->rq.ooo;
	bool was;

	if (!ooo->pkts)
		return false;
	was = hca_psn_set_has(&ooo->refused, qp->rq.expected_psn);
	mark_refused(ooo, qp->rq.expected_psn, false);
	if (was)
		ooo->sack_psn = qp->rq.expected_psn;
	return was;
}

/* What came last may have had its turn meanwhile; something behind the gap says the same. The
 * packet that is missing itself came in vain. */
static uint32_t last_here(const struct hca_ooo *ooo, uint32_t expected_psn)
{
	uint32_t psn = ooo->sack_psn;

	if (wire_psn_diff(psn, expected_psn) >= 0 || ooo->count == 0)
		return psn;
	for (psn = wire_psn_add(expected_psn, ooo->here.mask);
	     !hca_psn_set_has(&ooo->here, psn) && psn != expected_psn;)
		psn = wire_psn_add(psn, WIRE_U24_MAX);
	return psn;
}

void hca_ooo_fill_nak(const struct hca_qp *qp, struct wire_pkt *pkt)
{
	const struct hca_ooo *ooo = qp->rq.ooo;

	const uint32_t last_psn = last_here(ooo, qp->rq.expected_psn);

	pkt->opcode |= WIRE_IRN;
	pkt->rkey = last_psn;
	if (!ooo->pkts)
		return;
	for (uint32_t i = 0; i < 32; i++) {
		const uint32_t psn = wire_psn_add(last_psn, -1u - i);

		if (wire_psn_diff(psn, qp->rq.expected_psn) <= 0)
			break;
		if (hca_psn_set_has(&ooo->here, psn))
			pkt->dma_length |= 1u << i;
	}
}
