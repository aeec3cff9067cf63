/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBENA_VERBENA_H
#define VERBENA_VERBENA_H

/* What libibverbs lacks for programs that run in Verbena's virtual time: starting them, time, and a
 * place to meet before queue pairs are connected. Everything else a program does is libibverbs.
 * All functions but vb_spawn() are for the inside of a program (a task), on the thread that runs
 * it: anywhere else they end the process with a failed check. They take virtual time only, never
 * wall time; other programs run meanwhile. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct vb_host; /* a host of the simulated fabric */

typedef void vb_fn(void *arg);

/* Starts @fn as a program of @host at virtual time @start_ps, or now where that is past: before the
 * run begins, or from inside a program of that host. @name is copied and unique on the host: from
 * it, and not from the order of calls, follow the program's queue pair numbers. 0, -EEXIST,
 * -ENOMEM. */
int vb_spawn(struct vb_host *host, const char *name, vb_fn *fn, void *arg, uint64_t start_ps);

/* Picoseconds since the run began. */
uint64_t vb_now_ps(void);
/* 0 returns at once. What ends after the end of time (2^63 ps, 106 days) never does. */
void vb_sleep_ns(uint64_t ns);

/* A named rendezvous: bytes put under a key are visible to every program of the run one out-of-band
 * delay later (20 us unless the scenario says otherwise). @key is a string of any length and is
 * copied, as are the bytes. It keeps what was put first. 0 or -ENOMEM. */
int vb_put(const char *key, const void *bytes, size_t length);
/* Waits for @key, for ever if nobody puts it. Returns how many bytes were put, of which at most
 * @room are copied; or -ENOMEM. */
int64_t vb_get(const char *key, void *ret_bytes, size_t room);

/* Waits until the @length bytes at @address differ from @seen: what a loop that spins on memory is
 * in virtual time, where memory changes only when the adapter places bytes. */
void vb_wait_mem(const void *address, const void *seen, size_t length);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
