/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/nvlink.h"

/* 8 lanes of 20 and of 25 Gb/s, 4 of 50, 2 of 100 and of 200, in each direction: NVIDIA's white
 * papers of Tesla P100, Tesla V100, A100, H100 and Blackwell. */
static const struct {
	uint64_t lane_bps;
	uint8_t lanes;
} nvlink_gens[NVLINK_GENS + 1] = {
	[1] = {20000000000, 8},	 [2] = {25000000000, 8},  [3] = {50000000000, 4},
	[4] = {100000000000, 2}, [5] = {200000000000, 2},
};

uint64_t nvlink_rate(uint8_t gen)
{
	return nvlink_gens[gen].lane_bps * nvlink_gens[gen].lanes;
}

bool nvlink_link_is_valid(const struct nvlink_link *link)
{
	return link->rate_bps > 0 && link->gen >= 1 && link->gen <= NVLINK_GENS &&
	       link->links >= 1 && link->links <= NVLINK_LINKS_MAX &&
	       link->payload >= NVLINK_FLIT_BYTES && link->payload <= NVLINK_PAYLOAD_MAX &&
	       link->payload % NVLINK_FLIT_BYTES == 0;
}

static uint32_t packets(const struct nvlink_link *link, uint32_t bytes)
{
	return bytes == 0 ? 1 : (bytes + link->payload - 1) / link->payload;
}

/* Whole flits: packets are filled up to such, and all but the last of them are full. */
static uint32_t data_flits(uint32_t bytes)
{
	return (bytes + NVLINK_FLIT_BYTES - 1) / NVLINK_FLIT_BYTES;
}

uint32_t nvlink_write_bytes(const struct nvlink_link *link, uint32_t bytes)
{
	const uint32_t headers = 1u + link->has_extension + link->has_enables;

	return (packets(link, bytes) * headers + data_flits(bytes)) * NVLINK_FLIT_BYTES;
}

uint32_t nvlink_request_bytes(const struct nvlink_link *link, uint32_t bytes)
{
	return packets(link, bytes) * (1u + link->has_extension) * NVLINK_FLIT_BYTES;
}

uint32_t nvlink_data_bytes(const struct nvlink_link *link, uint32_t bytes)
{
	return (packets(link, bytes) + data_flits(bytes)) * NVLINK_FLIT_BYTES;
}

uint32_t nvlink_response_bytes(const struct nvlink_link *link, uint32_t bytes)
{
	return packets(link, bytes) * NVLINK_FLIT_BYTES;
}
