/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_gpu_state.h"

#include "models/machine/machine.h"
#include "models/machine/managed.h"
#include "models/program/task.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

/* Managed memory that the program's own code touches: a page that is not with the CPU is not mapped
 * for it, and the fault brings it. A program's computing takes no time, so the fault's is owed, and
 * passes with the program's next call. What is not managed goes on to whoever had the signal
 * before. */

static struct {
	pthread_once_t once;
	struct sigaction before;
} program = {.once = PTHREAD_ONCE_INIT};

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

	if (!managed || !gpu_memory_has(&managed->memory, address) ||
	    !gpu_managed_is_taken(managed, address - address % GPU_MANAGED_PAGE, GPU_MANAGED_PAGE))
		return false;
	task->debt += gpu_managed_touch(managed, GPU_CPU, address, 1, is_write_fault(context),
					task->host->now + task->debt);
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
	struct gpu_managed *managed = makes ? host_managed(host) : host_managed_find(host);

	if (managed)
		(void)pthread_once(&program.once, catch_touches);
	return managed;
}
