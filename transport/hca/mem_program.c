/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's memory, which it may unmap while a region still names it. A system call that copies
 * would say so, but takes longer than the packet; a fault, caught, costs nothing while there is
 * none. What the program does about faults of its own stays as it is. */
#include "transport/hca/mem.h"

#include "util/check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

enum { SIGNAL_COUNT = 2 };
static const int signals[SIGNAL_COUNT] = {SIGSEGV, SIGBUS};

/* What the program had set up before, and what it has since. One writer at a time; the handler
 * reads what @current points to. */
static struct {
	pthread_mutex_t lock;
	bool is_set_up;
	struct sigaction first[SIGNAL_COUNT], later[SIGNAL_COUNT][2];
	_Atomic(const struct sigaction *) current[SIGNAL_COUNT];
	atomic_uint *changes; /* NULL: nobody counts them */
} program = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define THREAD_LOCAL static _Thread_local __attribute__((tls_model("initial-exec")))
THREAD_LOCAL sigjmp_buf *volatile trap; /* where a fault goes on; NULL: it is none of ours */
THREAD_LOCAL volatile bool is_passed_on;
THREAD_LOCAL bool is_armed, was_blocked;
THREAD_LOCAL sigset_t blocked;
THREAD_LOCAL unsigned is_of; /* as many changes */

static void pass_on(const struct sigaction *to, int number, siginfo_t *info, void *context)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};

	if (to->sa_flags & (int)SA_RESETHAND)
		(void)sigaction(number, &standard, NULL);
	if (to->sa_flags & SA_SIGINFO) {
		to->sa_sigaction(number, info, context);
	} else if (to->sa_handler == SIG_IGN && info->si_code <= 0) {
		return;
	} else if (to->sa_handler == SIG_DFL || to->sa_handler == SIG_IGN) {
		(void)sigaction(number, &standard, NULL);
		if (info->si_code <= 0) /* sent by somebody; a fault comes again by itself */
			(void)raise(number);
	} else {
		to->sa_handler(number);
	}
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	const int i = number == SIGBUS;

	if (trap && info->si_code > 0)
		siglongjmp(*trap, 1);
	/* A later handler may hand on to the one that it found here, which is this. */
	if (is_passed_on) {
		pass_on(&program.first[i], number, info, context);
		return;
	}
	is_passed_on = true;
	pass_on(atomic_load(&program.current[i]), number, info, context);
	is_passed_on = false;
}

/* On the stack of the thread, or the one that it keeps for its overflow. */
static void set_up(int i)
{
	struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
	struct sigaction now, *slot;

	ours.sa_sigaction = on_fault;
	CHECK(sigaction(signals[i], NULL, &now) == 0);
	if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
		return;
	if (!program.is_set_up)
		program.first[i] = now;
	slot = &program.later[i][atomic_load(&program.current[i]) == &program.later[i][0]];
	*slot = now;
	atomic_store(&program.current[i], slot);
	CHECK(sigaction(signals[i], &ours, NULL) == 0);
}

void hca_mem_program_watch(atomic_uint *changes)
{
	program.changes = changes;
}

static unsigned changes(void)
{
	return program.changes ? atomic_load_explicit(program.changes, memory_order_acquire) : 0;
}

static void disarm(void)
{
	is_armed = false;
	if (was_blocked)
		CHECK(pthread_sigmask(SIG_SETMASK, &blocked, NULL) == 0);
}

static void arm(void)
{
	sigset_t faults;

	if (is_armed)
		disarm();
	is_armed = true;
	is_of = changes(); /* before it looks: what this changes itself is looked at once more */
	CHECK(pthread_mutex_lock(&program.lock) == 0);
	sigemptyset(&faults);
	for (int i = 0; i < SIGNAL_COUNT; i++) {
		sigaddset(&faults, signals[i]);
		set_up(i);
	}
	program.is_set_up = true;
	CHECK(pthread_mutex_unlock(&program.lock) == 0);
	/* A fault that is blocked ends the process. */
	CHECK(pthread_sigmask(SIG_UNBLOCK, &faults, &blocked) == 0);
	was_blocked = sigismember(&blocked, SIGSEGV) || sigismember(&blocked, SIGBUS);
}

void hca_mem_program_rest(void)
{
	if (is_armed && (was_blocked || !program.changes))
		disarm();
}

/* True: go on; the second time, after a fault: false. Where it stands, @here has to live. */
#define TRAP_SET(here) (sigsetjmp(here, 0) == 0 && trap_set(&(here)))

static bool trap_set(sigjmp_buf *here)
{
	if (!is_armed || is_of != changes())
		arm();
	trap = here;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static bool trap_end(bool done)
{
	atomic_signal_fence(memory_order_seq_cst);
	trap = NULL;
	return done;
}

static bool program_read(const struct hca_mr *mr, uint64_t offset, uint8_t *ret_bytes,
			 uint32_t length)
{
	sigjmp_buf here;

	if (!TRAP_SET(here))
		return trap_end(false);
	return trap_end(hca_mem_host.read(mr, offset, ret_bytes, length));
}

static bool program_write(struct hca_mr *mr, uint64_t offset, const uint8_t *bytes, uint32_t length)
{
	sigjmp_buf here;

	if (!TRAP_SET(here))
		return trap_end(false);
	return trap_end(hca_mem_host.write(mr, offset, bytes, length));
}

static bool program_atomic(struct hca_mr *mr, uint64_t offset, bool is_swap, uint64_t swap_add,
			   uint64_t compare, uint64_t *ret_original)
{
	sigjmp_buf here;

	if (!TRAP_SET(here))
		return trap_end(false);
	return trap_end(hca_mem_host.atomic(mr, offset, is_swap, swap_add, compare, ret_original));
}

const struct hca_mem_ops hca_mem_program = {
	.name = "program",
	.read = program_read,
	.write = program_write,
	.atomic = program_atomic,
	.is_lendable = true,
};
