/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SWEEP_JOBS_H
#define TOOLS_SWEEP_JOBS_H

/* Processes side by side, each with what it says on stderr kept for whoever wants to know. SIGINT,
 * SIGTERM and SIGHUP, unless that is ignored, end all of them and are told; of each the second one
 * does what it always did. One set of jobs at a time in a process. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct job {
	pid_t pid; /* 0: free */
	uint64_t number;
	int said; /* a file without a name */
};

struct jobs {
	struct job *all;
	uint32_t count, busy;
};

/* So many at a time. 0 or -ENOMEM; can be closed in any case, once none is busy. */
int jobs_open(struct jobs *jobs, uint32_t count);
void jobs_close(struct jobs *jobs); /* zeroed: allowed */

/* In a process of its own, which has to end in it: become(@owner, @number). One is free. 0 or
 * negative errno; -EINTR: a signal came. */
typedef void jobs_become_fn(const void *owner, uint64_t number);
int jobs_start(struct jobs *jobs, uint64_t number, jobs_become_fn *become, const void *owner);

/* Waits until one ends, of which there is one at least. @ret_status: as waitpid() has it;
 * @ret_said: the first line that it said, without "verbena: " before it, or how it ended where it
 * said none; for free(), NULL: no memory. 0 or negative errno. */
int jobs_wait(struct jobs *jobs, uint64_t *ret_number, int *ret_status, char **ret_said);
/* The first signal that came; 0: none. */
int jobs_signal(void);

#endif
