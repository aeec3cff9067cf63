/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_READ_HPCC_FLOW_H
#define MODELS_READ_HPCC_FLOW_H

/* The flow.txt of the HPCC authors' ns-3 simulator: the number of flows, then a line each: "SRC DST
 * PRIORITY PORT BYTES START", numbers of nodes, START in seconds ("2.000001"); ConWeave's have no
 * PORT, which means nothing here. As there, the number in the first line rules: what comes behind
 * is ignored, with one warning; less is bad input. Flows need not be in order. */
#include "models/trace/format.h"

/* -EINVAL: in @errors; -ENOMEM. @ret_flows is for util_free(). */
int read_hpcc_flow(const struct read_flow_file *file, struct read_flow **ret_flows,
		   uint64_t *ret_count, struct bad_list *errors);

#endif
