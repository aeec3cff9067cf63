/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_UTIL_H
#define TESTS_PROGRAMS_UTIL_H

/* What the test programs share: from a device to connected queue pairs that can talk, and
 * completions that are counted, checked and reported. Ordinary verbs code with nothing of Verbena
 * in it. Every function returns 0 or a negative number after having said why. */
#include "include/verbena/program.h"
#include <stdbool.h>

/* A device, one PD, one CQ, one region with every right. */
struct prog_ctx {
	const struct vb_prog *prog;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
};

/* What one side tells the other, through the rendezvous. */
struct prog_peer {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t qpn, psn, rkey, mtu;
};

/* One queue pair towards one peer. */
struct prog_qp {
	struct prog_ctx *ctx;
	int peer, nth;
	struct ibv_qp *qp;
	struct prog_peer self, remote;
};

struct prog_qp_params {
	int peer;
	int nth; /* of the QPs towards that peer, from 0; the peer counts the same way */
	uint32_t send_depth, recv_depth;
	enum ibv_qp_type type; /* IBV_QPT_UC, XRC_SEND, XRC_RECV; 0: RC */
	struct ibv_srq *srq;   /* NULL: receives of its own */
	struct ibv_xrcd *xrcd; /* of XRC_RECV */
	uint64_t send_ops;     /* of an extended one, IBV_QP_EX_WITH_...; 0: it is none */
};

/* Work requests whose completions are still to come, and the last that came. */
struct prog_pending {
	int sends, recvs;
	struct ibv_wc last;
};

/* Value of the argument NAME=VALUE, or @fallback. */
uint64_t prog_arg(const struct vb_prog *prog, const char *name, uint64_t fallback);

/* False, and a line of rank 0 that says what there is: an argument is none of @names, "bytes
 * rounds", nor of those that all programs take (ip, sl, traffic_class), or its value is no number.
 */
bool prog_takes(const struct vb_prog *prog, const char *names);

void prog_say(const struct vb_prog *prog, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Registers @bytes. Argument ip=6: an IPv6 GID, else an IPv4-mapped one, where there is one. */
int prog_open(struct prog_ctx *ctx, const struct vb_prog *prog, int cqe, void *bytes,
	      size_t length);
/* The same with 16 CQEs on the @device-th of the list, from 0. */
int prog_open_device(struct prog_ctx *ctx, const struct vb_prog *prog, int device, void *bytes,
		     size_t length);
/* How many there are; -1. */
int prog_count_devices(const struct vb_prog *prog);
/* Waits for all ranks (a peer may still need our acknowledgements), then destroys everything. */
int prog_close(struct prog_ctx *ctx, struct prog_qp *qps, int qp_count);
/* Destroys everything; nobody is waited for. */
int prog_destroy(struct prog_ctx *ctx, struct prog_qp *qps, int qp_count);
/* All ranks have come to the barrier of that name, which is used once. */
int prog_barrier(const struct vb_prog *prog, const char *name);
/* What a rank without work does: waits for the others as prog_close() does. */
int prog_idle(const struct vb_prog *prog);

/* Creates the QP and publishes it; prog_connect() waits for the peers' and brings all to RTS.
 * Receives may be posted in between. */
int prog_qp_open(struct prog_qp *qp, struct prog_ctx *ctx, struct prog_qp_params params);
/* Arguments sl=, traffic_class=: those of the paths; 0 where there are none. */
int prog_connect(struct prog_qp *qps, int qp_count);

/* A UD queue pair of that Q_Key, which can send: 64 sends, @receives. */
int prog_ud_open(struct prog_ctx *ctx, uint32_t qkey, uint32_t receives, struct ibv_qp **ret_qp);
/* Towards @gid, which may be that of a group; NULL. */
struct ibv_ah *prog_ah(struct prog_ctx *ctx, const union ibv_gid *gid);

int prog_post_recv(struct prog_qp *qp, uint64_t wr_id, void *bytes, uint32_t length);
/* Signalled, one SGE; remote_offset into the peer's region. */
struct prog_send {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	void *bytes;
	uint32_t length;
	uint64_t remote_offset;
	uint32_t imm; /* host order */
	uint64_t compare_add, swap;
	uint32_t srqn; /* of XRC */
};
int prog_post_send(struct prog_qp *qp, struct prog_send send);

/* The next completion of the CQ, which has to be a success. Not reported. */
int prog_poll(struct prog_ctx *ctx, struct ibv_wc *ret_wc);
/* The next completion, reported for the one of @qps that it belongs to, with @recv_bytes where it
 * is a receive, and counted off. */
int prog_turn(struct prog_qp *qps, int qp_count, const void *recv_bytes,
	      struct prog_pending *pending);
/* prog_turn() for one QP until nothing is pending. */
int prog_drain(struct prog_qp *qp, const void *recv_bytes, struct prog_pending *pending);

/* Byte @i of stream @seed: every (seed, i) has its own, so that misplaced bytes show. */
uint8_t prog_byte(uint64_t seed, uint64_t i);
void prog_fill(void *bytes, size_t length, uint64_t seed);
/* -1 with the first wrong offset said. */
int prog_check(const struct vb_prog *prog, const char *what, const void *bytes, size_t length,
	       uint64_t seed);

#endif
