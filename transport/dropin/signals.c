/* SPDX-License-Identifier: BSD-2-Clause */
/* What the program does about faults and whether it blocks them is counted, so that an adapter that
 * catches faults of its own (transport/hca/mem_program.c) need not ask the kernel before each
 * packet. */
#include "transport/dropin/cdev.h"
#include "transport/nic/world.h"

#include <signal.h>
#include <stdatomic.h>

#pragma GCC visibility push(default)

atomic_uint verbena_signal_changes;

static void count_change(bool is_change)
{
	if (is_change)
		atomic_fetch_add(&verbena_signal_changes, 1);
}

static bool is_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS;
}

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef int mask_fn(int, const sigset_t *, sigset_t *);

#define FAILED (-1)

int sigaction(int number, const struct sigaction *action, struct sigaction *ret_old)
{
	int ret;

	NEXT(sigaction_fn *, "sigaction")
	ret = next(number, action, ret_old);
	count_change(action && is_fault(number));
	return ret;
}

/* As the thread had it before, if it has unblocked them: who looks again finds that. */
static bool may_block(int how, const sigset_t *set)
{
	return set && how != SIG_UNBLOCK &&
	       (sigismember(set, SIGSEGV) == 1 || sigismember(set, SIGBUS) == 1);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *ret_old)
{
	int ret;

	NEXT(mask_fn *, "sigprocmask")
	ret = next(how, set, ret_old);
	count_change(may_block(how, set));
	return ret;
}

#undef FAILED
#define FAILED ENOSYS

int pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_old)
{
	int ret;

	NEXT(mask_fn *, "pthread_sigmask")
	ret = next(how, set, ret_old);
	count_change(may_block(how, set));
	return ret;
}

#undef FAILED
#define FAILED SIG_ERR

typedef sighandler_t signal_fn(int, sighandler_t);

/* The names of signal(), which libc's do not call one another. */
#define SIGNAL(name)                                                                               \
	sighandler_t name(int number, sighandler_t handler)                                        \
	{                                                                                          \
		sighandler_t ret;                                                                  \
                                                                                                   \
		NEXT(signal_fn *, #name)                                                           \
		ret = next(number, handler);                                                       \
		count_change(is_fault(number));                                                    \
		return ret;                                                                        \
	}

extern signal_fn bsd_signal, sysv_signal, __sysv_signal, sigset;
SIGNAL(signal)
SIGNAL(bsd_signal)
SIGNAL(sysv_signal)
SIGNAL(__sysv_signal)
SIGNAL(sigset)

#pragma GCC visibility pop
