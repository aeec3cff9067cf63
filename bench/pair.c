/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/pair.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 30 };

void pair_need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

uint64_t pair_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void pin(const char *cores)
{
	cpu_set_t set;
	char *end;

	CPU_ZERO(&set);
	for (const char *at = cores; *at != '\0'; at = *end == ',' ? end + 1 : end) {
		const long core = strtol(at, &end, 10);

		errno = EINVAL;
		pair_need(end != at && core >= 0 && core < CPU_SETSIZE, cores);
		CPU_SET(core, &set);
	}
	pair_need(sched_setaffinity(0, sizeof(set), &set) == 0, "cores");
}

void pair_begin(struct pair *pair, int argc, char **argv)
{
	const pid_t parent = getpid();
	int fds[2];

	errno = EINVAL;
	pair_need(argc == 7, "arguments");
	*pair = (struct pair){.work = argv[1],
			      .bytes = strtoul(argv[2], NULL, 10),
			      .qps = (uint32_t)strtoul(argv[3], NULL, 10),
			      .ns = strtoull(argv[4], NULL, 10) * 1000000};
	pair_need(pair->bytes > 0 && pair->qps > 0 && pair->ns > 0, "arguments");
	pair->shared = mmap(NULL, PAIR_SHARED_BYTES, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	pair_need(pair->shared != MAP_FAILED, "shared memory");
	pair_need(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socket");
	pair->child = fork();
	pair_need(pair->child >= 0, "fork");
	pair->is_first = pair->child > 0;
	if (!pair->is_first) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pair_need(getppid() == parent, "the first");
	}
	pair->fd = fds[pair->is_first];
	close(fds[!pair->is_first]);
	pin(argv[pair->is_first ? 5 : 6]);
	/* Who spins on memory sees no end of the other. */
	alarm((unsigned int)(pair->ns / 1000000000) + PATIENCE_S);
}

int pair_end(const struct pair *pair)
{
	int status;

	if (!pair->is_first)
		return 0;
	pair_need(waitpid(pair->child, &status, 0) == pair->child, "the second");
	return status != 0;
}

void pair_swap(const struct pair *pair, const void *mine, void *ret_theirs, size_t bytes)
{
	uint8_t *at = ret_theirs;

	pair_need(send(pair->fd, mine, bytes, MSG_NOSIGNAL) == (ssize_t)bytes, "to the other");
	while (bytes > 0) {
		const ssize_t got = read(pair->fd, at, bytes);

		if (got == 0)
			errno = ECONNRESET;
		pair_need(got > 0, "from the other");
		at += got;
		bytes -= (size_t)got;
	}
}

void pair_meet(const struct pair *pair)
{
	const uint8_t mine = 0;
	uint8_t theirs;

	pair_swap(pair, &mine, &theirs, 1);
}

void *pair_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	pair_need(memory != MAP_FAILED, "memory");
	return memory;
}

void pair_trips_add(struct pair_trips *trips, uint64_t ns)
{
	if (!trips->ns)
		trips->ns = pair_memory(PAIR_SAMPLES * sizeof(*trips->ns));
	if (trips->count < PAIR_SAMPLES)
		trips->ns[trips->count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static int by_size(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

void pair_trips_print(struct pair_trips *trips)
{
	errno = ENODATA;
	pair_need(trips->count > 0, "round trips");
	qsort(trips->ns, trips->count, sizeof(*trips->ns), by_size);
	printf("%.3f\n", (double)trips->ns[trips->count / 2] / 2000);
}
