/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

/* Responses in the order of their requests: READ responses and atomic ACKs from what is
 * remembered, the one ACK or NAK between or behind them. */

/* The oldest response that is waiting; NULL: none. */
static struct hca_resource *first_pending(const struct hca_rq *rq)
{
	if (rq->res_pending == 0 || rq->res_pending == hca_repair_count(rq))
		return NULL;
	for (uint32_t i = rq->res_first;; i++) {
		CHECK(i != rq->res_next);
		if (rq->resources[i & rq->res_mask].pending)
			return &rq->resources[i & rq->res_mask];
	}
}

/* A NAK that says what came answers nothing that is waiting. */
static bool ack_is_first(const struct hca_rq *rq, const struct hca_resource *res)
{
	return rq->ack_due && (!res || wire_psn_diff(rq->ack_psn, res->first_psn) < 0 ||
			       (rq->ooo && rq->ack_syndrome == WIRE_NAK_PSN_SEQ));
}

ps_t hca_responder_next_at(const struct hca_qp *qp)
{
	const struct hca_resource *res = first_pending(&qp->rq);

	if (ack_is_first(&qp->rq, res))
		return 0;
	if (res && res->awaits && hca_repair_count(&qp->rq) == 0)
		return PS_NEVER;
	return res && res->is_atomic && !res->awaits ? 0 : qp->next_start;
}

static bool is_whole(const struct hca_resource *res, const struct wire_pkt *pkt)
{
	return pkt->psn == res->first_psn && pkt->dma_length == res->length;
}

/* HCA_SELECTIVE: a part of a READ is sent beside what is being sent already. */
static void repair(struct hca_qp *qp, const struct wire_pkt *pkt)
{
	struct hca_ooo *ooo = qp->rq.ooo;
	const uint32_t room = sizeof(ooo->repairs) / sizeof(ooo->repairs[0]);
	const uint32_t packets = pkt->dma_length ? (pkt->dma_length - 1) / qp->mtu + 1 : 1;

	if (ooo->repair_count == room) {
		qp->dev->counters.rx_dropped++;
		return;
	}
	ooo->repairs[(ooo->repair_first + ooo->repair_count++) % room] =
		(struct hca_repair){pkt->psn, wire_psn_add(pkt->psn, packets)};
	qp->rq.res_pending++;
}

/* IBTA 9.7.5.1.4 (duplicates): a READ is executed again from the PSN that is asked for, an atomic
 * answered with what it gave; what is not remembered stays unanswered. */
void hca_responder_replay(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op)
{
	struct hca_rq *rq = &qp->rq;
	const uint32_t oldest = rq->res_next - rq->res_max;

	/* Those that were never used have no packets. */
	for (uint32_t i = rq->res_next; i != oldest; i--) {
		struct hca_resource *res = &rq->resources[(i - 1) & rq->res_mask];
		uint32_t index = (pkt->psn - res->first_psn) & WIRE_U24_MAX;
		uint32_t done = index * qp->mtu;

		if (index >= res->packets)
			continue;
		if (res->opcode != pkt->opcode || pkt->va != res->va + done ||
		    pkt->rkey != res->rkey || (op->read && (pkt->dma_length > res->length - done)))
			break;
		if (rq->ooo && op->read && !is_whole(res, pkt)) {
			repair(qp, pkt);
			return;
		}
		res->start_psn = res->cursor_psn = pkt->psn;
		if (op->read) {
			res->stream_end = done + pkt->dma_length;
			res->end_psn = wire_psn_add(
				pkt->psn,
				pkt->dma_length ? (pkt->dma_length - 1) / qp->mtu + 1 : 1);
		}
		if (rq->res_pending == hca_repair_count(rq) || (int32_t)(i - 1 - rq->res_first) < 0)
			rq->res_first = i - 1;
		rq->res_pending += !res->pending;
		res->replay |= !res->pending;
		res->pending = true;
		return;
	}
	qp->dev->counters.rx_dropped++;
}

void hca_responder_answered(struct hca_rq *rq, struct hca_resource *res)
{
	res->pending = false;
	rq->res_pending--;
	while (rq->res_first != rq->res_next &&
	       !rq->resources[rq->res_first & rq->res_mask].pending)
		rq->res_first++;
}

static void answer_xrc(const struct hca_qp *qp, struct wire_pkt *pkt)
{
	if (__builtin_expect(qp->type == HCA_QPT_XRC_RECV, false))
		pkt->opcode |= WIRE_XRC;
}

/* XRC: each READ has its own, that of the region which it was found to be. */
static const struct hca_pd *pd_of(const struct hca_qp *qp, const struct hca_resource *res)
{
	const struct hca_mr *mr;

	if (__builtin_expect(qp->type != HCA_QPT_XRC_RECV, true))
		return qp->pd;
	mr = res->slot < qp->dev->mr_slots ? qp->dev->mrs[res->slot].mr : NULL;
	return mr ? mr->pd : NULL;
}

/* The payload as it is now; false: the region or its memory is gone, or no longer readable. */
static bool fill_read_at(struct hca_qp *qp, const struct hca_resource *res, uint32_t psn,
			 struct wire_pkt *pkt)
{
	uint32_t done = ((psn - res->first_psn) & WIRE_U24_MAX) * qp->mtu;
	uint32_t left = res->stream_end - done, length = left < qp->mtu ? left : qp->mtu;
	bool first = psn == res->start_psn;
	bool last = wire_psn_add(psn, 1) == res->end_psn;
	struct hca_mr *mr = hca_mr_at(qp->dev, res->slot, pd_of(qp, res), res->rkey, res->va + done,
				      length, HCA_ACCESS_REMOTE_READ);
	static const uint8_t opcodes[] = {WIRE_READ_RESPONSE_MIDDLE, WIRE_READ_RESPONSE_FIRST,
					  WIRE_READ_RESPONSE_LAST, WIRE_READ_RESPONSE_ONLY};

	if (length > 0 && !mr)
		mr = hca_mw_at(qp, res->slot, res->rkey, res->va + done, length,
			       HCA_ACCESS_REMOTE_READ);
	if (length > 0 && !mr)
		return false;
	hca_pkt_init(pkt, opcodes[first + 2 * last], qp->dest_qpn, psn);
	if (first || last)
		pkt->word = wire_aeth(WIRE_SYN_ACK_UNLIMITED, res->msn);
	return length == 0 || hca_fetch(qp, mr, res->va + done - mr->iova, length, true, pkt);
}

static bool respond_fill_read(struct hca_qp *qp, const struct hca_resource *res,
			      struct wire_pkt *pkt)
{
	if (!fill_read_at(qp, res, res->cursor_psn, pkt))
		return false;
	answer_xrc(qp, pkt);
	return true;
}

/* The READ that cannot go on becomes a NAK of the packet that is missing. */
static void refuse_read(struct hca_qp *qp, uint32_t psn, ps_t now)
{
	struct hca_rq *rq = &qp->rq;

	for (uint32_t i = rq->res_first; i != rq->res_next; i++)
		rq->resources[i & rq->res_mask].pending = false;
	rq->res_pending = 0;
	if (rq->ooo)
		rq->ooo->repair_count = 0;
	hca_responder_fail(qp, WIRE_NAK_REMOTE_ACCESS, HCA_WC_REM_ACCESS_ERR, now);
	rq->ack_psn = psn;
}

static void fill_ack(struct hca_qp *qp, struct wire_pkt *pkt)
{
	struct hca_rq *rq = &qp->rq;

	hca_pkt_init(pkt, WIRE_ACKNOWLEDGE, qp->dest_qpn, rq->ack_psn);
	pkt->word = wire_aeth(rq->ack_syndrome, rq->ack_msn);
	if (__builtin_expect(qp->dev->full_path, false)) {
		if (rq->ooo && rq->ack_syndrome == WIRE_NAK_PSN_SEQ)
			hca_ooo_fill_nak(qp, pkt);
		if (qp->rtt)
			hca_rtt_fill_ack(qp, pkt);
		answer_xrc(qp, pkt);
	}
	rq->ack_due = rq->ack_fatal = false;
}

static void respond_fill_atomic(struct hca_qp *qp, const struct hca_resource *res,
				struct wire_pkt *pkt)
{
	hca_pkt_init(pkt, WIRE_ATOMIC_ACKNOWLEDGE, qp->dest_qpn, res->first_psn);
	pkt->word = wire_aeth(WIRE_SYN_ACK_UNLIMITED, res->msn);
	pkt->va = res->original;
	answer_xrc(qp, pkt);
}

/* The READ that a repair is of, as it was asked for first; NULL: forgotten. */
static struct hca_resource *read_of(const struct hca_rq *rq, uint32_t psn)
{
	const uint32_t oldest = rq->res_next - rq->res_max;

	for (uint32_t i = rq->res_next; i != oldest; i--) {
		struct hca_resource *res = &rq->resources[(i - 1) & rq->res_mask];

		if (!res->is_atomic && ((psn - res->first_psn) & WIRE_U24_MAX) < res->packets)
			return res;
	}
	return NULL;
}

static void end_repair(struct hca_rq *rq)
{
	struct hca_ooo *ooo = rq->ooo;

	ooo->repair_first =
		(ooo->repair_first + 1) % (sizeof(ooo->repairs) / sizeof(ooo->repairs[0]));
	ooo->repair_count--;
	rq->res_pending--;
}

/* False: nothing to send after all. */
static __attribute__((cold)) bool repair_output(struct hca_qp *qp, struct wire_pkt *pkt,
						struct hca_tx *tx, ps_t now)
{
	struct hca_rq *rq = &qp->rq;
	struct hca_repair *part = &rq->ooo->repairs[rq->ooo->repair_first];
	const struct hca_resource *res = read_of(rq, part->psn);
	struct hca_resource whole;

	if (!res) {
		end_repair(rq);
		hca_responder_update(qp, now);
		return false;
	}
	whole = *res;
	whole.start_psn = whole.first_psn;
	whole.end_psn = wire_psn_add(whole.first_psn, whole.packets);
	whole.stream_end = whole.length;
	if (!fill_read_at(qp, &whole, part->psn, pkt)) {
		refuse_read(qp, part->psn, now);
		return false;
	}
	hca_count_again(qp, part->psn, true);
	part->psn = wire_psn_add(part->psn, 1);
	if (part->psn == part->end_psn)
		end_repair(rq);
	hca_requester_paced(qp, pkt, tx, now);
	hca_requester_update(qp, now);
	hca_responder_update(qp, now);
	return true;
}

static inline __attribute__((always_inline)) bool output(struct hca_qp *qp, struct wire_pkt *pkt,
							 struct hca_tx *tx, ps_t now)
{
	struct hca_rq *rq = &qp->rq;
	struct hca_resource *res = first_pending(rq);

	tx->ecn = WIRE_NOT_ECT;
	if (ack_is_first(rq, res)) {
		fill_ack(qp, pkt);
	} else if (hca_repair_count(rq) > 0) {
		return repair_output(qp, pkt, tx, now);
	} else if (res->is_atomic) {
		respond_fill_atomic(qp, res, pkt);
		hca_responder_answered(rq, res);
	} else if (respond_fill_read(qp, res, pkt)) {
		tx->ecn = qp->dev->request_ecn;
		if (qp->cc.active) {
			hca_sched_measure(qp->dev, pkt);
			hca_sched_pace(qp, pkt, now);
			hca_requester_update(qp, now); /* one pace for both */
		}
		res->cursor_psn = wire_psn_add(res->cursor_psn, 1);
		if (res->cursor_psn == res->end_psn)
			hca_responder_answered(rq, res);
	} else {
		refuse_read(qp, res->cursor_psn, now);
		return false;
	}
	hca_responder_update(qp, now);
	return true;
}

bool hca_responder_output(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx, ps_t now)
{
	return output(qp, pkt, tx, now);
}

__attribute__((hot)) bool hca_responder_output_ahead(struct hca_qp *qp, struct wire_pkt *pkt,
						     struct hca_tx *tx, ps_t now)
{
	return output(qp, pkt, tx, now);
}
