/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TOPOLOGY_H
#define MODELS_TOPOLOGY_H

/* What is connected to what, by name: a list of hosts, switches and links, as a generator or a
 * reader makes it. Order means nothing. */
#include "util/units.h"

#include <stdbool.h>
#include <stddef.h>

struct topology_node {
	char *name;
	bool is_switch;
	/* A host is an adapter of a machine: the machine's first adapter, which has its name, and
	 * which of them this is. Mostly itself and 0. */
	uint32_t machine, nic;
	uint32_t nic_count; /* of a first adapter: its machine's */
};

struct topology_link {
	char *name;	       /* A.a-B.b, or min(A,B)-max(A,B)#k; set by topology_name_links() */
	uint32_t a, b;	       /* nodes */
	char *port_a, *port_b; /* names of the ports, or NULL */
	uint64_t rate_bps;
	ps_t delay;
	uint64_t error_ppt; /* bit errors, in 10^-12 a bit */
	uint32_t loss_ppb;  /* lost packets, in 10^-9 */
};

struct topology {
	struct topology_node *nodes;
	struct topology_link *links;
	uint32_t node_count, node_room, link_count, link_room;
	uint64_t *index; /* by name: low half of its hash, then position + 1; 0: free */
	uint32_t index_room;
};

/* A link as generators lay it; both rates in bit/s. */
struct topology_speed {
	uint64_t host_rate_bps, fabric_rate_bps;
	ps_t delay;
};

void topology_fini(struct topology *topology);

/* -EEXIST: the name is taken; -ENOMEM. The name is copied. */
int topology_add_node(struct topology *topology, const char *name, bool is_switch);
/* One more adapter for the machine of the host @first, its first adapter: NAME.nic1, NAME.nic2 ...
 * Behind all nodes, without a link. -EEXIST, -ENOMEM. */
int topology_add_nic(struct topology *topology, uint32_t first);
/* Every host becomes the first of @count adapters of its machine, the others joined to the same
 * switch by links like its own. Each has one link so far. -EEXIST, -ENOMEM. */
int topology_add_nics(struct topology *topology, uint32_t count);
enum { TOPOLOGY_NICS_MAX = 64 };
/* Position of the node, or -1. NAME.nic0 is NAME, if that is a host. */
int64_t topology_find(const struct topology *topology, const char *name);
/* Of the text NAME.nic0, which is another name of the host NAME, the length of NAME; 0: it is none.
 */
size_t topology_first_nic(const char *name);
/* The link of that name, or NULL: its ends in either order, each by any of its names, "#0" perhaps
 * left out. */
const struct topology_link *topology_find_link(const struct topology *topology, const char *name);
/* -ENOMEM. */
int topology_add_link(struct topology *topology, const struct topology_link *link);

/* Names every link that has none, as decisions of identity go: parallel links are numbered in the
 * order of their rate, delay and error, never of appearance, and the end with the smaller name
 * comes first. -ENOMEM. */
int topology_name_links(struct topology *topology);

/* ---- kinds: all -ENOMEM. Hosts are h0, h1 ... in the order of their switches. ---- */

/* Hosts on switch s0. */
int topology_star(struct topology *topology, uint32_t hosts, struct topology_speed speed);
/* @per_switch hosts on each of "left" and "right", which one link joins. */
int topology_dumbbell(struct topology *topology, uint32_t per_switch, struct topology_speed speed);
/* Hosts on leaf0.., each leaf joined to each of spine0... */
int topology_leaf_spine(struct topology *topology, uint32_t leaves, uint32_t spines,
			uint32_t hosts_per_leaf, struct topology_speed speed);
/* Al-Fares et al., SIGCOMM 2008: k pods of k/2 edge (pPeE) and k/2 aggregation switches (pPaA),
 * (k/2)^2 cores (cC), k^3/4 hosts. -EINVAL: k odd or 0. */
int topology_fat_tree(struct topology *topology, uint32_t k, struct topology_speed speed);

struct topology_tier { /* links between two tiers */
	uint64_t rate_bps;
	ps_t delay;
	uint32_t bundle; /* links that join the same two, at least 1 */
};

/* Three tiers as in a fat tree, each as wide as one likes; two where there is no core. */
struct topology_clos {
	uint32_t pods, edges, aggregations; /* the latter two of a pod */
	uint32_t cores; /* a multiple of @aggregations: each has its share of them */
	uint32_t hosts_per_edge;
	struct topology_tier host, edge, core; /* above hosts, edge and aggregation switches */
};
int topology_clos(struct topology *topology, const struct topology_clos *clos);

/* Servers with a NIC for each of @rails, a host each: hSgR is the one of server S on rail R. In a
 * unit of @servers_per_unit servers those of a rail share the leaf suUrR, and every leaf is joined
 * to each of spine0... @machines: the NICs of a server are adapters of one machine instead, hS,
 * hS.nic1 and so on. */
struct topology_rail {
	uint32_t servers, rails, servers_per_unit, spines;
	bool machines;
};
int topology_rail(struct topology *topology, struct topology_rail rail,
		  struct topology_speed speed);

/* Every two of the switches s0.. are joined. */
int topology_full_mesh(struct topology *topology, uint32_t switches, uint32_t per_switch,
		       struct topology_speed speed);

enum { TOPOLOGY_DIMS_MAX = 3 };
/* A grid of @dim_count dimensions (2 or 3) whose ends are joined; switch sX_Y_Z. Where a dimension
 * has two places, they are joined once. */
int topology_torus(struct topology *topology, const uint32_t *dims, uint32_t dim_count,
		   uint32_t per_switch, struct topology_speed speed);

/* Kim et al., ISCA 2008: groups of @a routers (gGrR) joined all to all, each with @p hosts and @h
 * links to other groups; every two groups have floor(a h / (groups - 1)) links, and those of a
 * group go to its routers in the order of the groups at their other ends. */
struct topology_dragonfly {
	uint32_t a, p, h;
	uint32_t groups; /* 2 to a h + 1 */
};
int topology_dragonfly(struct topology *topology, struct topology_dragonfly dragonfly,
		       struct topology_speed speed);

#endif
