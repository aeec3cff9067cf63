/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_SRQ_H
#define HCA_SRQ_H

/* Shared receive queues (IBTA 10.2.9): receives that RC and UD queue pairs take from one place
 * instead of having their own. A queue pair takes one when a message needs it, at its first packet,
 * and has it until the message is done: what it has taken is flushed with it, all else stays. The
 * memory of a receive belongs to the protection domain of the shared queue, not to that of the
 * queue pair. */
#include "transport/hca/wr.h"
#include "util/units.h"

struct hca_cq;
struct hca_device;
struct hca_pd;
struct hca_srq;
struct hca_xrcd;

enum hca_srq_attr_mask { HCA_SRQ_MAX_WR = 1, HCA_SRQ_LIMIT = 2 }; /* enum ibv_srq_attr_mask */

struct hca_srq_init {
	struct hca_pd *pd;
	uint32_t depth;	  /* receives, from 1 */
	uint32_t sge_max; /* of each */
	void *owner;	  /* handed to the observer with each event */
	/* Both or neither: receives of XRC (transport/hca/xrc.h), whose completions go to @cq. It
	 * is known by a number, drawn by @identity as those of queue pairs are, and taken from by
	 * any XRC_RECV queue pair of the domain, by no other. */
	struct hca_xrcd *xrcd;
	struct hca_cq *cq;
	uint64_t identity;
};

struct hca_srq_attr {
	uint32_t depth, sge_max;
	/* The receive that leaves fewer than that raises IBV_EVENT_SRQ_LIMIT_REACHED, once; 0: none
	 * does (IBTA 10.2.9.4). What is there already when it is set raises nothing. */
	uint32_t limit;
};

/* -EINVAL: no PD, no depth, over the device's limits; -ENOMEM. */
int hca_srq_create(struct hca_device *dev, const struct hca_srq_init *init,
		   struct hca_srq **ret_srq);
/* -EBUSY: a QP uses it. XRC_RECV queue pairs do not: what they had taken goes without a completion,
 * and the message that it was for fails. */
int hca_srq_destroy(struct hca_device *dev, struct hca_srq *srq);
uint32_t hca_srq_number(const struct hca_srq *srq); /* 24 bits, of XRC; else 0 */
/* Of @attr what @mask names. -EINVAL, -ENOMEM, and nothing changes: a depth of 0, over the device's
 * limit, below the limit or below what is posted; a limit over the depth; another mask. */
int hca_srq_modify(struct hca_device *dev, struct hca_srq *srq, const struct hca_srq_attr *attr,
		   uint32_t mask);
void hca_srq_query(const struct hca_srq *srq, struct hca_srq_attr *ret_attr);
/* One receive. -EINVAL: too many SGEs (none is read then), over 2^31 bytes; -ENOMEM: full. */
int hca_srq_post_recv(struct hca_device *dev, struct hca_srq *srq, const struct hca_recv_wr *wr);

#endif
