/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODEL_LAB_H
#define MODEL_LAB_H

/* A laboratory for anchors: a handful of hosts and switches, adapters with queue pairs in the state
 * that an anchor wants, work posted at given instants, completions with their times. Memory is
 * synthetic and the same everywhere, so what is placed is compared by the adapter itself. */
#include "models/fabric/fabric.h"
#include "sim/switch.h"

enum { LAB_HOSTS_MAX = 8, LAB_PAIRS_MAX = 8, LAB_DONE_MAX = 8192, LAB_WORK_MAX = 4096 };

struct lab_link {
	const char *a, *b; /* a name that begins with "s" is a switch's */
	uint64_t rate_bps;
	ps_t delay;
};

struct lab_params { /* zero: the default in brackets */
	const struct lab_link *links;
	uint32_t link_count;
	uint64_t seed;
	uint32_t mtu;	     /* [4096] */
	uint32_t psn_window; /* [2^20] */
	enum hca_retransmit retransmit;
	uint32_t ack_every;	 /* 0: end of message */
	const struct cc_ops *cc; /* [none], with @cc_params */
	struct cc_params cc_params;
	ps_t cnp_interval;
	const struct ecn *ecn;
	uint64_t buffer_bytes; /* [64 MiB] */
	uint32_t head_bytes;   /* switches cut through after so many; 0: they do not */
	ps_t latency;
	bool ipv6, vlan, through_wire;
};

struct lab_pair_params { /* zero: the default in brackets */
	const char *from, *to;
	uint8_t timeout; /* [14]: T = 67 ms */
	uint8_t retry_cnt, rnr_retry, rnr_timer;
	uint8_t rd_atomic; /* [1] */
	bool silent;	   /* nobody is there */
};

struct lab;

struct lab_host {
	struct lab *lab;
	struct host *host;
	struct host_client client;
	struct sim_local_event event;
	struct hca_pd *pd;
	struct hca_cq *cq;
	struct hca_mr *mr;
};

struct lab_pair {
	struct lab_host *from, *to;
	struct hca_qp *qp, *peer; /* peer NULL: silent */
};

struct lab_work {
	struct sim_local_event event;
	struct lab_pair *pair;
	enum hca_wr_opcode opcode;
	uint32_t bytes;
};

struct lab_done {
	struct hca_wc wc;
	ps_t at;
};

struct lab {
	struct lab_params params;
	struct topology topology;
	struct fabric fabric;
	struct lab_host hosts[LAB_HOSTS_MAX];
	struct lab_pair pairs[LAB_PAIRS_MAX];
	struct lab_work works[LAB_WORK_MAX];
	struct lab_done done[LAB_DONE_MAX]; /* of all hosts, as they come */
	uint32_t pair_count, work_count, done_count;
};

void lab_open(struct lab *lab, const struct lab_params *params);
void lab_close(struct lab *lab);
struct lab_pair *lab_connect(struct lab *lab, const struct lab_pair_params *params);
/* @bytes at @at, signaled. */
void lab_post(struct lab *lab, struct lab_pair *pair, enum hca_wr_opcode opcode, uint32_t bytes,
	      ps_t at);
/* Until nothing is left to do, or @until. */
void lab_run(struct lab *lab, ps_t until);
struct sim_port *lab_port(const struct lab *lab, const char *from, const char *to);
const struct hca_counters *lab_counters(const struct lab *lab, const char *host);

#endif
