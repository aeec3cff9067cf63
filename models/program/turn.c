/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/turn.h"

#include "models/machine/machine.h"
#include "models/program/spin.h"
#include "models/program/task_gpu.h"
#include "sim/sim.h"
#include "util/check.h"

/* The one variable of this folder: libibverbs has no parameter that says who calls. */
static _Thread_local struct task *running;

struct task *task_current(void)
{
	return running;
}

/* Where the steps of programs of @host wait. */
static struct sim_local *steps_of(struct host *host)
{
	return host->machine ? &host_machine(host)->programs : &host->local;
}

void task_wake(struct task *task, ps_t at)
{
	sim_local_schedule(steps_of(task->host), &task->event, at);
}

void task_cancel(struct task *task)
{
	sim_local_cancel(steps_of(task->host), &task->event);
}

/* The program's own code runs, on this thread, until task_leave(). */
static void task_enter(struct task *task)
{
	const struct host *host = task->host;

	if (host->params.spin)
		spin_enter(host->params.spin, host->th->number, host->node.name, task->name);
}

static void task_leave(struct task *task)
{
	const struct host *host = task->host;

	if (host->params.spin)
		spin_leave(host->params.spin, host->th->number);
}

void task_turn_main(void *arg)
{
	struct task *task = arg;

	running = task; /* on the thread back end this is a thread of its own */
	task_enter(task);
	task->fn(task->arg);
	task_pay(task);
	if (task->process == task && task->gpu)
		task_gpu_end(task);
	task_leave(task);
}

void task_turn(struct sim_local_event *event, void *context)
{
	struct task *task = container_of(event, struct task, event);
	struct task *before = running;

	(void)context;
	CHECK(!task->done);
	running = task;
	task->done = !coro_resume(task->coro);
	running = before;
	if (task->host->gpus)
		task_gpu_look(task->host, task->host->now);
}

void task_pause(struct task *task)
{
	CHECK(task == running);
	task_leave(task);
	coro_yield(task->coro);
	task_enter(task);
}

void task_block(struct task *task)
{
	task_pause(task);
}

void task_sleep(struct task *task, ps_t duration)
{
	ps_t now;

	if (task->pays)
		task->pays(task);
	now = task->host->now;
	if (duration < TASK_END_OF_TIME)
		duration += task->debt;
	task->debt = 0;
	if (duration == 0)
		return;
	/* Beyond the end of time: for ever. */
	if (now < TASK_END_OF_TIME && duration < TASK_END_OF_TIME - now)
		task_wake(task, now + duration);
	task_pause(task);
}

void task_pay(struct task *task)
{
	if (task->debt > 0)
		task_sleep(task, 0);
}

void task_wake_between(struct task *task, ps_t at)
{
	task_wake(task, at);
	sim_wake_between(task->host->node.sim, &task->host->node, at);
}
