/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/world.h"

#include "transport/hca/mem.h"
#include "transport/nic/internal.h"
#include "util/check.h"
#include "util/units.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct nic_world {
	struct vrb_world world;
	struct nic *nic;
	bool idle;	   /* this call turned the loop for nothing */
	uint32_t contexts; /* that programs have open; the thread runs while there are any */
};

/* Of the counts of contexts. Held by nobody who waits for the adapter's lock. */
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;

static struct nic_world *to_nic_world(struct vrb_world *world)
{
	return container_of(world, struct nic_world, world);
}

static ps_t nic_world_enter(struct vrb_world *world, enum vrb_call call, uint64_t amount)
{
	struct nic_world *w = to_nic_world(world);

	(void)call, (void)amount;
	/* The holder may have lost its core: who spins on the lock keeps it from coming back. */
	for (int i = 0; i < 100; i++) {
		if (nic_trylock(w->nic))
			goto out;
		sched_yield();
	}
	nic_lock(w->nic);
out:
	w->idle = false;
	nic_mind_epoch(w->nic);
	return nic_now(w->nic);
}

static ps_t nic_world_now(struct vrb_world *world)
{
	return nic_now(to_nic_world(world)->nic);
}

static void nic_world_leave(struct vrb_world *world, bool posted)
{
	struct nic_world *w = to_nic_world(world);
	const bool idle = w->idle;

	if (posted)
		nic_flush(w->nic);
	else
		nic_loop_wake(w->nic);
	nic_unlock(w->nic);
	/* Who is polled for may need this core. */
	if (idle)
		sched_yield();
}

static void nic_world_poll_empty(struct vrb_world *world, struct hca_cq *cq)
{
	struct nic_world *w = to_nic_world(world);

	(void)cq;
	w->nic->app_turn_at = nic_now(w->nic);
	w->idle = nic_loop_turn(w->nic) == 0;
}

static int nic_world_channel_init(struct vrb_world *world, struct vrb_channel *channel)
{
	(void)world;
	channel->fd = eventfd(0, EFD_CLOEXEC);
	return channel->fd < 0 ? -errno : 0;
}

static void nic_world_channel_fini(struct vrb_world *world, struct vrb_channel *channel)
{
	(void)world;
	close(channel->fd);
	channel->fd = -1;
}

static void nic_world_channel_signal(struct vrb_world *world, struct vrb_channel *channel)
{
	const uint64_t one = 1;

	(void)world;
	/* Again for every event: who waits for edges sees one. */
	(void)!write(channel->fd, &one, sizeof(one));
}

static int nic_world_channel_wait(struct vrb_world *world, struct vrb_channel *channel,
				  uint32_t seen)
{
	struct nic_world *w = to_nic_world(world);
	struct pollfd pfd = {.fd = channel->fd, .events = POLLIN};
	int ret = 0;

	while (channel->events == seen && ret == 0) {
		if (nic_is_dead(w->nic))
			return -EIO;
		nic_flush(w->nic);
		nic_unlock(w->nic);
		if (poll(&pfd, 1, -1) < 0)
			ret = -errno;
		nic_lock(w->nic);
	}
	return ret;
}

static int nic_world_resolve(struct vrb_world *world, struct wire_path *path, uint32_t sgid_index,
			     uint32_t local_qpn, uint32_t remote_qpn)
{
	struct nic_world *w = to_nic_world(world);
	int ret = nic_resolve(w->nic, path, sgid_index, local_qpn, remote_qpn);

	return ret == -ENETUNREACH ? -EINVAL : ret;
}

static void nic_world_reuse(struct vrb_world *world, struct wire_path *path, uint32_t local_qpn,
			    uint32_t remote_qpn)
{
	nic_reuse_path(to_nic_world(world)->nic, path, local_qpn, remote_qpn);
}

static int nic_world_gid(struct vrb_world *world, uint32_t index, uint8_t ret_gid[16])
{
	return nic_gid(to_nic_world(world)->nic, index, ret_gid);
}

static uint64_t nic_world_qp_identity(struct vrb_world *world)
{
	(void)world;
	return 0;
}

static int nic_world_open(struct vrb_world *world)
{
	struct nic_world *w = to_nic_world(world);
	int ret = 0;

	pthread_mutex_lock(&contexts_lock);
	if (w->contexts == 0)
		ret = nic_start(w->nic);
	w->contexts += ret == 0;
	pthread_mutex_unlock(&contexts_lock);
	return ret;
}

static void world_close(struct vrb_world *world)
{
	struct nic_world *w = to_nic_world(world);

	pthread_mutex_lock(&contexts_lock);
	if (--w->contexts == 0)
		nic_stop(w->nic);
	pthread_mutex_unlock(&contexts_lock);
}

static void world_abandon(struct vrb_world *world)
{
	nic_kill(to_nic_world(world)->nic);
}

static const struct vrb_world_ops world_ops = {
	.name = "nic",
	.enter = nic_world_enter,
	.now = nic_world_now,
	.leave = nic_world_leave,
	.poll_empty = nic_world_poll_empty,
	.channel_init = nic_world_channel_init,
	.channel_fini = nic_world_channel_fini,
	.channel_signal = nic_world_channel_signal,
	.channel_wait = nic_world_channel_wait,
	.resolve = nic_world_resolve,
	.reuse = nic_world_reuse,
	.gid = nic_world_gid,
	.qp_identity = nic_world_qp_identity,
	.open = nic_world_open,
	.close = world_close,
	.abandon = world_abandon,
};

static void world_on_wc(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now)
{
	(void)world, (void)cq, (void)wc, (void)now;
}

static void world_on_cq_event(void *world, void *cq_owner, ps_t now)
{
	(void)world, (void)now;
	vrb_on_cq_event(cq_owner);
}

static void world_on_place(void *world, const struct hca_mr *mr, uint64_t offset, uint32_t length,
			   bool is_word, ps_t now)
{
	(void)world, (void)mr, (void)offset, (void)length, (void)is_word, (void)now;
}

static void world_on_async(void *world, void *qp_owner, int event, ps_t now)
{
	struct nic_world *w = world;

	(void)now;
	vrb_on_async(&w->world, qp_owner, event);
}

static void on_fatal(void *world)
{
	struct nic_world *w = world;

	vrb_on_fatal(&w->world);
}

static const struct hca_observer observer = {world_on_wc, world_on_cq_event, world_on_place,
					     world_on_async};

static int open_world(const struct nic_params *params, struct vrb_world **ret_world)
{
	struct nic_world *w = calloc(1, sizeof(*w));
	struct nic_params own = *params;
	int ret;

	if (!w)
		return -ENOMEM;
	own.observer = &observer;
	own.world = w;
	own.on_fatal = on_fatal;
	own.progress_thread = false; /* nic_world_open() */
	ret = nic_open(&own, &w->nic);
	if (ret != 0) {
		free(w);
		return ret;
	}
	w->world = (struct vrb_world){.ops = &world_ops,
				      .hca = nic_device(w->nic),
				      .memory = &hca_mem_program,
				      .device_name = "verbena0",
				      .netdev = nic_netdev(w->nic),
				      .guid = nic_guid(w->nic),
				      .is_guarded = true,
				      .aborts = params->aborts};
	*ret_world = &w->world;
	return 0;
}

static struct vrb_world *environment_world;

/* Whatever other threads are at is done when the process doubles; the child's copy is dead. */
static void world_before_fork(void)
{
	pthread_mutex_lock(&contexts_lock);
	nic_lock(to_nic_world(environment_world)->nic);
}

static void after_fork_parent(void)
{
	nic_unlock(to_nic_world(environment_world)->nic);
	pthread_mutex_unlock(&contexts_lock);
}

static void after_fork_child(void)
{
	environment_world->is_child = environment_world->is_dead = true;
	nic_forked(to_nic_world(environment_world)->nic);
	pthread_mutex_unlock(&contexts_lock);
}

static void open_environment(void)
{
	struct nic_params params;
	const char *bad = NULL;
	int ret = nic_params_from_env(&params, &bad);

	if (ret != 0) {
		fprintf(stderr, "verbena: %s: not understood\n", bad);
		return;
	}
	ret = open_world(&params, &environment_world);
	if (ret != 0)
		fprintf(stderr, "verbena: no device: %s\n", strerror(-ret));
	else
		pthread_atfork(world_before_fork, after_fork_parent, after_fork_child);
}

static uint32_t list(struct vrb_world **ret_worlds, uint32_t count)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_environment);
	if (!environment_world)
		return 0;
	if (count > 0)
		ret_worlds[0] = environment_world;
	return 1;
}

const struct vrb_provider *vrb_provider_nic(void)
{
	static const struct vrb_provider provider = {.list = list};

	return &provider;
}
