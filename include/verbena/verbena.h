/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBENA_VERBENA_H
#define VERBENA_VERBENA_H

/* What libibverbs lacks for programs that run in Verbena's virtual time and, unchanged, between
 * processes: who one is, time, and a place to meet before queue pairs are connected. Everything
 * else a program does is libibverbs (<infiniband/verbs.h>, of libibverbs-dev).
 *
 * Two implementations have the same names:
 *	the command	programs are modules on the hosts of a scenario ("verbena run"). Functions
 *			take virtual time only, never wall time; other programs run meanwhile.
 *			Outside of a program they end the process with a failed check
 *	libverbena	a program is a process, its adapter is Verbena's, over UDP; time is real.
 *			Who one is, and where all meet, says the environment, or vb_run()
 *			(program.h) from options:
 *		VERBENA_RANK, VERBENA_SIZE	0 and 1 if unset
 *		VERBENA_BOARD	ADDR:PORT, IPv4, where the rendezvous is kept: by rank 0, if the
 *				address is one of its machine and nobody keeps it there yet;
 *				unset: of a single rank in the process itself
 *		VERBENA_WAIT	seconds for it to be there and, at the end, for the others (60)
 *			and the adapter's VERBENA_ADDR, VERBENA_MTU, VERBENA_PCAP (verbena(1)) */
#include <stddef.h>
#include <stdint.h>

/* Of this header. A later one of the same first number has all that this one has, and runs what was
 * built with it. */
#define VB_VERSION_MAJOR 0
#define VB_VERSION_MINOR 1
#define VB_VERSION_PATCH 0
#define VB_VERSION (VB_VERSION_MAJOR * 10000 + VB_VERSION_MINOR * 100 + VB_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* VB_VERSION of whoever runs the program. */
int vb_version(void);

/* From 0 to vb_size() - 1. */
int vb_rank(void);
int vb_size(void);

/* Picoseconds since the run began; of a process: since its first call of any of these. */
uint64_t vb_now_ps(void);
/* 0 returns at once. In virtual time what ends after the end of time (2^63 ps, 106 days) never
 * does. */
void vb_sleep_ns(uint64_t ns);

/* A named rendezvous: bytes put under a key are visible to every rank of every program of the run;
 * in virtual time one out-of-band delay later (20 us unless the scenario says otherwise). The bytes
 * are copied, as is @key, a string of any length; between processes of at most 255 bytes for a key
 * and 1 MiB for what is put, or -EINVAL. It keeps what was put first. 0, -ENOMEM, or -EXXX of the
 * network between processes. */
int vb_put(const char *key, const void *bytes, size_t length);
/* Waits for @key, for ever if nobody puts it. Returns how many bytes were put, of which at most
 * @room are copied; or -ENOMEM, or -EXXX of the network: -ECONNRESET where a rank has failed.
 * Between processes one thread of a process at a time has the rendezvous: others wait. */
int64_t vb_get(const char *key, void *ret_bytes, size_t room);

/* Waits until the @length bytes at @address differ from @seen: what a loop that spins on memory is
 * in virtual time, where memory changes only when an adapter or a GPU places bytes. */
void vb_wait_mem(const void *address, const void *seen, size_t length);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
