/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBENA_PROGRAM_H
#define VERBENA_PROGRAM_H

/* A program as a function that is called once for each of its ranks, prog_main(): the same object
 * file is a module on the hosts of a simulated fabric, and a process between processes. All that it
 * sees besides <infiniband/verbs.h> and libc. Many ranks may share one address space, but each has
 * variables of its own.
 *
 *	module		cc -shared -fPIC -o kv.so kv.c; in a scenario
 *			programs: [{run: ./kv.so, hosts: [h0, h1], args: [bytes=64]}]
 *			or, compiled when it is run, {run: kv.c, ...}
 *	process		VB_MAIN(prog_main) somewhere in it, and
 *			cc kv.c $(pkg-config --cflags --libs verbena)
 *			./a.out --rank 0 --size 2 --board 127.0.0.1:7471 -- bytes=64
 *
 * A plain main() makes a module and a process, too: its arguments are those of the scenario, and
 * verbena.h has the rest. */
#include "verbena.h"

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Members are only ever added, at the end: VB_HAS() before those that are not of version 0.1. */
struct vb_prog {
	size_t bytes; /* of this structure, as whoever runs the program knows it */
	int rank, size;
	int arg_count;
	const char *const *args;
	void *host; /* of the implementation */

	/* The rendezvous of this program: publishes @bytes under @key (once), and waits for what
	 * somebody publishes. @bytes may be NULL where @length is 0. 0, or a negative errno
	 * (-EMSGSIZE: the lengths differ). */
	int (*put)(const struct vb_prog *prog, const char *key, const void *bytes, size_t length);
	int (*get)(const struct vb_prog *prog, const char *key, void *ret_bytes, size_t length);
	void (*sleep_ns)(const struct vb_prog *prog, uint64_t ns);
	/* A completion of the n-th QP (from 0) towards @peer, and the bytes that it brought
	 * (receives, READs, atomics: wc->byte_len of them) or NULL: for whoever counts or compares
	 * them. */
	void (*report)(const struct vb_prog *prog, int peer, int nth_qp, const struct ibv_wc *wc,
		       const void *bytes);
	/* A line for a person, where the host shows such lines. */
	void (*say)(const struct vb_prog *prog, const char *line);
};

#define VB_HAS(prog, member)                                                                       \
	(offsetof(struct vb_prog, member) + sizeof((prog)->member) <= (prog)->bytes)

typedef int vb_main_fn(const struct vb_prog *prog);

/* 0: the program did all it should and every check of its own held. */
int prog_main(const struct vb_prog *prog);

/* Calls @fn for the rank that this process is, as options and the environment (verbena.h) say, the
 * former first, and then waits for the others to end. Options: --rank R --size N --board ADDR:PORT
 * --wait SECONDS; what follows them, behind "--" where it begins with "-", are the program's
 * arguments. In virtual time, where rank, size and arguments are known: calls @fn.
 * Returns what main() returns: 0; 1: a rank has failed; 2: bad options. */
int vb_run(int argc, char **argv, vb_main_fn *fn);

#define VB_MAIN(fn)                                                                                \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return vb_run(argc, argv, fn);                                                     \
	}

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
