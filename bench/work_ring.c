/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/work.h"
#include "models/program/task.h"
#include "models/program/task_gpu.h"
#include "tools/program.h"

#include <stdio.h>
#include <stdlib.h>

struct ring {
	struct program_run *run;
	struct host **hosts; /* of the ranks */
	uint32_t size;
	char bytes[32];
	const char *args[1];
};

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds,
						  .is_elsewhere = task_gpu_is_elsewhere};

	return &tasks;
}

static void on_report(void *owner, int rank, int peer, int nth_qp, const struct ibv_wc *wc,
		      const void *bytes)
{
	(void)owner;
	(void)rank;
	(void)peer;
	(void)nth_qp;
	(void)wc;
	(void)bytes;
}

static void on_say(void *owner, int rank, const char *line)
{
	(void)owner;
	fprintf(stderr, "%d: %s\n", rank, line);
}

static struct ring *start(const struct program *program, const char *name, struct fabric *fabric,
			  uint32_t pods, uint64_t bytes)
{
	const uint32_t size = fabric->host_count;
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return NULL;
	ring->hosts = calloc(size, sizeof(struct host *));
	ring->size = size;
	snprintf(ring->bytes, sizeof(ring->bytes), "bytes=%llu", (unsigned long long)bytes);
	ring->args[0] = ring->bytes;
	for (uint32_t i = 0; ring->hosts && i < size; i++)
		ring->hosts[i] = &fabric->hosts[i % pods * (size / pods) + i / pods];
	const struct program_run_params params = {
		.program = program,
		.name = name,
		.hosts = ring->hosts,
		.size = size,
		.arg_count = 1,
		.args = ring->args,
		.watcher = {on_report, on_say, ring},
	};

	if (ring->hosts && program_start(&params, &ring->run) == 0)
		return ring;
	ring_end(ring);
	return NULL;
}

struct ring *ring_start(struct fabric *fabric, uint32_t pods, uint64_t bytes)
{
	static const struct program neighbour = {.main = prog_main};

	return start(&neighbour, "neighbour", fabric, pods, bytes);
}

struct ring *ring_start_gpus(struct fabric *fabric, uint64_t bytes)
{
	static const struct program gpu_pair = {.main = gpu_pair_main};

	return start(&gpu_pair, "gpu_pair", fabric, 1, bytes);
}

struct load ring_load(const struct ring *ring)
{
	struct load load = {.posted = ring->size};

	for (uint32_t i = 0; i < ring->size; i++) {
		const struct program_result *result = program_result(ring->run, i);

		load.completed += result->ended && result->result == 0;
	}
	return load;
}

void ring_end(struct ring *ring)
{
	program_stop(ring->run);
	free(ring->hosts);
	free(ring);
}
