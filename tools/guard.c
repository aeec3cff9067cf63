/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/guard.h"

#include "models/program/task.h"
#include "tools/command.h"
#include "tools/symbol.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Room for the messages of a program that has used up its own stack; RESCUE_S: then, whatever lock
 * it held when it crashed, the process ends. */
enum { STACK_BYTES = 1 << 20, RESCUE_S = 20 };

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static int own_output = -1; /* what standard output was */
static void (*rescue_run)(void);
static pid_t owner; /* of the run; 0: no program was ever here */

/* ---- output ---- */

static void turn_output_away(bool quiet)
{
	const int away = quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : dup(STDERR_FILENO);

	fflush(stdout);
	own_output = away < 0 ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (own_output >= 0)
		dup2(away, STDOUT_FILENO);
	if (away >= 0)
		close(away);
}

void guard_end(void)
{
	const int own = __atomic_exchange_n(&own_output, -1, __ATOMIC_ACQ_REL);

	if (owner != 0 && getpid() != owner)
		_exit(COMMAND_BROKEN); /* a program has forked, and the results are its parent's */
	if (own < 0)
		return;
	fflush(stdout);
	clearerr(stdout); /* that was theirs */
	dup2(own, STDOUT_FILENO);
	close(own);
}

/* ---- ends ---- */

/* On the thread of the program. From here on the signal does what it always did; where that was a
 * fault it comes again as soon as this returns. */
static void on_crash(int number, siginfo_t *info, void *context)
{
	const struct task *task = task_current();
	struct spin_report report = {.host = NULL};
	char place[512];

	(void)info;
	if (!task)
		return;
	signal(SIGALRM, SIG_DFL);
	alarm(RESCUE_S);
	report.place_count = spin_places(context, report.places);
	symbol_places(&report, place, sizeof(place));
	command_say("%s: program %s crashed at %s: %s", task->host->node.name, task->name, place,
		    strsignal(number));
	rescue_run();
	alarm(0);
}

static void on_exit_of_program(void)
{
	const struct task *task = task_current();

	if (!task || !rescue_run || getpid() != owner)
		return;
	command_say("%s: program %s called exit(), which ends all of them", task->host->node.name,
		    task->name);
	rescue_run();
	_exit(COMMAND_BROKEN);
}

static void catch_crashes(void)
{
	const struct sigaction action = {.sa_sigaction = on_crash,
					 .sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND};
	stack_t stack = {.ss_size = STACK_BYTES};

	stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack.ss_sp != MAP_FAILED)
		sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i], &action, NULL);
}

void guard_begin(bool quiet, void (*rescue)(void))
{
	if (!rescue_run) {
		atexit(on_exit_of_program);
		catch_crashes();
	}
	rescue_run = rescue;
	owner = getpid();
	turn_output_away(quiet);
}
