/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/gpu.h"

const struct gpu_profile gpu_h100 = {
	.name = "NVIDIA H100 80GB HBM3",
	.compute_major = 9,
	.multiprocessors = 132,
	.copy_engines = 3,
	.writes_ordering = 100,
	.driver_version = 13000,
	.init = 99 * PS_MS,
	.retain = 116 * PS_MS,
	.query = 100 * PS_NS,
	.alloc = 1400 * PS_NS,
	.alloc_blocks = 49 * PS_US,
	.free = 1250 * PS_NS,
	.free_blocks = 40 * PS_US,
	.push_bytes = 24 * 1024,
	.push_bps = 49600000000,
	.copy_pushed = 5700 * PS_NS,
	.copy_to = 7400 * PS_NS,
	.copy_from = 6100 * PS_NS,
	.copy_within = 5600 * PS_NS,
	.set = 4 * PS_US,
};
