/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/host.h"

#include <string.h>

/* What the adapter has counted since @then of a packet of which it has taken nothing; 0: it has. */
static uint32_t why_lost(const struct hca_counters *then, const struct hca_counters *now,
			 const struct wire_pkt *pkt)
{
	if (wire_ops[pkt->opcode].response)
		return 0;
	if (now->rx_unknown_qp > then->rx_unknown_qp)
		return HOST_LOSS_UNKNOWN;
	if (now->rx_wrong_state > then->rx_wrong_state)
		return HOST_LOSS_STATE;
	if (now->qkey_violations > then->qkey_violations)
		return HOST_LOSS_KEY;
	if (now->rx_dropped == then->rx_dropped)
		return 0;
	if (now->out_of_buffer > then->out_of_buffer)
		return HOST_LOSS_RECEIVE;
	return HOST_LOSS_REFUSED;
}

/* Whether the adapter has taken it, its counters tell. */
static void deliver_told(struct host *host, const struct sim_pkt *frame)
{
	const struct hca_counters then = *hca_device_counters(host->hca);
	struct sim_pkt head = *frame;
	struct wire_pkt pkt;
	uint32_t why;

	/* Who is told of the loss sees what is left then: its rare fields have gone with the slab.
	 */
	memcpy(&pkt, frame->body, WIRE_HOT_BYTES);
	pkt.has_rare = false;
	memcpy(head.body, &pkt, WIRE_HOT_BYTES);
	host_deliver(host, frame);
	why = why_lost(&then, hca_device_counters(host->hca), &pkt);
	if (why)
		sim_tell_loss(&host->node, 0, &head, why, host->now);
}

void host_hand_over(struct host *host, const struct sim_pkt *frame)
{
	if (host->tells_losses)
		deliver_told(host, frame);
	else
		host_deliver(host, frame);
}

void host_tell_losses(struct host *host)
{
	host->tells_losses = host->sifts = true;
}
