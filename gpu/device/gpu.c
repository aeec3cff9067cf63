/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/gpu.h"

#include <errno.h>

#define GIGA 1000000000u

/* The parts of what was measured as one: call, start and notice of a copy come out as its sum, its
 * time between two events and its time in a row of 500. */
const struct gpu_profile gpu_h100 = {
	.name = "NVIDIA H100 80GB HBM3",
	.compute_major = 9,
	.multiprocessors = 132,
	.copy_engines = 3,
	.flush_options = 1,
	.driver_version = 13000,
	.init = 99 * PS_MS,
	.retain = 116 * PS_MS,
	.alloc_managed = 7600 * PS_NS,
	.alloc_managed_more = 12500 * PS_NS,
	.context_create = 100 * PS_MS,
	.context_destroy = 69 * PS_MS,
	.query = 100 * PS_NS,
	.alloc = 1400 * PS_NS,
	.alloc_blocks = 49 * PS_US,
	.free = 1250 * PS_NS,
	.free_blocks = 40 * PS_US,
	.pin = 55 * PS_US,
	.pin_mib = 46 * PS_US,
	.unpin = 38 * PS_US,
	.unpin_mib = 20 * PS_US,
	.take_pinned = 500 * PS_US,
	.take_pinned_mib = 400 * PS_US,
	.free_pinned = 219 * PS_US,
	.free_pinned_mib = 130 * PS_US,
	.stream_create = 2633 * PS_NS,
	.stream_destroy = 1479 * PS_NS,
	.event_create = 189 * PS_NS,
	.submit = 700 * PS_NS,
	.after_push = 800 * PS_NS,
	.registered = 500 * PS_NS,
	.export = 18 * PS_US,
	.flush_own = 56 * PS_NS,
	.ipc_get = 22 * PS_US,
	.ipc_open_first = 241 * PS_US,
	.ipc_open = 42 * PS_US,
	.ipc_open_mib = 37 * PS_NS,
	.ipc_close = 31 * PS_US,
	.ipc_close_mib = 10 * PS_NS,
	.pool_alloc = 730 * PS_NS,
	.pool_alloc_large = 1350 * PS_NS,
	.pool_grow = 50 * PS_US,
	.pool_grow_mib = 1 * PS_US,
	.pool_free = 560 * PS_NS,
	.pool_create = 16 * PS_US,
	.pool_destroy = 6100 * PS_NS,
	.pool_shrink = 65 * PS_US,
	.vmm_reserve = 1100 * PS_NS,
	.vmm_create = 26560 * PS_NS,
	.vmm_map = 1180 * PS_NS,
	.vmm_access = 28430 * PS_NS,
	.vmm_access_more = 44 * PS_US,
	.vmm_access_mib = 40 * PS_NS,
	.vmm_unmap = 19530 * PS_NS,
	.vmm_unmap_more = 27300 * PS_NS,
	.vmm_unmap_mib = 10 * PS_NS,
	.vmm_release = 13 * PS_US,
	.vmm_release_mib = 577 * PS_NS,
	.vmm_nothing = 350 * PS_NS,
	.vmm_export_first = 872 * PS_US,
	.vmm_import = 79 * PS_US,
	.host_call = 15 * PS_US,
	.host_call_next = 1 * PS_US,
	/* Of a V100, by the README of GDRCopy: pages of 64 KiB; 0.9 us for the first word, of
	 * which a bus like that of a DGX-1 has 0.59; and 111 ns a line, an eighth of that. */
	.gdr_pin = 1346 * PS_US,
	.gdr_unpin = 677 * PS_US,
	.gdr_map = 3600 * PS_NS,
	.gdr_unmap = 4700 * PS_NS,
	.gdr_info = 340 * PS_NS,
	.gdr_copy = 30 * PS_NS,
	.mapping_loads = 8,
	.mapping_load = 310 * PS_NS,
	.push_bytes = 24 * 1024,
	.push_copy_bytes = 64 * 1024,
	.stage_piece = 128 * 1024,
	.stage_bytes = 2 << 20,
	.cached_bytes = 32 << 20,
	.cached_bps = (uint64_t)124 * GIGA,
	.uncached_bps = (uint64_t)75 * GIGA,
	.set_few_bytes = 4096,
	.queue = 1021,
	.costs =
		{
			[GPU_PUSHED] = {.call = 2300 * PS_NS,
					.call_bps = (uint64_t)208 * GIGA,
					.start = 1200 * PS_NS,
					.rate_bps = (uint64_t)100 * GIGA,
					.notice = 1100 * PS_NS},
			[GPU_PUSHED_COPY] = {.call = 2100 * PS_NS,
					     .call_bps = (uint64_t)72 * GIGA,
					     .start = 1200 * PS_NS,
					     .rate_bps = (uint64_t)330 * GIGA,
					     .notice = 1200 * PS_NS},
			[GPU_TO_DEVICE] = {.call = 1900 * PS_NS,
					   .start = 2 * PS_US,
					   .notice = 2400 * PS_NS},
			[GPU_STAGED] = {.call = 1500 * PS_NS,
					.start = 2 * PS_US,
					.notice = 1300 * PS_NS},
			[GPU_FROM_DEVICE] = {.call = 1900 * PS_NS,
					     .start = 1300 * PS_NS,
					     .notice = 1800 * PS_NS},
			/* Over NVLink as github.com/NVIDIA/nccl/issues/1264 has it: 371 to
			 * 377 GB/s one way, 740 to 773 both. */
			[GPU_TO_PEER] = {.call = 2200 * PS_NS,
					 .after = 2500 * PS_NS,
					 .start = 2 * PS_US,
					 .rate_bps = (uint64_t)3000 * GIGA,
					 .notice = 1400 * PS_NS},
			[GPU_WITHIN] = {.call = 2200 * PS_NS,
					.after = 2900 * PS_NS,
					.start = 3200 * PS_NS,
					.least = 4900 * PS_NS,
					.rate_bps = (uint64_t)12160 * GIGA,
					.notice = 1400 * PS_NS},
			[GPU_SET_FEW] = {.call = 1200 * PS_NS,
					 .start = 800 * PS_NS,
					 .notice = 2500 * PS_NS},
			[GPU_SET] = {.call = 2 * PS_US,
				     .after = 2500 * PS_NS,
				     .start = 2 * PS_US,
				     .least = 3900 * PS_NS,
				     .rate_bps = (uint64_t)23360 * GIGA,
				     .notice = 2500 * PS_NS},
			[GPU_MARK] = {.call = 940 * PS_NS,
				      .start = 1310 * PS_NS,
				      .notice = 2500 * PS_NS},
			[GPU_WAIT] = {.call = 500 * PS_NS, .notice = 2500 * PS_NS},
			[GPU_WRITE_VALUE] =
				{.call = 900 * PS_NS,
				 .start = 1770 * PS_NS,
				 .notice = 2450 * PS_NS},
			[GPU_WAIT_VALUE] = {.call = 900 * PS_NS,
					    .start = 1500 * PS_NS,
					    .notice = 2500 * PS_NS},
			[GPU_HOST_FUNCTION] = {.call = 2355 * PS_NS, .notice = 2500 * PS_NS},
			[GPU_KERNEL] = {.call = 3200 * PS_NS,
					.after = 500 * PS_NS,
					.start = 2470 * PS_NS,
					.notice = 2500 * PS_NS},
			[GPU_PREFETCH] = {.call = 2 * PS_US, .notice = 2500 * PS_NS},
		},
	.module_load = 500 * PS_US,
	.module_unload = 5200 * PS_NS,
	.resident_threads = 2048,
	/* 64 MiB: what is in the cache is faster, up to twice, where blocks are few. One
	 * and two blocks read as four do, each. */
	.kernel_rates =
		{
			{4, 163100, 251200},
			{8, 325700, 489400},
			{16, 638100, 968500},
			{32, 1195800, 1659100},
			{64, 2033600, 2425900},
			{132, 2659700, 2918800},
			{264, 2878700, 2918800},
		},
	.load = 145 * PS_NS,
	.load_far = 670 * PS_NS,
	.stream_far = 880 * PS_NS,
	.warp_write_bps = (uint64_t)203 * GIGA,
	.block_write_bps = (uint64_t)389 * GIGA,
	.fault = 140 * PS_MS,
};

void gpu_join(struct gpu *gpu, struct bus *bus, struct sim_local *local, uint32_t host_part)
{
	gpu->bus = bus;
	gpu->local = local;
	gpu->host_part = host_part;
}

/* Bursts that hide the latency of PCI Express, and of all links of NVLink of a GPU. */
enum { ENGINE_BURSTS = 32, PEER_BURSTS = 256 };

static void end_engines(struct gpu *gpu)
{
	copy_engine_fini(&gpu->to);
	copy_engine_fini(&gpu->from);
	copy_engine_fini(&gpu->peer);
	copy_engine_fini(&gpu->pull);
	copy_engine_fini(&gpu->pushed);
}

int gpu_start(struct gpu *gpu)
{
	const struct {
		struct copy_engine *engine;
		uint32_t part, bursts;
		bool reads;
	} engines[] = {{&gpu->to, gpu->part, ENGINE_BURSTS, true},
		       {&gpu->from, gpu->part, ENGINE_BURSTS, false},
		       {&gpu->peer, gpu->part, PEER_BURSTS, false},
		       {&gpu->pull, gpu->part, PEER_BURSTS, true},
		       {&gpu->pushed, gpu->host_part, ENGINE_BURSTS, false}};

	if (gpu->is_started)
		return 0;
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		const int ret =
			copy_engine_init(engines[i].engine, gpu->bus, gpu->local, engines[i].part,
					 engines[i].reads, gpu_key(gpu), engines[i].bursts);

		if (ret < 0) {
			end_engines(gpu);
			return ret;
		}
	}
	gpu->is_started = true;
	return 0;
}

bool gpu_access(struct gpu *gpu, struct mapping_access *access, ps_t now)
{
	if (!gpu->mapping) {
		const struct mapping_params params = {.bus = gpu->bus,
						      .local = gpu->local,
						      .host_part = gpu->host_part,
						      .gpu_part = gpu->part,
						      .loads = gpu->profile->mapping_loads,
						      .load = gpu->profile->mapping_load,
						      .key = gpu_key(gpu)};

		gpu->next_key += MAPPING_LINES - 1;
		gpu->mapping = mapping_create(&params);
	}
	if (gpu->mapping)
		mapping_take(gpu->mapping, access, now);
	return gpu->mapping != NULL;
}

void gpu_fini(struct gpu *gpu)
{
	mapping_destroy(gpu->mapping);
	gpu->mapping = NULL;
	end_engines(gpu);
	gpu_memory_fini(&gpu->memory);
}

/* Of whole pages: what the range takes of a window that does not show everything. */
static uint64_t in_window(const struct gpu *gpu, uint64_t address, uint64_t bytes)
{
	const uint64_t first = address / GPU_PAGE, last = (address + bytes - 1) / GPU_PAGE;

	return bytes == 0 || gpu->window >= gpu->memory.bytes ? 0 : (last - first + 1) * GPU_PAGE;
}

int gpu_window_take(struct gpu *gpu, uint64_t address, uint64_t bytes)
{
	const uint64_t more = in_window(gpu, address, bytes);

	if (more > 0 && more > gpu->window - gpu->windowed) {
		gpu->counts.refused++;
		if (bytes > gpu->counts.refused_bytes)
			gpu->counts.refused_bytes = bytes;
		return -ENOSPC;
	}
	gpu->windowed += more;
	if (gpu->windowed > gpu->counts.windowed_max)
		gpu->counts.windowed_max = gpu->windowed;
	return 0;
}

void gpu_window_give_back(struct gpu *gpu, uint64_t address, uint64_t bytes)
{
	gpu->windowed -= in_window(gpu, address, bytes);
}

/* ---- what it has done ---- */

void gpu_note_read(struct gpu *gpu, const void *at, uint64_t bytes)
{
	if (!gpu->is_overtaken || !gpu->is_overtaken(gpu, at, bytes))
		return;
	gpu->counts.stale_reads++;
	gpu->counts.stale_bytes += bytes;
}

const char *const gpu_engine_names[GPU_ENGINES] = {
	[GPU_ENGINE_TO] = "to_device",	 [GPU_ENGINE_FROM] = "from_device",
	[GPU_ENGINE_PEER] = "to_peers",	 [GPU_ENGINE_PULL] = "from_peers",
	[GPU_ENGINE_PUSHED] = "pushed",	 [GPU_ENGINE_IN] = "managed_in",
	[GPU_ENGINE_OUT] = "managed_out"};

static struct copy_stats moves_stats(const struct gpu_moves *moves, ps_t at)
{
	struct copy_stats stats = moves->stats;

	if (moves->under_way > 0 && at > moves->busy_from)
		stats.busy += at - moves->busy_from;
	return stats;
}

struct copy_stats gpu_engine_stats(const struct gpu *gpu, enum gpu_engine engine, ps_t at)
{
	const struct copy_engine *const engines[GPU_ENGINES] = {[GPU_ENGINE_TO] = &gpu->to,
								[GPU_ENGINE_FROM] = &gpu->from,
								[GPU_ENGINE_PEER] = &gpu->peer,
								[GPU_ENGINE_PULL] = &gpu->pull,
								[GPU_ENGINE_PUSHED] = &gpu->pushed};

	return engines[engine] ? copy_engine_stats(engines[engine], at)
			       : moves_stats(&gpu->moves[engine - GPU_ENGINE_IN], at);
}
