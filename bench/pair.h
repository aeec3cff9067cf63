/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

/* Two processes that measure something between them: each on cores of its own, with a socket and a
 * piece of memory that both have. What fails ends both, with a line and exit status 1. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PAIR_SHARED_BYTES = 1 << 20, PAIR_SAMPLES = 1 << 20 };

struct pair {
	bool is_first; /* it sends, measures and prints; the other is its child */
	int fd;	       /* to the other */
	pid_t child;
	uint8_t *shared;
	/* What to do, between what, for how long. */
	const char *work;
	size_t bytes;
	uint32_t qps;
	uint64_t ns;
};

/* PROGRAM WORK BYTES QPS MILLISECONDS CORES CORES: of the first and of the second, as "0" or "0,1".
 * Two processes return. */
void pair_begin(struct pair *pair, int argc, char **argv);
/* The exit status of either; the first waits for the second. */
int pair_end(const struct pair *pair);

void pair_need(bool ok, const char *what);
/* Both give each other something; so none goes on before the other is there. */
void pair_swap(const struct pair *pair, const void *mine, void *ret_theirs, size_t bytes);
void pair_meet(const struct pair *pair);
void *pair_memory(size_t bytes); /* of whole pages, each of them touched */

uint64_t pair_ns(void);
/* Half of the round trips: the median in microseconds is printed. */
struct pair_trips {
	uint32_t *ns;
	uint32_t count;
};
void pair_trips_add(struct pair_trips *trips, uint64_t ns);
void pair_trips_print(struct pair_trips *trips);

#endif
