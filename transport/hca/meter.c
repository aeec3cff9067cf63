/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "transport/wire/hop.h"
#include "util/alloc.h"

#include <errno.h>

/* What ACKs tell a congestion control: how much has come, how long that took, whether it was
 * marked. And what the control answers: a window. */

int hca_meter_create(struct hca_qp *qp)
{
	const struct cc_ops *cc = qp->dev->profile.cc;

	if (cc->state_bytes > 0 && hca_has_requester(qp)) {
		qp->cc.state = util_calloc(1, cc->state_bytes);
		if (!qp->cc.state)
			return -ENOMEM;
	}
	if (!qp->dev->metered || qp->type != HCA_QPT_RC)
		return 0;
	qp->meter = util_calloc(1, sizeof(*qp->meter));
	return qp->meter ? 0 : -ENOMEM;
}

void hca_meter_destroy(struct hca_qp *qp)
{
	if (hca_has_requester(qp))
		util_free(qp->cc.state);
	util_free(qp->meter);
}

void hca_meter_reset(struct hca_qp *qp)
{
	if (qp->meter)
		*qp->meter = (struct hca_meter){.first = 0};
}

void hca_meter_set_window(struct hca_qp *qp)
{
	const uint64_t packets = qp->mtu ? qp->cc.cwnd_bytes / qp->mtu : 0;

	qp->sq.window = qp->dev->psn_window;
	if (qp->cc.cwnd_bytes > 0 && packets < qp->sq.window)
		qp->sq.window = packets > 0 ? (uint32_t)packets : 1;
}

/* @is_new: never sent before; of others an ACK may be that of the first time. */
void hca_meter_sent(struct hca_qp *qp, struct wire_pkt *pkt, bool is_new, ps_t now)
{
	if (qp->dev->profile.cc->takes_int && pkt->length > 0 && !pkt->has_rare) {
		pkt->has_rare = true;
		pkt->rare = (struct wire_rare){.pkey = WIRE_PKEY_DEFAULT, .has_int = true};
	}
	if (is_new && pkt->ack_req && !qp->dev->ticket)
		hca_meter_stamp(qp, pkt->psn, now);
}

void hca_meter_stamp(struct hca_qp *qp, uint32_t psn, ps_t now)
{
	struct hca_meter *meter = qp->meter;
	const uint32_t room = sizeof(meter->stamps) / sizeof(meter->stamps[0]);

	if (meter->count < room)
		meter->stamps[(meter->first + meter->count++) % room] =
			(struct hca_stamp){psn, now + 1};
}

_Static_assert((int)CC_HOPS_MAX == (int)WIRE_INT_HOPS, "every hop reaches the control");

void hca_meter_take_hops(struct hca_qp *qp, const struct wire_pkt *pkt)
{
	struct hca_meter *meter = qp->meter;

	if (!pkt->has_rare || !pkt->rare.has_int)
		return;
	meter->hop_count =
		pkt->rare.hop_count < WIRE_INT_HOPS ? pkt->rare.hop_count : (uint8_t)WIRE_INT_HOPS;
	for (uint32_t i = 0; i < meter->hop_count; i++)
		meter->hops[i] = pkt->rare.hops[i];
}

/* The mark and the hops go back, once. */
void hca_meter_fill_ack(struct hca_qp *qp, struct wire_pkt *pkt)
{
	struct hca_meter *meter = qp->meter;

	pkt->becn = meter->is_marked;
	meter->is_marked = false;
	if (meter->hop_count == 0)
		return;
	pkt->has_rare = true;
	pkt->rare = (struct wire_rare){
		.pkey = WIRE_PKEY_DEFAULT, .has_int = true, .hop_count = meter->hop_count};
	for (uint32_t i = 0; i < meter->hop_count; i++)
		pkt->rare.hops[i] = meter->hops[i];
	meter->hop_count = 0;
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
static ps_t take_stamp(struct hca_meter *meter, uint32_t psn)
{
	const uint32_t room = sizeof(meter->stamps) / sizeof(meter->stamps[0]);

	while (meter->count > 0) {
		const struct hca_stamp *stamp = &meter->stamps[meter->first];

		if (wire_psn_diff(stamp->psn, psn) > 0)
			return 0;
		meter->first = (meter->first + 1) % room;
		meter->count--;
		if (stamp->psn == psn)
			return stamp->sent_at;
	}
	return 0;
}

void hca_meter_input(struct hca_qp *qp, const struct wire_pkt *pkt, const struct wire_op *op,
		     ps_t now)
{
	const struct hca_sq *sq = &qp->sq;
	const int32_t packets = wire_psn_diff(pkt->psn, sq->una_psn) + 1;
	struct hca_meter *meter = qp->meter;
	struct cc_hop hops[CC_HOPS_MAX];
	struct cc_ack ack = {.now = now, .ecn = pkt->becn, .hops = hops};
	ps_t sent_at;

	if (op->read || op->atomic || op->sacketh || packets <= 0 ||
	    wire_psn_diff(pkt->psn, sq->high_psn) >= 0 ||
	    (wire_aeth_syndrome(pkt->word) & WIRE_SYN_TYPE_MASK) != WIRE_SYN_ACK)
		return;
	sent_at = take_stamp(meter, pkt->psn);
	meter->acked += (uint64_t)packets * qp->mtu;
	ack.rtt = sent_at ? now + 1 - sent_at : 0;
	ack.hop_count = unpack_hops(pkt, hops);
	ack.packets = (uint32_t)packets;
	ack.acked = meter->acked;
	ack.sent = meter->acked +
		   (uint64_t)(wire_psn_diff(sq->high_psn, sq->una_psn) - packets) * qp->mtu;
	qp->dev->profile.cc->on_ack(&qp->cc, &qp->dev->profile.cc_params, &ack);
	hca_meter_set_window(qp);
}
