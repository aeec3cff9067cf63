/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_READ_HPCC_TOPOLOGY_H
#define MODELS_READ_HPCC_TOPOLOGY_H

/* The topology.txt of the HPCC authors' ns-3 simulator: "NODES SWITCHES LINKS", the numbers of the
 * nodes that are switches, then lines "A B RATE DELAY LOSS" ("0 1 100Gbps 0.001ms 0"; the loss is
 * the chance of a packet). Node 5 is called n5. As there, the counts of the first line rule: what
 * comes behind is ignored, with one warning; less is bad input. */
#include "models/input/bad.h"
#include "models/topology/topology.h"

enum { READ_HPCC_NODES_MAX = 1000000 };

/* @at: the file's first line. -EINVAL: in @errors; -ENOMEM. On errors @topology (zeroed before)
 * holds something that wants topology_fini(), too. */
int read_hpcc_topology(const char *bytes, size_t length, const struct bad_at *at,
		       struct topology *topology, struct bad_list *errors);

#endif
