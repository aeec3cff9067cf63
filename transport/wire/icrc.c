/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/icrc.h"

#include "transport/wire/internal.h"
#include "transport/wire/pkt.h"

#include <string.h>

enum { STRIDE = 16 }; /* bytes a step: a table row for each */

static const uint32_t table[STRIDE][256] = {
#include "transport/wire/crc_table.inc"
};

static const uint32_t all_ones = 0xffffffff;
/* The register after the eight bytes of ones that stand for a local route header. */
static const uint32_t after_lrh = 0xdebb20e3;

/* What the four bytes of @word do, the last of which has @behind bytes of the step after it. */
static inline uint32_t four(uint32_t word, int behind)
{
	return table[behind + 3][word & 0xff] ^ table[behind + 2][word >> 8 & 0xff] ^
	       table[behind + 1][word >> 16 & 0xff] ^ table[behind][word >> 24];
}

uint32_t wire_icrc_add(uint32_t state, const uint8_t *bytes, size_t count)
{
	for (; count >= STRIDE; bytes += STRIDE, count -= STRIDE)
		state = four(state ^ get32_le(bytes), 12) ^ four(get32_le(bytes + 4), 8) ^
			four(get32_le(bytes + 8), 4) ^ four(get32_le(bytes + 12), 0);
	for (; count >= 4; bytes += 4, count -= 4)
		state = four(state ^ get32_le(bytes), 0);
	for (; count > 0; bytes++, count--)
		state = state >> 8 ^ table[0][(state ^ *bytes) & 0xff];
	return state;
}

uint32_t wire_icrc_ip_udp(const uint8_t *headers)
{
	uint8_t masked[WIRE_IPV6_BYTES + WIRE_UDP_BYTES];
	size_t ip = WIRE_IPV6_BYTES;

	if (headers[0] >> 4 == 4) {
		ip = WIRE_IPV4_BYTES;
		memcpy(masked, headers, WIRE_IPV4_BYTES + WIRE_UDP_BYTES);
		masked[1] = 0xff;		/* type of service */
		masked[8] = 0xff;		/* time to live */
		masked[10] = masked[11] = 0xff; /* header checksum */
	} else {
		memcpy(masked, headers, sizeof(masked));
		masked[0] |= 0x0f; /* traffic class, flow label */
		masked[1] = masked[2] = masked[3] = 0xff;
		masked[7] = 0xff; /* hop limit */
	}
	masked[ip + 6] = masked[ip + 7] = 0xff; /* UDP checksum */
	return wire_icrc_add(after_lrh, masked, ip + WIRE_UDP_BYTES);
}

uint32_t wire_icrc_bth(uint32_t state, const uint8_t *bth)
{
	uint8_t masked[WIRE_BTH_BYTES];

	memcpy(masked, bth, sizeof(masked));
	masked[4] = 0xff; /* FECN, BECN, reserved */
	return wire_icrc_add(state, masked, sizeof(masked));
}

void wire_icrc_put(uint8_t *p, uint32_t icrc)
{
	put32_le(p, icrc);
}

uint32_t wire_icrc_get(const uint8_t *p)
{
	return get32_le(p);
}

uint32_t wire_fcs(const uint8_t *frame, size_t bytes)
{
	return ~wire_icrc_add(all_ones, frame, bytes);
}
