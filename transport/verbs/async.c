/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include "util/check.h"

static void push(struct vrb_context *context, struct vrb_cq_event *event, int type)
{
	struct vrb_world *world = context->device->world;

	CHECK(type >= 0 && type < 32);
	/* One that waits unread already: the program learns nothing from a second. */
	if (event->types >> type & 1)
		return;
	event->types |= 1u << type;
	vrb_channel_append(&context->async, event);
	world->ops->channel_signal(world, &context->async);
}

void vrb_on_async(struct vrb_world *world, void *owner, int event)
{
	if (owner && event == IBV_EVENT_CQ_ERR) {
		struct vrb_cq *cq = owner;

		push(vrb_context(cq->ibv.context), &cq->async_event, event);
	} else if (owner) {
		struct vrb_qp *qp = owner;

		push(vrb_context(qp->ibv.context), &qp->event, event);
	} else if (world->device) {
		for (struct vrb_context *c = world->device->contexts; c; c = c->next)
			push(c, &c->port_event, event);
	}
}

int ibv_get_async_event(struct ibv_context *ibv, struct ibv_async_event *ret_event)
{
	struct vrb_channel *channel = &vrb_context(ibv)->async;
	const struct vrb_backend *backend = vrb_backend(ibv);
	void *self = vrb_self(ibv);
	struct vrb_cq_event *event;
	int ret;

	backend->begin(self);
	ret = backend->wait_channel(self, channel);
	if (ret == 0) {
		event = vrb_channel_pop(channel);
		*ret_event = (struct ibv_async_event){.event_type = __builtin_ctz(event->types)};
		event->types &= event->types - 1;
		if (event->types != 0)
			vrb_channel_append(channel, event);
		if (event->cq) {
			event->cq->async_got++;
			ret_event->element.cq = &event->cq->ibv;
		} else if (event->qp) {
			event->qp->events_got++;
			ret_event->element.qp = &event->qp->ibv;
		} else {
			ret_event->element.port_num = 1;
		}
	}
	backend->end(self);
	return vrb_minus_one(ret);
}

static void ack(struct ibv_context *context, uint32_t *completed)
{
	vrb_backend(context)->begin(vrb_self(context));
	++*completed;
	vrb_backend(context)->end(vrb_self(context));
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		ack(event->element.cq->context, &event->element.cq->async_events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		ack(event->element.qp->context, &event->element.qp->events_completed);
		break;
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_WQ_FATAL:
	default:
		break;
	}
}
