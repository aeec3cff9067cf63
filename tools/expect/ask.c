/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/expect/ask.h"

#include "tools/expect/jq.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	MEMORY_MAX = 1 << 30,	 /* bytes, more than the process has already */
	COMPILE_SECONDS_MAX = 5, /* of CPU */
	TOGETHER_MAX = 64,	 /* expressions in a program */
};

struct asking {
	const struct expect_question *questions;
	const char *json; /* the roots */
	size_t root_count;
	struct expect_answer *answers;
	uint32_t endless_count;
};

static void limit(int what, rlim_t most)
{
	const struct rlimit limits = {most, most};

	if (setrlimit(what, &limits) != 0)
		_exit(1);
}

/* Pages of data that the process has mapped: the sixth figure of /proc/self/statm. */
static rlim_t ask_data_bytes(void)
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

/* ---- the child ---- */

/* What takes longer is ended by SIGPROF. */
static void allow_seconds(time_t seconds)
{
	const struct itimerval timer = {.it_value = {.tv_sec = seconds}};

	if (setitimer(ITIMER_PROF, &timer, NULL) != 0)
		_exit(1);
}

struct voice {
	int pipe;
	bool begun; /* has said that the program is a good one: a byte before all answers */
};

static void say(struct voice *voice, const void *bytes, size_t length)
{
	if (!voice->begun && write(voice->pipe, "", 1) != 1)
		_exit(1);
	voice->begun = true;
	if (length > 0 && write(voice->pipe, bytes, length) != (ssize_t)length)
		_exit(1);
}

static void on_begin(void *owner)
{
	say(owner, NULL, 0);
	allow_seconds(EXPECT_SECONDS_MAX);
}

static void ask_on_answer(void *owner, const struct expect_answer *answer)
{
	say(owner, answer, sizeof(*answer));
}

static void expect_ask_child(int pipe, const struct asking *asking, size_t first, size_t count)
{
	struct voice voice = {.pipe = pipe};
	const struct expect_jq_ops ops = {on_begin, ask_on_answer, &voice};
	const int null = open("/dev/null", O_WRONLY);
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_DATA, ask_data_bytes() + MEMORY_MAX);
	setenv("TZ", "UTC0", 1); /* what strftime and its like say is the same everywhere */
	tzset();
	allow_seconds(COMPILE_SECONDS_MAX);
	expect_jq(&asking->questions[first], count, asking->json, &ops);
	_exit(0);
}

/* ---- the parent ---- */

static size_t hear_bytes(int pipe, void *ret_bytes, size_t count)
{
	size_t have = 0;

	while (have < count) {
		const ssize_t got = read(pipe, (char *)ret_bytes + have, count - have);

		if (got == 0 || (got < 0 && errno != EINTR))
			break;
		have += got > 0 ? (size_t)got : 0;
	}
	return have;
}

/* @ret_heard: as many answers as came; @ret_apart: there was no program, but there may be one of
 * each. */
static int ask_child(const struct asking *asking, size_t first, size_t count, size_t *ret_heard,
		     bool *ret_apart)
{
	struct expect_answer *answers = &asking->answers[first * asking->root_count];
	int pipes[2], status;
	char begun;
	pid_t pid;

	if (pipe(pipes) != 0)
		return -EIO;
	pid = fork();
	if (pid == 0) {
		close(pipes[0]);
		expect_ask_child(pipes[1], asking, first, count);
	}
	close(pipes[1]);
	*ret_apart = hear_bytes(pipes[0], &begun, 1) == 0 && count > 1;
	*ret_heard = hear_bytes(pipes[0], answers, count * asking->root_count * sizeof(*answers)) /
		     sizeof(*answers);
	close(pipes[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -EIO;
	return pid < 0 ? -EIO : 0;
}

static void ask_fill(struct asking *asking, size_t first, size_t end, enum expect_kind kind)
{
	for (size_t i = first; i < end; i++)
		asking->answers[i] = (struct expect_answer){.kind = kind};
}

/* What a child dies of has no answer; those behind it are asked again. */
static int ask_together(struct asking *asking, size_t first, size_t count)
{
	const size_t roots = asking->root_count;
	size_t heard;
	bool apart;
	int ret;

	while (count > 0) {
		size_t dead;

		if (asking->endless_count == EXPECT_ENDLESS_MAX) {
			ask_fill(asking, first * roots, (first + count) * roots, EXPECT_UNTRIED);
			return 0;
		}
		ret = ask_child(asking, first, count, &heard, &apart);
		if (ret || heard == count * roots)
			return ret;
		if (apart) {
			ret = ask_together(asking, first, count / 2);
			return ret ? ret
				   : ask_together(asking, first + count / 2, count - count / 2);
		}
		dead = first + heard / roots;
		ask_fill(asking, first * roots + heard, (dead + 1) * roots, EXPECT_ENDLESS);
		asking->endless_count++;
		count -= dead + 1 - first;
		first = dead + 1;
	}
	return 0;
}

/* How many from @first on may share a program. */
static size_t together(const struct expect_question *questions, size_t first, size_t count)
{
	size_t end = first;

	while (end < count && end - first < TOGETHER_MAX && questions[end].scan.is_closed)
		end++;
	return end > first ? end - first : 1;
}

int expect_ask(const struct expect_question *questions, size_t count, const json_t *roots,
	       struct expect_answer *ret_answers)
{
	char *json = json_dumps(roots, JSON_REAL_PRECISION(15));
	struct asking asking = {.questions = questions,
				.json = json,
				.root_count = json_array_size(roots),
				.answers = ret_answers};
	int ret = json ? 0 : -ENOMEM;

	for (size_t i = 0, next; i < count && !ret; i += next) {
		next = together(questions, i, count);
		ret = ask_together(&asking, i, next);
	}
	free(json);
	return ret;
}
