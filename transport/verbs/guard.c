/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/guard.h"

#include "util/trap.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct guard {
	const struct vrb_backend *inner;
	void *self; /* of @inner */
	struct vrb_world *world;
	struct vrb_ring *ring;
};

static bool is_dead(const struct guard *guard)
{
	return __atomic_load_n(&guard->world->is_dead, __ATOMIC_ACQUIRE);
}

/* The call is over where it failed. */
static void fail(const struct guard *guard, const struct util_trap *trap)
{
	struct vrb_world *world = guard->world;

	if (!is_dead(guard))
		fprintf(stderr, "verbena: an internal check failed: %s:%d: %s: device %s is dead\n",
			trap->file, trap->line, trap->cond, world->device_name);
	world->ops->abandon(world);
	vrb_on_fatal(world);
}

/* As UTIL_TRAP_SET(): without a trap a failed CHECK ends the process, its stack as it is. */
#define SET(guard, trap) ((trap)->cond = NULL, (guard)->world->aborts || UTIL_TRAP_SET(trap))

static void guard_clear(const struct guard *guard, struct util_trap *trap)
{
	if (!guard->world->aborts)
		util_trap_clear(trap);
}

/* Makes a call that returns an int; @failed instead where a CHECK in it fails. */
#define CAUGHT(guard, call, failed)                                                                \
	({                                                                                         \
		struct util_trap trap_;                                                            \
		int ret_;                                                                          \
                                                                                                   \
		if (SET(guard, &trap_)) {                                                          \
			ret_ = (guard)->inner->call;                                               \
			guard_clear(guard, &trap_);                                                \
		} else {                                                                           \
			fail(guard, &trap_);                                                       \
			ret_ = (failed);                                                           \
		}                                                                                  \
		ret_;                                                                              \
	})

/* One that needs the adapter. */
#define CALL(call)                                                                                 \
	const struct guard *const g = self;                                                        \
                                                                                                   \
	if (is_dead(g))                                                                            \
		return -EIO;                                                                       \
	return CAUGHT(g, call, -EIO)

/* One that takes something away: of a dead adapter it is gone already. */
#define DESTROY(call)                                                                              \
	const struct guard *const g = self;                                                        \
                                                                                                   \
	if (is_dead(g))                                                                            \
		return 0;                                                                          \
	return CAUGHT(g, call, 0)

/* What the device is, and its memory, which is memory of the process: a fork()'s child has what
 * there was, to itself, and may have more. */
#define CALL_IN_CHILD(call, gone)                                                                  \
	const struct guard *const g = self;                                                        \
                                                                                                   \
	if (is_dead(g) && !g->world->is_child)                                                     \
		return (gone);                                                                     \
	return CAUGHT(g, call, gone)

/* One that returns nothing. */
#define TELL(call)                                                                                 \
	const struct guard *const g = self;                                                        \
	struct util_trap trap;                                                                     \
                                                                                                   \
	if (SET(g, &trap)) {                                                                       \
		g->inner->call;                                                                    \
		guard_clear(g, &trap);                                                             \
	} else {                                                                                   \
		fail(g, &trap);                                                                    \
	}

static int guard_attach(void *self, struct vrb_info *ret_info, struct vrb_ring **ret_ring)
{
	struct guard *g = self;
	int ret = g->inner->attach(g->self, ret_info, ret_ring);

	if (ret == 0)
		g->ring = *ret_ring;
	return ret;
}

static void guard_detach(void *self)
{
	struct guard *g = self;

	g->inner->detach(g->self);
	free(g);
}

static int guard_open(void *self)
{
	CALL(open(g->self));
}

static void guard_close(void *self)
{
	TELL(close(g->self));
}

static int guard_query(void *self, struct vrb_limits *ret_limits)
{
	CALL_IN_CHILD(query(g->self, ret_limits), -EIO);
}

static int guard_query_clock(void *self, uint64_t *ret_ns)
{
	CALL(query_clock(g->self, ret_ns));
}

static int guard_query_gid(void *self, uint32_t index, uint8_t ret_gid[16])
{
	CALL(query_gid(g->self, index, ret_gid));
}

static int guard_create_pd(void *self, uint64_t *ret_pd)
{
	CALL(create_pd(g->self, ret_pd));
}

static int guard_destroy_pd(void *self, uint64_t pd)
{
	DESTROY(destroy_pd(g->self, pd));
}

static int guard_create_mr(void *self, uint64_t pd, const struct vrb_mr_init *init,
			   struct vrb_mr_info *ret_info)
{
	CALL(create_mr(g->self, pd, init, ret_info));
}

static int guard_change_mr(void *self, uint64_t mr, uint64_t pd, const struct vrb_mr_init *init)
{
	CALL(change_mr(g->self, mr, pd, init));
}

static int guard_destroy_mr(void *self, uint64_t mr)
{
	DESTROY(destroy_mr(g->self, mr));
}

static int guard_create_mw(void *self, uint64_t pd, enum hca_mw_type type, uint64_t *ret_mw,
			   uint32_t *ret_rkey)
{
	CALL(create_mw(g->self, pd, type, ret_mw, ret_rkey));
}

static int guard_destroy_mw(void *self, uint64_t mw)
{
	DESTROY(destroy_mw(g->self, mw));
}

static int guard_advise_mr(void *self, uint64_t pd, bool writes, const struct hca_sge *sge,
			   uint32_t count)
{
	CALL(advise_mr(g->self, pd, writes, sge, count));
}

static int guard_create_dm(void *self, uint64_t length, uint32_t log_align, uint64_t *ret_dm)
{
	CALL_IN_CHILD(create_dm(g->self, length, log_align, ret_dm), -EIO);
}

static int guard_destroy_dm(void *self, uint64_t dm)
{
	CALL_IN_CHILD(destroy_dm(g->self, dm), 0);
}

static int guard_write_dm(void *self, uint64_t dm, uint64_t offset, const void *bytes,
			  uint64_t length)
{
	CALL_IN_CHILD(write_dm(g->self, dm, offset, bytes, length), -EIO);
}

static int guard_read_dm(void *self, uint64_t dm, uint64_t offset, void *ret_bytes, uint64_t length)
{
	CALL_IN_CHILD(read_dm(g->self, dm, offset, ret_bytes, length), -EIO);
}

static int guard_resolve_ah(void *self, const struct vrb_av *av, struct wire_path *ret_path)
{
	CALL(resolve_ah(g->self, av, ret_path));
}

static int guard_create_channel(void *self, enum vrb_channel_use use, uint64_t *ret_channel,
				int *ret_fd)
{
	CALL(create_channel(g->self, use, ret_channel, ret_fd));
}

/* A channel is no part of the adapter: its descriptor is closed in any case. */
static int guard_destroy_channel(void *self, uint64_t channel)
{
	const struct guard *const g = self;
	const int ret = CAUGHT(g, destroy_channel(g->self, channel), 0);

	return is_dead(g) ? 0 : ret;
}

/* The last events of a dead adapter are waited for as others are. */
static int guard_wait_channel(void *self, uint64_t channel, uint32_t *seen)
{
	const struct guard *const g = self;

	return CAUGHT(g, wait_channel(g->self, channel, seen), -EIO);
}

static void guard_charge_event(void *self)
{
	const struct guard *const dead = self;

	if (is_dead(dead))
		return;
	TELL(charge_event(g->self));
}

/* The front asks until there is nothing more. */
static void guard_refill(void *self)
{
	TELL(refill(g->self));
	if (trap.cond)
		__atomic_store_n(&g->ring->more, 0, __ATOMIC_RELEASE);
}

static void guard_relax(void *self, uint64_t cq)
{
	const struct guard *const dead = self;

	if (is_dead(dead))
		return;
	TELL(relax(g->self, cq));
}

static int guard_create_cq(void *self, const struct vrb_cq_init *init, uint64_t *ret_cq,
			   uint32_t *ret_depth)
{
	CALL(create_cq(g->self, init, ret_cq, ret_depth));
}

static int guard_destroy_cq(void *self, uint64_t cq)
{
	DESTROY(destroy_cq(g->self, cq));
}

/* What was completed and flushed is there, but not in the child of a fork. */
static int guard_poll_cq(void *self, uint64_t cq, uint32_t count, struct ibv_wc *ret_wc)
{
	const struct guard *const g = self;

	if (is_dead(g) && g->world->is_child)
		return -EIO;
	return CAUGHT(g, poll_cq(g->self, cq, count, ret_wc), -EIO);
}

static int guard_poll_stamped(void *self, uint64_t cq, bool may_wait, struct vrb_stamped *ret_wc)
{
	const struct guard *const g = self;

	if (is_dead(g) && g->world->is_child)
		return -EIO;
	return CAUGHT(g, poll_stamped(g->self, cq, may_wait, ret_wc), -EIO);
}

static int guard_resize_cq(void *self, uint64_t cq, uint32_t depth, uint32_t *ret_depth)
{
	CALL(resize_cq(g->self, cq, depth, ret_depth));
}

static int guard_moderate_cq(void *self, uint64_t cq, uint32_t count, uint32_t after_us)
{
	CALL(moderate_cq(g->self, cq, count, after_us));
}

static int guard_arm_cq(void *self, uint64_t cq, bool solicited_only)
{
	CALL(arm_cq(g->self, cq, solicited_only));
}

static int guard_open_xrcd(void *self, const struct hca_xrcd_init *init, uint64_t *ret_xrcd)
{
	CALL(open_xrcd(g->self, init, ret_xrcd));
}

static int guard_close_xrcd(void *self, uint64_t xrcd)
{
	DESTROY(close_xrcd(g->self, xrcd));
}

static int guard_create_srq(void *self, const struct vrb_srq_init *init, uint64_t *ret_srq,
			    uint32_t *ret_number)
{
	CALL(create_srq(g->self, init, ret_srq, ret_number));
}

static int guard_destroy_srq(void *self, uint64_t srq)
{
	DESTROY(destroy_srq(g->self, srq));
}

static int guard_modify_srq(void *self, uint64_t srq, const struct hca_srq_attr *attr,
			    uint32_t mask)
{
	CALL(modify_srq(g->self, srq, attr, mask));
}

static int guard_query_srq(void *self, uint64_t srq, struct hca_srq_attr *ret_attr)
{
	CALL(query_srq(g->self, srq, ret_attr));
}

static int guard_post_srq_recv(void *self, uint64_t srq, uint32_t listed,
			       const struct hca_recv_wr *wr, uint32_t count, uint32_t *ret_done)
{
	*ret_done = 0;
	CALL(post_srq_recv(g->self, srq, listed, wr, count, ret_done));
}

static int guard_create_qp(void *self, const struct vrb_qp_init *init, uint64_t *ret_qp,
			   uint32_t *ret_qpn)
{
	CALL(create_qp(g->self, init, ret_qp, ret_qpn));
}

static int guard_open_qp(void *self, const struct vrb_qp_open *open, uint64_t *ret_qp)
{
	CALL(open_qp(g->self, open, ret_qp));
}

static int guard_destroy_qp(void *self, uint64_t qp)
{
	DESTROY(destroy_qp(g->self, qp));
}

static int guard_set_mcast(void *self, uint64_t qp, const uint8_t gid[16], bool leaves)
{
	const struct guard *const dead = self;

	if (leaves && is_dead(dead))
		return 0;
	CALL(set_mcast(g->self, qp, gid, leaves));
}

static int guard_modify_qp(void *self, uint64_t qp, const struct hca_qp_attr *attr, uint32_t mask,
			   const struct vrb_av *av, enum hca_qp_state cur_state)
{
	CALL(modify_qp(g->self, qp, attr, mask, av, cur_state));
}

static int guard_query_qp(void *self, uint64_t qp, struct hca_qp_attr *ret_attr,
			  struct hca_qp_cap *ret_cap)
{
	CALL(query_qp(g->self, qp, ret_attr, ret_cap));
}

static int guard_post_send(void *self, uint64_t qp, uint32_t listed, const struct hca_send_wr *wr,
			   uint32_t count, uint32_t *ret_done)
{
	*ret_done = 0;
	CALL(post_send(g->self, qp, listed, wr, count, ret_done));
}

static int guard_post_batch(void *self, uint64_t qp, const struct hca_send_wr *wr, uint32_t count)
{
	CALL(post_batch(g->self, qp, wr, count));
}

static int guard_post_recv(void *self, uint64_t qp, uint32_t listed, const struct hca_recv_wr *wr,
			   uint32_t count, uint32_t *ret_done)
{
	*ret_done = 0;
	CALL(post_recv(g->self, qp, listed, wr, count, ret_done));
}

void *vrb_guard_create(const struct vrb_backend *inner, void *self, struct vrb_world *world)
{
	struct guard *guard = calloc(1, sizeof(*guard));

	if (guard)
		*guard = (struct guard){.inner = inner, .self = self, .world = world};
	return guard;
}

const struct vrb_backend vrb_guard = {
	.name = "guard",
	.attach = guard_attach,
	.detach = guard_detach,
	.open = guard_open,
	.close = guard_close,
	.query = guard_query,
	.query_clock = guard_query_clock,
	.query_gid = guard_query_gid,
	.create_pd = guard_create_pd,
	.destroy_pd = guard_destroy_pd,
	.create_mr = guard_create_mr,
	.change_mr = guard_change_mr,
	.destroy_mr = guard_destroy_mr,
	.create_mw = guard_create_mw,
	.destroy_mw = guard_destroy_mw,
	.advise_mr = guard_advise_mr,
	.create_dm = guard_create_dm,
	.destroy_dm = guard_destroy_dm,
	.write_dm = guard_write_dm,
	.read_dm = guard_read_dm,
	.resolve_ah = guard_resolve_ah,
	.create_channel = guard_create_channel,
	.destroy_channel = guard_destroy_channel,
	.wait_channel = guard_wait_channel,
	.charge_event = guard_charge_event,
	.refill = guard_refill,
	.relax = guard_relax,
	.create_cq = guard_create_cq,
	.destroy_cq = guard_destroy_cq,
	.poll_cq = guard_poll_cq,
	.poll_stamped = guard_poll_stamped,
	.arm_cq = guard_arm_cq,
	.resize_cq = guard_resize_cq,
	.moderate_cq = guard_moderate_cq,
	.open_xrcd = guard_open_xrcd,
	.close_xrcd = guard_close_xrcd,
	.create_srq = guard_create_srq,
	.destroy_srq = guard_destroy_srq,
	.modify_srq = guard_modify_srq,
	.query_srq = guard_query_srq,
	.post_srq_recv = guard_post_srq_recv,
	.create_qp = guard_create_qp,
	.open_qp = guard_open_qp,
	.destroy_qp = guard_destroy_qp,
	.set_mcast = guard_set_mcast,
	.modify_qp = guard_modify_qp,
	.query_qp = guard_query_qp,
	.post_send = guard_post_send,
	.post_batch = guard_post_batch,
	.post_recv = guard_post_recv,
};
