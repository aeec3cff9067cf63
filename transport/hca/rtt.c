/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "transport/wire/hop.h"
#include "util/alloc.h"

#include <errno.h>

/* What ACKs tell a congestion control: how much has come, how long that took, whether it was
 * marked. And what the control answers: a window. */

int hca_rtt_create(struct hca_qp *qp)
{
	const struct cc_ops *cc = qp->dev->profile.cc;

	if (cc->state_bytes > 0 && hca_has_requester(qp)) {
		qp->cc.state = util_calloc(1, cc->state_bytes);
		if (!qp->cc.state)
			return -ENOMEM;
	}
	if (!qp->dev->takes_rtt || !hca_is_reliable(qp))
		return 0;
	qp->rtt = util_calloc(1, sizeof(*qp->rtt));
	return qp->rtt ? 0 : -ENOMEM;
}

void hca_rtt_destroy(struct hca_qp *qp)
{
	if (hca_has_requester(qp))
		util_free(qp->cc.state);
	util_free(qp->rtt);
}

void hca_rtt_reset(struct hca_qp *qp)
{
	if (qp->rtt)
		*qp->rtt = (struct hca_rtt){.first = 0};
}

void hca_rtt_set_window(struct hca_qp *qp)
{
	const uint64_t packets = qp->mtu ? qp->cc.cwnd_bytes / qp->mtu : 0;

	qp->sq.window = qp->dev->psn_window;
	if (qp->cc.cwnd_bytes > 0 && packets < qp->sq.window)
		qp->sq.window = packets > 0 ? (uint32_t)packets : 1;
}

/* @is_new: never sent before; of others an ACK may be that of the first time. */
void hca_rtt_sent(struct hca_qp *qp, struct wire_pkt *pkt, bool is_new, ps_t now)
{
	if (qp->dev->profile.cc->takes_int && pkt->length > 0 && !pkt->has_rare) {
		pkt->has_rare = true;
		pkt->rare = (struct wire_rare){.pkey = WIRE_PKEY_DEFAULT, .has_int = true};
	}
	if (!is_new || !pkt->ack_req)
		return;
	if (qp->dev->ticket) {
		qp->dev->ticket->psn = pkt->psn;
		qp->dev->ticket->is_timed = true;
	} else {
		hca_rtt_stamp(qp, pkt->psn, now);
	}
}

void hca_rtt_stamp(struct hca_qp *qp, uint32_t psn, ps_t now)
{
	struct hca_rtt *rtt = qp->rtt;
	const uint32_t room = sizeof(rtt->stamps) / sizeof(rtt->stamps[0]);

	if (rtt->count < room)
		rtt->stamps[(rtt->first + rtt->count++) % room] = (struct hca_stamp){psn, now + 1};
}

_Static_assert((int)CC_HOPS_MAX == (int)WIRE_INT_HOPS, "every hop reaches the control");

void hca_rtt_take_hops(struct hca_qp *qp, const struct wire_pkt *pkt)
{
	struct hca_rtt *rtt = qp->rtt;

	if (!pkt->has_rare || !pkt->rare.has_int)
		return;
	rtt->hop_count =
		pkt->rare.hop_count < WIRE_INT_HOPS ? pkt->rare.hop_count : (uint8_t)WIRE_INT_HOPS;
	for (uint32_t i = 0; i < rtt->hop_count; i++)
		rtt->hops[i] = pkt->rare.hops[i];
}

/* The mark and the hops go back, once. */
void hca_rtt_fill_ack(struct hca_qp *qp, struct wire_pkt *pkt)
{
	struct hca_rtt *rtt = qp->rtt;

	pkt->becn = rtt->is_marked;
	rtt->is_marked = false;
	if (rtt->hop_count == 0)
		return;
	pkt->has_rare = true;
	pkt->rare = (struct wire_rare){
		.pkey = WIRE_PKEY_DEFAULT, .has_int = true, .hop_count = rtt->hop_count};
	for (uint32_t i = 0; i < rtt->hop_count; i++)
		pkt->rare.hops[i] = rtt->hops[i];
	rtt->hop_count = 0;
}

static uint32_t unpack_hops(const struct wire_pkt *pkt, struct cc_hop *ret_hops)
{
	uint32_t count = 0;

	if (!pkt->has_rare || !pkt->rare.has_int)
		return 0;
	for (; count < pkt->rare.hop_count && count < CC_HOPS_MAX; count++) {
		const struct wire_hop hop = wire_hop_unpack(pkt->rare.hops[count]);

		ret_hops[count] =
			(struct cc_hop){hop.rate_bps, hop.time_ns, hop.bytes, hop.queue_bytes};
	}
	return count;
}

/* When @psn was sent, and 1 ps; 0: unknown. Those before it are forgotten. */
static ps_t take_stamp(struct hca_rtt *rtt, uint32_t psn)
{
	const uint32_t room = sizeof(rtt->stamps) / sizeof(rtt->stamps[0]);

	while (rtt->count > 0) {
		const struct hca_stamp *stamp = &rtt->stamps[rtt->first];

		if (wire_psn_diff(stamp->psn, psn) > 0)
			return 0;
		rtt->first = (rtt->first + 1) % room;
		rtt->count--;
		if (stamp->psn == psn)
			return stamp->sent_at;
	}
	return 0;
}

void hca_rtt_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		   ps_t now)
{
	const struct hca_sq *sq = &qp->sq;
	const int32_t packets = wire_psn_diff(pkt->psn, sq->una_psn) + 1;
	struct hca_rtt *rtt = qp->rtt;
	struct cc_hop hops[CC_HOPS_MAX];
	struct cc_ack ack = {.now = now, .ecn = pkt->becn, .hops = hops};
	ps_t sent_at;

	if (op->read || op->atomic || op->sacketh || packets <= 0 ||
	    wire_psn_diff(pkt->psn, sq->high_psn) >= 0 ||
	    (wire_aeth_syndrome(pkt->word) & WIRE_SYN_TYPE_MASK) != WIRE_SYN_ACK)
		return;
	sent_at = take_stamp(rtt, pkt->psn);
	rtt->acked += (uint64_t)packets * qp->mtu;
	ack.rtt = sent_at ? now + 1 - sent_at : 0;
	ack.hop_count = unpack_hops(pkt, hops);
	ack.packets = (uint32_t)packets;
	ack.acked = rtt->acked;
	ack.sent = rtt->acked +
		   (uint64_t)(wire_psn_diff(sq->high_psn, sq->una_psn) - packets) * qp->mtu;
	qp->dev->profile.cc->on_ack(&qp->cc, &qp->dev->profile.cc_params, &ack);
	hca_rtt_set_window(qp);
}
