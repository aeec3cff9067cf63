/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HCA_CONNECT_H
#define TESTS_HCA_CONNECT_H

/* The way of a queue pair of RC from RESET to RTS, for tests that have no verbs. */
#include "transport/hca/qp.h"

enum {
	TO_INIT = HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_ACCESS_FLAGS,
	TO_RTR = HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN |
		 HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_MIN_RNR_TIMER,
	TO_RTS = HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY |
		 HCA_QP_SQ_PSN | HCA_QP_MAX_QP_RD_ATOMIC,
};

/* With what @attr says, but for its state. 0 or what hca_qp_modify() says. */
static inline int hca_connect_rc(struct hca_device *dev, struct hca_qp *qp, struct hca_qp_attr attr)
{
	static const struct {
		enum hca_qp_state state;
		uint32_t mask;
	} steps[] = {{HCA_QPS_INIT, TO_INIT}, {HCA_QPS_RTR, TO_RTR}, {HCA_QPS_RTS, TO_RTS}};
	int ret = 0;

	for (unsigned int i = 0; i < 3 && ret == 0; i++) {
		attr.state = steps[i].state;
		ret = hca_qp_modify(dev, qp, &attr, steps[i].mask, 0);
	}
	return ret;
}

#endif
