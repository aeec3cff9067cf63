/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_HCA_ENDS_H
#define TESTS_UNIT_HCA_ENDS_H

/* Two adapters that lend each other payloads, with a queue pair of RC from one to the other. */
#include "tests/hca_connect.h"
#include "tests/test.h"
#include "tests/unit/hca_test.h"
#include "transport/hca/loan.h"

enum { HCA_END_QPN = 0x11, HCA_END_OTHER_QPN = 0x22 };

struct hca_end {
	struct hca_device *dev;
	struct hca_pd *pd;
	struct hca_cq *cq;
	struct hca_qp *qp;
	struct hca_mr *mr; /* of all bytes */
};

struct hca_end_params {
	const struct hca_observer *observer;
	struct hca_lender *lender;
	void *world;
	uint32_t qpn; /* one of both above */
	uint8_t *bytes;
	uint32_t length, mtu, psn_window, ack_every;
	uint32_t psn; /* the first, in both directions */
};

static inline void hca_end_open(struct hca_end *end, const struct hca_end_params *p)
{
	const uint32_t rights =
		HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ;
	const struct hca_device_params params = {.key = {p->qpn, 7},
						 .observer = p->observer,
						 .lender = p->lender,
						 .world = p->world,
						 .profile = {.line_rate_bps = 100000000000u,
							     .mtu_max = p->mtu,
							     .psn_window = p->psn_window,
							     .ack_every = p->ack_every,
							     .cc = &cc_none,
							     .qp_max = 8,
							     .cq_max = 4,
							     .mr_max = 8,
							     .pd_max = 2,
							     .wr_max = 16,
							     .sge_max = 4,
							     .cqe_max = 64,
							     .inline_max = 64,
							     .rd_atomic_max = 4}};
	const struct hca_mr_params region = {.ops = &hca_mem_program,
					     .iova = (uintptr_t)p->bytes,
					     .length = p->length,
					     .access = rights,
					     .address = (uintptr_t)p->bytes};
	const struct hca_qp_attr attr = {.access = rights,
					 .mtu = p->mtu,
					 .dest_qpn = HCA_END_QPN + HCA_END_OTHER_QPN - p->qpn,
					 .sq_psn = p->psn,
					 .rq_psn = p->psn,
					 .timeout = 4,
					 .retry_cnt = 7,
					 .rnr_retry = 7,
					 .max_rd_atomic = 4,
					 .max_dest_rd_atomic = 4,
					 .port = 1};
	struct hca_qp_init init = {
		.type = HCA_QPT_RC, .cap = {8, 8, 4, 4, 64}, .signal_all = true, .qpn = p->qpn};

	end->dev = hca_device_create(&params);
	assert_non_null(end->dev);
	assert_int_equal(hca_pd_create(end->dev, &end->pd), 0);
	assert_int_equal(hca_cq_create(end->dev, 32, NULL, &end->cq), 0);
	assert_int_equal(hca_mr_create(end->dev, end->pd, &region, &end->mr), 0);
	init.pd = end->pd;
	init.send_cq = init.recv_cq = end->cq;
	assert_int_equal(hca_qp_create(end->dev, &init, &end->qp), 0);
	assert_int_equal(hca_connect_rc(end->dev, end->qp, attr), 0);
}

/* From the beginning of one region to, or from, that of the other. */
static inline void hca_end_post(const struct hca_end *from, const struct hca_end *to,
				enum hca_wr_opcode opcode, uint32_t length)
{
	const struct hca_sge sge = {
		.addr = from->mr->iova, .length = length, .lkey = from->mr->lkey};
	const struct hca_send_wr wr = {.opcode = opcode,
				       .sge = &sge,
				       .sge_count = 1,
				       .remote_addr = to->mr->iova,
				       .rkey = to->mr->rkey};

	assert_int_equal(hca_qp_post_send(from->dev, from->qp, &wr, 0), 0);
}

#endif
