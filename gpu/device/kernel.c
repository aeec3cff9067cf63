/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/kernel.h"

#include "gpu/bus/multicast.h"
#include "gpu/device/kernel_inner.h"
#include "gpu/device/team.h"
#include "util/alloc.h"
#include "util/check.h"

#include <string.h>

enum {
	WARP = 32,
	SECTOR = 32, /* the least that a GPU reads */
	/* What its multiprocessors ask for at a time, and what they store into another GPU: NVLink
	 * has no larger packets of theirs (github.com/NVIDIA/nccl-tests/issues/149). */
	PACKET = 128,
	FLOW_BURST = 1024,
	FLOW_BURSTS = 256,  /* that one flow has under way at most, ... */
	TEAM_BURSTS = 1024, /* ... or one of a team, which takes all links of several GPUs, ... */
	PCIE_BURSTS = 32,   /* ... and so many hide the latency of PCI Express */
	POINT = 1024 * 16,  /* bytes that a block has under way, of those that were measured */
};

struct gpu_flow {
	struct gpu_flow *next;
	struct gpu_kernel *kernel;
	struct copy_engine engine;
	struct copy_job job;
	uint32_t part; /* a number behind those of parts: of the team */
	const struct gpu_team *team;
	struct bus_multicast *multicast;
	struct gpu_flow *follower; /* what writes to the team that this reads; NULL: nothing */
	bool writes;
	uint64_t bytes;
};

static struct gpu *gpu_of(const struct gpu_kernel *kernel)
{
	return kernel->command->stream->context->gpu;
}

/* It has, or another one of its context. */
static bool has_failed(const struct gpu_kernel *kernel)
{
	return kernel->command->stream->context->how != GPU_KERNEL_WELL;
}

/* ---- how fast ---- */

/* All that run at once. */
static uint64_t resident(const struct gpu_profile *profile, uint64_t threads)
{
	const uint64_t most = (uint64_t)profile->multiprocessors * profile->resident_threads;

	return threads < most ? threads : most;
}

uint64_t gpu_kernel_rate(const struct gpu_profile *profile, uint64_t threads, uint32_t width,
			 bool writes)
{
	const uint64_t under_way = resident(profile, threads) * width;
	uint64_t before_at = 0, before = 0;

	for (uint32_t i = 0; i < GPU_KERNEL_RATES; i++) {
		const struct gpu_kernel_rate *point = &profile->kernel_rates[i];
		const uint64_t at = (uint64_t)point->blocks * POINT;
		const uint64_t rate =
			(uint64_t)(writes ? point->write_mbps : point->read_mbps) * 8 * 1000000;

		if (point->blocks == 0)
			break;
		if (under_way < at)
			return before +
			       (uint64_t)((u128)(rate - before) * (under_way - before_at) /
					  (at - before_at)) +
			       1;
		before_at = at;
		before = rate;
	}
	return before + 1;
}

static uint64_t threads_of(const struct gpu_kernel *kernel)
{
	return (uint64_t)kernel->blocks * kernel->block_threads;
}

/* What this step takes beside what crosses the bus. */
static ps_t time_within(const struct gpu_kernel *kernel)
{
	const struct gpu_profile *profile = gpu_of(kernel)->profile;
	const uint64_t threads = threads_of(kernel);
	ps_t time = kernel->busy;

	if (kernel->read > 0)
		time += util_tx_time(kernel->read,
				     gpu_kernel_rate(profile, threads, kernel->width, false));
	if (kernel->written > 0)
		time += util_tx_time(kernel->written,
				     gpu_kernel_rate(profile, threads, kernel->width, true));
	return time;
}

/* ---- flows ---- */

static void end_flows(struct gpu_kernel *kernel)
{
	while (kernel->flows) {
		struct gpu_flow *flow = kernel->flows;

		kernel->flows = flow->next;
		copy_engine_fini(&flow->engine);
		bus_multicast_destroy(flow->multicast);
		util_free(flow);
	}
}

/* In the order of the parts, whatever order they were touched in. */
static struct gpu_flow *flow_of(struct gpu_kernel *kernel, uint32_t part, bool writes)
{
	struct gpu_flow **at = &kernel->flows, *flow;

	while (*at && ((*at)->part < part || ((*at)->part == part && (*at)->writes < writes)))
		at = &(*at)->next;
	if (*at && (*at)->part == part && (*at)->writes == writes)
		return *at;
	flow = util_calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;
	flow->kernel = kernel;
	flow->part = part;
	flow->writes = writes;
	flow->next = *at;
	*at = flow;
	return flow;
}

static void step_is_over(struct gpu_kernel *kernel, ps_t now);

static void part_is_over(struct gpu_kernel *kernel, ps_t now)
{
	if (--kernel->under_way == 0)
		step_is_over(kernel, now);
}

static void on_flow(struct copy_job *job, ps_t now)
{
	struct gpu_kernel *kernel = container_of(job, struct gpu_flow, job)->kernel;

	if (job->is_lost)
		(void)gpu_kernel_fail(kernel, GPU_KERNEL_CUT_OFF);
	part_is_over(kernel, now);
}

/* Warps send what they write one after the other. */
static ps_t write_time(const struct gpu_kernel *kernel, uint64_t bytes)
{
	const struct gpu_profile *profile = gpu_of(kernel)->profile;
	const uint64_t threads = resident(profile, threads_of(kernel));
	const uint64_t warps = (threads + WARP - 1) / WARP * profile->warp_write_bps;
	const uint64_t blocks = kernel->blocks * profile->block_write_bps;

	return util_tx_time(bytes, warps < blocks ? warps : blocks);
}

/* What reads under way hide: so much of all its threads. */
static uint32_t bursts_of(const struct gpu_kernel *kernel, uint32_t burst, uint32_t most)
{
	const uint64_t window =
		resident(gpu_of(kernel)->profile, threads_of(kernel)) * kernel->width;
	const uint64_t count = (window + burst - 1) / burst;

	return count < most ? (uint32_t)count : most;
}

/* To all of its team, with so many bursts under way. */
static bool prepare_multicast(struct gpu_flow *flow, uint32_t bursts)
{
	const struct gpu *gpu = gpu_of(flow->kernel);
	const struct gpu_team *team = flow->team;
	uint32_t members[BUS_PARTS_MAX];

	for (uint32_t i = 0; i < team->count; i++)
		members[i] = team->members[i]->part;
	if (bus_multicast_create(gpu->bus, gpu->part, members, team->count, bursts,
				 &flow->multicast) != 0)
		return false;
	flow->engine.multicast = flow->multicast;
	flow->job.other = members[members[0] == gpu->part && team->count > 1];
	return true;
}

static bool prepare_flow(struct gpu_flow *flow)
{
	struct gpu_kernel *kernel = flow->kernel;
	struct gpu *gpu = gpu_of(kernel);
	const uint64_t window = threads_of(kernel) * kernel->width;
	const uint32_t burst = window >= FLOW_BURST ? FLOW_BURST
			       : window > SECTOR    ? (uint32_t)window
						    : SECTOR;
	const bool is_meshed = flow->team || bus_has_nvlink(gpu->bus, gpu->part, flow->part);
	const uint32_t most = flow->team ? TEAM_BURSTS : FLOW_BURSTS;
	const uint32_t bursts = !flow->writes ? bursts_of(kernel, burst, most)
				: is_meshed   ? most
					      : PCIE_BURSTS;
	const uint64_t key = gpu_key(gpu);

	gpu->next_key += bursts;
	if (copy_engine_init(&flow->engine, gpu->bus, gpu->local, gpu->part, !flow->writes, key,
			     bursts) != 0)
		return false;
	flow->engine.packet = flow->writes && !is_meshed ? 0 : PACKET;
	flow->engine.lag = flow->writes ? 0 : gpu->profile->stream_far;
	flow->job = (struct copy_job){.bytes = flow->bytes,
				      .least = flow->writes ? write_time(kernel, flow->bytes) : 0,
				      .other = flow->part,
				      .most = flow->writes ? 0 : burst,
				      .on_done = on_flow};
	return !flow->team || prepare_multicast(flow, bursts);
}

/* What was read of a team is what is written to it: no more of it leaves than has come. */
static void on_team_read(struct copy_job *job, ps_t now)
{
	struct gpu_flow *follower = container_of(job, struct gpu_flow, job)->follower;
	const uint64_t free = (uint64_t)((u128)follower->bytes * job->arrived / job->bytes);

	copy_engine_release(&follower->engine, &follower->job, follower->bytes - free, now);
}

static void follow(struct gpu_flow *flow)
{
	struct gpu_flow *follower = flow->next;

	if (!flow->team || !follower || follower->team != flow->team)
		return;
	flow->follower = follower;
	flow->job.on_placed = on_team_read;
	follower->job.held = follower->bytes;
}

static bool prepare_flows(const struct gpu_kernel *kernel)
{
	for (struct gpu_flow *flow = kernel->flows; flow; flow = flow->next)
		if (!prepare_flow(flow))
			return false;
	for (struct gpu_flow *flow = kernel->flows; flow; flow = flow->next)
		follow(flow);
	return true;
}

/* ---- what a step touches ---- */

static bool count(struct gpu_kernel *kernel, uint32_t part, uint64_t bytes, bool writes)
{
	struct gpu_flow *flow;

	if (part == gpu_of(kernel)->part) {
		*(writes ? &kernel->written : &kernel->read) += bytes;
		return true;
	}
	flow = flow_of(kernel, part, writes);
	if (flow)
		flow->bytes += bytes;
	return flow;
}

bool gpu_kernel_count_team(struct gpu_kernel *kernel, const struct gpu_team *team, uint64_t bytes,
			   bool writes)
{
	struct gpu_flow *flow = flow_of(kernel, BUS_PARTS_MAX + (uint32_t)team->number, writes);

	if (!flow)
		return false;
	flow->team = team;
	flow->bytes += bytes;
	return true;
}

/* What does not come is reached in the host's memory. */
static bool count_managed(struct gpu_kernel *kernel, uint64_t address, uint64_t bytes, bool writes)
{
	const struct gpu *gpu = gpu_of(kernel);
	struct gpu_touch *touch = &kernel->touch;
	const uint64_t *there = writes ? &touch->written_there : &touch->read_there;
	const uint64_t before = *there;
	uint64_t far;

	gpu_managed_touch(gpu->managed, touch, address, bytes, writes);
	far = *there - before;
	return (far == 0 || count(kernel, gpu->host_part, far, writes)) &&
	       (far == bytes || count(kernel, gpu->part, bytes - far, writes));
}

static bool count_reach(struct gpu_kernel *kernel, const struct gpu_reach *reach, uint64_t address,
			uint64_t bytes, bool writes)
{
	kernel->bytes += bytes;
	return reach->is_managed ? count_managed(kernel, address, bytes, writes)
				 : count(kernel, reach->part, bytes, writes);
}

bool gpu_kernel_fail(struct gpu_kernel *kernel, enum gpu_kernel_end how)
{
	if (kernel->how == GPU_KERNEL_WELL)
		kernel->how = how;
	return false;
}

/* What [@address, @address + @bytes) is, which counts as read or written from now on. */
static bool touch(struct gpu_kernel *kernel, uint64_t address, uint64_t bytes, bool writes,
		  struct gpu_reach *ret_reach)
{
	if (kernel->how != GPU_KERNEL_WELL)
		return false;
	if (!kernel->find(kernel, address, bytes, ret_reach) || ret_reach->team ||
	    (writes && ret_reach->is_read_only))
		return gpu_kernel_fail(kernel, GPU_KERNEL_STRAYED);
	return count_reach(kernel, ret_reach, address, bytes, writes) ||
	       gpu_kernel_fail(kernel, GPU_KERNEL_TRAPPED);
}

bool gpu_kernel_read(struct gpu_kernel *kernel, void *to, uint64_t address, uint64_t bytes)
{
	struct gpu_reach reach;

	if (bytes == 0)
		return kernel->how == GPU_KERNEL_WELL;
	if (!touch(kernel, address, bytes, false, &reach)) {
		memset(to, 0, bytes);
		return false;
	}
	gpu_note_read(gpu_of(kernel), reach.at, bytes);
	overlay_read(&kernel->overlay, to, reach.at, bytes);
	return true;
}

bool gpu_kernel_write(struct gpu_kernel *kernel, uint64_t address, const void *from, uint64_t bytes)
{
	struct gpu_reach reach;

	if (bytes == 0)
		return kernel->how == GPU_KERNEL_WELL;
	return touch(kernel, address, bytes, true, &reach) &&
	       (overlay_write(&kernel->overlay, reach.at, from, bytes) == 0 ||
		gpu_kernel_fail(kernel, GPU_KERNEL_TRAPPED));
}

/* Where managed memory is once it was touched: here, or it stays with the host. */
static uint32_t part_of_managed(struct gpu_kernel *kernel, uint64_t address)
{
	const struct gpu *gpu = gpu_of(kernel);

	gpu_managed_touch(gpu->managed, &kernel->touch, address, 4, false);
	return gpu_managed_page(gpu->managed, address)->mapped >> gpu->place & 1 ? gpu->host_part
										 : gpu->part;
}

bool gpu_kernel_wait(struct gpu_kernel *kernel, uint64_t address, uint32_t value,
		     enum gpu_compare compare)
{
	struct gpu_reach reach;

	if (kernel->how != GPU_KERNEL_WELL)
		return false;
	if (address % 4 != 0 || !kernel->find(kernel, address, 4, &reach) || reach.team)
		return gpu_kernel_fail(kernel, GPU_KERNEL_STRAYED);
	kernel->wait = (struct gpu_kernel_wait){
		.is_asked = true,
		.value = {.at = reach.at, .value = value, .bytes = 4, .compare = compare},
		.part = reach.is_managed ? part_of_managed(kernel, address) : reach.part,
		.managed = reach.is_managed ? address : 0};
	return true;
}

/* ---- polls ---- */

static void begin_step(struct gpu_kernel *kernel, ps_t now);

static void at(struct gpu_kernel *kernel, ps_t when,
	       void (*fn)(struct sim_local_event *event, void *context))
{
	kernel->command->event.fn = fn;
	sim_local_schedule(gpu_of(kernel)->local, &kernel->command->event, when);
}

static struct gpu_kernel *kernel_of(struct sim_local_event *event)
{
	return container_of(event, struct gpu_command, event)->kernel;
}

static void on_seen(struct sim_local_event *event, void *context)
{
	struct gpu_kernel *kernel = kernel_of(event);

	(void)context;
	gpu_of(kernel)->values_awaited--;
	begin_step(kernel, event->at);
}

static void begin_touches(struct gpu_kernel *kernel, ps_t now)
{
	const bool is_wide = threads_of(kernel) * kernel->width > GPU_MANAGED_PAGE;

	kernel->touch = (struct gpu_touch){.who = gpu_of(kernel)->place,
					   .by = is_wide ? GPU_BY_THREADS : GPU_BY_THREAD,
					   .now = now};
}

static void on_poll_migrated(struct gpu_migration *migration, ps_t now)
{
	struct gpu_kernel *kernel = container_of(migration, struct gpu_kernel, migration);

	at(kernel, now + kernel->wait.back, on_seen);
}

/* Managed memory that it polls may have gone, and comes with the poll that finds it changed: others
 * would find it as it was. False: it is there. */
static bool faults_for_poll(struct gpu_kernel *kernel, ps_t now)
{
	struct gpu_touch *touch = &kernel->touch;

	if (!kernel->wait.managed)
		return false;
	begin_touches(kernel, now);
	gpu_managed_touch(gpu_of(kernel)->managed, touch, kernel->wait.managed, 4, false);
	touch->read_there = 0;
	kernel->migration.on_done = on_poll_migrated;
	if (touch->time == 0)
		return false;
	if (!gpu_migrate(&kernel->migration, touch, touch->time, now))
		at(kernel, now + touch->time + kernel->wait.back, on_seen);
	return true;
}

/* A poll is where the memory is: what is there now comes back to the kernel. */
static void look_there(struct gpu_kernel *kernel, ps_t now)
{
	struct gpu_kernel_wait *wait = &kernel->wait;

	wait->reached_at = now;
	wait->sleeps = !gpu_has_value(&wait->value) && !has_failed(kernel);
	if (!wait->sleeps && !faults_for_poll(kernel, now))
		at(kernel, now + wait->back, on_seen);
}

static void on_poll(struct sim_local_event *event, void *context)
{
	(void)context;
	look_there(kernel_of(event), event->at);
}

void gpu_kernel_look(struct gpu_kernel *kernel, ps_t now)
{
	struct gpu_kernel_wait *wait = &kernel->wait;
	ps_t polls;

	if (!wait->sleeps || wait->period == 0 ||
	    (!gpu_has_value(&wait->value) && !has_failed(kernel)))
		return;
	wait->sleeps = false;
	polls = (now - wait->reached_at) / wait->period + 1;
	at(kernel, wait->reached_at + polls * wait->period, on_poll);
}

/* The first poll has been there and back: the others, which nobody needs to see, take as long. */
static void on_first_poll(struct bus_burst *burst, void *context, ps_t now)
{
	struct gpu_kernel *kernel = container_of(burst, struct gpu_kernel, poll);
	struct gpu_kernel_wait *wait = &kernel->wait;
	const ps_t lag = gpu_of(kernel)->profile->load_far;

	(void)context;
	wait->period = now - wait->began_at + lag;
	wait->back = now - wait->reached_at + lag;
	if (!wait->sleeps) {
		at(kernel, now + lag, on_seen);
		return;
	}
	/* It may have come since. */
	gpu_kernel_look(kernel, now);
}

static bool on_first_reached(struct bus_burst *burst, void *context, ps_t now)
{
	struct gpu_kernel *kernel = container_of(burst, struct gpu_kernel, poll);

	(void)context;
	kernel->wait.reached_at = now;
	kernel->wait.sleeps = !gpu_has_value(&kernel->wait.value);
	return true;
}

static const struct bus_burst_ops poll_ops = {.arrived = on_first_poll,
					      .reached = on_first_reached};

static void begin_polls(struct gpu_kernel *kernel, ps_t now)
{
	struct gpu *gpu = gpu_of(kernel);
	struct gpu_kernel_wait *wait = &kernel->wait;

	wait->is_asked = false;
	wait->began_at = now;
	gpu->values_awaited++;
	if (wait->part != gpu->part) {
		kernel->poll = (struct bus_burst){.ops = &poll_ops, .bytes = SECTOR};
		bus_read(gpu->bus, &kernel->poll, gpu->part, wait->part, now);
		return;
	}
	wait->period = gpu->profile->load;
	wait->back = wait->period / 2;
	at(kernel, now + wait->period - wait->back, on_poll);
}

/* ---- steps ---- */

static void on_fault(struct sim_local_event *event, void *context)
{
	struct gpu_kernel *kernel = kernel_of(event);

	(void)context;
	kernel->ends->failed(kernel->command, kernel->how, event->at);
}

static void step_is_over(struct gpu_kernel *kernel, ps_t now)
{
	struct gpu_context *context = kernel->command->stream->context;
	struct gpu *gpu = context->gpu;

	end_flows(kernel);
	if (kernel->how != GPU_KERNEL_WELL) {
		at(kernel, now + gpu->profile->fault, on_fault);
		return;
	}
	overlay_lay_down(&kernel->overlay);
	gpu_reds_apply(&kernel->reds);
	kernel->command->bytes = kernel->bytes;
	if (kernel->wait.is_asked) {
		if (gpu->on_done)
			gpu->on_done(gpu, kernel->command, now);
		begin_polls(kernel, now);
		context->stored(context, now);
		return;
	}
	context->stored(context, now);
	kernel->ends->over(kernel->command, now);
}

static void on_time(struct sim_local_event *event, void *context)
{
	(void)context;
	part_is_over(kernel_of(event), event->at);
}

/* All that it needs has come. */
static void move_step(struct gpu_kernel *kernel, ps_t now)
{
	ps_t time;

	kernel->under_way = 1;
	for (struct gpu_flow *flow = kernel->flows; flow; flow = flow->next) {
		kernel->under_way++;
		copy_engine_take(&flow->engine, &flow->job, now);
	}
	time = time_within(kernel);
	if (time > 0)
		at(kernel, now + time, on_time);
	else
		part_is_over(kernel, now);
}

static void on_step_migrated(struct gpu_migration *migration, ps_t now)
{
	move_step(container_of(migration, struct gpu_kernel, migration), now);
}

static void on_step_faulted(struct sim_local_event *event, void *context)
{
	(void)context;
	move_step(kernel_of(event), event->at);
}

/* What is reached where it is moves as flows do. */
static void bring_managed(struct gpu_kernel *kernel, ps_t now)
{
	struct gpu_touch *touch = &kernel->touch;

	touch->read_there = touch->written_there = 0;
	kernel->migration.on_done = on_step_migrated;
	if (touch->time == 0)
		move_step(kernel, now);
	else if (!gpu_migrate(&kernel->migration, touch, touch->time, now))
		at(kernel, now + touch->time, on_step_faulted);
}

static void begin_step(struct gpu_kernel *kernel, ps_t now)
{
	if (has_failed(kernel)) {
		kernel->ends->over(kernel->command, now);
		return;
	}
	kernel->read = kernel->written = 0;
	kernel->busy = 0;
	begin_touches(kernel, now);
	kernel->run(kernel);
	if (!prepare_flows(kernel))
		(void)gpu_kernel_fail(kernel, GPU_KERNEL_TRAPPED);
	if (kernel->how != GPU_KERNEL_WELL) {
		at(kernel, now + gpu_of(kernel)->profile->fault, on_fault);
		return;
	}
	bring_managed(kernel, now);
}

static void on_begin(struct sim_local_event *event, void *context)
{
	(void)context;
	begin_step(kernel_of(event), event->at);
}

void gpu_kernel_begin(struct gpu_command *command, const struct gpu_kernel_ends *ends, ps_t now)
{
	struct gpu_kernel *kernel = command->kernel;

	kernel->command = command;
	kernel->ends = ends;
	at(kernel, now + gpu_of(kernel)->profile->costs[GPU_KERNEL].start, on_begin);
}

void gpu_kernel_destroy(struct gpu_kernel *kernel)
{
	if (!kernel)
		return;
	if (kernel->command)
		end_flows(kernel);
	gpu_reds_fini(&kernel->reds);
	gpu_migration_fini(&kernel->migration);
	overlay_fini(&kernel->overlay);
	kernel->end(kernel);
}
