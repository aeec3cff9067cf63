/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/raw.h"

#include "transport/hca/shared.h"

static void raw_take(struct hca_qp *qp, const struct wire_pkt *frame, ps_t now)
{
	struct hca_counters *counters = &qp->dev->counters;
	struct hca_rq *rq = &qp->rq;
	const struct hca_rwqe *wqe = &rq->ring[rq->head & rq->mask];
	struct hca_wc wc;

	if (rq->head == rq->tail || frame->length > wqe->length) {
		counters->out_of_buffer += rq->head == rq->tail;
		counters->resp_local_length_error += rq->head != rq->tail;
		counters->rx_dropped++;
		return;
	}
	if (!hca_scatter(qp, qp->pd, wqe->sge, wqe->sge_count, 0, frame, now)) {
		hca_responder_complete(qp, HCA_WC_LOC_PROT_ERR, NULL, NULL, now);
		hca_qp_fail(qp, now);
		return;
	}
	wc = (struct hca_wc){.wr_id = wqe->wr_id,
			     .opcode = HCA_WC_RECV,
			     .byte_len = frame->length,
			     .qpn = qp->qpn};
	rq->head++;
	hca_cq_push(qp->recv_cq, &wc, false, now);
}

bool hca_raw_input(struct hca_device *dev, const uint8_t *frame, uint32_t length, ps_t now)
{
	const struct wire_pkt pkt = {.opcode = WIRE_RAW_FRAME,
				     .length = (uint16_t)length,
				     .payload = (uint8_t *)(uintptr_t)frame};

	bool is_heard = false;

	CHECK(length <= UINT16_MAX);
	for (uint32_t i = 0; dev->qps.slots && i <= dev->qps.mask; i++) {
		struct hca_qp *qp = dev->qps.slots[i].object;

		if (!qp || qp->type != HCA_QPT_RAW_PACKET || qp->state < HCA_QPS_RTR ||
		    qp->state == HCA_QPS_ERR)
			continue;
		is_heard = true;
		raw_take(qp, &pkt, now);
	}
	return is_heard;
}
