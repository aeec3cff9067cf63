/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TRAFFIC_INTERNAL_H
#define MODELS_TRAFFIC_INTERNAL_H

/* What the plan of the flows (traffic.c) and their ends on the hosts (traffic_host.c) share. */
#include "models/traffic.h"

enum { TRAFFIC_WRITE_MAX = 1 << 30 }; /* bytes of one work request */

struct traffic_start { /* an end of a flow comes into being */
	ps_t at;
	uint64_t flow;
	bool is_sink;
};

struct traffic_host {
	struct traffic *traffic;
	struct host *host;
	struct sim_local_event event;	    /* the next start, or completions to take */
	const struct traffic_start *starts; /* in order of time */
	uint64_t start_count, next_start, source_count;
	struct host_client client;
	struct hca_pd *pd;
	struct hca_cq *cq;
	struct hca_mr *sink_mr;
	uint64_t next_va;
};

struct traffic {
	struct fabric *fabric;
	struct traffic_flow *flows;
	struct traffic_start *starts;
	struct traffic_host *hosts; /* by position in the host table */
	uint64_t flow_count;
	uint32_t host_count;
};

int traffic_host_init(struct traffic *traffic, uint32_t number); /* -ENOMEM */
void traffic_host_fini(struct traffic_host *th);

#endif
