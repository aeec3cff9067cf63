/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

#include <string.h>

/* Responses: what they acknowledge, what they bring, what they refuse. Classified by a pure
 * function first, acted upon second. */

enum verdict {
	RX_ACK,
	RX_NAK_SEQ,
	RX_NAK_RNR,
	RX_NAK_INVALID,
	RX_NAK_ACCESS,
	RX_NAK_OPERATION,
	RX_READ,
	RX_ATOMIC,
	RX_RESTART, /* the message begins anew, although packets of it were acknowledged */
	RX_OLD,	    /* of what is answered already */
	RX_GHOST,   /* of what was never sent */
	RX_UNKNOWN, /* a syndrome that does not exist */
};

static enum verdict classify_aeth(uint8_t syndrome)
{
	switch (syndrome & WIRE_SYN_TYPE_MASK) {
	case WIRE_SYN_ACK:
		return RX_ACK;
	case WIRE_SYN_RNR:
		return RX_NAK_RNR;
	default:
		break;
	}
	switch (syndrome) {
	case WIRE_NAK_PSN_SEQ:
		return RX_NAK_SEQ;
	case WIRE_NAK_INVALID_REQUEST:
		return RX_NAK_INVALID;
	case WIRE_NAK_REMOTE_ACCESS:
		return RX_NAK_ACCESS;
	case WIRE_NAK_REMOTE_OPERATION:
		return RX_NAK_OPERATION;
	default:
		return RX_UNKNOWN;
	}
}

static struct hca_wqe *una_wqe(const struct hca_qp *qp)
{
	return &qp->sq.ring[qp->sq.una & qp->sq.mask];
}

/* The NAK of a message that begins anew is that of its first packet, which may be acknowledged. */
static bool is_restart(const struct hca_qp *qp, const struct wire_pkt *pkt,
		       const struct wire_op *op)
{
	return qp->dev->restarts && qp->sq.una != qp->sq.tail &&
	       pkt->psn == una_wqe(qp)->first_psn && op->aeth && !op->read && !op->atomic &&
	       wire_aeth_syndrome(pkt->word) == WIRE_NAK_PSN_SEQ;
}

static enum verdict completer_classify(const struct hca_qp *qp, const struct wire_pkt *pkt,
				       const struct wire_op *op)
{
	if (wire_psn_diff(pkt->psn, qp->sq.una_psn) < 0)
		return is_restart(qp, pkt, op) ? RX_RESTART : RX_OLD;
	if (wire_psn_diff(pkt->psn, qp->sq.high_psn) >= 0)
		return RX_GHOST;
	if (op->read)
		return RX_READ;
	if (op->atomic)
		return RX_ATOMIC;
	return classify_aeth(wire_aeth_syndrome(pkt->word));
}

/* The oldest WQE has got all its answers. */
void hca_completer_retire(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;
	const struct hca_wqe *wqe = una_wqe(qp);

	/* After a go-back it may be answered without having been sent again. */
	if (wqe->answered && (int32_t)(sq->una - sq->next) < 0)
		sq->rd_count--;
	sq->una++;
	hca_requester_complete(qp, wqe, HCA_WC_SUCCESS, now);
}

/* The message began anew and has not come as far again: no more counts than was sent since. */
static bool begins_anew(const struct hca_qp *qp, uint32_t psn)
{
	return qp->dev->restarts && wire_psn_diff(psn, qp->sq.next_psn) > 0;
}

/* Everything before @psn is acknowledged, as far as no READ or atomic lacks its response; whether
 * none does. */
static bool completer_acknowledge(struct hca_qp *qp, uint32_t psn, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	while (sq->una_psn != psn) {
		const struct hca_wqe *wqe = una_wqe(qp);
		uint32_t end_psn = wire_psn_add(wqe->first_psn, wqe->packets);

		if (wqe->answered)
			return false;
		if (wire_psn_diff(psn, end_psn) < 0) {
			if (!begins_anew(qp, psn))
				sq->una_psn = psn;
			else if (wire_psn_diff(sq->next_psn, sq->una_psn) > 0)
				sq->una_psn = sq->next_psn;
			return true;
		}
		sq->una_psn = end_psn;
		hca_completer_retire(qp, now);
	}
	return true;
}

/* The answers have moved on from @una_psn: retries start from zero, the timer from now. */
static inline void completer_progress(struct hca_qp *qp, ps_t now)
{
	struct hca_sq *sq = &qp->sq;

	if (wire_psn_diff(sq->next_psn, sq->una_psn) < 0) {
		sq->next_psn = sq->una_psn; /* an answer to the first transmission, come late */
		sq->next = sq->una;
	}
	sq->retry_left = sq->retry_cnt;
	sq->rnr_left = sq->rnr_retry;
	sq->retrying = false;
	if (sq->rnr_wait)
		return;
	if (sq->una_psn == sq->high_psn || sq->timeout == PS_NEVER || hca_dma_holds_all(qp))
		sq->timer_at = PS_NEVER;
	else
		hca_timer_set(qp, now + sq->timeout);
}

__attribute__((cold)) void hca_completer_progress(struct hca_qp *qp, ps_t now)
{
	completer_progress(qp, now);
}

static void implied_nak(struct hca_qp *qp, ps_t now)
{
	qp->dev->counters.implied_nak_seq_err++;
	hca_retry(qp, now);
}

static void on_nak(struct hca_qp *qp, uint8_t syndrome, enum verdict verdict, ps_t now)
{
	struct hca_counters *counters = &qp->dev->counters;

	switch (verdict) {
	case RX_NAK_SEQ:
		counters->packet_seq_err++;
		hca_retry(qp, now);
		break;
	case RX_NAK_RNR:
		hca_retry_rnr(qp, syndrome & WIRE_SYN_VALUE_MASK, now);
		break;
	case RX_NAK_INVALID:
		counters->req_remote_invalid_request++;
		hca_requester_fail(qp, HCA_WC_REM_INV_REQ_ERR, now);
		break;
	case RX_NAK_ACCESS:
		counters->req_remote_access_errors++;
		hca_requester_fail(qp, HCA_WC_REM_ACCESS_ERR, now);
		break;
	case RX_NAK_OPERATION:
		hca_requester_fail(qp, HCA_WC_REM_OP_ERR, now);
		break;
	case RX_ACK:
	case RX_READ:
	case RX_ATOMIC:
	case RX_RESTART:
	case RX_OLD:
	case RX_GHOST:
	case RX_UNKNOWN:
		CHECK(verdict == RX_NAK_SEQ); /* never here */
	}
}

void hca_completer_refused(struct hca_qp *qp, uint8_t syndrome, ps_t now)
{
	const enum verdict verdict = classify_aeth(syndrome);

	if (verdict != RX_UNKNOWN)
		on_nak(qp, syndrome, verdict, now);
}

/* ATOMIC WRITE and FLUSH: a READ response of nothing. */
static __attribute__((noinline, cold)) bool
annex_is_answered(const struct hca_wqe *wqe, const struct wire_pkt *pkt, const struct wire_op *op)
{
	return wqe->opcode >= HCA_WR_FLUSH && op->start && op->end && pkt->length == 0;
}

/* Whether the READ response is the one that its place in the message demands. */
static bool read_is_valid(const struct hca_qp *qp, const struct hca_wqe *wqe,
			  const struct wire_pkt *pkt, const struct wire_op *op, uint32_t done)
{
	bool last = wqe->length - done <= qp->mtu;

	if (wqe->opcode != HCA_WR_RDMA_READ)
		return annex_is_answered(wqe, pkt, op);
	if (op->end != last)
		return false;
	/* Only the first packet, or the first after a repeated request, starts a response. */
	if (qp->sq.recovery)
		return pkt->length == (last ? wqe->length - done : qp->mtu);
	if (op->start ? pkt->psn != wqe->first_psn && pkt->psn != qp->sq.resume_psn
		      : pkt->psn == wqe->first_psn)
		return false;
	return pkt->length == (last ? wqe->length - done : qp->mtu);
}

static enum hca_wc_status bad_response(const struct hca_qp *qp)
{
	return qp->dev->profile.statuses == HCA_STATUSES_RXE ? HCA_WC_FATAL_ERR
							     : HCA_WC_BAD_RESP_ERR;
}

static bool bring_read(struct hca_qp *qp, const struct hca_wqe *wqe, const struct wire_pkt *pkt,
		       const struct wire_op *op, enum hca_wc_status *ret_status, ps_t now)
{
	uint32_t done = ((pkt->psn - wqe->first_psn) & WIRE_U24_MAX) * qp->mtu;

	*ret_status = bad_response(qp);
	if (!read_is_valid(qp, wqe, pkt, op, done))
		return false;
	*ret_status = HCA_WC_LOC_PROT_ERR;
	return hca_scatter(qp, qp->pd, wqe->sge, wqe->sge_count, done, pkt, now);
}

static bool bring_atomic(struct hca_qp *qp, const struct hca_wqe *wqe, const struct wire_pkt *pkt,
			 enum hca_wc_status *ret_status, ps_t now)
{
	struct wire_pkt original = {.opcode = pkt->opcode, .length = sizeof(pkt->va)};
	uint8_t bytes[sizeof(pkt->va)];

	memcpy(bytes, &pkt->va, sizeof(bytes));
	original.payload = bytes;
	*ret_status = bad_response(qp);
	if (wqe->opcode != HCA_WR_ATOMIC_CMP_AND_SWP && wqe->opcode != HCA_WR_ATOMIC_FETCH_AND_ADD)
		return false;
	*ret_status = HCA_WC_LOC_PROT_ERR;
	return hca_scatter(qp, qp->pd, wqe->sge, wqe->sge_count, 0, &original, now);
}

bool hca_completer_take(struct hca_qp *qp, const struct hca_wqe *wqe, const struct wire_pkt *pkt,
			const struct wire_op *op, ps_t now)
{
	enum hca_wc_status status;

	if (op->read ? bring_read(qp, wqe, pkt, op, &status, now)
		     : bring_atomic(qp, wqe, pkt, &status, now))
		return true;
	if (qp->dev->loan_is_lost)
		return false;
	hca_requester_fail(qp, status, now);
	return false;
}

/* False: the QP has failed, or a loan is lost. */
static bool completer_take(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			   ps_t now)
{
	if (!hca_completer_take(qp, una_wqe(qp), pkt, op, now))
		return false;
	qp->sq.una_psn = wire_psn_add(pkt->psn, 1);
	if (op->end)
		hca_completer_retire(qp, now);
	return true;
}

/* What came could not be brought to its place: the QP has failed, or a loan is lost, which is as if
 * it had not come; what it acknowledges, from @una_psn on, holds. */
static __attribute__((noinline, cold)) void completer_lose(struct hca_qp *qp, uint32_t una_psn,
							   ps_t now)
{
	if (!hca_loan_lost(qp->dev))
		return;
	if (qp->sq.una_psn != una_psn)
		completer_progress(qp, now);
	implied_nak(qp, now);
	hca_requester_update(qp, now);
}

/* Everything that a response acknowledges comes first, then what it is itself. */
static void completer_act(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			  enum verdict verdict, ps_t now)
{
	uint32_t una_psn = qp->sq.una_psn;
	uint32_t psn = verdict == RX_ACK ? wire_psn_add(pkt->psn, 1) : pkt->psn;
	const bool complete = completer_acknowledge(qp, psn, now);

	if (complete && (verdict == RX_READ || verdict == RX_ATOMIC) &&
	    !completer_take(qp, pkt, op, now)) {
		completer_lose(qp, una_psn, now);
		return;
	}
	if (qp->sq.una_psn != una_psn)
		completer_progress(qp, now);
	if (!complete)
		implied_nak(qp, now);
	else if (verdict != RX_ACK && verdict != RX_READ && verdict != RX_ATOMIC)
		on_nak(qp, wire_aeth_syndrome(pkt->word), verdict, now);
	hca_requester_update(qp, now);
}

static void restart(struct hca_qp *qp, ps_t now)
{
	qp->dev->counters.packet_seq_err++;
	hca_retry(qp, now);
	hca_requester_update(qp, now);
}

void hca_completer_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			 ps_t now)
{
	enum verdict verdict;

	if (__builtin_expect(qp->dev->full_path, false)) {
		if (qp->dev->takes_rtt)
			hca_rtt_input(qp, pkt, op, now);
		if (qp->dev->selective) {
			hca_recover_input(qp, pkt, op, now);
			return;
		}
	}
	verdict = completer_classify(qp, pkt, op);
	if (verdict == RX_OLD || verdict == RX_GHOST || verdict == RX_UNKNOWN)
		qp->dev->counters.rx_dropped++;
	else if (verdict == RX_RESTART)
		restart(qp, now);
	else
		completer_act(qp, pkt, op, verdict, now);
}
