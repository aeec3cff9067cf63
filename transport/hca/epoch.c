/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

/* A device that lives longer than 64 bits of picoseconds: its time begins later, and every instant
 * that it remembers moves. What would lie before the beginning is long ago, like never: 0. */

static void epoch_move(ps_t *at, ps_t by)
{
	if (*at != PS_NEVER)
		*at = *at > by ? *at - by : 0;
}

static void move_qp(struct hca_qp *qp, ps_t by)
{
	if (hca_has_responder(qp))
		epoch_move(&qp->cnp_next_at, by);
	if (!hca_has_requester(qp))
		return;
	epoch_move(&qp->next_start, by);
	epoch_move(&qp->sq.timer_at, by);
	epoch_move(&qp->cc.alpha_at, by);
	epoch_move(&qp->cc.increase_at, by);
	epoch_move(&qp->cc.decrease_at, by);
}

static void move_cq(struct hca_cq *cq, ps_t by)
{
	for (uint32_t i = 0; i <= cq->mask; i++)
		cq->ring[i].at -= by;
}

void hca_device_move_epoch(struct hca_device *dev, ps_t by)
{
	CHECK(!dev->takes_rtt && dev->profile.cc->state_bytes == 0);
	CHECK(dev->agenda.wake_at > by);
	hca_heap_move(&dev->paced, by);
	hca_heap_move(&dev->timers, by);
	hca_sched_heaps_changed(dev);
	for (struct hca_list *n = dev->cq_list.next; n != &dev->cq_list; n = n->next)
		move_cq(container_of(n, struct hca_cq, node), by);
	for (uint32_t i = 0; dev->qps.slots && i <= dev->qps.mask; i++)
		if (dev->qps.slots[i].object)
			move_qp(dev->qps.slots[i].object, by);
}
