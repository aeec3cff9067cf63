/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_gpu_state.h"

#include "models/machine/machine.h"
#include "models/machine/managed.h"
#include "models/program/task.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

/* Managed memory that the program's own code touches: a page that is not with the CPU is not mapped
 * for it, and the fault brings it. A program's computing takes no time, so the fault's is owed, and
 * passes with the program's next call. What is not managed goes on to whoever had the signal
 * before. */

static struct {
	pthread_once_t once;
	struct sigaction before;
} program = {.once = PTHREAD_ONCE_INIT};

/* ---- on the bus ---- */

static void on_moved(struct gpu_migration *migration, ps_t now)
{
	struct task_gpu *own = container_of(migration, struct task_gpu, migration);

	task_wake(own->moves, now);
	own->moves = NULL;
}

/* False: nothing moves, or there is no memory. */
static bool move_pages(struct task *task, const struct gpu_touch *touch)
{
	struct task_gpu *own = task_gpu_own(task);

	if (!own)
		return false;
	own->migration.on_done = on_moved;
	if (!gpu_migrate(&own->migration, touch, touch->time, task->host->now))
		return false;
	for (own->moves = task; own->moves;)
		task_block(task);
	return true;
}

void task_gpu_move(const struct gpu_touch *touch)
{
	struct task *task = task_current();

	if (!move_pages(task, touch))
		task_sleep(task, touch->time);
}

/* What CPUs have pulled takes room on the bus, and as long as @task owes at least. */
static void pay_pages(struct task *task)
{
	struct gpu_touch touch = {
		.who = GPU_CPU, .time = task->debt, .managed = host_managed_find(task->host)};
	uint64_t *pulled = task->host->gpus->pulled;

	task->pays = NULL;
	memcpy(touch.to_host, pulled, sizeof(touch.to_host));
	memset(pulled, 0, sizeof(touch.to_host));
	if (move_pages(task, &touch))
		task->debt = 0;
}

/* ---- signals ---- */

/* Where the processor does not say, it may be one. */
static bool is_write_fault(const void *context)
{
#if defined(__x86_64__)
	const ucontext_t *user = context;

	return (user->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
	(void)context;
	return true;
#endif
}

static bool serve_touch(uint64_t address, const void *context)
{
	struct task *task = task_current();
	struct gpu_managed *managed = task ? host_managed_find(task->host) : NULL;
	struct gpu_touch touch = {.who = GPU_CPU, .by = GPU_BY_CPU};

	if (!managed || !gpu_memory_has(&managed->memory, address) ||
	    !gpu_managed_is_taken(managed, address - address % GPU_MANAGED_PAGE, GPU_MANAGED_PAGE))
		return false;
	touch.now = task->host->now + task->debt;
	gpu_managed_touch(managed, &touch, address, 1, is_write_fault(context));
	task->debt += touch.time;
	for (uint32_t i = 1; i <= task->host->gpus->count; i++) {
		task->host->gpus->pulled[i] += touch.to_host[i];
		if (touch.to_host[i] > 0)
			task->pays = pay_pages;
	}
	return true;
}

static void hand_back(int number, siginfo_t *info, void *context)
{
	const struct sigaction *to = &program.before;
	const struct sigaction standard = {.sa_handler = SIG_DFL};

	if (to->sa_flags & (int)SA_RESETHAND || to->sa_handler == SIG_DFL ||
	    to->sa_handler == SIG_IGN)
		(void)sigaction(number, &standard, NULL);
	if (to->sa_flags & SA_SIGINFO)
		to->sa_sigaction(number, info, context);
	else if (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN)
		to->sa_handler(number);
	else if (info->si_code <= 0) /* sent by somebody; a fault comes again by itself */
		(void)raise(number);
}

static void on_touch(int number, siginfo_t *info, void *context)
{
	if (info->si_code <= 0 || !serve_touch((uintptr_t)info->si_addr, context))
		hand_back(number, info, context);
}

/* On the stack of the thread, or the one that it keeps for its overflow. */
static void catch_touches(void)
{
	struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};

	ours.sa_sigaction = on_touch;
	(void)sigaction(SIGSEGV, &ours, &program.before);
}

struct gpu_managed *task_gpu_managed(bool makes)
{
	struct host *host = task_current()->host;
	struct gpu_managed *managed;

	/* Pages may come to each GPU, used or not. */
	for (uint32_t i = 0; makes && i < host->gpus->count; i++)
		(void)host_gpu(host, i);
	managed = makes ? host_managed(host) : host_managed_find(host);
	if (managed)
		(void)pthread_once(&program.once, catch_touches);
	return managed;
}
