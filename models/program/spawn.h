/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SPAWN_H
#define MODELS_SPAWN_H

/* Starting programs by hand, for who builds a fabric in C. */
#include <stdint.h>

struct vb_host; /* a host of the simulated fabric: struct host */

typedef void vb_fn(void *arg);

/* Starts @fn as a program of @host at virtual time @start_ps, or now where that is past: before the
 * run begins, or from inside a program of that host. @name is copied and unique on the host: from
 * it, and not from the order of calls, follow the program's queue pair numbers. 0, -EEXIST,
 * -ENOMEM. */
__attribute__((visibility("default"))) int vb_spawn(struct vb_host *host, const char *name,
						    vb_fn *fn, void *arg, uint64_t start_ps);

#endif
