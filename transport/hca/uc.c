/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/request.h"
#include "transport/hca/shared.h"

/* The responder of an unreliable connection: IBTA 9.8.2.2. It answers nothing. A message that lacks
 * a packet, or that it may not take, is dropped in silence: its receive stays for the next one, and
 * nothing counts until a packet begins a message. */

static void forget_message(struct hca_rq *rq)
{
	rq->in_message = rq->wqe_taken = false;
}

/* Whether the packet begins a message or carries on with the one at hand. */
static bool is_in_turn(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op)
{
	struct hca_rq *rq = &qp->rq;

	if (pkt->psn != rq->expected_psn) {
		qp->dev->counters.out_of_sequence++;
		forget_message(rq);
	}
	rq->expected_psn = wire_psn_add(pkt->psn, 1);
	if (op->start)
		forget_message(rq);
	return op->start || (rq->in_message && op->send == rq->is_send);
}

/* In the order of IBTA 9.7.4.1: opcode, resources, length, rkey. */
static bool may_execute(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
			struct hca_mr **ret_mr)
{
	struct hca_counters *counters = &qp->dev->counters;
	const uint32_t right = right_of(op);

	if ((qp->access & right) != right)
		return false;
	if (needs_receive(&qp->rq, op) && qp->rq.head == qp->rq.tail) {
		counters->out_of_buffer++;
		return false;
	}
	if (!length_is_valid(qp, pkt, op))
		return false;
	if (op->send && !fits_receive(&qp->rq, pkt, op)) {
		counters->resp_local_length_error++;
		return false;
	}
	if (!touches_memory(pkt, op))
		return true;
	*ret_mr = find_region(qp, pkt, op);
	if (!*ret_mr)
		*ret_mr = find_window(qp, pkt, op);
	counters->resp_remote_access_errors += !*ret_mr;
	return *ret_mr;
}

/* False: the memory of the receive is not as it was said to be, or that of the region is gone. */
static bool uc_place(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		     struct hca_mr *mr, ps_t now)
{
	struct hca_rq *rq = &qp->rq;
	const struct hca_rwqe *wqe = &rq->ring[rq->head & rq->mask];

	if (op->write)
		return place_write(qp, pkt, op, mr, now);
	rq->wqe_taken = true;
	return hca_scatter(qp, hca_recv_pd(qp), wqe->sge, wqe->sge_count, rq->placed, pkt, now);
}

void hca_uc_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op, ps_t now)
{
	struct hca_rq *rq = &qp->rq;
	struct hca_mr *mr = NULL;
	enum hca_wc_status status;

	if (qp->state == HCA_QPS_RTR && !rq->is_established) {
		rq->is_established = true;
		hca_qp_async(qp, HCA_EVENT_COMM_EST, now);
	}
	if (!is_in_turn(qp, pkt, op) || !may_execute(qp, pkt, op, &mr)) {
		qp->dev->counters.rx_dropped++;
		forget_message(rq);
		return;
	}
	if (op->start)
		rq->placed = 0;
	if (!uc_place(qp, pkt, op, mr, now)) {
		if (!op->send) {
			qp->dev->counters.rx_dropped++;
			forget_message(rq);
			return;
		}
		status = hca_responder_status(qp, WIRE_NAK_REMOTE_OPERATION, HCA_WC_LOC_PROT_ERR);
		hca_responder_complete(qp, status, NULL, NULL, now);
		hca_qp_fail(qp, now);
		return;
	}
	rq->placed += pkt->length;
	rq->is_send = op->send;
	rq->in_message = !op->end;
	if (op->end && rq->wqe_taken)
		hca_responder_complete(qp, HCA_WC_SUCCESS, pkt, op, now);
}
