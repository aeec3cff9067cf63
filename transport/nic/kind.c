/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/kind.h"

#include <stddef.h>
#include <string.h>

/* All queue pair numbers of a slot, but for a few that are nobody's. */
enum { QPS_OF_A_SLOT = (1 << 18) - 4 };

/* What those of mlx5 have alike. */
#define CONNECTX_LIMITS                                                                            \
	.cq_max = 16777216, .mr_max = 16777216, .srq_max = 8388608, .wr_max = 32768,               \
	.sge_max = 30, .cqe_max = 4194303, .inline_max = 828, .rd_atomic_max = 16

/* The rate: the socket is the limit, not the pacing. As many completions as ConnectX: libfabric
 * asks for 262144. */
#define OUR_OWN                                                                                    \
	.fw_ver = "verbena", .board_id = "verbena", .rate = "400 Gb/sec (4X NDR)",                 \
	.rate_bps = 400000000000, .part_id = 1, .qp_max = 16384, .cq_max = 16384, .mr_max = 65536, \
	.pd_max = 1024, .srq_max = 1024, .wr_max = 16384, .sge_max = 16, .cqe_max = 1 << 22,       \
	.inline_max = 256, .rd_atomic_max = 16

static const struct nic_kind kinds[] = {
	{
		.name = "generic",
		.summary = "Verbena's own, as fast as the machine",
		OUR_OWN,
	},
	{
		.name = "generic2a",
		.summary = "generic, with memory windows of type 2A in place of 2B",
		OUR_OWN,
		.mw_is_2a = true,
	},
	/* Limits as "ibv_devinfo -v" prints them: part 4117 in Mellanox/k8s-rdma-shared-dev-plugin
	 * #164, 4119 in open-mpi/ompi #6137 and openucx/ucx #9830, 4127 (the same generation as
	 * 4125) in openucx/ucx #10317. 262144 queue pairs are more than a slot has numbers for.
	 * No source was found for srq_max, pd_max of the last, inline_max (which is a queue pair's
	 * affair there), the firmware's versions and 200 Gb/s: these are what is usual. */
	{
		.name = "connectx4",
		.summary = "limits of a ConnectX-4, 100 Gb/s",
		.fw_ver = "12.28.2006",
		.board_id = "verbena-connectx4",
		.rate = "100 Gb/sec (4X EDR)",
		.rate_bps = 100000000000,
		.part_id = 4,
		.qp_max = QPS_OF_A_SLOT,
		.pd_max = 16777216,
		CONNECTX_LIMITS,
	},
	{
		.name = "connectx5",
		.summary = "limits of a ConnectX-5, 100 Gb/s",
		.fw_ver = "16.35.2000",
		.board_id = "verbena-connectx5",
		.rate = "100 Gb/sec (4X EDR)",
		.rate_bps = 100000000000,
		.part_id = 5,
		.qp_max = QPS_OF_A_SLOT,
		.pd_max = 16777216,
		CONNECTX_LIMITS,
	},
	{
		.name = "connectx6dx",
		.summary = "limits of a ConnectX-6 Dx, 200 Gb/s",
		.fw_ver = "22.35.2000",
		.board_id = "verbena-connectx6dx",
		.rate = "200 Gb/sec (4X HDR)",
		.rate_bps = 200000000000,
		.part_id = 6,
		.qp_max = 131072,
		.pd_max = 8388608,
		CONNECTX_LIMITS,
	},
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

const struct nic_kind *nic_kind_at(uint32_t i)
{
	return i < KIND_COUNT ? &kinds[i] : NULL;
}

const struct nic_kind *nic_kind_find(const char *name)
{
	for (uint32_t i = 0; i < KIND_COUNT; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

const struct nic_kind *nic_kind(const struct nic_params *params)
{
	return params->kind ? params->kind : &kinds[0];
}
