/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include "util/check.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

/* Puts @event at the end, or does nothing where it waits there already. */
void vrb_channel_append(struct vrb_channel *channel, struct vrb_cq_event *event)
{
	if (event->queued)
		return;
	event->queued = true;
	event->next = NULL;
	*channel->tail = event;
	channel->tail = &event->next;
}

struct vrb_cq_event *vrb_channel_pop(struct vrb_channel *channel)
{
	struct vrb_cq_event *event = channel->head;

	CHECK(event);
	channel->head = event->next;
	if (!channel->head)
		channel->tail = &channel->head;
	event->queued = false;
	return event;
}

void vrb_channel_remove(struct vrb_channel *channel, struct vrb_cq_event *event)
{
	struct vrb_cq_event **at = &channel->head;

	if (!event->queued)
		return;
	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
	if (channel->tail == &event->next)
		channel->tail = at;
	event->queued = false;
}

void vrb_wait_acks(struct ibv_context *context, uint64_t cq, const uint32_t *acked,
		   const uint32_t *got)
{
	const struct vrb_backend *backend = vrb_backend(context);
	void *self = vrb_self(context);

	for (;;) {
		bool done;

		backend->begin(self);
		done = (int32_t)(*acked - *got) >= 0;
		backend->end(self);
		if (done)
			return;
		backend->relax(self, cq);
		sched_yield();
	}
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct vrb_comp_channel *channel = calloc(1, sizeof(*channel));
	int ret;

	if (!channel)
		return vrb_null(-ENOMEM);
	ret = vrb_backend(context)->create_channel(vrb_self(context), &channel->channel);
	if (ret < 0) {
		free(channel);
		return vrb_null(ret);
	}
	channel->ibv.context = context;
	channel->ibv.fd = channel->channel.fd;
	vrb_context_get(context);
	return &channel->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct ibv_context *context = ibv->context;
	struct vrb_comp_channel *channel = VRB_TO(vrb_comp_channel, ibv, ibv);

	if (__atomic_load_n(&ibv->refcnt, __ATOMIC_ACQUIRE) != 0)
		return vrb_positive(-EBUSY);
	vrb_backend(context)->destroy_channel(vrb_self(context), &channel->channel);
	free(channel);
	vrb_context_put(context);
	return 0;
}

void vrb_on_cq_event(struct vrb_world *world, void *cq_owner)
{
	struct vrb_cq *cq = cq_owner;
	struct vrb_channel *channel;

	if (!cq->ibv.channel)
		return;
	/* Several programs may share an adapter, whose observer knows one of their worlds. */
	world = vrb_context(cq->ibv.context)->device->world;
	channel = &VRB_TO(vrb_comp_channel, ibv, cq->ibv.channel)->channel;
	cq->event.unread++;
	vrb_channel_append(channel, &cq->event);
	world->ops->channel_signal(world, channel);
}

int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **ret_cq, void **ret_context)
{
	struct vrb_channel *channel = &VRB_TO(vrb_comp_channel, ibv, ibv)->channel;
	const struct vrb_backend *backend = vrb_backend(ibv->context);
	void *self = vrb_self(ibv->context);
	struct vrb_cq *cq;
	int ret;

	backend->begin(self);
	ret = backend->wait_channel(self, channel);
	if (ret == 0) {
		cq = vrb_channel_pop(channel)->cq;
		cq->events_got++;
		if (--cq->event.unread != 0)
			vrb_channel_append(channel, &cq->event);
		*ret_cq = &cq->ibv;
		*ret_context = cq->ibv.cq_context;
	}
	backend->end(self);
	return vrb_minus_one(ret);
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	vrb_backend(cq->context)->begin(vrb_self(cq->context));
	cq->comp_events_completed += nevents;
	vrb_backend(cq->context)->end(vrb_self(cq->context));
}
