/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SWARM_PLAN_H
#define SWARM_PLAN_H

/* What a seed stands for, as data: a fabric, faults on its links, queue pairs and a program for
 * each end of each. Nothing here changes during a run, so every way of running the same seed reads
 * the same plan. Sizes and ranges are this test's own choice: small enough for a few milliseconds.
 */
#include "models/fabric/fabric.h"
#include "models/scenario/scenario.h"
#include "sim/fault.h"
#include "tests/scenario/net.h"

enum {
	PLAN_HOSTS_MAX = 12,
	PLAN_SIDES_MAX = 12, /* ends of queue pairs */
	PLAN_OPS_MAX = 20,
	PLAN_PIECES_MAX = 4,
	PLAN_SLOTS = 4, /* stretches of memory that one end writes at the other */
	PLAN_WORDS = 4, /* for atomics of one end alone */
	PLAN_FAULTS_MAX = 24,
	PLAN_LOST_MAX = 8,
	PLAN_DOWNS_MAX = 6,
	PLAN_REWRITES_MAX = 4,
	PLAN_FORGETS_MAX = 4,
	PLAN_GUARD_BYTES = 64, /* between whatever lies in memory: nobody may touch it */
};

enum op_kind {
	OP_SEND,
	OP_SEND_IMM,
	OP_SEND_INV,
	OP_WRITE,
	OP_WRITE_IMM,
	OP_READ,
	OP_CAS,
	OP_FADD,
	OP_KINDS,
};

enum fault_kind {
	FAULT_LOSS,
	FAULT_CORRUPT,
	FAULT_DUPLICATE,
	FAULT_REORDER,
	FAULT_DELAY,
	FAULT_DROP,
	FAULT_DOWN,
	FAULT_KINDS,
};

/* A list of local memory: pieces with a guard between any two. */
struct pieces {
	uint64_t at; /* of the first, in the host's memory */
	uint32_t count, bytes[PLAN_PIECES_MAX];
};

struct op {
	enum op_kind kind;
	uint32_t bytes, packets, psn; /* psn: of the first packet, from the first of the QP */
	struct pieces local;
	uint64_t remote;      /* in the peer's memory */
	uint64_t key, key_at; /* of the bytes that a SEND or WRITE carries */
	uint32_t recv;	      /* which of the peer's receives it takes */
	uint32_t imm;
	uint64_t compare_add, swap;
	bool shared; /* an atomic on a word that all ends add to */
	bool stable; /* a READ of bytes that nobody writes */
	bool signaled, fence, solicited, inlined;
	bool barrier; /* posted when everything before it is done */
	int fatal;    /* enum hca_wc_status that it must end with, 0: none */
	bool bad_rkey, bad_lkey;
	bool relay;	/* carries what a READ before it brings, and is fenced */
	bool gone_rkey; /* to a region that it has had invalidated: @gone */
	uint32_t gone;
};

struct recv {
	struct pieces local;
	uint32_t bytes;
};

struct side {
	uint32_t host, peer; /* host: place in the plan; peer: a side */
	uint32_t qpn, sq_psn, mtu;
	uint8_t priority, timeout, retry_cnt, rnr_retry, rnr_timer, rd_atomic;
	uint32_t send_depth, recv_depth, burst;
	ps_t start_at, post_gap;      /* of bursts */
	ps_t recv_start_at, recv_gap; /* of receives, one each */
	struct op ops[PLAN_OPS_MAX];
	struct recv recvs[PLAN_OPS_MAX];
	uint32_t op_count, recv_count;
	/* At this host, for the peer to use. */
	uint64_t slots, stable, words; /* places */
	uint32_t slot_bytes, stable_bytes;
	uint32_t inv_count; /* regions that the peer invalidates */
};

enum plan_fc { PLAN_FC_NONE, PLAN_FC_PFC, PLAN_FC_CREDIT };

struct plan_fault {
	uint32_t link;
	bool backwards; /* from b to a */
	struct sim_fault_params params;
	uint64_t lost[PLAN_LOST_MAX];
};

struct plan {
	uint64_t seed;
	struct topology topology;
	uint32_t host_count;
	const char *hosts[PLAN_HOSTS_MAX];
	uint64_t memory_bytes[PLAN_HOSTS_MAX];
	uint64_t shared_word[PLAN_HOSTS_MAX]; /* place of the word that all add to */
	struct side sides[PLAN_SIDES_MAX];
	uint32_t side_count;
	struct plan_fault faults[PLAN_FAULTS_MAX];
	uint32_t fault_count;
	struct scenario_fault downs[PLAN_DOWNS_MAX]; /* of links; names are the topology's */
	uint32_t down_count;
	ps_t reconverge; /* as that of a scenario */
	enum plan_fc fc;
	struct pfc_params pfc;
	struct credit_params credit;
	struct ecn ecn;
	struct net_rewrite rewrites[PLAN_REWRITES_MAX];
	uint32_t rewrite_count;
	struct net_forget forgets[PLAN_FORGETS_MAX]; /* names are the topology's */
	uint32_t forget_count;
	bool has_ecn, has_more;
	struct sim_switch_params more; /* of every switch */
	uint64_t buffer_bytes;
	struct host_params host;
	bool ipv6;
	uint32_t priority_count; /* 8 or 16 */
	bool has_bus;		 /* between adapters and memory */
	uint32_t bus_tx_bytes;
};

void plan_make(struct plan *plan, uint64_t seed);
void plan_fini(struct plan *plan);
void plan_print(const struct plan *plan);

/* The parts of plan_make(). */
struct draw {
	uint64_t state, seed;
};
uint64_t draw_below(struct draw *draw, uint64_t limit);
uint64_t draw_range(struct draw *draw, uint64_t first, uint64_t last);
bool draw_one_in(struct draw *draw, uint64_t n);
void plan_network(struct plan *plan, struct draw *draw);
void plan_programs(struct plan *plan, struct draw *draw);
void plan_widen(struct plan *plan, struct draw *draw);	  /* after both */
void plan_rewrites(struct plan *plan, struct draw *draw); /* after these */
void plan_forgets(struct plan *plan, struct draw *draw);  /* after these, too */

extern const char *const plan_op_names[OP_KINDS];
extern const char *const plan_fault_names[FAULT_KINDS];

/* Bytes that a key stands for, from the @from-th on. */
void plan_bytes(uint64_t key, uint64_t from, uint8_t *ret_bytes, uint64_t count);
static inline uint64_t plan_memory_key(const struct plan *plan, uint32_t host)
{
	return plan->seed * 1000003 + host;
}
/* Copies between a list and a run of bytes. */
void pieces_get(const struct pieces *pieces, const uint8_t *memory, uint8_t *ret_bytes);
void pieces_put(const struct pieces *pieces, uint8_t *memory, const uint8_t *bytes, uint32_t count);
uint64_t pieces_place(const struct pieces *pieces, uint32_t piece);

#endif
