/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_FRAMING_H
#define HCA_FRAMING_H

/* How long packets are on a link where that goes by their kind and not by their headers, as in
 * simulators whose packets have a format of their own. Sizes alone: the packets are ours. */
#include "transport/wire/pkt.h"

/* Bytes that a packet takes besides its payload, which is not padded: preamble, gap and check
 * sequences included where there are any. [1]: with in-band telemetry. */
struct hca_framing {
	uint16_t data[2]; /* what may carry payload; 0: packets have their headers' sizes */
	uint16_t ack[2];  /* what carries none: acknowledgements, requests of READs, CNPs */
};

static inline bool hca_framing_is_set(const struct hca_framing *framing)
{
	return framing->data[0] > 0;
}

/* Of @pkt on the link. @framing is set. */
static inline uint32_t hca_framing_bytes(const struct hca_framing *framing,
					 const struct wire_pkt *pkt)
{
	const bool has_int = pkt->has_rare && pkt->rare.has_int;

	return wire_ops[pkt->opcode].payload ? pkt->length + framing->data[has_int]
					     : framing->ack[has_int];
}

#endif
