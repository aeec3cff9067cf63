/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/world.h"

#include "transport/hca/mem.h"
#include "transport/nic/internal.h"
#include "transport/nic/kind.h"
#include "transport/verbs/fault.h"
#include "util/check.h"
#include "util/units.h"

#include <errno.h>
#include <linux/capability.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { IDLE_POLLS = 16, LOCK_TRIES = 100, PUBLISH_TRIES = 1000 };

struct nic_world {
	struct vrb_world world;
	struct nic *nic;
	bool idle;	   /* this call turned the loop for nothing, ... */
	uint32_t idle_row; /* ... as so many before it */
	ps_t entered_at;   /* this call */
	uint32_t contexts; /* that programs have open; the thread runs while there are any */
	char name[16];
	struct vrb_faults faults;
};

/* Of the counts of contexts. Held by nobody who waits for the adapter's lock. */
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;

static struct nic_world *to_nic_world(struct vrb_world *world)
{
	return container_of(world, struct nic_world, world);
}

struct nic *nic_world_nic(struct vrb_world *world)
{
	return to_nic_world(world)->nic;
}

static ps_t nic_world_enter(struct vrb_world *world, enum vrb_call call, uint64_t amount)
{
	struct nic_world *w = to_nic_world(world);

	(void)call, (void)amount;
	if (!nic_lock_soon(w->nic, LOCK_TRIES))
		nic_lock(w->nic);
	w->idle = false;
	w->entered_at = nic_mind_epoch(w->nic);
	return w->entered_at;
}

static ps_t nic_world_now(struct vrb_world *world)
{
	return nic_now(to_nic_world(world)->nic);
}

static struct vrb_clocks nic_world_clocks(struct vrb_world *world)
{
	const struct nic *nic = to_nic_world(world)->nic;
	const int64_t now_ns = (int64_t)(nic_clock(nic) / PS_NS);
	struct timespec day;

	clock_gettime(CLOCK_REALTIME, &day);
	return (struct vrb_clocks){.raw_ns = nic->epoch_ns,
				   .wall_ns = (uint64_t)day.tv_sec * 1000000000 +
					      (uint64_t)day.tv_nsec - (uint64_t)now_ns,
				   .latest_ns = now_ns};
}

/* How many polls may find nothing before others get the core: to give it costs more than an answer
 * by a ring takes. */
static uint32_t idle_polls(const struct nic *nic)
{
	return nic->shm && nic_shm_has_guests(nic->shm) ? IDLE_POLLS : 1;
}

static void nic_world_leave(struct vrb_world *world, bool posted)
{
	struct nic_world *w = to_nic_world(world);
	const bool yields = w->idle && w->idle_row >= idle_polls(w->nic);

	if (yields)
		w->idle_row = 0;
	if (posted)
		nic_flush(w->nic);
	else
		nic_loop_wake(w->nic);
	nic_unlock(w->nic);
	/* Who is polled for may need this core. */
	if (yields)
		sched_yield();
}

static void nic_world_poll_empty(struct vrb_world *world, struct hca_cq *cq)
{
	struct nic_world *w = to_nic_world(world);

	(void)cq;
	w->nic->app_turn_at = w->entered_at;
	w->idle = nic_loop_turn(w->nic) == 0;
	w->idle_row = w->idle ? w->idle_row + 1 : 0;
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

static void nic_world_mcast_ip(struct vrb_world *world, const uint8_t gid[16], uint8_t ret_ip[16])
{
	nic_mcast_ip(to_nic_world(world)->nic, gid, ret_ip);
}

static int nic_world_hear_mcast(struct vrb_world *world, const uint8_t ip[16], bool hears)
{
	return nic_hear_mcast(to_nic_world(world)->nic, ip, hears);
}

/* As the kernel has it: CAP_NET_RAW, when the queue pair is made. */
static int nic_world_may_send_frames(struct vrb_world *world)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{.effective = 0}};

	(void)world;
	if (syscall(SYS_capget, &header, data) != 0)
		return -EPERM;
	return data[0].effective & 1u << CAP_NET_RAW ? 0 : -EPERM;
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
	if (w->contexts == 0 && w->faults.opened_ns == 0)
		w->faults.opened_ns = w->nic->epoch_ns + nic_now(w->nic) / PS_NS;
	if (w->contexts == 0)
		ret = nic_start(w->nic);
	if (ret != 0)
		fprintf(stderr, "verbena: no device: %s\n", strerror(-ret));
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
	.clocks = nic_world_clocks,
	.leave = nic_world_leave,
	.poll_empty = nic_world_poll_empty,
	.channel_init = nic_world_channel_init,
	.channel_fini = nic_world_channel_fini,
	.channel_signal = nic_world_channel_signal,
	.channel_wait = nic_world_channel_wait,
	.resolve = nic_world_resolve,
	.reuse = nic_world_reuse,
	.mcast_ip = nic_world_mcast_ip,
	.hear_mcast = nic_world_hear_mcast,
	.may_send_frames = nic_world_may_send_frames,
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

static int64_t on_time(void *world)
{
	struct nic_world *w = world;

	return vrb_on_time(&w->world);
}

static const struct hca_observer observer = {world_on_wc, world_on_cq_event, world_on_place,
					     world_on_async};

static void set_faults(struct nic_world *w, const char *text)
{
	if (!text || vrb_faults_parse(text, &w->faults) != 0)
		return;
	vrb_faults_of_program(&w->faults, program_invocation_short_name);
	if (w->faults.count > 0)
		w->world.faults = &w->faults;
	for (uint32_t i = 0; i < w->faults.count; i++) {
		const struct vrb_fault *rule = &w->faults.rules[i];

		if (rule->kind == VRB_FAULT_RNR && rule->nth > 0 && rule->from_ns == 0)
			hca_device_starve(w->world.hca, rule->nth, rule->count);
	}
}

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
	own.on_time = params->faults ? on_time : NULL;
	own.progress_thread = false; /* nic_world_open() */
	own.shares = params->link == NIC_LINK_UDP;
	ret = nic_open(&own, &w->nic);
	if (ret != 0) {
		free(w);
		return ret;
	}
	snprintf(w->name, sizeof(w->name), "verbena%u", params->device);
	w->world = (struct vrb_world){.ops = &world_ops,
				      .hca = nic_device(w->nic),
				      .memory = &hca_mem_program,
				      .doubtful = &hca_mem_program,
				      .device_name = w->name,
				      .fw_ver = nic_kind(params)->fw_ver,
				      .part_id = nic_kind(params)->part_id,
				      .netdev = nic_netdev(w->nic),
				      .ifindex = if_nametoindex(nic_netdev(w->nic)),
				      .guid = nic_guid(w->nic),
				      .gid_places = NIC_GID_PLACES,
				      .mcast_max = NIC_MCAST_MAX,
				      .is_guarded = true,
				      .aborts = params->aborts};
	set_faults(w, params->faults);
	*ret_world = &w->world;
	return 0;
}

static struct vrb_world *environment_worlds[NIC_DEVICES_MAX];
/* In the child of a fork() that left nothing of one: the parent's, in whose place comes another. */
static struct vrb_world *parents_worlds[NIC_DEVICES_MAX];
static uint32_t environment_count;
static pthread_once_t environment_once = PTHREAD_ONCE_INIT;

/* Whatever other threads are at is done when the process doubles; the child's copy is dead. */
static void world_before_fork(void)
{
	pthread_mutex_lock(&contexts_lock);
	for (uint32_t i = 0; i < environment_count; i++)
		if (environment_worlds[i])
			nic_lock(to_nic_world(environment_worlds[i])->nic);
}

static void after_fork_parent(void)
{
	for (uint32_t i = 0; i < environment_count; i++)
		if (environment_worlds[i])
			nic_unlock(to_nic_world(environment_worlds[i])->nic);
	pthread_mutex_unlock(&contexts_lock);
}

/* What was open is the parent's. Who asks for devices again is shown one of the child's own. */
static void after_fork_child(void)
{
	for (uint32_t i = 0; i < environment_count; i++) {
		struct vrb_world *world = environment_worlds[i];
		struct nic_world *w = world ? to_nic_world(world) : NULL;

		if (!w || (w->contexts == 0 && !world->is_dead && nic_forked_idle(w->nic) == 0))
			continue;
		world->is_child = world->is_dead = true;
		nic_forked(w->nic);
		parents_worlds[i] = world;
		environment_worlds[i] = NULL;
		environment_once = (pthread_once_t)PTHREAD_ONCE_INIT;
	}
	pthread_mutex_unlock(&contexts_lock);
}

/* Also as the process ends, wherever another thread, or this one, is at that moment: where the lock
 * is not to be had soon, nothing is told. */
void nic_world_publish(void)
{
	for (uint32_t i = 0; i < environment_count; i++) {
		struct vrb_world *world = environment_worlds[i];
		struct nic *nic = world ? to_nic_world(world)->nic : NULL;

		if (nic && !nic_is_dead(nic) && nic_lock_soon(nic, PUBLISH_TRIES)) {
			nic_board_publish(nic);
			nic_unlock(nic);
		}
	}
}

/* The place of the child of a fork(), whose parent's device was there before, or an empty one. */
static int open_place(const struct nic_params *params, uint32_t place)
{
	struct vrb_world *parents = parents_worlds[place], **world = &environment_worlds[place];
	struct nic_params own;
	int ret;

	nic_params_of_device(params, place, &own);
	if (parents) /* its capture goes on */
		own.pcap[0] = '\0';
	ret = open_world(&own, world);
	if (ret != 0) {
		fprintf(stderr, "verbena: no device: %s\n", strerror(-ret));
		return ret;
	}
	(*world)->recording = getenv("VERBENA_RECORD");
	if (parents)
		nic_inherit_capture(to_nic_world(*world)->nic, to_nic_world(parents)->nic);
	return 0;
}

static void open_environment(void)
{
	static bool is_watched;
	struct nic_params params;
	const char *bad = NULL;
	int ret;

	if (&verbena_signal_changes)
		hca_mem_program_watch(&verbena_signal_changes);
	if (nic_params_from_env(&params, &bad) != 0) {
		fprintf(stderr, "verbena: %s: not understood\n", bad);
		return;
	}
	ret = nic_loop_check(params.loop);
	if (ret != 0) {
		fprintf(stderr, "verbena: VERBENA_LOOP: no io_uring: %s\n", strerror(-ret));
		return;
	}
	pthread_mutex_lock(&contexts_lock); /* no fork() in the middle of it */
	environment_count = 0;
	for (uint32_t i = 0; i < params.device_count; i++) {
		if (!environment_worlds[i] && open_place(&params, i) != 0)
			break;
		environment_count++;
	}
	pthread_mutex_unlock(&contexts_lock);
	if (environment_count == 0 || is_watched)
		return;
	is_watched = true;
	atexit(nic_world_publish);
	pthread_atfork(world_before_fork, after_fork_parent, after_fork_child);
}

static uint32_t list(struct vrb_world **ret_worlds, uint32_t count)
{
	pthread_once(&environment_once, open_environment);
	for (uint32_t i = 0; i < count && i < environment_count; i++)
		ret_worlds[i] = environment_worlds[i];
	return environment_count;
}

const struct vrb_provider *vrb_provider_nic(void)
{
	static const struct vrb_provider provider = {.list = list};

	return &provider;
}
