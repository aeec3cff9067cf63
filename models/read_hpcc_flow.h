/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_READ_HPCC_FLOW_H
#define MODELS_READ_HPCC_FLOW_H

/* The flow.txt of the HPCC authors' ns-3 simulator: the number of flows, then a line each: "SRC DST
 * PRIORITY PORT BYTES START", numbers of nodes, START in seconds ("2.000001"). As there, the number
 * in the first line rules: what comes behind is ignored, with one warning; less is bad input. Flows
 * need not be in order. */
#include "models/bad.h"
#include "util/units.h"

struct read_hpcc_flow {
	uint32_t src, dst;
	uint16_t port; /* means nothing here */
	uint8_t priority;
	uint64_t bytes;
	ps_t start_at;
	uint32_t line;
};

enum { READ_HPCC_FLOWS_MAX = 4000000 };
#define READ_HPCC_BYTES_MAX ((uint64_t)1 << 44) /* as TRAFFIC_BYTES_MAX */

/* @at: the file's first line. -EINVAL: in @errors; -ENOMEM. @ret_flows is for util_free(). */
int read_hpcc_flow(const char *bytes, size_t length, const struct bad_at *at,
		   struct read_hpcc_flow **ret_flows, uint64_t *ret_count, struct bad_list *errors);

#endif
