/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task.h"

#include "models/machine/machine.h"
#include "models/program/rendezvous.h"
#include "models/program/task_gpu.h"
#include "models/program/task_world.h"
#include "models/program/turn.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/siphash.h"

#include <errno.h>
#include <string.h>

static bool name_is_taken(const struct host *host, const char *name)
{
	for (const struct task *task = host->tasks; task; task = task->next)
		if (strcmp(task->name, name) == 0)
			return true;
	return false;
}

static void task_free(struct task *task)
{
	if (!task)
		return;
	coro_destroy(task->coro);
	util_free(task->devices);
	util_free(task->name);
	util_free(task);
}

/* What tasks of their own and threads differ in. */
struct task_kind {
	struct space *space;
	struct task *process; /* NULL: a task of its own */
	void *stack;
	size_t stack_bytes;
};

static int program_task_spawn(struct host *host, const char *name, task_fn *fn, void *arg,
			      ps_t start, const struct task_kind *kind, struct task **ret_task)
{
	const size_t name_bytes = strlen(name) + 1;
	struct task *task;

	CHECK(!host_is_further(host));
	if (name_is_taken(host, name))
		return -EEXIST;
	task = util_calloc(1, sizeof(*task));
	if (!task)
		return -ENOMEM;
	task->host = host;
	task->fn = fn;
	task->arg = arg;
	task->space = kind->space;
	task->process = kind->process ? kind->process : task;
	task->event.fn = task_turn;
	task->event.phase = SIM_LOCAL_PROGRAM;
	task->event.key = util_hash_name(name);
	task->name = util_alloc(name_bytes);
	task->coro = coro_create_on(host->params.coro_backend, kind->stack, kind->stack_bytes,
				    task_turn_main, task);
	if (!task->name || !task->coro || (!kind->process && task_world_init(task) != 0)) {
		task_free(task);
		return -ENOMEM;
	}
	memcpy(task->name, name, name_bytes);
	task->next = host->tasks;
	host->tasks = task;
	if (host->th)
		task_wake(task, start > host->now ? start : host->now);
	else
		task_wake_between(task, start);
	*ret_task = task;
	return 0;
}

int task_spawn(struct host *host, const char *name, task_fn *fn, void *arg, ps_t start,
	       size_t stack_bytes)
{
	const struct task_kind kind = {.stack_bytes = stack_bytes};
	struct task *task;

	return program_task_spawn(host, name, fn, arg, start, &kind, &task);
}

int task_spawn_in(struct host *host, const char *name, task_fn *fn, void *arg, ps_t start,
		  struct space *space)
{
	const struct task_kind kind = {
		.space = space, .stack = space->stack, .stack_bytes = space->stack_bytes};
	struct task *task;

	return program_task_spawn(host, name, fn, arg, start, &kind, &task);
}

int task_spawn_thread(struct task *process, const char *name, task_fn *fn, void *arg, void *stack,
		      size_t stack_bytes, struct task **ret_task)
{
	const struct task_kind kind = {.space = process->space,
				       .process = process,
				       .stack = stack,
				       .stack_bytes = stack_bytes};

	CHECK(process->process == process);
	return program_task_spawn(process->host, name, fn, arg, process->host->now, &kind,
				  ret_task);
}

void task_end(struct task *task)
{
	CHECK(task != task_current());
	task_cancel(task);
	task->waiting_cq = NULL;
	task->waiting_channel = NULL;
	task->waiting_placement = false;
	task->done = true;
}

void task_destroy_all(struct host *host)
{
	for (struct task *task = host->tasks; task; task = task->next)
		task_gpu_fini(task);
	while (host->tasks) {
		struct task *task = host->tasks;

		host->tasks = task->next;
		task_cancel(task);
		task_world_fini(task);
		task_free(task);
	}
}

uint32_t task_unfinished(const struct host *host)
{
	uint32_t count = 0;

	for (const struct task *task = host->tasks; task; task = task->next)
		count += !task->done && !task->is_service;
	return count;
}

uint8_t task_timeout_unheard(const struct host *host)
{
	uint8_t longest = 0;

	for (const struct task *task = host->tasks; task; task = task->next)
		for (uint32_t i = 0; i < task->device_count; i++)
			if (task->devices[i].world.timeout_unheard > longest)
				longest = task->devices[i].world.timeout_unheard;
	return longest;
}

int task_put(struct task *task, const char *key, const void *bytes, size_t length)
{
	CHECK(task->host->table->rendezvous != NULL);
	return rendezvous_put(task->host->table->rendezvous, task->host->th, task->host->node.id,
			      key, bytes, length, task->host->now);
}

int64_t task_get(struct task *task, const char *key, void *ret_bytes, size_t room)
{
	struct host *host = task->host;

	CHECK(host->table->rendezvous != NULL);
	for (;;) {
		ps_t visible_at;
		int64_t length = rendezvous_get(host->table->rendezvous, key, ret_bytes, room,
						host->now, &visible_at);
		int ret;

		if (length >= 0)
			return length;
		if (visible_at != PS_NEVER) {
			task_sleep(task, visible_at - host->now);
			continue;
		}
		ret = rendezvous_wait(host->table->rendezvous, host->th, task, key);
		if (ret)
			return ret;
		task_pause(task);
	}
}

void task_on_wc(struct host *host, const struct hca_cq *cq, ps_t now)
{
	const ps_t at = now + host->params.cost.cqe_write;

	host = host_first(host);
	for (struct task *task = host->tasks; task; task = task->next)
		if (task->waiting_cq == cq && at < task->event.at)
			task_wake(task, at);
}

void task_wait_placement(struct task *task)
{
	const struct task *process = task->process;

	task->waiting_placement = true;
	for (uint32_t i = 0; i < process->device_count; i++)
		process->devices[i].host->placement_waiters++;
	task_pause(task);
}

static void forget_waiters(struct host *host)
{
	const struct machine *machine = host_machine(host);

	host->placement_waiters = 0;
	for (uint32_t i = 0; machine && i < machine->count; i++)
		machine->nics[i]->placement_waiters = 0;
}

__attribute__((noinline)) void task_on_place(struct host *host, ps_t now)
{
	forget_waiters(host);
	host = host_first(host);
	for (struct task *task = host->tasks; task; task = task->next)
		if (task->waiting_placement) {
			task->waiting_placement = false;
			task_wake(task, now);
		}
	if (host->gpus)
		task_gpu_look(host, now);
}

void task_on_cq_event(void *cq_owner)
{
	vrb_on_cq_event(cq_owner);
}

/* Queue pairs of traffic have no owner, and nobody who would listen. */
void task_on_async(struct host *host, void *owner, int event)
{
	const struct task *task = host_first(host)->tasks;

	if (task && owner)
		vrb_on_async(&task->process->devices[0].world, owner, event);
}

uint32_t task_list_worlds(struct vrb_world **ret_worlds, uint32_t count)
{
	struct task *task = task_current();

	if (!task)
		return 0;
	task = task->process;
	for (uint32_t i = 0; i < task->device_count && i < count; i++)
		ret_worlds[i] = &task->devices[i].world;
	return task->device_count;
}
