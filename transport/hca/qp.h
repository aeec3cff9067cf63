/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_QP_H
#define HCA_QP_H

/* Queue pairs: creation, states, posting. How a QP answers packets is in requester.c, responder.c
 * and completer.c. */
#include "transport/hca/wr.h"
#include "transport/wire/path.h"
#include "util/units.h"

struct hca_cq;
struct hca_device;
struct hca_pd;
struct hca_qp;
struct hca_srq;
struct hca_xrcd;

/* enum ibv_qp_type; XRC: transport/hca/xrc.h */
enum hca_qp_type {
	HCA_QPT_RC = 2,
	HCA_QPT_UC = 3,
	HCA_QPT_UD = 4,
	HCA_QPT_RAW_PACKET = 8,
	HCA_QPT_XRC_SEND = 9,
	HCA_QPT_XRC_RECV = 10,
};

/* enum ibv_qp_state */
enum hca_qp_state {
	HCA_QPS_RESET = 0,
	HCA_QPS_INIT = 1,
	HCA_QPS_RTR = 2,
	HCA_QPS_RTS = 3,
	HCA_QPS_SQD = 4,
	HCA_QPS_SQE = 5,
	HCA_QPS_ERR = 6,
};

/* enum ibv_qp_attr_mask, those that this adapter knows */
enum hca_qp_attr_mask {
	HCA_QP_STATE = 1 << 0,
	HCA_QP_CUR_STATE = 1 << 1,
	HCA_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	HCA_QP_ACCESS_FLAGS = 1 << 3,
	HCA_QP_PKEY_INDEX = 1 << 4,
	HCA_QP_PORT = 1 << 5,
	HCA_QP_QKEY = 1 << 6,
	HCA_QP_AV = 1 << 7,
	HCA_QP_PATH_MTU = 1 << 8,
	HCA_QP_TIMEOUT = 1 << 9,
	HCA_QP_RETRY_CNT = 1 << 10,
	HCA_QP_RNR_RETRY = 1 << 11,
	HCA_QP_RQ_PSN = 1 << 12,
	HCA_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	HCA_QP_MIN_RNR_TIMER = 1 << 15,
	HCA_QP_SQ_PSN = 1 << 16,
	HCA_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	HCA_QP_DEST_QPN = 1 << 20,
	HCA_QP_RATE_LIMIT = 1 << 25, /* on the way to RTS, and in it */
};

struct hca_qp_cap {
	uint32_t send_depth, recv_depth;     /* work requests */
	uint32_t send_sge_max, recv_sge_max; /* a work request */
	uint32_t inline_max;		     /* bytes */
};

#define HCA_REQUESTS_NONE UINT32_MAX

/* What a queue pair is for. One that has but one half takes about half the memory. */
enum hca_qp_half {
	HCA_BOTH_HALVES = 0,
	/* RC, recv_depth 0: requests of the other end are dropped, and counted as rx_wrong_state.
	 */
	HCA_REQUESTER,
	/* RC, send_depth 0: takes SENDs and WRITEs, no READs and atomics, and goes no further than
	 * RTR. */
	HCA_RESPONDER,
};

struct hca_qp_init {
	enum hca_qp_type type;
	struct hca_pd *pd;
	struct hca_cq *send_cq, *recv_cq;
	/* Receives come from there: RC and UD; of @cap those of receives do not count. NULL: the
	 * queue pair has its own. */
	struct hca_srq *srq;
	/* XRC_RECV alone, which has none of the above but a type. XRC_SEND has no recv_cq. */
	struct hca_xrcd *xrcd;
	struct hca_qp_cap cap; /* granted exactly as asked, or refused */
	bool signal_all;
	enum hca_qp_half half;
	/* READs and atomics of the other end that it can answer at once, the most that
	 * max_dest_rd_atomic may be; 0: as many as the device. */
	uint8_t dest_rd_atomic_max;
	/* HCA_SELECTIVE: of how many packets the requests of the other end are in all, from its
	 * first PSN on: as many, or psn_window where that is less, can come before their turn, and
	 * when all have come, none can. 0: not known; HCA_REQUESTS_NONE. */
	uint32_t request_packets;
	/* Where the QP number comes from: 0, the device draws one (keyed by @identity); otherwise
	 * the number itself, 24 bits, refused with -EEXIST when taken. */
	uint32_t qpn;
	uint64_t identity;
	void *owner; /* handed to the observer */
};

struct hca_qp_attr {
	enum hca_qp_state state;
	uint32_t access; /* enum hca_access */
	uint32_t mtu;	 /* bytes: 256, 512, 1024, 2048, 4096 */
	uint32_t dest_qpn;
	uint32_t sq_psn, rq_psn; /* 24 bits */
	uint8_t timeout; /* local ACK timeout code: T = 4.096 us * 2^n, 0 never; fires at 2T */
	uint8_t retry_cnt, rnr_retry; /* 3 bits; rnr_retry 7: for ever */
	uint8_t min_rnr_timer;	      /* code, 5 bits */
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint32_t qkey;
	uint16_t pkey_index;
	uint8_t port;
	bool en_sqd_async_notify; /* on the way to SQD: an event tells when all is drained */
	uint32_t rate_limit_kbps; /* of what it sends; 0: that of the port */
	struct wire_path path;	  /* already resolved by the world underneath */
};

/* -EINVAL: over a device limit, no CQ, an SRQ or a half that the type or the depths do not allow;
 * -ENOMEM; -EEXIST. Starts in RESET. */
int hca_qp_create(struct hca_device *dev, const struct hca_qp_init *init, struct hca_qp **ret_qp);
/* With it go its completions that nobody has polled, as with adapters whose libraries clean the
 * queue (rdma-core, providers/mlx5/cq.c), so that nobody takes one for something that he has freed.
 */
void hca_qp_destroy(struct hca_device *dev, struct hca_qp *qp);
/* The send queue takes @depth work requests, all else stays (IBTA 11.2.5.2, outstanding work
 * requests). -EINVAL: fewer than now, or more than the device takes; -ENOMEM: as it was. */
int hca_qp_grow_send(struct hca_device *dev, struct hca_qp *qp, uint32_t depth);
/* -EINVAL: a transition, a missing or a superfluous attribute that IBTA (11.2.5.2) does not allow.
 * -ENOMEM: for what READs leave behind. -EOPNOTSUPP: a rate of its own for a queue pair of
 * datagrams, or where a congestion control has the say. Nothing changes then. To ERR flushes both
 * queues; to RESET empties them, and its completions that were not polled go (as with mlx5:
 * mlx5_cq_clean()). */
int hca_qp_modify(struct hca_device *dev, struct hca_qp *qp, const struct hca_qp_attr *attr,
		  uint32_t mask, ps_t now);
void hca_qp_query(const struct hca_qp *qp, struct hca_qp_attr *ret_attr,
		  struct hca_qp_init *ret_init);
uint32_t hca_qp_qpn(const struct hca_qp *qp);
void *hca_qp_owner(const struct hca_qp *qp);
void hca_qp_set_owner(struct hca_qp *qp, void *owner);
enum hca_qp_type hca_qp_type_of(const struct hca_qp *qp);
/* How the QP of that number reaches its peer; NULL: no such QP, or one that has no peer yet. */
const struct wire_path *hca_qp_path(const struct hca_device *dev, uint32_t qpn);
/* RESET where there is none. */
enum hca_qp_state hca_qp_state_of(const struct hca_device *dev, uint32_t qpn);
uint64_t hca_qp_packets_retransmitted(const struct hca_qp *qp); /* since RESET */

/* One work request. -EINVAL: state, opcode, inline too long, too many SGEs (none is read then),
 * over 2^31 bytes (the send queue in ERR accepts and flushes); -ENOMEM: queue full. Inline bytes
 * are taken now. */
int hca_qp_post_send(struct hca_device *dev, struct hca_qp *qp, const struct hca_send_wr *wr,
		     ps_t now);
/* NULL: there is none. */
struct hca_qp *hca_qp_find(const struct hca_device *dev, uint32_t qpn);
/* How many more requests there are places for, to somebody who has heard of @ended that ended, as
 * struct hca_wc counts them. */
uint32_t hca_qp_send_room(const struct hca_qp *qp, uint32_t ended);
/* Whether there is a completion of it that nobody has polled. */
bool hca_qp_has_unpolled(const struct hca_qp *qp);
/* Whether hca_qp_post_send() would take each of @wr as the next: 0, or what it would refuse one of
 * them with. That there is room for all @count is the caller's to know. */
int hca_qp_check_send(const struct hca_qp *qp, const struct hca_send_wr *wr, uint32_t count);
int hca_qp_post_recv(struct hca_device *dev, struct hca_qp *qp, const struct hca_recv_wr *wr,
		     ps_t now);

#endif
