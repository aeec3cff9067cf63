/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_READ_HTSIM_TOPOLOGY_H
#define MODELS_READ_HTSIM_TOPOLOGY_H

/* The fat tree of htsim (.topo; csg-htsim, sim/datacenter/fat_tree_topology.cpp): "Nodes", "Tiers"
 * (2 or 3) and "Podsize" (hosts of a pod), then for each "Tier" 0, 1, 2 a speed and a latency of
 * the links below it and its radix down and up, bundles and oversubscription. What these say of
 * each other must fit. Hosts are h0, h1 ...; switches pPeE (tier 0), pPaA (tier 1) and cC (tier 2).
 * Latencies of switches are the scenario's, and refused here; keys of queues are ignored, with one
 * warning. Lines that begin with # are comments. */
#include "models/input/bad.h"
#include "models/topology/topology.h"

/* @at: the file's first line. -EINVAL: in @errors; -ENOMEM. On errors @topology (zeroed before)
 * holds something that wants topology_fini(), too. */
int read_htsim_topology(const char *bytes, size_t length, const struct bad_at *at,
			struct topology *topology, struct bad_list *errors);

#endif
