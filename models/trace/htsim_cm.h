/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_READ_HTSIM_FLOW_H
#define MODELS_READ_HTSIM_FLOW_H

/* The connection matrix (.cm) of htsim (csg-htsim, sim/datacenter/connection_matrix.cpp): "Nodes
 * N", "Connections M", then a line each: "SRC->DST id N start PS size BYTES", words in any order
 * behind the first, START in picoseconds. Nodes are the hosts, from 0. The numbers of the header
 * must be those of the file. Triggers and failures are refused; "prio" is a matter of htsim's own
 * protocols and ignored, with one warning. Lines that begin with # are comments. */
#include "models/trace/format.h"

/* -EINVAL: in @errors; -ENOMEM. @ret_flows is for util_free(). */
int read_htsim_flow(const struct read_flow_file *file, struct read_flow **ret_flows,
		    uint64_t *ret_count, struct bad_list *errors);

#endif
