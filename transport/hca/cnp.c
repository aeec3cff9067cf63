/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"

/* The notification point: a marked packet makes the QP send a CNP, at once, then at least an
 * interval apart. Marks in between are forgotten, or make one at its end. */
static inline __attribute__((always_inline)) void notify(struct hca_qp *qp, ps_t now)
{
	struct hca_device *dev = qp->dev;
	const ps_t interval = dev->profile.cnp_interval;
	struct hca_turn *turn = &qp->cnp_turn;
	ps_t at = now;

	if (!dev->profile.cnp_enabled || !hca_has_responder(qp))
		return;
	if (now < qp->cnp_next_at) {
		/* A CNP that is still to leave, or leaves now, tells of this mark, too. */
		if (!dev->profile.cnp_keeps_marks || now + interval <= qp->cnp_next_at ||
		    turn->state != HCA_TURN_IDLE)
			return;
		at = qp->cnp_next_at;
	}
	qp->cnp_next_at = at + interval;
	hca_sched_set(turn, at, now);
}

static inline __attribute__((always_inline)) void on_ce(struct hca_qp *qp, ps_t now)
{
	qp->dev->counters.np_ecn_marked_roce_packets++;
	if (qp->rtt)
		qp->rtt->is_marked = true;
	notify(qp, now);
}

void hca_cnp_on_ce(struct hca_qp *qp, ps_t now)
{
	on_ce(qp, now);
}

__attribute__((cold)) void hca_cnp_on_ce_apart(struct hca_qp *qp, ps_t now)
{
	on_ce(qp, now);
}

__attribute__((cold)) void hca_cnp_on_gap(struct hca_qp *qp, ps_t now)
{
	if (qp->dev->profile.cnp_on_gap)
		notify(qp, now);
}

void hca_cnp_output(struct hca_qp *qp, struct wire_pkt *pkt, struct hca_tx *tx)
{
	hca_pkt_init(pkt, WIRE_CNP, qp->dest_qpn, 0);
	pkt->becn = true;
	tx->ecn = WIRE_NOT_ECT;
	qp->dev->counters.np_cnp_sent += !qp->dev->ticket; /* else when it starts */
}

/* The reaction point. */
void hca_cnp_on_cnp(struct hca_qp *qp, ps_t now)
{
	struct hca_device *dev = qp->dev;

	if (!dev->profile.cc->listens || !hca_has_requester(qp)) {
		dev->counters.rp_cnp_ignored++;
		return;
	}
	dev->counters.rp_cnp_handled++;
	dev->profile.cc->on_cnp(&qp->cc, &dev->profile.cc_params, now);
}
