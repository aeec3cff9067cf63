/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SWITCH_CONWEAVE_H
#define SIM_SWITCH_CONWEAVE_H

/* Rerouting as ConWeave has it (Song et al., "Network Load Balancing with In-network Reordering
 * Support for RDMA", SIGCOMM 2023). The switch of the sender's host asks once a round for an answer
 * from the switch of the receiver's host, along the flow's own way. Where that is late, a note on
 * the old way says that nothing more comes there (TAIL), and the flow goes on by another that was
 * not marked lately, in a new epoch; the receiver's switch keeps frames of the new epoch until the
 * TAIL is there, and says so (CLEAR). One reroute at a time, so frames leave in order.
 *
 * Otherwise than there: what the paper puts into headers of data frames travels in frames of their
 * own, right behind them in the same queues (but for the epoch's two bits); the deadline is the
 * least round trip so far and not a configured one, plus @reply; and a TAIL that does not come is
 * waited for @resume from the last frame of the old epoch on, not for an estimate. A way is a port
 * of the sender's switch; further switches choose by ECMP. The tables of flows are as large as is
 * said: the authors' program for Tofino2 has registers for 65536, by a hash, and who meets there
 * shares one; here a flow has a place to itself or none.
 *
 * To the rest of the switch this is its edge (struct sim_edge), and an agent that hears frames for
 * the switch itself. The tag of a frame is its epoch. */
#include "sim/switch_internal.h"

/* What the two switches tell each other of a flow. */
enum sim_conweave_kind {
	SIM_WEAVE_NONE,
	SIM_WEAVE_REQUEST, /* the answer is awaited */
	SIM_WEAVE_REPLY,
	SIM_WEAVE_TAIL, /* nothing of this epoch comes behind this */
	SIM_WEAVE_CLEAR,
	SIM_WEAVE_BUSY, /* a frame that came by this way was marked */
};
struct sim_conweave_note {
	uint8_t kind;		 /* enum sim_conweave_kind; 3 bits */
	uint8_t epoch;		 /* 2 bits; of a TAIL: that which ends */
	uint8_t priority;	 /* 3 bits, of the flow */
	uint16_t way;		 /* port of the sender's switch; of a TAIL: the new one */
	uint16_t group;		 /* of the sender's switch */
	uint32_t flow_hash, dst; /* of the flow */
	uint32_t round;		 /* of REQUEST and REPLY */
};

/* One flow, as a switch sees it: address, hash and priority. */
struct sim_conweave_key {
	uint32_t dst, hash;
	uint8_t priority;
};

enum sim_conweave_state { SIM_WEAVE_STABLE, SIM_WEAVE_ASKING, SIM_WEAVE_CLEARING };

/* At the sender's switch. */
struct sim_conweave_tx {
	struct sim_conweave_key key;
	uint16_t way;
	uint8_t epoch, state;
	bool used;
	uint32_t round;
	ps_t last_at, asked_at; /* CLEARING: when the TAIL went */
};

/* At the receiver's. */
struct sim_conweave_rx {
	struct sim_conweave_key key;
	uint8_t epoch; /* whose frames go on */
	uint8_t known; /* mask of epochs whose ways are known */
	bool used;
	uint16_t group, ways[4]; /* of the sender's switch */
	ps_t last_at, notified_at;
	struct sim_pkt *head, *tail; /* of the next epoch */
	uint32_t count;
	ps_t resume_at;		      /* where count > 0 */
	struct sim_conweave_rx *next; /* among those with frames */
};

struct sim_conweave {
	struct sim_edge edge;
	struct sim_agent agent; /* hears notes */
	uint32_t places;	/* of both tables */
	struct sim_conweave_tx *tx;
	struct sim_conweave_rx *rx;
	ps_t *busy; /* by group * ports + port: until then */
	ps_t *rtt;  /* by group: the least so far, PS_NEVER: none */
	struct sim_conweave_rx *keeping;
	struct sim_conweave_stats stats;
};

/* The switch has it as its edge and its agent, unless no host is here; 0 or -ENOMEM. Before
 * sim_run(). */
int sim_conweave_init(struct sim_switch *sw);

/* What is decided, without a frame moved; for tests. */
int sim_conweave_create(struct sim_switch *sw); /* its edge; 0 or -ENOMEM */
void sim_conweave_put(const struct sim_conweave_note *note, uint64_t ret_words[SIM_AGENT_WORDS]);
struct sim_conweave_note sim_conweave_get(const uint64_t words[SIM_AGENT_WORDS]);
/* The way of @pkt, which a host here has sent to another switch's, among @count of @set; its epoch
 * is set. True: @ret_note follows it on that way. */
bool sim_conweave_leave(struct sim_switch *sw, struct sim_pkt *pkt, const uint16_t *set,
			uint32_t count, uint32_t *ret_way, struct sim_conweave_note *ret_note);
/* @pkt is for a host here. False: it is kept, once it is charged, in *ret_rx. @ret_note, which has
 * a kind or not, goes to its group. */
bool sim_conweave_come(struct sim_switch *sw, struct sim_pkt *pkt, struct sim_conweave_rx **ret_rx,
		       struct sim_conweave_note *ret_note);
void sim_conweave_keep(struct sim_switch *sw, struct sim_conweave_rx *rx, struct sim_pkt *pkt);
/* A note for this switch. What is kept in *ret_rx goes on now; NULL: nothing. @ret_note as above.
 */
void sim_conweave_hear(struct sim_switch *sw, const struct sim_conweave_note *note, ps_t at,
		       struct sim_conweave_rx **ret_rx, struct sim_conweave_note *ret_note);
/* The one whose time is first, at *ret_at; NULL: none, PS_NEVER. */
struct sim_conweave_rx *sim_conweave_first(const struct sim_conweave *conweave, ps_t *ret_at);
/* @rx keeps nothing more, and its next epoch begins: its frames, a list through the first word. */
struct sim_pkt *sim_conweave_let_go(struct sim_conweave *conweave, struct sim_conweave_rx *rx,
				    uint32_t *ret_count);

#endif
