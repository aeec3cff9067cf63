/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/expect/ask.h"

#include "tools/expect/expect.h"
#include "tools/expect/jq.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEMORY_MAX = 1 << 30 }; /* bytes, more than the process has already */

static void limit(int what, rlim_t most)
{
	const struct rlimit limits = {most, most};

	if (setrlimit(what, &limits) != 0)
		_exit(1);
}

/* Pages of data that the process has mapped: the sixth figure of /proc/self/statm. */
static rlim_t data_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (file) {
		if (fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void child(int pipe, const char *expression, const struct expect_scan *scan,
		  const char *json)
{
	const int null = open("/dev/null", O_WRONLY);
	struct expect_answer answer;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_DATA, data_bytes() + MEMORY_MAX);
	limit(RLIMIT_CPU, EXPECT_SECONDS_MAX);
	expect_jq(expression, scan, json, &answer);
	_exit(write(pipe, &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
}

static int hear(int pipe, pid_t pid, struct expect_answer *ret_answer)
{
	struct expect_answer answer;
	ssize_t got;
	int status;

	do
		got = read(pipe, &answer, sizeof(answer));
	while (got < 0 && errno == EINTR);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -EIO;
	if (got == sizeof(answer)) /* less than PIPE_BUF: whole or not at all */
		*ret_answer = answer;
	else
		*ret_answer = (struct expect_answer){.kind = EXPECT_ENDLESS};
	return 0;
}

int expect_ask(const char *expression, const struct expect_scan *scan, const json_t *root,
	       struct expect_answer *ret_answer)
{
	char *json = json_dumps(root, JSON_REAL_PRECISION(15));
	int pipes[2], ret;
	pid_t pid;

	if (!json)
		return -ENOMEM;
	if (pipe(pipes) != 0) {
		free(json);
		return -EIO;
	}
	pid = fork();
	if (pid == 0) {
		close(pipes[0]);
		child(pipes[1], expression, scan, json);
	}
	close(pipes[1]);
	ret = pid < 0 ? -EIO : hear(pipes[0], pid, ret_answer);
	close(pipes[0]);
	free(json);
	return ret;
}
