/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_world.h"

#include "models/machine/machine.h"
#include "models/program/spin.h"
#include "models/program/task_gpu.h"
#include "models/program/turn.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/siphash.h"
#include "util/text.h"

#include <errno.h>
#include <string.h>

static struct task_device *task_world_device_of(struct vrb_world *world)
{
	return container_of(world, struct task_device, world);
}

static struct task *task_process_of(struct vrb_world *world)
{
	return task_world_device_of(world)->task;
}

/* The one that calls: of the threads of the adapter's process the one that runs. A thread of the
 * system's that a program has made is none of them: there is no virtual time for it. */
static struct task *task_of(struct vrb_world *world)
{
	const struct task *process = task_process_of(world);
	struct task *task = task_current();

	if (!task || task->process != process) {
		if (process->host->params.spin)
			spin_stranger(process->host->params.spin, process->host->node.name,
				      process->name);
		CHECK(task && task->process == process); /* a thread of somebody else's calls */
	}
	return task;
}

static ps_t task_world_enter(struct vrb_world *world, enum vrb_call call, uint64_t amount)
{
	struct task *task = task_of(world);
	const struct host_cost *cost = &task->host->params.cost;

	if (task->host->params.spin)
		spin_touch(task->host->params.spin, task->host->th->number);
	task_sleep(task, cost->call[call] + cost->each[call] * amount);
	return task->host->now;
}

static ps_t task_world_now(struct vrb_world *world)
{
	return task_process_of(world)->host->now;
}

/* The adapter's time is that of the run. */
static struct vrb_clocks task_world_clocks(struct vrb_world *world)
{
	(void)world;
	return (struct vrb_clocks){.latest_ns = INT64_MAX};
}

/* The host looks at its adapter again after each step of a program. */
static void task_world_leave(struct vrb_world *world, bool posted)
{
	(void)world;
	(void)posted;
}

static void task_world_poll_empty(struct vrb_world *world, struct hca_cq *cq)
{
	struct task *task = task_of(world);
	const struct host_cost *cost = &task->host->params.cost;

	task->waiting_cq = cq;
	task_sleep(task, cost->poll_quantum);
	task->waiting_cq = NULL;
	task_sleep(task, cost->call[VRB_CALL_POLL_CQ]);
}

static int task_world_channel_init(struct vrb_world *world, struct vrb_channel *channel)
{
	(void)world;
	channel->fd = -1; /* nothing that a system call could wait on: time there is real */
	return 0;
}

static void task_world_channel_fini(struct vrb_world *world, struct vrb_channel *channel)
{
	(void)world, (void)channel;
}

static void task_world_channel_signal(struct vrb_world *world, struct vrb_channel *channel)
{
	const struct task *process = task_process_of(world);

	for (struct task *task = process->host->tasks; task; task = task->next) {
		if (task->waiting_channel != channel)
			continue;
		task->waiting_channel = NULL;
		task_wake(task, task->host->now + task->host->params.cost.interrupt);
	}
}

static int task_world_channel_wait(struct vrb_world *world, struct vrb_channel *channel,
				   uint32_t seen)
{
	struct task *task = task_of(world);

	while (channel->events == seen) {
		task->waiting_channel = channel;
		task_pause(task);
	}
	return 0;
}

static int task_world_resolve(struct vrb_world *world, struct wire_path *path, uint32_t sgid_index,
			      uint32_t local_qpn, uint32_t remote_qpn)
{
	if (sgid_index != 0)
		return -EINVAL;
	return host_resolve(task_world_device_of(world)->host, path, local_qpn, remote_qpn);
}

/* In virtual time nobody has to be asked. */
static void task_world_reuse(struct vrb_world *world, struct wire_path *path, uint32_t local_qpn,
			     uint32_t remote_qpn)
{
	CHECK(host_resolve(task_world_device_of(world)->host, path, local_qpn, remote_qpn) == 0);
}

static void task_world_mcast_ip(struct vrb_world *world, const uint8_t gid[16], uint8_t ret_ip[16])
{
	host_mcast_ip(task_world_device_of(world)->host, gid, ret_ip);
}

/* Switches send multicast to all hosts alike: which groups this one is in the adapter knows. */
static int task_world_hear_mcast(struct vrb_world *world, const uint8_t ip[16], bool hears)
{
	(void)ip;
	return host_hear_mcast(task_world_device_of(world)->host, hears);
}

/* Nor has it frames that are no packets. */
static int task_world_may_send_frames(struct vrb_world *world)
{
	(void)world;
	return -EOPNOTSUPP;
}

static int task_world_gid(struct vrb_world *world, uint32_t index, uint8_t ret_gid[16])
{
	if (index != 0)
		return -ENOENT;
	host_ip(task_world_device_of(world)->host, ret_gid);
	return 0;
}

/* The n-th QP of the program of this name: the same in every run. */
static uint64_t task_world_qp_identity(struct vrb_world *world)
{
	struct task *process = task_process_of(world);
	const uint64_t words[] = {process->event.key, process->qp_count++};

	return util_hash_words((struct util_key){0}, words, 2);
}

static int task_world_open(struct vrb_world *world)
{
	(void)world;
	return 0;
}

/* Nothing was opened; nothing that fails here goes on. */
static void world_no_more(struct vrb_world *world)
{
	(void)world;
}

static const struct vrb_world_ops world_ops = {
	.name = "task",
	.enter = task_world_enter,
	.now = task_world_now,
	.clocks = task_world_clocks,
	.leave = task_world_leave,
	.poll_empty = task_world_poll_empty,
	.channel_init = task_world_channel_init,
	.channel_fini = task_world_channel_fini,
	.channel_signal = task_world_channel_signal,
	.channel_wait = task_world_channel_wait,
	.resolve = task_world_resolve,
	.reuse = task_world_reuse,
	.mcast_ip = task_world_mcast_ip,
	.hear_mcast = task_world_hear_mcast,
	.may_send_frames = task_world_may_send_frames,
	.gid = task_world_gid,
	.qp_identity = task_world_qp_identity,
	.open = task_world_open,
	.close = world_no_more,
	.abandon = world_no_more,
};

static void device_init(struct task_device *device, struct task *task, struct host *host,
			uint32_t number)
{
	util_text(device->name, sizeof(device->name), "verbena%u", number);
	util_text(device->netdev, sizeof(device->netdev), "eth%u", number);
	device->task = task;
	device->host = host;
	device->world = (struct vrb_world){
		.ops = &world_ops,
		.hca = host->hca,
		.memory = &hca_mem_host,
		.doubtful = &task_memory_doubtful,
		.device_name = device->name,
		.netdev = device->netdev,
		.guid = util_hash_name(host->node.name),
		.mcast_max = host->table->mcast_max,
		.through_bytes = host->params.through_bytes,
		.locate = task->host->gpus ? task_gpu_locate : NULL,
		.let_go = task_gpu_let_go,
	};
}

int task_world_init(struct task *task)
{
	const struct machine *machine = host_machine(task->host);
	const uint32_t count = machine ? machine->count : 1;

	task->devices = util_calloc(count, sizeof(*task->devices));
	if (!task->devices)
		return -ENOMEM;
	for (; task->device_count < count; task->device_count++)
		device_init(&task->devices[task->device_count], task,
			    machine ? machine->nics[task->device_count] : task->host,
			    task->device_count);
	return 0;
}

void task_world_fini(struct task *task)
{
	for (uint32_t i = 0; i < task->device_count; i++) {
		vrb_world_fini(&task->devices[i].world);
		task->devices[i].world.hca = NULL;
	}
}
