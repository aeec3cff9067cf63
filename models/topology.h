/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TOPOLOGY_H
#define MODELS_TOPOLOGY_H

/* What is connected to what, by name: a list of hosts, switches and links, as a generator or a
 * reader makes it. Order means nothing. */
#include "util/units.h"

#include <stdbool.h>

struct topology_node {
	char *name;
	bool is_switch;
};

struct topology_link {
	char *name; /* A.a-B.b, or min(A,B)-max(A,B)#k; set by topology_name_links() */
	uint32_t a, b; /* nodes */
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
/* Position of the node, or -1. */
int64_t topology_find(const struct topology *topology, const char *name);
/* -ENOMEM. */
int topology_add_link(struct topology *topology, const struct topology_link *link);

/* Names every link that has none, as decisions of identity go: parallel links are numbered in the
 * order of their rate, delay and error, never of appearance, and the end with the smaller name comes
 * first. -ENOMEM. */
int topology_name_links(struct topology *topology);

/* Hosts h0..hN-1 on switch s0. */
int topology_star(struct topology *topology, uint32_t hosts, struct topology_speed speed);
/* Hosts h0.. on leaf0.., each leaf joined to each of spine0... */
int topology_leaf_spine(struct topology *topology, uint32_t leaves, uint32_t spines,
			uint32_t hosts_per_leaf, struct topology_speed speed);
/* Al-Fares et al., SIGCOMM 2008: k pods of k/2 edge (pPeE) and k/2 aggregation switches (pPaA),
 * (k/2)^2 cores (cC), k^3/4 hosts. -EINVAL: k odd or 0. */
int topology_fat_tree(struct topology *topology, uint32_t k, struct topology_speed speed);

#endif
