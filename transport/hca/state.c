/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

/* IBTA 10.3.1 and the table of attributes of 11.2.5.2: what a transition needs and what it may
 * bring, by type of queue pair. */
enum {
	RC_INIT = HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_ACCESS_FLAGS,
	RC_RTR = HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN |
		 HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_MIN_RNR_TIMER,
	RC_RTS = HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY | HCA_QP_SQ_PSN |
		 HCA_QP_MAX_QP_RD_ATOMIC,
	RC_RTS_MAY = HCA_QP_ACCESS_FLAGS | HCA_QP_MIN_RNR_TIMER,
	RC_SQD_MAY = HCA_QP_PORT | HCA_QP_AV | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT |
		     HCA_QP_RNR_RETRY | HCA_QP_MAX_QP_RD_ATOMIC | HCA_QP_MAX_DEST_RD_ATOMIC |
		     HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX | HCA_QP_MIN_RNR_TIMER,
	UC_RTR = HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN,
	UC_SQD_MAY = HCA_QP_AV | HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX,
	UD_INIT = HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_QKEY,
	UD_MAY = HCA_QP_PKEY_INDEX | HCA_QP_QKEY,
};

static const struct rules {
	uint32_t init, rtr, rtr_may, rts, rts_may, sqd_may;
} rules[] = {
	[HCA_QPT_RC] = {RC_INIT, RC_RTR, HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX, RC_RTS,
			RC_RTS_MAY, RC_SQD_MAY},
	[HCA_QPT_UC] = {RC_INIT, UC_RTR, HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX, HCA_QP_SQ_PSN,
			HCA_QP_ACCESS_FLAGS, UC_SQD_MAY},
	/* As ib_modify_qp_is_ok() has them (linux drivers/infiniband/core/verbs.c). */
	[HCA_QPT_XRC_SEND] = {RC_INIT, UC_RTR, HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX, RC_RTS,
			      HCA_QP_ACCESS_FLAGS,
			      RC_SQD_MAY & ~(HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_MIN_RNR_TIMER)},
	[HCA_QPT_XRC_RECV] = {RC_INIT, RC_RTR, HCA_QP_ACCESS_FLAGS | HCA_QP_PKEY_INDEX,
			      HCA_QP_TIMEOUT | HCA_QP_SQ_PSN, RC_RTS_MAY,
			      RC_SQD_MAY & ~(HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY |
					     HCA_QP_MAX_QP_RD_ATOMIC)},
	[HCA_QPT_RAW_PACKET] = {HCA_QP_PORT, 0, 0, 0, 0, 0},
	[HCA_QPT_UD] = {UD_INIT, 0, UD_MAY, HCA_QP_SQ_PSN, HCA_QP_QKEY, UD_MAY},
};

/* Besides the state itself; false: no transition. */
static bool state_find(const struct hca_qp *qp, enum hca_qp_state next, uint32_t *ret_needs,
		       uint32_t *ret_may)
{
	const struct rules *r = &rules[qp->type];
	const struct {
		uint8_t from, to;
		uint32_t needs, may;
	} transitions[] = {
		{HCA_QPS_RESET, HCA_QPS_INIT, r->init, 0},
		{HCA_QPS_INIT, HCA_QPS_INIT, 0, r->init},
		{HCA_QPS_INIT, HCA_QPS_RTR, r->rtr, r->rtr_may},
		{HCA_QPS_RTR, HCA_QPS_RTS, r->rts, r->rts_may},
		{HCA_QPS_RTS, HCA_QPS_RTS, 0, r->rts_may},
		{HCA_QPS_RTS, HCA_QPS_SQD, 0, HCA_QP_EN_SQD_ASYNC_NOTIFY},
		{HCA_QPS_SQD, HCA_QPS_RTS, 0, r->rts_may},
		{HCA_QPS_SQD, HCA_QPS_SQD, 0, r->sqd_may},
		{HCA_QPS_SQE, HCA_QPS_RTS, 0, r->rts_may},
	};

	*ret_needs = *ret_may = 0;
	if (next == HCA_QPS_RESET || next == HCA_QPS_ERR)
		return true; /* from anywhere */
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
		if (transitions[i].from == qp->state && transitions[i].to == next) {
			*ret_needs = transitions[i].needs;
			*ret_may = transitions[i].may;
			return true;
		}
	return false;
}

bool hca_state_allows(const struct hca_qp *qp, uint32_t mask, enum hca_qp_state next)
{
	uint32_t needs, may, extra = HCA_QP_STATE;

	if (next > HCA_QPS_ERR || !state_find(qp, next, &needs, &may))
		return false;
	if (next != HCA_QPS_RESET && next != HCA_QPS_ERR && qp->state >= HCA_QPS_RTR)
		extra |= HCA_QP_CUR_STATE;
	return (mask & needs) == needs && !(mask & ~(needs | may | extra));
}
