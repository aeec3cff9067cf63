/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_NS3_H
#define MODELS_NS3_H

/* What packets take on a link in the simulator of the HPCC authors and those made from it
 * (ConWeave's among them): no preamble, no gap, no check sequence, no pad; in front of data a link
 * header of 14 bytes, IPv4 20, UDP 8, sequence number and priority 6 (custom-header.cc,
 * GetStaticWholeHeaderSize()); an ACK is padded to 60 (rdma-hw.cc, ReceiveUdp()). In-band telemetry
 * is 42 bytes more of data; an ACK with it is 14 + 20 + 12 + 42. What carries no data is as long as
 * an ACK. */
#include "transport/hca/framing.h"

enum {
	NS3_LINK_BYTES = 14, /* around IP */
	NS3_DATA_BYTES = (int)NS3_LINK_BYTES + 20 + 8 + 6,
	NS3_ACK_BYTES = 60,
	NS3_INT_BYTES = 42,
	NS3_INT_ACK_BYTES = (int)NS3_LINK_BYTES + 20 + 12 + (int)NS3_INT_BYTES,
};

static inline struct hca_framing ns3_framing(void)
{
	return (struct hca_framing){
		.data = {NS3_DATA_BYTES, (int)NS3_DATA_BYTES + (int)NS3_INT_BYTES},
		.ack = {NS3_ACK_BYTES, NS3_INT_ACK_BYTES},
	};
}

#endif
