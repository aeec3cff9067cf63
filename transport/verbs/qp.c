/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>

/* 0: none. */
static uint64_t cq_handle(struct ibv_cq *cq)
{
	return cq ? VRB_TO(vrb_cq, ibv, cq)->handle : 0;
}

static int check_init(const struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	const bool sends_only = attr->qp_type == IBV_QPT_XRC_SEND;

	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD && attr->qp_type != IBV_QPT_RAW_PACKET && !sends_only)
		return -EOPNOTSUPP;
	if (!attr->send_cq || attr->send_cq->context != pd->context)
		return -EINVAL;
	if (sends_only)
		return attr->srq ? -EINVAL : 0;
	if (!attr->recv_cq || attr->recv_cq->context != pd->context ||
	    (attr->srq && attr->srq->context != pd->context))
		return -EINVAL;
	return 0;
}

/* The adapter has it: so does the program, or nobody. */
static int verbs_qp_finish(struct vrb_qp *qp, int ret, struct vrb_qp **ret_qp)
{
	struct ibv_context *context = qp->ibv.context;

	if (ret == 0) {
		ret = vrb_note(vrb_device(context), qp->handle, qp);
		if (ret < 0)
			(void)vrb_backend(context)->destroy_qp(vrb_self(context), qp->handle);
	}
	if (ret < 0) {
		vrb_free(qp);
		return ret;
	}
	qp->ibv.handle = qp->ibv.qp_num;
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	vrb_context_get(context);
	if (qp->ibv.pd)
		vrb_pd_get(VRB_TO(vrb_pd, ibv, qp->ibv.pd));
	*ret_qp = qp;
	return 0;
}

static struct vrb_qp *verbs_qp_allocate(const struct ibv_qp *shown)
{
	struct vrb_qp *qp = vrb_calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	qp->ibv = *shown;
	qp->event.qp = qp;
	return qp;
}

int vrb_qp_make(const struct ibv_qp *shown, struct vrb_qp_init *init, struct vrb_qp **ret_qp)
{
	struct ibv_context *context = shown->context;
	struct vrb_qp *qp = verbs_qp_allocate(shown);
	int ret;

	if (!qp)
		return -ENOMEM;
	qp->sq_sig_all = init->signal_all;
	init->async = vrb_context(context)->async.handle;
	ret = vrb_backend(context)->create_qp(vrb_self(context), init, &qp->handle,
					      &qp->ibv.qp_num);
	return verbs_qp_finish(qp, ret, ret_qp);
}

int vrb_qp_open(const struct ibv_qp *shown, struct vrb_qp_open *open, struct vrb_qp **ret_qp)
{
	struct ibv_context *context = shown->context;
	struct vrb_qp *qp = verbs_qp_allocate(shown);
	int ret;

	if (!qp)
		return -ENOMEM;
	open->async = vrb_context(context)->async.handle;
	ret = vrb_backend(context)->open_qp(vrb_self(context), open, &qp->handle);
	return verbs_qp_finish(qp, ret, ret_qp);
}

/* A place of the send queue has room for a list or for bytes, whichever needs more, and who asks
 * for the one has the other, too: as with rxe (linux drivers/infiniband/sw/rxe/rxe_qp.c,
 * rxe_qp_init_req()), on which programs rely that post INLINE without having asked for it. */
static uint32_t room_for_inline(struct ibv_context *context, const struct ibv_qp_cap *cap)
{
	const uint32_t most = vrb_device(context)->info.inline_max;
	const uint64_t list = (uint64_t)cap->max_send_sge * sizeof(struct ibv_sge);

	return cap->max_inline_data >= list ? cap->max_inline_data
	       : list < most		    ? (uint32_t)list
					    : most;
}

int vrb_qp_create(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, struct vrb_qp **ret_qp)
{
	const struct ibv_qp shown = {.context = pd->context,
				     .qp_context = attr->qp_context,
				     .pd = pd,
				     .send_cq = attr->send_cq,
				     .recv_cq = attr->recv_cq,
				     .srq = attr->srq,
				     .state = IBV_QPS_RESET,
				     .qp_type = attr->qp_type};
	const bool sends_only = attr->qp_type == IBV_QPT_XRC_SEND;
	int ret = check_init(pd, attr);
	struct vrb_qp_init init;

	if (ret < 0)
		return ret;
	init = (struct vrb_qp_init){.type = (enum hca_qp_type)attr->qp_type,
				    .pd = VRB_TO(vrb_pd, ibv, pd)->handle,
				    .send_cq = cq_handle(attr->send_cq),
				    .recv_cq = sends_only ? 0 : cq_handle(attr->recv_cq),
				    .srq = attr->srq ? VRB_TO(vrb_srq, ibv, attr->srq)->handle : 0,
				    .cap = {.send_depth = attr->cap.max_send_wr,
					    .recv_depth = sends_only ? 0 : attr->cap.max_recv_wr,
					    .send_sge_max = attr->cap.max_send_sge,
					    .recv_sge_max = sends_only ? 0 : attr->cap.max_recv_sge,
					    .inline_max = room_for_inline(pd->context, &attr->cap)},
				    .signal_all = attr->sq_sig_all != 0};
	ret = vrb_qp_make(&shown, &init, ret_qp);
	if (ret == 0)
		attr->cap.max_inline_data = init.cap.inline_max;
	if (ret == 0 && (attr->srq || sends_only)) /* it has none of its own */
		attr->cap.max_recv_wr = attr->cap.max_recv_sge = 0;
	return ret;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct vrb_qp *qp;
	int ret = vrb_qp_create(pd, attr, &qp);

	return ret < 0 ? vrb_null(ret) : &qp->ibv;
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
	if (ibv->pd)
		vrb_pd_put(VRB_TO(vrb_pd, ibv, ibv->pd));
	if (qp->is_ex)
		vrb_wr_fini(qp);
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
			  IBV_QP_DEST_QPN | IBV_QP_RATE_LIMIT;

	/* This adapter has no second path. */
	const int absent = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;

	if (mask & ~(known | absent))
		return -EINVAL;
	if (mask & absent)
		return -EOPNOTSUPP;
	if (mask & IBV_QP_STATE && (unsigned int)attr->qp_state > IBV_QPS_ERR)
		return -EINVAL;
	if ((mask & IBV_QP_PORT && attr->port_num != 1) ||
	    (mask & IBV_QP_PKEY_INDEX && attr->pkey_index != 0))
		return -EINVAL;
	if (mask & IBV_QP_AV && (qp->qp_type == IBV_QPT_UD || qp->qp_type == IBV_QPT_RAW_PACKET))
		return -EINVAL;
	return 0;
}

/* What the other direction's end would need, and a kernel leaves out of what programs say (linux
 * drivers/infiniband/core/uverbs_cmd.c, modify_qp_mask()): some give one set of attributes to both
 * ends of XRC. */
static int mask_of_type(enum ibv_qp_type type, int mask)
{
	if (type == IBV_QPT_XRC_SEND)
		return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (type == IBV_QPT_XRC_RECV)
		return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
	return mask;
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
		.rate_limit_kbps = attr->rate_limit,
	};
	struct vrb_qp *qp = VRB_TO(vrb_qp, ibv, ibv);
	struct vrb_av av = {0};
	int ret;

	mask = mask_of_type(ibv->qp_type, mask);
	ret = check_modify(ibv, attr, mask);
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

/* Packets go one by one, so that there are no bursts to be limited. */
int vrb_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	const struct ibv_qp_attr all = {.qp_state = IBV_QPS_RTS, .rate_limit = attr->rate_limit};

	if (attr->comp_mask != 0)
		return vrb_positive(-EINVAL);
	if (attr->max_burst_sz != 0 || attr->typical_pkt_sz != 0)
		return vrb_positive(-EOPNOTSUPP);
	return vrb_positive(verbs_qp_modify_qp(qp, &all, IBV_QP_RATE_LIMIT));
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
				     .rnr_retry = hca.rnr_retry,
				     .rate_limit = hca.rate_limit_kbps};
	if (init_attr)
		*init_attr = (struct ibv_qp_init_attr){.qp_context = ibv->qp_context,
						       .send_cq = ibv->send_cq,
						       .recv_cq = ibv->recv_cq,
						       .srq = ibv->srq,
						       .cap = cap,
						       .qp_type = ibv->qp_type,
						       .sq_sig_all = qp->sq_sig_all};
	return 0;
}
