/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/topology/internal.h"
#include "util/check.h"
#include "util/text.h"

/* Kinds in which every switch has hosts. */

static int join_fabric(struct topology *topology, uint32_t a, uint32_t b,
		       struct topology_speed speed)
{
	return topology_join(topology, a, b, speed.fabric_rate_bps, speed.delay);
}

/* Every two of @count switches from @first on. */
static int join_each_other(struct topology *topology, uint32_t first, uint32_t count,
			   struct topology_speed speed)
{
	int ret = 0;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = i + 1; j < count && !ret; j++)
			ret = join_fabric(topology, first + i, first + j, speed);
	return ret;
}

int topology_full_mesh(struct topology *topology, uint32_t switches, uint32_t per_switch,
		       struct topology_speed speed)
{
	const uint32_t first = topology->node_count, hosts = switches * per_switch;
	int ret = topology_add_nodes(topology, "h", hosts, false);

	ret = ret ? ret : topology_add_nodes(topology, "s", switches, true);
	ret = ret ? ret
		  : topology_join_hosts(topology, first, first + hosts, switches, per_switch,
					speed);
	return ret ? ret : join_each_other(topology, first + hosts, switches, speed);
}

/* ---- torus ---- */

struct place { /* of a switch in the grid */
	uint32_t at[TOPOLOGY_DIMS_MAX];
};

/* The last dimension is the fastest. */
static struct place direct_place_of(const uint32_t *dims, uint32_t dim_count, uint32_t number)
{
	struct place place = {{0}};

	for (uint32_t d = dim_count; d-- > 0; number /= dims[d])
		place.at[d] = number % dims[d];
	return place;
}

static uint32_t direct_number_of(const uint32_t *dims, uint32_t dim_count, struct place place)
{
	uint32_t number = 0;

	for (uint32_t d = 0; d < dim_count; d++)
		number = number * dims[d] + place.at[d];
	return number;
}

static int add_grid(struct topology *topology, const uint32_t *dims, uint32_t dim_count,
		    uint32_t switches)
{
	char name[64];
	int ret = 0;

	for (uint32_t i = 0; i < switches && !ret; i++) {
		const struct place p = direct_place_of(dims, dim_count, i);

		if (dim_count == 2)
			util_text(name, sizeof(name), "s%u_%u", p.at[0], p.at[1]);
		else
			util_text(name, sizeof(name), "s%u_%u_%u", p.at[0], p.at[1], p.at[2]);
		ret = topology_add_node(topology, name, true);
	}
	return ret;
}

int topology_torus(struct topology *topology, const uint32_t *dims, uint32_t dim_count,
		   uint32_t per_switch, struct topology_speed speed)
{
	const uint32_t switches = dims[0] * dims[1] * (dim_count == 3 ? dims[2] : 1);
	const uint32_t first = topology->node_count, grid = first + switches * per_switch;
	int ret = topology_add_nodes(topology, "h", switches * per_switch, false);

	CHECK(dim_count == 2 || dim_count == 3);
	ret = ret ? ret : add_grid(topology, dims, dim_count, switches);
	ret = ret ? ret : topology_join_hosts(topology, first, grid, switches, per_switch, speed);
	for (uint32_t i = 0; i < switches * dim_count && !ret; i++) {
		const uint32_t d = i % dim_count;
		struct place next = direct_place_of(dims, dim_count, i / dim_count);

		next.at[d] = (next.at[d] + 1) % dims[d];
		if (dims[d] > 2 || next.at[d] == 1)
			ret = join_fabric(topology, grid + i / dim_count,
					  grid + direct_number_of(dims, dim_count, next), speed);
	}
	return ret;
}

/* ---- dragonfly ---- */

/* Links between groups: of those of group g the one number copy * (groups - 1) + t goes to the t-th
 * other group, and number n is at router n / h. */
static int join_groups(struct topology *topology, struct topology_dragonfly d, uint32_t first,
		       struct topology_speed speed)
{
	const uint32_t others = d.groups - 1, copies = d.a * d.h / others;
	int ret = 0;

	for (uint32_t g = 0; g < d.groups; g++)
		for (uint32_t to = g + 1; to < d.groups; to++)
			for (uint32_t copy = 0; copy < copies && !ret; copy++) {
				const uint32_t here = copy * others + to - 1;
				const uint32_t there = copy * others + g;

				ret = join_fabric(topology, first + g * d.a + here / d.h,
						  first + to * d.a + there / d.h, speed);
			}
	return ret;
}

int topology_dragonfly(struct topology *topology, struct topology_dragonfly dragonfly,
		       struct topology_speed speed)
{
	const struct topology_dragonfly d = dragonfly;
	const uint32_t routers = d.groups * d.a, hosts = routers * d.p;
	const uint32_t first = topology->node_count, router = first + hosts;
	int ret = topology_add_nodes(topology, "h", hosts, false);
	char prefix[32];

	CHECK(d.groups >= 2 && d.groups <= d.a * d.h + 1);
	for (uint32_t g = 0; g < d.groups && !ret; g++) {
		util_text(prefix, sizeof(prefix), "g%ur", g);
		ret = topology_add_nodes(topology, prefix, d.a, true);
	}
	ret = ret ? ret : topology_join_hosts(topology, first, router, routers, d.p, speed);
	for (uint32_t g = 0; g < d.groups && !ret; g++)
		ret = join_each_other(topology, router + g * d.a, d.a, speed);
	return ret ? ret : join_groups(topology, d, router, speed);
}
