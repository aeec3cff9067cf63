/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/cq.h"

#include "transport/hca/shared.h"
#include "util/alloc.h"

#include <errno.h>

int hca_cq_create(struct hca_device *dev, uint32_t depth, void *owner, struct hca_cq **ret_cq)
{
	struct hca_cq *cq;

	if (depth == 0 || depth > dev->profile.cqe_max)
		return -EINVAL;
	if (dev->cq_count == dev->profile.cq_max)
		return -ENOMEM;
	cq = util_calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->ring = util_calloc(hca_pow2(depth), sizeof(*cq->ring));
	if (!cq->ring || (dev->dma && util_idmap_reserve(&dev->cqs) != 0)) {
		util_free(cq->ring);
		util_free(cq);
		return -ENOMEM;
	}
	cq->dev = dev;
	cq->owner = owner;
	cq->depth = depth;
	cq->mask = hca_pow2(depth) - 1;
	hca_list_add_tail(&dev->cq_list, &cq->node);
	dev->cq_count++;
	cq->cqn = ++dev->cqn;
	if (dev->dma)
		util_idmap_add(&dev->cqs, cq->cqn, cq);
	*ret_cq = cq;
	return 0;
}

/* Its alarm, and the room for it. */
static void unmoderate(struct hca_device *dev, struct hca_cq *cq)
{
	if (!cq->is_moderated)
		return;
	hca_heap_remove(&dev->timers, &cq->event_alarm);
	hca_sched_heaps_changed(dev);
	dev->timer_count--;
	cq->is_moderated = false;
}

void hca_cq_free(struct hca_device *dev, struct hca_cq *cq)
{
	unmoderate(dev, cq);
	hca_list_remove(&cq->node);
	dev->cq_count--;
	if (dev->dma)
		util_idmap_remove(&dev->cqs, cq->cqn);
	util_free(cq->ring);
	util_free(cq);
}

int hca_cq_destroy(struct hca_device *dev, struct hca_cq *cq)
{
	if (cq->use_count)
		return -EBUSY;
	hca_cq_free(dev, cq);
	return 0;
}

uint32_t hca_cq_depth(const struct hca_cq *cq)
{
	return cq->depth;
}

/* With a memory side what is written is more than what it shows. */
static uint32_t cq_end(const struct hca_cq *cq)
{
	return cq->dev->dma ? cq->written : cq->tail;
}

int hca_cq_resize(struct hca_device *dev, struct hca_cq *cq, uint32_t depth)
{
	const uint32_t end = cq_end(cq), mask = hca_pow2(depth) - 1;
	struct hca_wc *ring;

	if (depth == 0 || depth > dev->profile.cqe_max || depth < end - cq->head)
		return -EINVAL;
	ring = util_calloc(mask + 1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	for (uint32_t i = cq->head; i != end; i++)
		ring[i & mask] = cq->ring[i & cq->mask];
	util_free(cq->ring);
	cq->ring = ring;
	cq->mask = mask;
	cq->depth = depth;
	return 0;
}

void hca_cq_ignore_overrun(struct hca_cq *cq)
{
	cq->ignores_overrun = true;
}

static bool has_unpolled(const struct hca_cq *cq, uint32_t qpn)
{
	for (uint32_t i = cq->head; i != cq->tail; i++)
		if (cq->ring[i & cq->mask].qpn == qpn)
			return true;
	return false;
}

bool hca_qp_has_unpolled(const struct hca_qp *qp)
{
	return (qp->send_cq && has_unpolled(qp->send_cq, qp->qpn)) ||
	       (hca_has_responder(qp) && qp->recv_cq && has_unpolled(qp->recv_cq, qp->qpn));
}

uint32_t hca_cq_poll(struct hca_cq *cq, uint32_t count, struct hca_wc *ret_wc)
{
	uint32_t taken = 0;

	while (taken < count && cq->head != cq->tail)
		ret_wc[taken++] = cq->ring[cq->head++ & cq->mask];
	return taken;
}

/* What a memory side has not shown yet is on its way and stays. */
void hca_cq_forget(struct hca_cq *cq, uint32_t qpn)
{
	uint32_t to = cq->tail;

	for (uint32_t i = cq->tail; i != cq->head; i--) {
		const struct hca_wc *wc = &cq->ring[(i - 1) & cq->mask];

		if (wc->qpn != qpn)
			cq->ring[--to & cq->mask] = *wc;
	}
	cq->head = to;
}

bool hca_cq_is_empty(const struct hca_cq *cq)
{
	return cq->head == cq->tail;
}

void hca_cq_arm(struct hca_cq *cq, enum hca_cq_arm arm)
{
	/* Asking for any completion is not weakened by asking for a solicited one. */
	if (arm == HCA_CQ_DISARMED || arm > cq->arm)
		cq->arm = arm;
}

static void fire(struct hca_cq *cq, ps_t now)
{
	struct hca_device *dev = cq->dev;

	cq->arm = HCA_CQ_DISARMED;
	cq->waiting_count = 0;
	if (cq->is_moderated) {
		hca_heap_remove(&dev->timers, &cq->event_alarm);
		hca_sched_heaps_changed(dev);
	}
	dev->observer->on_cq_event(dev->world, cq->owner, now);
}

/* One more that the armed queue would fire at. */
static __attribute__((noinline, cold)) void moderated(struct hca_cq *cq, ps_t now)
{
	struct hca_device *dev = cq->dev;

	if (++cq->waiting_count == cq->event_count) {
		fire(cq, now);
	} else if (cq->waiting_count == 1) {
		hca_heap_set(&dev->timers, &cq->event_alarm, now + cq->event_after);
		hca_sched_heaps_changed(dev);
	}
}

int hca_cq_moderate(struct hca_device *dev, struct hca_cq *cq, uint32_t count, ps_t after, ps_t now)
{
	const bool wanted = count > 1 && after > 0;

	if (wanted && !cq->is_moderated &&
	    hca_heap_reserve(&dev->timers, dev->timer_count + 2) != 0)
		return -ENOMEM;
	if (cq->waiting_count > 0 && (!wanted || cq->waiting_count >= count))
		fire(cq, now);
	if (!wanted)
		unmoderate(dev, cq);
	else if (!cq->is_moderated)
		dev->timer_count++;
	cq->is_moderated = wanted;
	cq->event_count = count;
	cq->event_after = after;
	cq->event_alarm.qpn = HCA_ALARM_OF_CQ + cq->cqn;
	if (cq->waiting_count > 0) {
		hca_heap_set(&dev->timers, &cq->event_alarm, now + after);
		hca_sched_heaps_changed(dev);
	}
	return 0;
}

/* IBTA 10.2.3.3: a CQ that overflows is in error; what it holds can still be polled. A completion
 * is lost, and with it what its queue pair and all others of this CQ can be trusted with. They fail
 * at this instant, but not in the middle of what they are at. */
static __attribute__((noinline, cold)) void overflow(struct hca_cq *cq, ps_t now)
{
	struct hca_device *dev = cq->dev;

	if (!cq->overflowed)
		dev->observer->on_async(dev->world, cq->owner, HCA_EVENT_CQ_ERR, now);
	cq->overflowed = cq->lost = true;
	hca_heap_set(&dev->timers, &dev->cq_alarm, now);
	hca_sched_heaps_changed(dev);
}

/* There is no room for a completion. True: now there is. */
static __attribute__((noinline, cold)) bool makes_room(struct hca_cq *cq, ps_t now)
{
	if (!cq->ignores_overrun) {
		overflow(cq, now);
		return false;
	}
	if (cq->head == cq->tail)
		return false;
	cq->head++;
	return true;
}

static bool uses_lost(const struct hca_qp *qp)
{
	if (hca_has_responder(qp) && qp->recv_cq && qp->recv_cq->lost)
		return true;
	return qp->send_cq && qp->send_cq->lost;
}

/* The first that has to fail: the order is that of numbers, whatever the map's is. */
static struct hca_qp *next_user(const struct hca_device *dev)
{
	struct hca_qp *first = NULL;

	for (uint32_t i = 0; i <= dev->qps.mask; i++) {
		struct hca_qp *qp = dev->qps.slots[i].object;

		if (qp && uses_lost(qp) && qp->state != HCA_QPS_RESET && qp->state != HCA_QPS_ERR &&
		    (!first || qp->qpn < first->qpn))
			first = qp;
	}
	return first;
}

/* IBTA A14: of XRC, whose completions go there. */
static void fail_srq(struct hca_device *dev, struct hca_srq *srq, ps_t now)
{
	if (!srq->cq || !srq->cq->lost || srq->has_failed)
		return;
	srq->has_failed = true;
	dev->observer->on_async(dev->world, srq->owner, HCA_EVENT_SRQ_ERR, now);
}

/* What is flushed may overflow another CQ, whose users have lower numbers, too. */
static void fail_users(struct hca_device *dev, ps_t now)
{
	struct hca_qp *qp;

	while ((qp = next_user(dev))) {
		hca_qp_async(qp, HCA_EVENT_QP_FATAL, now);
		hca_qp_fail(qp, now);
	}
	for (struct hca_list *n = dev->srq_list.next; n != &dev->srq_list; n = n->next)
		fail_srq(dev, container_of(n, struct hca_srq, node), now);
	for (struct hca_list *n = dev->cq_list.next; n != &dev->cq_list; n = n->next)
		container_of(n, struct hca_cq, node)->lost = false;
	hca_heap_remove(&dev->timers, &dev->cq_alarm);
	hca_sched_heaps_changed(dev);
}

void hca_cq_alarm(struct hca_device *dev, struct hca_alarm *alarm, ps_t now)
{
	if (alarm == &dev->cq_alarm)
		fail_users(dev, now);
	else
		fire(container_of(alarm, struct hca_cq, event_alarm), now);
}

/* A completion that the memory side has not shown yet is solicited: only here. */
#define FLAG_SOLICITED (1u << 31)

static __attribute__((cold)) void write_by_dma(struct hca_cq *cq, const struct hca_wc *wc,
					       bool is_solicited, ps_t now)
{
	struct hca_wc *place = &cq->ring[cq->written & cq->mask];

	if ((cq->overflowed || cq->written - cq->head == cq->depth) && !makes_room(cq, now))
		return;
	cq->written++;
	*place = *wc;
	place->at = now;
	place->flags |= is_solicited ? FLAG_SOLICITED : 0;
	hca_dma_complete(cq, wc->qpn);
}

static inline void cq_show_one(struct hca_cq *cq, const struct hca_wc *wc, bool is_solicited,
			       ps_t now)
{
	struct hca_device *dev = cq->dev;

	cq->tail++;
	dev->observer->on_wc(dev->world, cq, wc, now);
	if (cq->arm == HCA_CQ_ARM_ANY ||
	    (cq->arm == HCA_CQ_ARM_SOLICITED && (is_solicited || wc->status != HCA_WC_SUCCESS))) {
		if (__builtin_expect(cq->is_moderated, false))
			moderated(cq, now);
		else
			fire(cq, now);
	}
}

void hca_cq_push(struct hca_cq *cq, const struct hca_wc *wc, bool is_solicited, ps_t now)
{
	struct hca_wc *place;

	if (__builtin_expect(cq->dev->dma != NULL, false)) {
		write_by_dma(cq, wc, is_solicited, now);
		return;
	}
	if ((cq->overflowed || cq->tail - cq->head == cq->depth) && !makes_room(cq, now))
		return;
	place = &cq->ring[cq->tail & cq->mask];
	*place = *wc;
	place->at = now;
	cq_show_one(cq, wc, is_solicited, now);
}

void hca_cq_show(struct hca_cq *cq, ps_t now)
{
	struct hca_wc *wc = &cq->ring[cq->tail & cq->mask];
	const bool is_solicited = wc->flags & FLAG_SOLICITED;

	CHECK(cq->tail != cq->written);
	wc->flags &= ~FLAG_SOLICITED;
	cq_show_one(cq, wc, is_solicited, now);
}
