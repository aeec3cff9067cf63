/* SPDX-License-Identifier: BSD-2-Clause */
/* What the adapter tells: into the ring, or noted with the object until there is room. */
#include "transport/verbs/local.h"

#include "util/check.h"
#include "util/trap.h"
#include <errno.h>

static bool local_events_put(struct vrb_object *object, enum vrb_event_kind kind, uint32_t value)
{
	const struct vrb_event event = {.object = object->handle, .kind = kind, .value = value};

	return vrb_ring_put(&object->local->ring, &event);
}

static void note(struct vrb_object *object, enum vrb_event_kind kind, uint32_t value)
{
	struct vrb_local *local = object->local;

	if (kind == VRB_EVENT_COMPLETION)
		object->pending_completions += value;
	else
		vrb_types_add(&object->pending_types, value);
	if (!object->is_late) {
		object->is_late = true;
		object->next_pending = NULL;
		*local->pending_tail = object;
		local->pending_tail = &object->next_pending;
	}
	__atomic_store_n(&local->ring.more, 1, __ATOMIC_RELEASE);
}

/* @channel NULL: nobody is told. */
static void raise_event(struct vrb_object *object, struct vrb_object *channel,
			enum vrb_event_kind kind, uint32_t value)
{
	struct vrb_world *world = object->local->world;

	if (!channel)
		return;
	if (object->is_late || !local_events_put(object, kind, value))
		note(object, kind, value);
	channel->wait.events++;
	world->ops->channel_signal(world, &channel->wait);
}

void vrb_on_cq_event(void *cq_owner)
{
	struct vrb_object *cq = cq_owner;

	raise_event(cq, cq->channel, VRB_EVENT_COMPLETION, 1);
}

void vrb_on_async(struct vrb_world *world, void *owner, int event)
{
	struct vrb_object *object = owner;

	CHECK(event >= 0 && event < VRB_TYPES_MAX);
	if (object) {
		for (; object; object = object->twin)
			raise_event(object, object->async, VRB_EVENT_ASYNC, (uint32_t)event);
		return;
	}
	object = world->local ? world->local->async_channels : NULL;
	for (; object; object = object->next)
		raise_event(object, object, VRB_EVENT_ASYNC, (uint32_t)event);
}

/* Flushes one queue pair; what fails in it by now stays as it is. */
static void flush(struct vrb_local *local, struct vrb_object *qp, ps_t now)
{
	const struct hca_qp_attr to_err = {.state = HCA_QPS_ERR};
	struct util_trap trap;

	if (UTIL_TRAP_SET(&trap)) {
		(void)hca_qp_modify(local->world->hca, qp->hca, &to_err, HCA_QP_STATE, now);
		util_trap_clear(&trap);
	}
}

void vrb_on_fatal(struct vrb_world *world)
{
	struct vrb_local *local = world->local;
	ps_t now;

	if (__atomic_exchange_n(&world->is_dead, true, __ATOMIC_ACQ_REL) || !local)
		return;
	now = world->ops->enter(world, VRB_CALL_CONTROL, 0);
	for (uint32_t i = 0; i < local->table.count; i++) {
		struct vrb_object *object = local->table.slots[i].object;

		if (object && object->hca && vrb_kind_of(object->handle) == VRB_QP)
			flush(local, object, now);
		/* Who waits for completions would wait for ever. */
		if (object && vrb_kind_of(object->handle) == VRB_CHANNEL)
			world->ops->channel_signal(world, &object->wait);
	}
	vrb_on_async(world, NULL, IBV_EVENT_DEVICE_FATAL);
	world->ops->leave(world, false);
}

/* False: the ring is full again. */
static bool put_pending(struct vrb_object *object)
{
	if (object->pending_completions != 0 &&
	    !local_events_put(object, VRB_EVENT_COMPLETION, object->pending_completions))
		return false;
	object->pending_completions = 0;
	while (object->pending_types.count > 0) {
		if (!local_events_put(object, VRB_EVENT_ASYNC, object->pending_types.in_order[0]))
			return false;
		vrb_types_drop(&object->pending_types);
	}
	return true;
}

static void remove_pending(struct vrb_local *local, struct vrb_object **at)
{
	struct vrb_object *object = *at;

	*at = object->next_pending;
	if (!*at)
		local->pending_tail = at;
	object->is_late = false;
}

void vrb_local_refill(void *self)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;

	world->ops->enter(world, VRB_CALL_WAIT, 0);
	while (local->pending && put_pending(local->pending))
		remove_pending(local, &local->pending);
	if (!local->pending)
		__atomic_store_n(&local->ring.more, 0, __ATOMIC_RELEASE);
	world->ops->leave(world, false);
}

void vrb_local_forget(struct vrb_object *object)
{
	struct vrb_local *local = object->local;
	struct vrb_object **at = &local->pending;

	if (!object->is_late)
		return;
	while (*at != object)
		at = &(*at)->next_pending;
	remove_pending(local, at);
}

int vrb_local_create_channel(void *self, enum vrb_channel_use use, uint64_t *ret_channel,
			     int *ret_fd)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *channel;
	int ret;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	ret = vrb_local_add(local, VRB_CHANNEL, &channel);
	if (ret == 0) {
		channel->wait.fd = -1;
		ret = world->ops->channel_init(world, &channel->wait);
		if (ret < 0)
			vrb_local_remove(channel);
	}
	if (ret == 0) {
		*ret_channel = channel->handle;
		*ret_fd = channel->wait.fd;
		channel->is_async = use == VRB_CHANNEL_ASYNC;
	}
	if (ret == 0 && channel->is_async) {
		channel->next = local->async_channels;
		local->async_channels = channel;
	}
	world->ops->leave(world, false);
	return ret;
}

/* What is left of a dead adapter, which its owner cannot take away any more, tells @channel
 * nothing. */
static void forget_channel(struct vrb_local *local, struct vrb_object *channel)
{
	for (uint32_t i = 0; i < local->table.count; i++) {
		struct vrb_object *object = local->table.slots[i].object;

		if (object && object->channel == channel) {
			object->channel = NULL;
			channel->use_count--;
		}
		if (object && object->async == channel) {
			object->async = NULL;
			channel->use_count--;
		}
	}
	if (local->world->is_child) /* where none of those is who waited in the parent */
		channel->use_count = 0;
}

int vrb_local_destroy_channel(void *self, uint64_t handle)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *channel, **at = &local->async_channels;
	int ret = 0;

	world->ops->enter(world, VRB_CALL_CONTROL, 0);
	channel = vrb_local_find(local, handle, VRB_CHANNEL);
	if (channel && __atomic_load_n(&world->is_dead, __ATOMIC_ACQUIRE))
		forget_channel(local, channel);
	if (!channel)
		ret = -EINVAL;
	else if (channel->use_count != 0)
		ret = -EBUSY;
	if (ret == 0 && channel->is_async) {
		while (*at != channel)
			at = &(*at)->next;
		*at = channel->next;
	}
	if (ret == 0) {
		world->ops->channel_fini(world, &channel->wait);
		vrb_local_remove(channel);
	}
	world->ops->leave(world, false);
	return ret;
}

int vrb_local_wait_channel(void *self, uint64_t handle, uint32_t *seen)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *channel;
	int ret = -EINVAL;

	world->ops->enter(world, VRB_CALL_WAIT, 0);
	channel = vrb_local_find(local, handle, VRB_CHANNEL);
	if (channel) {
		channel->use_count++;
		ret = world->ops->channel_wait(world, &channel->wait, *seen);
		if (ret == 0)
			*seen = channel->wait.events;
		channel->use_count--;
	}
	world->ops->leave(world, false);
	return ret;
}

void vrb_local_charge_event(void *self)
{
	struct vrb_local *local = self;

	local->world->ops->enter(local->world, VRB_CALL_CHANNEL, 0);
	local->world->ops->leave(local->world, false);
}

void vrb_local_relax(void *self, uint64_t cq)
{
	struct vrb_local *local = self;
	struct vrb_world *world = local->world;
	struct vrb_object *object;

	world->ops->enter(world, VRB_CALL_CHANNEL, 0);
	object = vrb_local_find(local, cq, VRB_CQ);
	world->ops->poll_empty(world, object ? object->hca : NULL);
	world->ops->leave(world, false);
}
