/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_PROG_H
#define TESTS_PROGRAMS_PROG_H

/* All that a test program sees besides <infiniband/verbs.h> and libc. The same object file runs in
 * virtual time, between processes and in a guest on rdma-core; three small hosts implement this.
 * A program has no mutable globals: many ranks of it may share one address space. */
#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

struct prog {
	int rank, size;
	int arg_count;
	const char *const *args;
	void *host; /* of the implementation */

	/* The rendezvous: publishes @bytes under @key (once), and waits for what somebody
	 * publishes.
	 * @bytes may be NULL where @length is 0. 0, or a negative errno (-EMSGSIZE: the lengths
	 * differ). */
	int (*put)(const struct prog *prog, const char *key, const void *bytes, size_t length);
	int (*get)(const struct prog *prog, const char *key, void *ret_bytes, size_t length);
	void (*sleep_ns)(const struct prog *prog, uint64_t ns);
	/* A completion of the n-th QP (from 0) towards @peer, and the bytes that it brought
	 * (receives, READs, atomics: wc->byte_len of them) or NULL. The multiset of reports is what
	 * has to be equal in the three worlds. */
	void (*report)(const struct prog *prog, int peer, int nth_qp, const struct ibv_wc *wc,
		       const void *bytes);
	/* A line for a person, where the host shows such lines. */
	void (*say)(const struct prog *prog, const char *line);
};

/* 0: the program did all it should and every check of its own held. Visible, so that the same
 * object also makes a module that is loaded at run time. */
__attribute__((visibility("default"))) int prog_main(const struct prog *prog);

#endif
