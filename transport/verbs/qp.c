/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>

static uint64_t cq_handle(struct ibv_cq *cq)
{
	return VRB_TO(vrb_cq, ibv, cq)->handle;
}

static int check_init(const struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	if (attr->srq || (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
			  attr->qp_type != IBV_QPT_UD))
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq || attr->send_cq->context != pd->context ||
	    attr->recv_cq->context != pd->context)
		return -EINVAL;
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct vrb_qp_init init;
	struct vrb_qp *qp;
	int ret = check_init(pd, attr);

	if (ret < 0)
		return vrb_null(ret);
	qp = vrb_calloc(1, sizeof(*qp));
	if (!qp)
		return vrb_null(-ENOMEM);
	init = (struct vrb_qp_init){.type = (enum hca_qp_type)attr->qp_type,
				    .pd = VRB_TO(vrb_pd, ibv, pd)->handle,
				    .send_cq = cq_handle(attr->send_cq),
				    .recv_cq = cq_handle(attr->recv_cq),
				    .cap = {.send_depth = attr->cap.max_send_wr,
					    .recv_depth = attr->cap.max_recv_wr,
					    .send_sge_max = attr->cap.max_send_sge,
					    .recv_sge_max = attr->cap.max_recv_sge,
					    .inline_max = attr->cap.max_inline_data},
				    .async = vrb_context(pd->context)->async.handle,
				    .signal_all = attr->sq_sig_all != 0};
	qp->event.qp = qp;
	qp->sq_sig_all = attr->sq_sig_all;
	qp->ibv = (struct ibv_qp){.context = pd->context,
				  .qp_context = attr->qp_context,
				  .pd = pd,
				  .send_cq = attr->send_cq,
				  .recv_cq = attr->recv_cq,
				  .state = IBV_QPS_RESET,
				  .qp_type = attr->qp_type};
	ret = vrb_backend(pd->context)
		      ->create_qp(vrb_self(pd->context), &init, &qp->handle, &qp->ibv.qp_num);
	if (ret == 0) {
		ret = vrb_note(vrb_device(pd->context), qp->handle, qp);
		if (ret < 0)
			(void)vrb_backend(pd->context)
				->destroy_qp(vrb_self(pd->context), qp->handle);
	}
	if (ret < 0) {
		vrb_free(qp);
		return vrb_null(ret);
	}
	qp->ibv.handle = qp->ibv.qp_num;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	vrb_context_get(pd->context);
	return &qp->ibv;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct ibv_context *context = ibv->context;
	struct vrb_device *device = vrb_device(context);
	struct vrb_qp *qp = VRB_TO(vrb_qp, ibv, ibv);
	int ret = device->backend->destroy_qp(device->self, qp->handle);

	if (ret < 0)
		return vrb_positive(ret);
	device->backend->charge_event(device->self);
	vrb_drop(device, qp->handle);
	vrb_queue_forget(device, &vrb_context(context)->async, &qp->event);
	vrb_wait_acks(context, cq_handle(ibv->send_cq), &ibv->events_completed, &qp->events_got);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	vrb_free(qp);
	vrb_context_put(context);
	return 0;
}

/* What the adapter knows of, and what of @attr only this layer can judge. */
static int check_modify(const struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const int known = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY |
			  IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY |
			  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_DEST_QPN;

	if (mask & ~known)
		return -EINVAL;
	if (mask & IBV_QP_STATE && (unsigned int)attr->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	if ((mask & IBV_QP_PORT && attr->port_num != 1) ||
	    (mask & IBV_QP_PKEY_INDEX && attr->pkey_index != 0))
		return -EINVAL;
	if (mask & IBV_QP_AV && qp->qp_type == IBV_QPT_UD)
		return -EINVAL;
	return 0;
}

static int verbs_qp_modify_qp(struct ibv_qp *ibv, const struct ibv_qp_attr *attr, int mask)
{
	struct hca_qp_attr hca = {
		.state = (enum hca_qp_state)attr->qp_state,
		.dest_qpn = attr->dest_qp_num,
		.sq_psn = attr->sq_psn & 0xffffff,
		.rq_psn = attr->rq_psn & 0xffffff,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.min_rnr_timer = attr->min_rnr_timer,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.qkey = attr->qkey,
		.pkey_index = attr->pkey_index,
		.port = attr->port_num,
		.en_sqd_async_notify = attr->en_sqd_async_notify != 0,
	};
	struct vrb_qp *qp = VRB_TO(vrb_qp, ibv, ibv);
	struct vrb_av av = {0};
	int ret = check_modify(ibv, attr, mask);

	if (ret == 0 && mask & IBV_QP_AV)
		ret = vrb_av_init(&av, &attr->ah_attr);
	if (ret == 0 && mask & IBV_QP_ACCESS_FLAGS)
		ret = vrb_access(attr->qp_access_flags, &hca.access);
	if (ret == 0 && mask & IBV_QP_PATH_MTU) {
		hca.mtu = vrb_mtu_bytes(attr->path_mtu);
		ret = hca.mtu == 0 ? -EINVAL : 0;
	}
	if (ret == 0)
		ret = vrb_backend(ibv->context)
			      ->modify_qp(vrb_self(ibv->context), qp->handle, &hca, (uint32_t)mask,
					  &av, (enum hca_qp_state)attr->cur_qp_state);
	if (ret < 0)
		return ret;
	if (mask & IBV_QP_STATE)
		ibv->state = attr->qp_state;
	if (mask & IBV_QP_AV)
		qp->ah_attr = attr->ah_attr;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	return vrb_positive(verbs_qp_modify_qp(qp, attr, attr_mask));
}

/* Every attribute, whatever @attr_mask asks for. */
int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr)
{
	struct vrb_qp *qp = VRB_TO(vrb_qp, ibv, ibv);
	struct hca_qp_attr hca;
	struct hca_qp_cap has;
	struct ibv_qp_cap cap;
	int ret =
		vrb_backend(ibv->context)->query_qp(vrb_self(ibv->context), qp->handle, &hca, &has);

	(void)attr_mask;
	if (ret < 0)
		return vrb_positive(ret);
	cap = (struct ibv_qp_cap){.max_send_wr = has.send_depth,
				  .max_recv_wr = has.recv_depth,
				  .max_send_sge = has.send_sge_max,
				  .max_recv_sge = has.recv_sge_max,
				  .max_inline_data = has.inline_max};
	ibv->state = (enum ibv_qp_state)hca.state;
	*attr = (struct ibv_qp_attr){.qp_state = ibv->state,
				     .cur_qp_state = ibv->state,
				     .path_mtu = vrb_mtu_enum(hca.mtu),
				     .path_mig_state = IBV_MIG_MIGRATED,
				     .qkey = hca.qkey,
				     .rq_psn = hca.rq_psn,
				     .sq_psn = hca.sq_psn,
				     .dest_qp_num = hca.dest_qpn,
				     .qp_access_flags = hca.access,
				     .cap = cap,
				     .ah_attr = qp->ah_attr,
				     .pkey_index = hca.pkey_index,
				     .max_rd_atomic = hca.max_rd_atomic,
				     .max_dest_rd_atomic = hca.max_dest_rd_atomic,
				     .min_rnr_timer = hca.min_rnr_timer,
				     .port_num = hca.port,
				     .timeout = hca.timeout,
				     .retry_cnt = hca.retry_cnt,
				     .rnr_retry = hca.rnr_retry};
	if (init_attr)
		*init_attr = (struct ibv_qp_init_attr){.qp_context = ibv->qp_context,
						       .send_cq = ibv->send_cq,
						       .recv_cq = ibv->recv_cq,
						       .cap = cap,
						       .qp_type = ibv->qp_type,
						       .sq_sig_all = qp->sq_sig_all};
	return 0;
}
