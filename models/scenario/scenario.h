/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_H
#define MODELS_SCENARIO_H

/* A scenario as data: what a file describes, units resolved, everything checked. Made by
 * scenario_read() (models/scenario/read.h), turned into a fabric with traffic by scenario_build().
 * The order of lines in the file, and keys that say what is the default anyway, cannot be seen. */
#include "models/fabric/fabric.h"
#include "models/traffic/traffic.h"

enum scenario_cc {
	SCENARIO_CC_NONE,
	SCENARIO_CC_DCQCN,
	SCENARIO_CC_DCQCN_HPCC,
	SCENARIO_CC_DCQCN_NV,
	SCENARIO_CC_TIMELY,
	SCENARIO_CC_TIMELY_PATCHED,
	SCENARIO_CC_SWIFT,
	SCENARIO_CC_DCTCP,
	SCENARIO_CC_HPCC,
};
/* What a switch does with a packet for a host that it has forgotten. */
enum scenario_unknown {
	SCENARIO_UNKNOWN_DROP,
	SCENARIO_UNKNOWN_FLOOD,
	SCENARIO_UNKNOWN_FLOOD_LOSSY /* what is lossless is dropped */
};
enum scenario_fc { SCENARIO_FC_NONE, SCENARIO_FC_PFC, SCENARIO_FC_CREDIT };

struct scenario_ecn {
	bool enabled, at_enqueue;
	uint32_t kmin_bytes, kmax_bytes, pmax_num, pmax_den;
};

struct scenario_class {			/* of one priority at every port of a switch */
	uint32_t alpha_num, alpha_den;	/* dynamic threshold ... */
	uint32_t xoff_bytes, xon_bytes; /* ... or a static one (alpha_den 0) */
	uint32_t reserve_bytes;
	uint32_t queue_num, queue_den; /* limit of an egress queue; den 0: none */
};

/* What holds at ports whose link is so fast, up to the next faster one of the switch. */
struct scenario_at_rate {
	uint64_t rate_bps;
	uint32_t kmin_bytes, kmax_bytes, pmax_num, pmax_den;
	uint32_t alpha_num, alpha_den;
};
enum { SCENARIO_RATES_MAX = 16 };

/* What comes to a switch by a link of @in and leaves by one of @out as one of the priorities of
 * @from leaves as one of @to: their DSCP is rewritten. */
struct scenario_rewrite {
	uint8_t *in, *out; /* by link of the topology: SCENARIO_FROM_A where it is one to the switch
			    * at its end a, SCENARIO_FROM_B to that at b; NULL: any */
	uint8_t from;	   /* mask */
	uint8_t to;
};
enum { SCENARIO_FROM_A = 1, SCENARIO_FROM_B = 2 };

struct scenario_switch {
	uint64_t buffer_bytes;
	ps_t latency;
	bool cut_through;
	uint32_t alpha_num, alpha_den;	/* dynamic thresholds ... */
	uint32_t xoff_bytes, xon_bytes; /* ... or static ones (0: dynamic) */
	uint32_t reserve_bytes;
	struct scenario_class classes[SIM_PRIORITIES_MAX];
	bool has_classes;				   /* they go before the five above */
	struct scenario_at_rate rates[SCENARIO_RATES_MAX]; /* ascending */
	uint32_t rate_count;
	uint8_t alpha_by_rate;		     /* priorities whose share is that of the rate */
	uint8_t weights[SIM_PRIORITIES_MAX]; /* of turns; all 0: strict */
	enum scenario_fc fc;
	uint8_t lossless; /* mask of priorities */
	bool headroom_auto;
	uint32_t headroom_bytes;
	uint64_t headroom_pool_bytes; /* 0: none */
	bool pfc_quanta;
	ps_t response_delay; /* of pauses or credits */
	bool has_watchdog;
	struct pfc_watchdog watchdog;
	uint64_t credit_bytes[SIM_PRIORITIES_MAX];
	uint32_t credit_update_bytes; /* 0: a quarter */
	struct scenario_ecn ecn;
	enum sim_balance balance;
	ps_t flowlet_gap;
	struct sim_conweave_params conweave;
	uint32_t mtu_bytes; /* of an IP packet; 0: any */
	enum scenario_unknown unknown;
	bool mapped;
	uint8_t map[SIM_PRIORITIES_MAX];   /* the queue of what hosts send as that priority */
	struct scenario_rewrite *rewrites; /* the first that knows a packet holds */
	uint32_t rewrite_count;
};

/* What ports of links of @rate_bps have of their own; NULL: nothing. */
const struct scenario_at_rate *scenario_rate_of(const struct scenario_switch *sw,
						uint64_t rate_bps);

struct scenario_route { /* names are the topology's: positions in it */
	uint32_t at, to, via;
};

struct scenario_group { /* switches that differ from the others */
	struct scenario_switch is;
	uint32_t *nodes; /* positions in the topology, ascending */
	uint32_t node_count;
};

struct scenario_rx {		      /* hosts that receive slowly */
	struct host_rx_params params; /* buffer_bytes 0: none does */
	uint32_t *hosts;	      /* positions in the host table */
	uint32_t host_count;
};

enum scenario_part_kind {
	SCENARIO_SOCKET,
	SCENARIO_PCIE_SWITCH,
	SCENARIO_ADAPTER,
	SCENARIO_GPU,
	SCENARIO_NVSWITCH,
};

struct scenario_part {
	uint32_t place; /* in the list "parts", from 0 */
	char *name;
	enum scenario_part_kind kind;
	uint8_t numa;	       /* of a socket */
	bool has_bridges;      /* a socket: each of its lanes is a host bridge of its own */
	uint64_t memory_bytes; /* of a GPU, as the two below */
	uint64_t window_bytes; /* of its BAR1 */
	uint8_t ordering;      /* hundreds of CUGPUDirectRDMAWritesOrdering */
	char *address;	       /* PCI; NULL: not said */
};

struct scenario_adapter { /* positions in the topology and the host table; which of its machine */
	uint32_t node, host, nic;
};

/* What is inside of some machines. */
struct scenario_machine {
	uint32_t place;			/* 0: "machine"; else of "machines", from 1 */
	struct scenario_part *parts;	/* in order of their names */
	struct bus_part_params *params; /* of each */
	struct bus_lane_params *lanes;	/* in order of their ends, NVLink last; a < b */
	uint8_t *lane_kinds;		/* places among the words of machine.lanes[].kind */
	struct bus_fault *faults;	/* in order of what they happen to */
	uint32_t part_count, lane_count, nic_count, fault_count;
	struct host_parts graph;      /* all that, for ... */
	struct host_bus *nics;	      /* ... each of the adapters */
	struct host_gpu_params *gpus; /* and the GPUs, ... */
	uint16_t *gpu_parts;	      /* ... each a part */
	uint32_t gpu_count;
	struct scenario_adapter *adapters; /* of all these machines, in order of the topology */
	uint32_t adapter_count;
	char *guesses; /* what of it is guessed: "latency, tags"; NULL: nothing is known to be */
};

struct scenario_nic { /* of every host */
	uint32_t mtu;
	enum scenario_cc cc;
	uint32_t ack_every; /* 0: message */
	uint32_t psn_window;
	bool qp_per_pair;
	bool uc; /* flows are */
	bool ns3_headers;
	bool cnp_keeps_marks, cnp_on_gap;
	enum hca_statuses statuses;
	bool mw_is_2a;
	enum hca_retransmit retransmit;
	ps_t rto_low, rto_high; /* HCA_SELECTIVE */
	ps_t base_rtt;		/* the longest; 0: nothing asks for it */
	uint8_t timeout, retry_cnt;
	int ack_priority; /* -1: that of the data */
	uint8_t cnp_priority;
	ps_t cnp_interval;
	uint64_t start_rate_bps; /* 0: that of the link */
	bool has_cc_params;	 /* else by the line rate of each host */
	struct cc_params cc_params;
	ps_t loop_delay;
	uint8_t ttl; /* of flows */
	struct scenario_rx rx;
	struct host_rx_params rx_by_bus; /* of hosts with a machine */
	bool ipv6;
	uint16_t vlan;			  /* 0: untagged */
	uint8_t dscp[SIM_PRIORITIES_MAX]; /* by priority */
	bool free_calls;		  /* those of programs cost nothing */
};

struct scenario_program {
	char *run, *name;	     /* program, and its name in reports */
	char *where;		     /* "FILE:LINE" of @run, for messages */
	uint32_t *hosts, host_count; /* rank 0 first; positions in the host table */
	char **args;
	uint32_t arg_count;
	ps_t start_at;
	bool endless; /* @until may end it */
};

enum scenario_fault_kind {
	SCENARIO_FAULT_LOSS,
	SCENARIO_FAULT_CORRUPT,
	SCENARIO_FAULT_DUPLICATE,
	SCENARIO_FAULT_REORDER,
	SCENARIO_FAULT_DELAY,
	SCENARIO_FAULT_DROP_NTH,
	SCENARIO_FAULT_DOWN,
	SCENARIO_FAULT_RATE,
	SCENARIO_FAULT_PAUSE,
};

struct scenario_fault {
	uint32_t place; /* of what says so in the list "faults", from 0 */
	char *link;	/* name; both directions unless @direction names the sending node */
	char *direction;
	enum scenario_fault_kind kind;
	uint32_t num, den;  /* probability */
	uint64_t nth;	    /* DROP_NTH: counted from 1, whenever that is */
	ps_t delay;	    /* DELAY; DUPLICATE, REORDER: how far behind; DOWN: until it is known */
	uint64_t rate_bps;  /* RATE */
	uint8_t priorities; /* PAUSE: mask */
	bool control;	    /* pause and resume frames, too */
	ps_t from_at, until_at; /* PS_NEVER: for ever */
};

/* A switch that does not know the port of a host of its own any more. */
struct scenario_forget {
	uint32_t place;		/* as of struct scenario_fault */
	uint32_t at, host;	/* positions in the topology and in the host table */
	ps_t from_at, until_at; /* PS_NEVER: for ever */
};

struct scenario_expect {
	char *text; /* a jq expression over result.json */
	char *file; /* where it stands; "--set" */
	uint32_t line;
};

struct scenario {
	char *file, *name;
	char *settings; /* beside the file, as a shell takes them: " --set until=1ms"; "" */
	/* A line "KEY<tab>VALUE" for each value that the file and settings name, in their order,
	 * control characters as blanks. */
	char *said;
	uint64_t seed;
	uint64_t hash; /* order-free, without defaults, without the seed and the name */
	ps_t until;    /* PS_NEVER: until nothing is left to do */
	ps_t oob_delay;
	uint64_t packet_bytes_max; /* memory for packets under way */
	uint32_t priority_count;   /* of the fabric: SIM_PRIORITIES or SIM_PRIORITIES_MAX */
	struct topology topology;
	struct scenario_switch switches; /* all but those of @groups */
	struct scenario_route *routes;
	uint32_t route_count;
	bool weighted_routes, same_hash;
	ps_t reconverge; /* from when its ends know of a link's change until all do; PS_NEVER:
			  * never */
	struct scenario_group *groups;
	uint32_t group_count;
	struct scenario_machine *machines; /* the hosts of none of these have no bus */
	uint32_t machine_count;
	struct scenario_nic nic;
	char **classes; /* names of the traffic blocks, each present even when empty */
	uint32_t class_count;
	struct traffic_flow *flows; /* src, dst: positions in the host table */
	uint64_t flow_count;
	struct traffic_stream *streams; /* loads of many flows, made as they start */
	uint32_t stream_count;
	struct scenario_program *programs;
	uint32_t program_count;
	struct scenario_fault *faults;
	uint32_t fault_count;
	struct scenario_forget *forgets;
	uint32_t forget_count;
	struct scenario_expect *expects; /* of the result; they change nothing in the run */
	uint32_t expect_count;
};

void scenario_fini(struct scenario *scenario);

struct scenario_options { /* of one run */
	uint32_t thread_count;
	bool through_wire;
	uint64_t packet_bytes_max;	   /* 0: the scenario's */
	struct traffic_listener *listener; /* to flows of streams; NULL: nobody */
};

/* A fabric ready to run, with traffic and faults on it (programs are the command's, which loads
 * them). -ENOMEM; -EINVAL never, since the reader has checked everything. */
int scenario_build(const struct scenario *scenario, const struct scenario_options *options,
		   struct fabric *ret_fabric, struct traffic **ret_traffic);

#endif
