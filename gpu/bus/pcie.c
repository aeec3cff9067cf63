/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/pcie.h"

/* Bytes around a TLP: start and end of the frame (or a token), sequence number and LCRC. In flit
 * mode the flit has those for all that is in it. */
enum {
	FRAME = 8,
	HEADER_32 = 12, /* of completions, too */
	HEADER_64 = 16,
	ECRC = 4,
	SKIP_EVERY = 1538, /* symbols from one skip ordered set to the next, ... */
	SKIP = 4,	   /* and of it */
	FLIT = 256,	   /* of which so many are TLPs: */
	FLIT_TLPS = 236,
};

/* Of a lane in one direction: transfers a second, and how many of those are data (8b/10b, then
 * 128b/130b, then none). */
static const struct {
	uint64_t rate;
	uint32_t data, of;
} gens[] = {
	[1] = {2500000000, 8, 10},     [2] = {5000000000, 8, 10},     [3] = {8000000000, 128, 130},
	[4] = {16000000000, 128, 130}, [5] = {32000000000, 128, 130}, [6] = {64000000000, 1, 1},
	[7] = {128000000000, 1, 1},
};

/* After how many bytes there is an Ack, and as often an UpdateFC, by the largest payload (128 to
 * 4096): the limits of the specification, tables 3-7 to 3-9 and 2-46 to 2-48 of revision 3.0. */
static const uint16_t acks[3][4][6] = {
	{{237, 416, 559, 1071, 2095, 4143},
	 {73, 118, 154, 282, 538, 1050},
	 {67, 107, 86, 150, 278, 534},
	 {48, 72, 86, 150, 278, 534}},
	{{288, 467, 610, 1122, 2146, 4194},
	 {124, 169, 205, 333, 589, 1101},
	 {118, 158, 137, 201, 329, 585},
	 {99, 123, 137, 201, 329, 585}},
	{{333, 512, 655, 1167, 2191, 4239},
	 {169, 214, 250, 378, 634, 1146},
	 {163, 203, 182, 246, 374, 630},
	 {144, 168, 182, 246, 374, 630}},
};

static bool is_flit(const struct pcie_link *link)
{
	return link->gen >= 6;
}

static bool is_size(uint32_t bytes)
{
	return bytes >= 64 && bytes <= 4096 && (bytes & (bytes - 1)) == 0;
}

bool pcie_link_is_valid(const struct pcie_link *link)
{
	static const uint64_t widths = 1ull << 1 | 1ull << 2 | 1ull << 4 | 1ull << 8 | 1ull << 12 |
				       1ull << 16 | 1ull << 32;

	return link->gen >= 1 && link->gen <= 7 && link->width <= 32 &&
	       (widths >> link->width & 1) && is_size(link->mps) && is_size(link->mrrs);
}

/* Of @count TLPs beside their payload. */
static uint32_t pcie_headers(const struct pcie_link *link, uint32_t count, bool is_completion)
{
	const uint32_t header = is_completion || link->has_32_bits ? HEADER_32 : HEADER_64;

	return count * (header + (is_flit(link) ? 0u : (uint32_t)FRAME) +
			(link->has_ecrc ? (uint32_t)ECRC : 0u));
}

uint32_t pcie_write_bytes(const struct pcie_link *link, uint32_t bytes)
{
	return bytes + pcie_headers(link, pcie_tlps(bytes, link->mps), false);
}

uint32_t pcie_completion_bytes(const struct pcie_link *link, uint32_t bytes)
{
	return bytes + pcie_headers(link, pcie_tlps(bytes, link->mps), true);
}

uint32_t pcie_request_bytes(const struct pcie_link *link, uint32_t bytes)
{
	return pcie_headers(link, pcie_tlps(bytes, link->mrrs), false);
}

/* Symbol times, or bytes, from one Ack to the next. Tables end at x16 and gen 5, and begin at 128
 * bytes. */
static uint32_t ack_every(const struct pcie_link *link)
{
	const uint32_t row = link->width >= 16	? 3
			     : link->width >= 8 ? 2
			     : link->width >= 4 ? 1
						: 0;
	uint32_t column = 0;

	while (column < 5 && 128u << column < link->mps)
		column++;
	return acks[link->gen < 3 ? link->gen - 1 : 2][row][column];
}

ps_t pcie_time(const struct pcie_link *link, uint64_t wire_bytes)
{
	const uint64_t rate = gens[link->gen].rate * link->width;
	u128 bits = (u128)wire_bytes * 8 * gens[link->gen].of, per = gens[link->gen].data;

	if (is_flit(link)) {
		bits *= FLIT;
		per *= FLIT_TLPS;
	} else if (link->dllps != PCIE_NO_DLLPS) {
		const uint32_t lanes = link->dllps == PCIE_DLLPS_BY_TIMERS ? link->width : 1;
		const uint32_t every = lanes * ack_every(link);

		bits *= (u128)every * SKIP_EVERY;
		per *= (u128)(every - 2 * PCIE_DLLP) * (SKIP_EVERY - SKIP);
	}
	per *= rate;
	return (ps_t)((bits * PS_S + per - 1) / per);
}

ps_t pcie_replay_time(const struct pcie_link *link)
{
	const uint32_t symbol = gens[link->gen].of == 10 ? 10 : 8;

	return (ps_t)((u128)3 * ack_every(link) * symbol * PS_S / gens[link->gen].rate);
}
