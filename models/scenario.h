/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_H
#define MODELS_SCENARIO_H

/* A scenario as data: what a file describes, units resolved, everything checked. Made by
 * scenario_read() (models/scenario_read.h), turned into a fabric with traffic by scenario_build().
 * The order of lines in the file, and keys that say what is the default anyway, cannot be seen. */
#include "models/fabric.h"
#include "models/traffic.h"

enum scenario_cc { SCENARIO_CC_NONE, SCENARIO_CC_DCQCN, SCENARIO_CC_DCQCN_HPCC };
enum scenario_fc { SCENARIO_FC_NONE, SCENARIO_FC_PFC, SCENARIO_FC_CREDIT };

struct scenario_ecn {
	bool enabled;
	uint32_t kmin_bytes, kmax_bytes, pmax_num, pmax_den;
};

struct scenario_switch { /* of every switch */
	uint64_t buffer_bytes;
	ps_t latency;
	uint32_t alpha_num, alpha_den;	/* dynamic thresholds ... */
	uint32_t xoff_bytes, xon_bytes; /* ... or static ones (0: dynamic) */
	enum scenario_fc fc;
	uint8_t lossless;	 /* mask of priorities */
	bool headroom_auto;
	uint32_t headroom_bytes;
	bool pfc_quanta;
	ps_t response_delay; /* of pauses or credits */
	uint32_t credit_bytes;
	struct scenario_ecn ecn;
};

struct scenario_nic { /* of every host */
	uint32_t mtu;
	enum scenario_cc cc;
	uint32_t ack_every;	/* 0: message */
	uint32_t psn_window;
	enum hca_retransmit retransmit;
	uint8_t timeout, retry_cnt;
	int ack_priority;	/* -1: that of the data */
	uint8_t cnp_priority;
	ps_t cnp_interval;
	ps_t loop_delay;
	bool ipv6;
	char profile[32]; /* host profile of costs: "generic" or "none" */
};

struct scenario_program {
	char *run, *name; /* program, and its name in reports */
	char *where;	  /* "FILE:LINE" of @run, for messages */
	uint32_t *hosts, host_count; /* rank 0 first; positions in the host table */
	char **args;
	uint32_t arg_count;
	ps_t start_at;
};

enum scenario_fault_kind {
	SCENARIO_FAULT_LOSS, SCENARIO_FAULT_CORRUPT, SCENARIO_FAULT_DUPLICATE,
	SCENARIO_FAULT_REORDER, SCENARIO_FAULT_DELAY, SCENARIO_FAULT_DROP_NTH,
};

struct scenario_fault {
	char *link;	  /* name; both directions unless @direction names the sending node */
	char *direction;
	enum scenario_fault_kind kind;
	uint32_t num, den; /* probability */
	uint64_t nth;	   /* DROP_NTH: counted from 1, whenever that is */
	ps_t delay;	   /* DELAY; DUPLICATE, REORDER: how far behind */
	bool control;	   /* pause and resume frames, too */
	ps_t from_at, until_at; /* PS_NEVER: for ever */
};

struct scenario_expect {
	char *text;    /* a jq expression over result.json */
	char *file;    /* where it stands; "--set" */
	uint32_t line;
};

struct scenario {
	char *file, *name;
	uint64_t seed;
	uint64_t hash; /* order-free, without defaults, without the seed and the name */
	ps_t until;    /* PS_NEVER: until nothing is left to do */
	ps_t oob_delay;
	struct topology topology;
	struct scenario_switch switches;
	struct scenario_nic nic;
	char **classes; /* names of the traffic blocks, each present even when empty */
	uint32_t class_count;
	struct traffic_flow *flows; /* src, dst: positions in the host table */
	uint64_t flow_count;
	struct scenario_program *programs;
	uint32_t program_count;
	struct scenario_fault *faults;
	uint32_t fault_count;
	struct scenario_expect *expects; /* of the result; what they say changes nothing in the run */
	uint32_t expect_count;
};

void scenario_fini(struct scenario *scenario);

struct scenario_options { /* of one run */
	uint32_t thread_count;
	bool through_wire;
	uint64_t packet_bytes_max; /* memory for packets under way; 0: 4 GiB */
};

/* A fabric ready to run, with traffic and faults on it (programs are the command's, which loads
 * them). -ENOMEM; -EINVAL never, since the reader has checked everything. */
int scenario_build(const struct scenario *scenario, const struct scenario_options *options,
		   struct fabric *ret_fabric, struct traffic **ret_traffic);

#endif
