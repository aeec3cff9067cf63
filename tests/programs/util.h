/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_UTIL_H
#define TESTS_PROGRAMS_UTIL_H

/* What the test programs share: from a device to RC queue pairs that can talk, and completions
 * that are counted, checked and reported. Ordinary verbs code with nothing of Verbena in it. Every
 * function returns 0 or a negative number after having said why. */
#include "tests/programs/prog.h"
#include <stdbool.h>

/* The first device, one PD, one CQ. */
struct prog_ctx {
	const struct prog *prog;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
};

/* What one side tells the other, through the board. */
struct prog_peer {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t qpn, psn, rkey, mtu;
};

/* One queue pair towards one peer, and the region that the peer may reach. */
struct prog_qp {
	struct prog_ctx *ctx;
	int peer, nth;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct prog_peer self, remote;
};

struct prog_qp_params {
	int peer;
	int nth; /* of the QPs towards that peer, from 0; the peer counts the same way */
	uint32_t send_depth, recv_depth;
	struct ibv_mr *mr; /* may be NULL */
};

/* Value of the argument NAME=VALUE, or @fallback. */
uint64_t prog_arg(const struct prog *prog, const char *name, uint64_t fallback);

void prog_say(const struct prog *prog, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Argument ip=6: an IPv6 GID, else an IPv4-mapped one, where there is one. */
int prog_open(struct prog_ctx *ctx, const struct prog *prog, int cqe);
int prog_close(struct prog_ctx *ctx);
struct ibv_mr *prog_reg(struct prog_ctx *ctx, void *bytes, size_t length);

/* Creates the QP and publishes it; prog_connect() waits for the peer's and brings it to RTS. A rank
 * with several peers publishes all before it connects the first. */
int prog_qp_open(struct prog_qp *qp, struct prog_ctx *ctx, struct prog_qp_params params);
int prog_qp_connect(struct prog_qp *qp);
int prog_qp_close(struct prog_qp *qp);

int prog_post_recv(struct prog_qp *qp, uint64_t wr_id, void *bytes, uint32_t length);
/* Signalled, one SGE in qp->mr; remote_offset into the peer's region. */
struct prog_send {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	void *bytes;
	uint32_t length;
	uint64_t remote_offset;
	uint32_t imm; /* host order */
	uint64_t compare_add, swap;
};
int prog_post_send(struct prog_qp *qp, struct prog_send send);

/* The next completion of the CQ; fails where it is not a success. Not reported. */
int prog_poll(struct prog_ctx *ctx, struct ibv_wc *ret_wc);
/* The same, reported with the bytes that it brought. */
int prog_poll_report(struct prog_qp *qp, struct ibv_wc *ret_wc, const void *bytes);

/* All @size ranks have come here. @name is used once. */
int prog_barrier(const struct prog *prog, const char *name);

/* Byte @i of stream @seed: every (seed, i) has its own, so that misplaced bytes show. */
uint8_t prog_byte(uint64_t seed, uint64_t i);
void prog_fill(void *bytes, size_t length, uint64_t seed);
/* -1 with the first wrong offset said. */
int prog_check(const struct prog *prog, const char *what, const void *bytes, size_t length,
	       uint64_t seed);

#endif
