/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>
#include <sched.h>

void vrb_wait_acks(struct ibv_context *context, uint64_t cq, const uint32_t *acked,
		   const uint32_t *got)
{
	struct vrb_device *device = vrb_device(context);

	for (;;) {
		bool done;

		device->backend->charge_event(device->self);
		pthread_mutex_lock(&device->lock);
		done = device->is_child || (int32_t)(*acked - *got) >= 0;
		pthread_mutex_unlock(&device->lock);
		if (done)
			return;
		device->backend->relax(device->self, cq);
		sched_yield();
	}
}

void vrb_turn_begin(struct ibv_context *context, uint64_t cq, bool *at_it)
{
	struct vrb_device *device = vrb_device(context);

	while (__atomic_exchange_n(at_it, true, __ATOMIC_ACQUIRE) && !device->is_child) {
		device->backend->relax(device->self, cq);
		sched_yield();
	}
}

void vrb_turn_end(bool *at_it)
{
	__atomic_store_n(at_it, false, __ATOMIC_RELEASE);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct vrb_comp_channel *channel = vrb_calloc(1, sizeof(*channel));
	int ret;

	if (!channel)
		return vrb_null(-ENOMEM);
	ret = vrb_queue_init(vrb_device(context), &channel->queue, VRB_CHANNEL_COMPLETION);
	if (ret < 0) {
		vrb_free(channel);
		return vrb_null(ret);
	}
	channel->ibv.context = context;
	channel->ibv.fd = channel->queue.fd;
	vrb_context_get(context);
	return &channel->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct ibv_context *context = ibv->context;
	struct vrb_comp_channel *channel = VRB_TO(vrb_comp_channel, ibv, ibv);

	if (__atomic_load_n(&ibv->refcnt, __ATOMIC_ACQUIRE) != 0)
		return vrb_positive(-EBUSY);
	vrb_queue_fini(vrb_device(context), &channel->queue);
	vrb_free(channel);
	vrb_context_put(context);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **ret_cq, void **ret_context)
{
	struct vrb_queue *queue = &VRB_TO(vrb_comp_channel, ibv, ibv)->queue;
	struct vrb_device *device = vrb_device(ibv->context);
	struct vrb_unread *event;
	struct vrb_cq *cq;
	int ret = vrb_queue_get(device, queue, &event);

	if (ret < 0)
		return vrb_minus_one(ret);
	cq = event->cq;
	cq->events_got++;
	if (--event->count != 0)
		vrb_queue_append(queue, event);
	vrb_queue_settle(device, queue);
	*ret_cq = &cq->ibv;
	*ret_context = cq->ibv.cq_context;
	pthread_mutex_unlock(&device->lock);
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	struct vrb_device *device = vrb_device(cq->context);

	device->backend->charge_event(device->self);
	pthread_mutex_lock(&device->lock);
	cq->comp_events_completed += nevents;
	pthread_mutex_unlock(&device->lock);
}
