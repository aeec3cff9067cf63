/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues of an adapter in this address space (transport/verbs/local.c). */
#include "transport/verbs/local.h"

#include "transport/verbs/convert.h"
#include <errno.h>

static int make_cq(struct vrb_local *local, const struct vrb_cq_init *init,
		   struct vrb_object **ret_object)
{
	struct vrb_object *object;
	struct hca_cq *cq;
	int ret = vrb_local_add(local, VRB_CQ, &object);

	if (ret < 0)
		return ret;
	ret = vrb_local_set_channels(object, init->channel, init->async);
	if (ret == 0)
		ret = hca_cq_create(local->world->hca, init->depth, object, &cq);
	if (ret < 0) {
		vrb_local_remove(object);
		return ret;
	}
	if (init->ignores_overrun)
		hca_cq_ignore_overrun(cq);
	object->hca = cq;
	*ret_object = object;
	return 0;
}

int vrb_local_create_cq(void *self, const struct vrb_cq_init *init, uint64_t *ret_cq,
			uint32_t *ret_depth)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	ret = make_cq(local, init, &object);
	if (ret == 0) {
		*ret_cq = object->handle;
		*ret_depth = hca_cq_depth(object->hca);
	}
	vrb_local_leave(local, false);
	return ret;
}

int vrb_local_destroy_cq(void *self, uint64_t cq)
{
	struct vrb_local *local = self;
	struct vrb_object *object;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	object = vrb_local_find(local, cq, VRB_CQ);
	if (object)
		ret = hca_cq_destroy(local->world->hca, object->hca);
	if (ret == 0)
		vrb_local_remove(object);
	vrb_local_leave(local, false);
	return ret;
}

/* Number of completions taken from @cq. */
static uint32_t local_cq_take(struct vrb_local *local, struct hca_cq *cq, uint32_t count,
			      struct ibv_wc *wc)
{
	struct hca_wc some[16];
	uint32_t done = 0, want, got;

	do {
		want = count - done < 16 ? count - done : 16;
		got = hca_cq_poll(cq, want, some);
		for (uint32_t i = 0; i < got; i++) {
			vrb_local_polled(local, &some[i]);
			vrb_wc(&wc[done + i], &some[i]);
			if (__builtin_expect(local->world->faults != NULL, false))
				vrb_local_fault_wc(local, &wc[done + i]);
		}
		done += got;
	} while (got == want && done < count);
	return done;
}

int vrb_local_poll_cq(void *self, uint64_t handle, uint32_t count, struct ibv_wc *ret_wc)
{
	struct vrb_local *local = self;
	struct vrb_object *cq;
	int done = -EINVAL;

	vrb_local_enter(local, VRB_CALL_POLL_CQ, count);
	cq = vrb_local_find(local, handle, VRB_CQ);
	if (cq) {
		done = (int)local_cq_take(local, cq->hca, count, ret_wc);
		if (done == 0) {
			local->world->ops->poll_empty(local->world, cq->hca);
			done = (int)local_cq_take(local, cq->hca, count, ret_wc);
		}
	}
	vrb_local_leave(local, false);
	return done;
}

static bool take_stamped(struct vrb_world *world, struct hca_cq *cq, struct vrb_stamped *ret_wc)
{
	struct vrb_clocks clocks;
	struct hca_wc wc;
	int64_t at_ns;

	if (hca_cq_poll(cq, 1, &wc) == 0)
		return false;
	vrb_local_polled(world->local, &wc);
	clocks = world->ops->clocks(world);
	at_ns = (int64_t)wc.at / (int64_t)PS_NS;
	if (at_ns > clocks.latest_ns)
		at_ns = clocks.latest_ns;
	vrb_wc(&ret_wc->wc, &wc);
	if (__builtin_expect(world->faults != NULL, false))
		vrb_local_fault_wc(world->local, &ret_wc->wc);
	ret_wc->clock_ns = clocks.raw_ns + (uint64_t)at_ns;
	ret_wc->wall_ns = clocks.wall_ns + (uint64_t)at_ns;
	return true;
}

int vrb_local_poll_stamped(void *self, uint64_t handle, bool may_wait, struct vrb_stamped *ret_wc)
{
	struct vrb_local *local = self;
	struct vrb_object *cq;
	int done = -EINVAL;

	vrb_local_enter(local, VRB_CALL_POLL_CQ, 1);
	cq = vrb_local_find(local, handle, VRB_CQ);
	if (cq) {
		done = take_stamped(local->world, cq->hca, ret_wc);
		if (done == 0 && may_wait) {
			local->world->ops->poll_empty(local->world, cq->hca);
			done = take_stamped(local->world, cq->hca, ret_wc);
		}
	}
	vrb_local_leave(local, false);
	return done;
}

int vrb_local_resize_cq(void *self, uint64_t handle, uint32_t depth, uint32_t *ret_depth)
{
	struct vrb_local *local = self;
	struct vrb_object *cq;
	int ret = -EINVAL;

	vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	cq = vrb_local_find(local, handle, VRB_CQ);
	if (cq)
		ret = hca_cq_resize(local->world->hca, cq->hca, depth);
	if (ret == 0)
		*ret_depth = hca_cq_depth(cq->hca);
	vrb_local_leave(local, false);
	return ret;
}

int vrb_local_moderate_cq(void *self, uint64_t handle, uint32_t count, uint32_t after_us)
{
	struct vrb_local *local = self;
	const ps_t now = vrb_local_enter(local, VRB_CALL_CONTROL, 0);
	struct vrb_object *cq = vrb_local_find(local, handle, VRB_CQ);
	int ret = -EINVAL;

	if (cq) {
		hca_advance(local->world->hca, now);
		ret = hca_cq_moderate(local->world->hca, cq->hca, count, after_us * PS_US, now);
	}
	vrb_local_leave(local, false);
	return ret;
}

int vrb_local_arm_cq(void *self, uint64_t handle, bool solicited_only)
{
	struct vrb_local *local = self;
	struct vrb_object *cq;

	vrb_local_enter(local, VRB_CALL_REQ_NOTIFY, 0);
	cq = vrb_local_find(local, handle, VRB_CQ);
	if (cq)
		hca_cq_arm(cq->hca, solicited_only ? HCA_CQ_ARM_SOLICITED : HCA_CQ_ARM_ANY);
	vrb_local_leave(local, false);
	return cq ? 0 : -EINVAL;
}
