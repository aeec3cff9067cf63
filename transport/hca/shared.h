/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_SHARED_H
#define HCA_SHARED_H

/* What the parts of the adapter know of shared receive queues, of XRC and of multicast groups;
 * never leaves this folder. */
#include "transport/hca/internal.h"

struct hca_srq {
	struct hca_list node;
	struct hca_pd *pd;
	void *owner;
	struct hca_rwqe *ring; /* behind it lists */
	uint32_t mask, depth, sge_max;
	uint32_t head, tail; /* counters that wrap */
	uint32_t limit, use_count;
	/* XRC. */
	struct hca_xrcd *xrcd; /* NULL: another one, and there is nothing more */
	struct hca_cq *cq;
	uint32_t srqn;
	bool has_failed; /* its CQ has lost a completion */
};

struct hca_xrcd {
	struct hca_list node;
	uint32_t open_count, use_count; /* used by queue pairs and shared receive queues */
	bool is_shared;
	uint64_t file[2];
};

/* Whose memory a receive is. */
static inline const struct hca_pd *hca_recv_pd(const struct hca_qp *qp)
{
	return __builtin_expect(qp->srq != NULL, false) ? qp->srq->pd : qp->pd;
}

/* One queue pair in one group. */
struct hca_member {
	struct hca_list node;
	struct hca_qp *qp;
	uint8_t ip[16];
};

/* mcast.c */
void hca_mcast_leave(struct hca_qp *qp); /* it is going */

/* srq.c */
void hca_srq_free(struct hca_device *dev, struct hca_srq *srq);
const struct hca_rwqe *hca_srq_first(const struct hca_srq *srq); /* NULL: it is empty */
/* The first one becomes the last of @qp; false: @qp shares none, there is none, or no place. */
bool hca_srq_take(struct hca_qp *qp, ps_t now);

/* xrc.c */
void hca_xrcd_free(struct hca_device *dev, struct hca_xrcd *xrcd);
/* Nothing about @pkt is checked yet, and @op may be NULL. True: *ret_as_rc is what a queue pair of
 * RC is to take instead. */
bool hca_xrc_admits(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		    struct hca_rx rx, struct wire_pkt *ret_as_rc, ps_t now);

#endif
