/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_HOP_H
#define WIRE_HOP_H

/* A hop of in-band telemetry in 64 bits, as in the simulator of the HPCC authors (int-header.h):
 * from the top 3 bits of rate code, 24 of time in ns, 20 of bytes sent in 128, 17 of queue in 80
 * bytes. Time and bytes wrap, so that only differences mean something; the queue ends at its
 * largest. */
#include <stdint.h>

enum {
	WIRE_HOP_TIME_BITS = 24, /* 16.7 ms */
	WIRE_HOP_BYTES_BITS = 20,
	WIRE_HOP_QUEUE_BITS = 17,
	WIRE_HOP_BYTES_UNIT = 128,
	WIRE_HOP_QUEUE_UNIT = 80,
};

struct wire_hop {
	uint64_t rate_bps; /* one of 10, 25, 40, 50, 100, 200, 400, 800 Gb/s: the nearest not
			    * below */
	uint32_t time_ns;  /* 24 bits */
	uint32_t bytes;	   /* 20 bits, in units */
	uint32_t queue_bytes;
};

uint64_t wire_hop_pack(uint64_t rate_bps, uint64_t at_ps, uint64_t sent_bytes,
		       uint64_t queue_bytes);
struct wire_hop wire_hop_unpack(uint64_t word);

#endif
