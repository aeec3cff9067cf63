/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_BACKEND_H
#define VERBS_BACKEND_H

/* The seam between the ibv_ functions and an adapter. Objects behind it are named by handles that
 * only the backend understands, everything else crosses as a value, so that an adapter may live in
 * another process. transport/verbs/local.c implements it for an adapter in this address space.
 * All return 0 or -EXXX unless said otherwise; outputs are written only on success. */
#include "transport/hca/mem.h"
#include "transport/hca/qp.h"
/* What is declared here is what the front shows to modules and to other people's programs. */
#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

struct vrb_channel;

struct vrb_limits {
	uint64_t line_rate_bps;
	uint32_t mtu_max, gid_count;
	uint32_t qp_max, cq_max, mr_max, pd_max;
	uint32_t wr_max, sge_max, cqe_max, inline_max, rd_atomic_max;
	uint32_t qkey_violations; /* so far */
};

/* Where a QP or an address handle sends to; the world underneath makes a struct wire_path of it. */
struct vrb_av {
	uint8_t dgid[16];
	uint32_t sgid_index, flow_label;
	uint8_t hop_limit, traffic_class, sl;
};

struct vrb_mr_init {
	uint64_t addr; /* in the program's address space */
	uint64_t iova, length;
	uint32_t access; /* enum hca_access */
};

struct vrb_mr_info {
	uint64_t mr; /* handle */
	uint32_t lkey, rkey, number;
};

struct vrb_qp_init {
	enum hca_qp_type type;
	uint64_t pd, send_cq, recv_cq;
	struct hca_qp_cap cap;
	bool signal_all;
	void *owner; /* comes back in vrb_on_async() */
};

struct vrb_backend {
	const char *name;
	int (*query)(void *self, struct vrb_limits *ret_limits);
	int (*query_gid)(void *self, uint32_t index, uint8_t ret_gid[16]);

	int (*create_pd)(void *self, uint64_t *ret_pd);
	int (*destroy_pd)(void *self, uint64_t pd);
	int (*create_mr)(void *self, uint64_t pd, const struct vrb_mr_init *init,
			 struct vrb_mr_info *ret_info);
	int (*destroy_mr)(void *self, uint64_t mr);

	/* The way to @av, for the work requests of datagrams; it holds nothing. */
	int (*resolve_ah)(void *self, const struct vrb_av *av, struct wire_path *ret_path);

	/* @owner comes back in vrb_on_cq_event(). */
	int (*create_cq)(void *self, uint32_t depth, void *owner, uint64_t *ret_cq,
			 uint32_t *ret_depth);
	int (*destroy_cq)(void *self, uint64_t cq);
	int (*poll_cq)(void *self, uint64_t cq, uint32_t count, struct ibv_wc *ret_wc); /* number */
	int (*arm_cq)(void *self, uint64_t cq, bool solicited_only);

	int (*create_channel)(void *self, struct vrb_channel *channel);
	void (*destroy_channel)(void *self, struct vrb_channel *channel);
	/* Between begin() and end() no event is queued; they bracket every look at a channel's
	 * queue. wait_channel(), between them, waits until there is one: -EAGAIN, -EINTR. */
	int (*wait_channel)(void *self, struct vrb_channel *channel);
	void (*begin)(void *self);
	void (*end)(void *self);
	/* Somebody waits for another thread of the program, with @cq at hand (0: none). */
	void (*relax)(void *self, uint64_t cq);

	int (*create_qp)(void *self, const struct vrb_qp_init *init, uint64_t *ret_qp,
			 uint32_t *ret_qpn);
	int (*destroy_qp)(void *self, uint64_t qp);
	/* @av where HCA_QP_AV is in @mask; @cur_state where HCA_QP_CUR_STATE is. */
	int (*modify_qp)(void *self, uint64_t qp, struct hca_qp_attr *attr, uint32_t mask,
			 const struct vrb_av *av, enum hca_qp_state cur_state);
	int (*query_qp)(void *self, uint64_t qp, struct hca_qp_attr *ret_attr,
			struct hca_qp_init *ret_init);
	/* The first request that was refused is *ret_bad. Those of a UD queue pair have address
	 * handles (vrb_ah_path()). */
	int (*post_send)(void *self, uint64_t qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **ret_bad);
	int (*post_recv)(void *self, uint64_t qp, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **ret_bad);
};

const struct wire_path *vrb_ah_path(const struct ibv_ah *ah);

/* self: struct vrb_world. */
extern const struct vrb_backend vrb_local;

#endif
