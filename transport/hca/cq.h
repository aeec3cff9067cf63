/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_CQ_H
#define HCA_CQ_H

/* Completion queues. */
#include "transport/hca/wr.h"
#include "util/units.h"

struct hca_cq;
struct hca_device;

enum hca_cq_arm { HCA_CQ_DISARMED, HCA_CQ_ARM_SOLICITED, HCA_CQ_ARM_ANY };

/* @depth completions at least; -EINVAL: 0 or over the device's limit, -ENOMEM. @owner is handed to
 * the observer with each event. */
int hca_cq_create(struct hca_device *dev, uint32_t depth, void *owner, struct hca_cq **ret_cq);
int hca_cq_destroy(struct hca_device *dev, struct hca_cq *cq); /* -EBUSY: a QP still uses it */
uint32_t hca_cq_depth(const struct hca_cq *cq);
/* From now on @cq has room for @depth completions and keeps those that it holds. -EINVAL: 0, over
 * the device's limit, or fewer than it holds; -ENOMEM. As it was then. */
int hca_cq_resize(struct hca_device *dev, struct hca_cq *cq, uint32_t depth);
/* A full @cq is no error any more: the oldest completion makes room for the next (and where a
 * memory side has shown none yet, the next is lost). For those whose users see to it that it is not
 * full.
 */
void hca_cq_ignore_overrun(struct hca_cq *cq);

/* Takes up to @count completions, oldest first; returns how many. */
uint32_t hca_cq_poll(struct hca_cq *cq, uint32_t count, struct hca_wc *ret_wc);
bool hca_cq_is_empty(const struct hca_cq *cq);

/* The next completion that matches (solicited: a solicited or failed one) calls the observer's
 * on_cq_event() once and disarms. Completions already in the queue raise nothing. */
void hca_cq_arm(struct hca_cq *cq, enum hca_cq_arm arm);
/* The armed queue fires at the @count-th completion that matches, or @after the first one,
 * whichever is earlier; at the first where @count is less than 2 or @after is 0. What waits by
 * another rule is told now where the new one would not wait for it. 0 or -ENOMEM. */
int hca_cq_moderate(struct hca_device *dev, struct hca_cq *cq, uint32_t count, ps_t after,
		    ps_t now);

#endif
