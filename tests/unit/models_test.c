/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/models_test.h"

#include "transport/wire/frame.h"

#include <stdio.h>

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds};

	return &tasks;
}

void world_set_up(struct world *world, uint32_t host_count)
{
	*world = (struct world){
		.host_count = host_count,
		.host = {.profile = {.line_rate_bps = 100000000000u,
				     .mtu_max = 4096,
				     .psn_window = 1u << 20,
				     .ack_every = 64,
				     .ack_on_data_priority = true,
				     .cc = &cc_none,
				     .wire_overhead = wire_frame_overhead(0),
				     .qp_max = 64,
				     .cq_max = 64,
				     .mr_max = 64,
				     .pd_max = 64,
				     .wr_max = 1024,
				     .sge_max = 4,
				     .cqe_max = 4096,
				     .inline_max = 256,
				     .rd_atomic_max = 16},
			 .cost = host_cost_none()},
		.params = {.seed = 1,
			   .thread_count = 1,
			   .packet_bytes_max = 1u << 26,
			   .oob_delay = 20 * PS_US,
			   .switches = {.buffer_bytes = 1u << 24, .mtu_bytes = 4200}},
	};
}

int world_try_open(struct world *world)
{
	const struct topology_speed speed = {100000000000u, 100000000000u, PS_US};
	int ret = topology_star(&world->topology, world->host_count, speed);

	world->params.host = &world->host;
	if (!ret && world->nic_count > 0)
		ret = topology_add_nics(&world->topology, world->nic_count);
	ret = ret ? ret : topology_name_links(&world->topology);
	ret = ret ? ret : fabric_create(&world->fabric, &world->topology, &world->params);
	if (ret)
		topology_fini(&world->topology);
	return ret;
}

void world_open(struct world *world)
{
	assert_int_equal(world_try_open(world), 0);
}

struct host *world_host(const struct world *world, uint32_t i)
{
	char name[16];

	snprintf(name, sizeof(name), "h%u", i);
	return fabric_host(&world->fabric, name);
}

void world_spawn(struct world *world, uint32_t host, const char *name, vb_fn *fn, void *arg,
		 ps_t start)
{
	assert_int_equal(vb_spawn((struct vb_host *)world_host(world, host), name, fn, arg, start),
			 0);
}

uint64_t world_run(struct world *world)
{
	assert_int_equal(fabric_run(&world->fabric, PS_S), 0);
	for (uint32_t i = 0; i < world->host_count; i++)
		assert_int_equal(task_unfinished(&world->fabric.hosts[i]), 0);
	return sim_digest(world->fabric.sim);
}

void world_close(struct world *world)
{
	fabric_fini(&world->fabric);
	topology_fini(&world->topology);
}

uint64_t world_slabs_out(const struct world *world)
{
	uint64_t out = packet_pools_used(&world->fabric.pools);

	for (uint32_t i = 0; i < world->fabric.host_count; i++)
		out -= world->fabric.hosts[i].room != NULL;
	return out;
}
