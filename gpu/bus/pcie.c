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

/* What a receiver may let pass before it acknowledges: a TLP of the largest payload with what is
 * around it, so many times (AckFactor, in tenths), over all lanes; and what it takes
 * itself. 3.5.3.1 of revision 3.0 of the base specification, whose tables 3-7 to 3-9 have what
 * comes out (3-10 to 3-12 of revision 6.3: of gen 3 and higher the same), and 2-46 to 2-48 the same
 * for an UpdateFC. */
enum { TLP_OVERHEAD = 28, FACTOR = 10 };
static const uint16_t internal_delays[] = {[1] = 19, [2] = 70, [3] = 115};

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

/* The wider a link is, the more TLPs it lets pass; of small ones more. */
static uint32_t ack_factor(uint32_t width, uint32_t mps)
{
	if (mps <= 256)
		return width >= 12 ? 30 : width == 8 ? 25 : 14;
	return width >= 12 ? 20 : 10;
}

/* Symbol times, or bytes, from one Ack to the next. Payloads begin at 128 bytes there, and
 * tables end at gen 5. */
static uint32_t ack_every(const struct pcie_link *link)
{
	const uint32_t mps = link->mps > 128 ? link->mps : 128;
	const uint32_t passed = (mps + TLP_OVERHEAD) * ack_factor(link->width, mps);

	return passed / (FACTOR * link->width) + internal_delays[link->gen < 3 ? link->gen : 3];
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
