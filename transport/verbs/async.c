/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

static void async_push(struct vrb_context *context, struct vrb_unread *event, uint32_t type)
{
	/* One that waits unread already: the program learns nothing from the first. */
	vrb_types_add(&event->types, type);
	if (event->types.count > 0)
		vrb_queue_append(&context->async, event);
}

static void completion(struct vrb_cq *cq, uint32_t count)
{
	if (!cq->ibv.channel || count == 0)
		return;
	cq->event.count += count;
	vrb_queue_append(&VRB_TO(vrb_comp_channel, ibv, cq->ibv.channel)->queue, &cq->event);
}

/* An event whose object has gone finds none. */
static void async_deliver(struct vrb_device *device, const struct vrb_event *event)
{
	const enum vrb_kind kind = vrb_kind_of(event->object);
	void *object = vrb_table_find(&device->objects, event->object, kind);
	struct vrb_cq *cq = object;
	struct vrb_qp *qp = object;
	struct vrb_srq *srq = object;
	struct vrb_context *context = object;

	if (!object)
		return;
	if (kind == VRB_CQ && event->kind == VRB_EVENT_COMPLETION)
		completion(cq, event->value);
	else if (kind == VRB_CQ && event->kind == VRB_EVENT_ASYNC)
		async_push(vrb_context(cq->ibv.context), &cq->async_event, event->value);
	else if (kind == VRB_QP && event->kind == VRB_EVENT_ASYNC)
		async_push(vrb_context(qp->ibv.context), &qp->event, event->value);
	else if (kind == VRB_SRQ && event->kind == VRB_EVENT_ASYNC)
		async_push(vrb_context(srq->ibv.context), &srq->event, event->value);
	else if (kind == VRB_CHANNEL && event->kind == VRB_EVENT_ASYNC)
		async_push(context, &context->port_event, event->value);
}

void vrb_events_take(struct vrb_device *device)
{
	struct vrb_event event;

	for (;;) {
		while (vrb_ring_take(device->ring, &event))
			async_deliver(device, &event);
		if (!vrb_ring_has_more(device->ring))
			return;
		device->backend->refill(device->self);
	}
}

int ibv_get_async_event(struct ibv_context *ibv, struct ibv_async_event *ret_event)
{
	struct vrb_queue *queue = &vrb_context(ibv)->async;
	struct vrb_device *device = vrb_device(ibv);
	struct vrb_unread *event;
	int ret = vrb_queue_get(device, queue, &event);

	if (ret < 0)
		return vrb_minus_one(ret);
	*ret_event = (struct ibv_async_event){.event_type = event->types.in_order[0]};
	vrb_types_drop(&event->types);
	if (event->types.count > 0)
		vrb_queue_append(queue, event);
	if (event->cq) {
		event->cq->async_got++;
		ret_event->element.cq = &event->cq->ibv;
	} else if (event->qp) {
		event->qp->events_got++;
		ret_event->element.qp = &event->qp->ibv;
	} else if (event->srq) {
		event->srq->events_got++;
		ret_event->element.srq = &event->srq->ibv;
	} else {
		ret_event->element.port_num = 1; /* which DEVICE_FATAL does not look at */
	}
	vrb_queue_settle(device, queue);
	pthread_mutex_unlock(&device->lock);
	return 0;
}

static void ack(struct ibv_context *context, uint32_t *completed)
{
	struct vrb_device *device = vrb_device(context);

	device->backend->charge_event(device->self);
	pthread_mutex_lock(&device->lock);
	++*completed;
	pthread_mutex_unlock(&device->lock);
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
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		ack(event->element.srq->context, &event->element.srq->events_completed);
		break;
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_WQ_FATAL:
	default:
		break;
	}
}
