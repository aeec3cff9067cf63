/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_NS3_H
#define WIRE_NS3_H

/* What packets take on a link in the simulator of the HPCC authors and those made from it
 * (ConWeave's among them): no preamble, no gap, no check sequence, no pad; in front of data a link
 * header of 14 bytes, IPv4 20, UDP 8, sequence number and priority 6 (custom-header.cc,
 * GetStaticWholeHeaderSize()); an ACK is padded to 60 (rdma-hw.cc, ReceiveUdp()). In-band telemetry
 * is 42 bytes more of data; an ACK with it is 14 + 20 + 12 + 42. Sizes alone: the packets are
 * ours. */
#include "transport/wire/pkt.h"

enum {
	WIRE_NS3_DATA_BYTES = 14 + 20 + 8 + 6,
	WIRE_NS3_INT_BYTES = 42,
	WIRE_NS3_ACK_BYTES = 60,
	WIRE_NS3_INT_ACK_BYTES = 14 + 20 + 12 + (int)WIRE_NS3_INT_BYTES,
};

/* Of a packet that carries @length bytes; what carries none is as long as an ACK. */
static inline uint32_t wire_ns3_data_bytes(uint32_t length, bool has_int)
{
	return length + (uint32_t)WIRE_NS3_DATA_BYTES +
	       (has_int ? (uint32_t)WIRE_NS3_INT_BYTES : 0);
}

static inline uint32_t wire_ns3_ack_bytes(bool has_int)
{
	return has_int ? WIRE_NS3_INT_ACK_BYTES : WIRE_NS3_ACK_BYTES;
}

static inline uint32_t wire_ns3_bytes(const struct wire_pkt *pkt)
{
	const bool has_int = pkt->has_rare && pkt->rare.has_int;

	return wire_ops[pkt->opcode].payload ? wire_ns3_data_bytes(pkt->length, has_int)
					     : wire_ns3_ack_bytes(has_int);
}

#endif
