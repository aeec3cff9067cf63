/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/run.h"

#include "transport/hca/internal.h"

uint32_t hca_run_packets(const struct hca_device *dev, const struct wire_pkt *pkt)
{
	const struct hca_qp *qp =
		hca_has_runs(pkt->opcode) ? util_idmap_find(&dev->qps, pkt->dest_qpn) : NULL;
	const uint32_t packets = qp ? pkt->length / qp->mtu : 1;

	if (packets > 1 && packets <= HCA_RUN_MAX && pkt->length == packets * qp->mtu &&
	    qp->type == HCA_QPT_RC && !pkt->synthetic && !pkt->has_rare)
		return packets;
	return pkt->length <= WIRE_MTU_MAX;
}

void hca_input_run(struct hca_device *dev, const struct wire_pkt *pkt, uint32_t packets,
		   const struct hca_rx *rx, ps_t now)
{
	if (packets == 1) {
		hca_input(dev, pkt, rx, now);
		return;
	}
	hca_advance(dev, now); /* a timer may end what the run is for */
	if (rx->ecn != WIRE_CE &&
	    hca_responder_take_run(util_idmap_find(&dev->qps, pkt->dest_qpn), pkt, packets, now))
		return;
	for (uint32_t i = 0; i < packets; i++) {
		const struct wire_pkt part = hca_run_part(pkt, packets, i);

		hca_input(dev, &part, rx, now);
	}
}
