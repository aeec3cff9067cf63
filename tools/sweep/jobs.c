/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/sweep/jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

static volatile sig_atomic_t jobs_signal_seen;
static struct jobs *current; /* changed while the signals are held back */

int jobs_signal(void)
{
	return jobs_signal_seen;
}

static void jobs_on_signal(int number)
{
	if (!jobs_signal_seen)
		jobs_signal_seen = number;
	for (uint32_t i = 0; current && i < current->count; i++)
		if (current->all[i].pid > 0)
			kill(current->all[i].pid, SIGTERM);
}

static void jobs_hold_signals(bool is_held)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&set, signals[i]);
	sigprocmask(is_held ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* A file that may not grow is an error of the write, here and in the jobs. */
int jobs_open(struct jobs *jobs, uint32_t count)
{
	const struct sigaction action = {.sa_handler = jobs_on_signal,
					 .sa_flags = (int)SA_RESETHAND};
	struct sigaction before;

	*jobs = (struct jobs){.all = calloc(count, sizeof(*jobs->all)), .count = count};
	if (!jobs->all)
		return -ENOMEM;
	current = jobs;
	for (size_t i = 0; i < SIGNALS; i++)
		if (sigaction(signals[i], &action, &before) == 0 && signals[i] == SIGHUP &&
		    before.sa_handler == SIG_IGN)
			sigaction(SIGHUP, &before, NULL); /* nohup */
	signal(SIGXFSZ, SIG_IGN);
	return 0;
}

void jobs_close(struct jobs *jobs)
{
	jobs_hold_signals(true);
	current = NULL;
	jobs_hold_signals(false);
	free(jobs->all);
	*jobs = (struct jobs){.all = NULL};
}

/* From here on a signal ends it. */
static void jobs_child(const struct job *job, jobs_become_fn *become, const void *owner)
{
	for (size_t i = 0; i < SIGNALS; i++)
		if (signal(signals[i], SIG_DFL) == SIG_IGN)
			signal(signals[i], SIG_IGN);
	jobs_hold_signals(false);
	if (dup2(job->said, STDERR_FILENO) >= 0)
		become(owner, job->number);
	_exit(3);
}

int jobs_start(struct jobs *jobs, uint64_t number, jobs_become_fn *become, const void *owner)
{
	struct job *job = jobs->all;
	int ret = 0;

	while (job->pid > 0)
		job++;
	job->number = number;
	job->said = memfd_create("said", MFD_CLOEXEC);
	if (job->said < 0)
		return -errno;
	fflush(NULL);
	jobs_hold_signals(true);
	job->pid = jobs_signal_seen ? -1 : fork();
	if (job->pid == 0)
		jobs_child(job, become, owner);
	if (job->pid < 0) {
		ret = jobs_signal_seen ? -EINTR : -errno;
		job->pid = 0;
		close(job->said);
	} else {
		jobs->busy++;
	}
	jobs_hold_signals(false);
	return ret;
}

/* Closes it. NULL: no memory. */
static char *first_line(int said, int status)
{
	static const char prefix[] = "verbena: ";
	char text[512], *line = text, *own;
	const ssize_t length = pread(said, text, sizeof(text) - 1, 0);

	close(said);
	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(line, prefix, strlen(prefix)) == 0)
		line += strlen(prefix);
	if (*line)
		return strdup(line);
	if (WIFSIGNALED(status))
		return asprintf(&own, "it was ended by signal %d", WTERMSIG(status)) < 0 ? NULL
											 : own;
	return asprintf(&own, "it ended with status %d", WEXITSTATUS(status)) < 0 ? NULL : own;
}

int jobs_wait(struct jobs *jobs, uint64_t *ret_number, int *ret_status, char **ret_said)
{
	for (;;) {
		const pid_t pid = wait(ret_status);

		if (pid < 0 && errno != EINTR)
			return -errno;
		for (uint32_t i = 0; pid > 0 && i < jobs->count; i++) {
			struct job *job = &jobs->all[i];

			if (job->pid != pid)
				continue;
			job->pid = 0;
			jobs->busy--;
			*ret_number = job->number;
			*ret_said = first_line(job->said, *ret_status);
			return 0;
		}
	}
}
