/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>

int vrb_cq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
		  bool ignores_overrun, struct vrb_cq **ret_cq)
{
	struct vrb_cq_init init = {.depth = attr->cqe,
				   .async = vrb_context(context)->async.handle,
				   .ignores_overrun = ignores_overrun};
	struct ibv_comp_channel *channel = attr->channel;
	struct vrb_cq *cq;
	uint32_t depth;
	int ret;

	if (attr->comp_vector >= (uint32_t)context->num_comp_vectors)
		return -EINVAL;
	cq = vrb_calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->event.cq = cq->async_event.cq = cq;
	cq->ibv.context = context;
	cq->ibv.channel = channel;
	cq->ibv.cq_context = attr->cq_context;
	if (channel)
		init.channel = VRB_TO(vrb_comp_channel, ibv, channel)->queue.handle;
	ret = vrb_backend(context)->create_cq(vrb_self(context), &init, &cq->handle, &depth);
	if (ret == 0) {
		ret = vrb_note(vrb_device(context), cq->handle, cq);
		if (ret < 0)
			(void)vrb_backend(context)->destroy_cq(vrb_self(context), cq->handle);
	}
	if (ret < 0) {
		vrb_free(cq);
		return ret;
	}
	cq->ibv.cqe = (int)depth;
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	if (channel)
		__atomic_add_fetch(&channel->refcnt, 1, __ATOMIC_RELEASE);
	vrb_context_get(context);
	*ret_cq = cq;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	const struct ibv_cq_init_attr_ex attr = {.cqe = (uint32_t)cqe,
						 .cq_context = cq_context,
						 .channel = channel,
						 .comp_vector = (uint32_t)comp_vector};
	struct vrb_cq *cq;
	int ret = cqe <= 0 ? -EINVAL : vrb_cq_create(context, &attr, false, &cq);

	return ret < 0 ? vrb_null(ret) : &cq->ibv;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	uint32_t depth;
	int ret = -EINVAL;

	if (cqe > 0)
		ret = vrb_backend(cq->context)
			      ->resize_cq(vrb_self(cq->context), VRB_TO(vrb_cq, ibv, cq)->handle,
					  (uint32_t)cqe, &depth);
	if (ret == 0)
		cq->cqe = (int)depth;
	return vrb_positive(ret);
}

/* Refused at once where a QP uses it. Else waits until every event that the program got is
 * acknowledged; drops those it did not get. */
int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct ibv_context *context = ibv->context;
	struct vrb_device *device = vrb_device(context);
	struct vrb_cq *cq = VRB_TO(vrb_cq, ibv, ibv);
	int ret;

	ret = device->backend->destroy_cq(device->self, cq->handle);
	if (ret < 0)
		return vrb_positive(ret);
	device->backend->charge_event(device->self);
	vrb_drop(device, cq->handle);
	vrb_queue_forget(device, &vrb_context(context)->async, &cq->async_event);
	if (ibv->channel)
		vrb_queue_forget(device, &VRB_TO(vrb_comp_channel, ibv, ibv->channel)->queue,
				 &cq->event);
	vrb_wait_acks(context, 0, &ibv->comp_events_completed, &cq->events_got);
	vrb_wait_acks(context, 0, &ibv->async_events_completed, &cq->async_got);
	if (ibv->channel)
		__atomic_sub_fetch(&ibv->channel->refcnt, 1, __ATOMIC_RELEASE);
	if (cq->parent_domain)
		vrb_pd_put(cq->parent_domain);
	pthread_cond_destroy(&ibv->cond);
	pthread_mutex_destroy(&ibv->mutex);
	vrb_free(cq);
	vrb_context_put(context);
	return 0;
}

int vrb_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	int done;

	if (count <= 0)
		return count == 0 ? 0 : -EINVAL;
	done = vrb_backend(cq->context)
		       ->poll_cq(vrb_self(cq->context), VRB_TO(vrb_cq, ibv, cq)->handle,
				 (uint32_t)count, wc);
	if (done < 0)
		errno = -done;
	return done;
}

int vrb_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return vrb_positive(vrb_backend(cq->context)
				    ->arm_cq(vrb_self(cq->context), VRB_TO(vrb_cq, ibv, cq)->handle,
					     solicited_only != 0));
}
