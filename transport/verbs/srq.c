/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>

static int verbs_srq_create(struct ibv_context *context, struct vrb_srq *srq,
			    const struct vrb_srq_init *init)
{
	const struct vrb_backend *backend = vrb_backend(context);
	int ret = backend->create_srq(vrb_self(context), init, &srq->handle, &srq->number);

	if (ret < 0)
		return ret;
	ret = vrb_note(vrb_device(context), srq->handle, srq);
	if (ret < 0)
		(void)backend->destroy_srq(vrb_self(context), srq->handle);
	return ret;
}

struct ibv_srq *vrb_srq_make(struct ibv_pd *pd, void *srq_context, struct vrb_srq_init *init)
{
	struct ibv_context *context = pd->context;
	struct vrb_srq *srq = vrb_calloc(1, sizeof(*srq));
	int ret;

	if (!srq)
		return vrb_null(-ENOMEM);
	init->pd = VRB_TO(vrb_pd, ibv, pd)->handle;
	init->async = vrb_context(context)->async.handle;
	srq->event.srq = srq;
	srq->ibv.context = context;
	srq->ibv.srq_context = srq_context;
	srq->ibv.pd = pd;
	ret = verbs_srq_create(context, srq, init);
	if (ret < 0) {
		vrb_free(srq);
		return vrb_null(ret);
	}
	srq->ibv.handle = (uint32_t)srq->handle;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	vrb_context_get(context);
	vrb_pd_get(VRB_TO(vrb_pd, ibv, pd));
	return &srq->ibv;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct vrb_srq_init init = {.depth = attr->attr.max_wr, .sge_max = attr->attr.max_sge};

	return vrb_srq_make(pd, attr->srq_context, &init);
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	const struct hca_srq_attr hca = {.depth = attr->max_wr, .limit = attr->srq_limit};

	return vrb_positive(vrb_backend(srq->context)
				    ->modify_srq(vrb_self(srq->context),
						 VRB_TO(vrb_srq, ibv, srq)->handle, &hca,
						 (uint32_t)mask));
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct hca_srq_attr hca;
	int ret = vrb_backend(srq->context)
			  ->query_srq(vrb_self(srq->context), VRB_TO(vrb_srq, ibv, srq)->handle,
				      &hca);

	if (ret == 0)
		*attr = (struct ibv_srq_attr){
			.max_wr = hca.depth, .max_sge = hca.sge_max, .srq_limit = hca.limit};
	return vrb_positive(ret);
}

/* Refused at once where a QP uses it; else waits as ibv_destroy_cq() does. */
int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct ibv_context *context = ibv->context;
	struct vrb_device *device = vrb_device(context);
	struct vrb_srq *srq = VRB_TO(vrb_srq, ibv, ibv);
	int ret = device->backend->destroy_srq(device->self, srq->handle);

	if (ret < 0)
		return vrb_positive(ret);
	device->backend->charge_event(device->self);
	vrb_drop(device, srq->handle);
	vrb_queue_forget(device, &vrb_context(context)->async, &srq->event);
	vrb_wait_acks(context, 0, &ibv->events_completed, &srq->events_got);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	vrb_pd_put(VRB_TO(vrb_pd, ibv, ibv->pd));
	vrb_free(srq);
	vrb_context_put(context);
	return 0;
}
