/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/hop.h"

static const uint16_t rates_gbps[8] = {10, 25, 40, 50, 100, 200, 400, 800};

static uint32_t low(uint64_t value, uint32_t bits)
{
	return (uint32_t)(value & ((1u << bits) - 1));
}

uint64_t wire_hop_pack(uint64_t rate_bps, uint64_t at_ps, uint64_t sent_bytes, uint64_t queue_bytes)
{
	const uint64_t queue = queue_bytes / WIRE_HOP_QUEUE_UNIT;
	const uint64_t queue_max = (1u << WIRE_HOP_QUEUE_BITS) - 1;
	uint64_t code = 0;

	while (code < 7 && rates_gbps[code] * (uint64_t)1000000000 < rate_bps)
		code++;
	return code << 61 | (uint64_t)low(at_ps / 1000, WIRE_HOP_TIME_BITS) << 37 |
	       (uint64_t)low(sent_bytes / WIRE_HOP_BYTES_UNIT, WIRE_HOP_BYTES_BITS) << 17 |
	       (queue < queue_max ? queue : queue_max);
}

struct wire_hop wire_hop_unpack(uint64_t word)
{
	return (struct wire_hop){
		.rate_bps = rates_gbps[word >> 61] * (uint64_t)1000000000,
		.time_ns = low(word >> 37, WIRE_HOP_TIME_BITS),
		.bytes = low(word >> 17, WIRE_HOP_BYTES_BITS),
		.queue_bytes = low(word, WIRE_HOP_QUEUE_BITS) * WIRE_HOP_QUEUE_UNIT,
	};
}
