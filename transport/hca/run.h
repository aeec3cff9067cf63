/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_RUN_H
#define HCA_RUN_H

/* Packets that travel as one, for a world that hands payloads over in memory, where a packet costs
 * more than its bytes do.
 *
 * A run is some of the middle packets of one SEND or RDMA WRITE of RC, one behind the other: its
 * opcode and PSN are those of the first, its payload that of all, each of them a whole MTU, and it
 * has an AckReq where any of them would. Whoever looks at single packets (a capture, a link) takes
 * it apart. Nothing else is different: counters count packets, and PSNs are theirs. There are none
 * of a device with a memory side, or whose profile looks closer at packets (selective, restarts,
 * round trips, framing), nor of a queue pair with a rate of its own. */
#include "transport/hca/device.h"
#include "transport/wire/pkt.h"
#include "transport/wire/psn.h"

enum { HCA_RUN_MAX = 15 }; /* packets; their bytes fit into wire_pkt.length */

/* Whether @opcode, which may be none, is that of packets that go in runs. */
static inline bool hca_has_runs(uint8_t opcode)
{
	const struct wire_op *op = wire_op_find(opcode);

	return op && (opcode & 0xe0) == WIRE_RC && op->request && (op->write || op->send) &&
	       !op->start && !op->end;
}

/* Right after hca_output() made @pkt, which is @qp's (hca_output_path()): so many of those that
 * would come next are added as fit into @room bytes at pkt->payload, all in all; where it is apart,
 * up to HCA_RUN_MAX. How many packets it is now. */
uint32_t hca_output_run(struct hca_qp *qp, struct wire_pkt *pkt, uint32_t room, ps_t now);

/* How many packets @pkt is, which has come and of which nothing is known: 1, unless its queue pair
 * can take it for a run; 0: it is longer than a packet can be, and no run. */
uint32_t hca_run_packets(const struct hca_device *dev, const struct wire_pkt *pkt);

/* hca_input() of what is @packets packets. */
void hca_input_run(struct hca_device *dev, const struct wire_pkt *pkt, uint32_t packets,
		   const struct hca_rx *rx, ps_t now);

/* For the adapter itself: true if @pkt, a run, was next and all of it is done; else nothing is. */
bool hca_responder_take_run(struct hca_qp *qp, const struct wire_pkt *pkt, uint32_t packets,
			    ps_t now);

/* The @i-th of the @packets packets of @run. */
static inline struct wire_pkt hca_run_part(const struct wire_pkt *run, uint32_t packets, uint32_t i)
{
	struct wire_pkt part = *run;

	part.length = (uint16_t)(run->length / packets);
	part.psn = wire_psn_add(run->psn, i);
	part.ack_req = run->ack_req && i + 1 == packets;
	if (run->apart)
		part.address += i * (uint64_t)part.length;
	else
		part.payload += i * part.length;
	return part;
}

/* wire_pkt_bytes() of all @packets packets of @run. */
static inline size_t hca_run_bytes(const struct wire_pkt *run, uint32_t packets)
{
	struct wire_pkt part;

	if (packets == 1)
		return wire_pkt_bytes(run);
	part = hca_run_part(run, packets, 0);
	return packets * wire_pkt_bytes(&part);
}

#endif
