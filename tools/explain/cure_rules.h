/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_ADVICE_RULES_H
#define TOOLS_ADVICE_RULES_H

/* The rules behind tools/explain/cure.h, and what they share. */
#include "tools/explain/cure.h"

#include <stddef.h>

/* Causes of less than this part of all paused time are not told: what mends the others may well end
 * them, too. */
enum { ADVICE_SHARE = 10 };

struct advice_run {
	const struct result *result;
	const struct scenario *scenario;
	const struct fabric *fabric;
	const struct pause_tree *pauses; /* NULL: none */
	const struct spells *spells;	 /* NULL: none */
	struct advice *advice;
	struct advice_item spare; /* where there is no room for more */
	ps_t rtt;      /* the longest of a small packet between hosts with flows; 0: not known */
	ps_t full_rtt; /* the same of a packet of nic.mtu */
	uint64_t retransmitted; /* packets sent again, of programs, too */
	/* As rules before have found. */
	bool has_endless_storm, has_dead_route;
	uint32_t gpu_rules; /* bits of those of cure_gpus.c that have applied to some GPU */
};

/* In the order in which they are asked: causes before what follows from them. */
int advice_routes(struct advice_run *run); /* advice_routes.c; -ENOMEM */
/* cure_floods.c, of advice_routes(): whether lossless packets were flooded. @circle: so many ports
 * wait for each other. */
bool advice_floods(struct advice_run *run, uint32_t circle);
void advice_hash(struct advice_run *run);
void advice_size(struct advice_run *run);   /* advice_loss.c */
void advice_storms(struct advice_run *run); /* advice_hosts.c */
void advice_watchdog(struct advice_run *run);
void advice_passing_storms(struct advice_run *run);
void advice_notifications(struct advice_run *run);
void advice_buffers(struct advice_run *run);	/* advice_loss.c */
void advice_slow_hosts(struct advice_run *run); /* advice_hosts.c */
/* cure_machines.c, of advice_slow_hosts(): why, if that lies in its machine. False: not known. */
bool advice_slow_machine(struct advice_run *run, struct host *host, struct advice_item *item);
void advice_senders(struct advice_run *run);
void advice_inside_faults(struct advice_run *run); /* cure_gpus.c */
void advice_gpus(struct advice_run *run);
void advice_queues(struct advice_run *run);	/* advice_queues.c */
void advice_dark_links(struct advice_run *run); /* advice_links.c */
void advice_timeouts(struct advice_run *run);
void advice_bad_links(struct advice_run *run);
void advice_not_ready(struct advice_run *run); /* advice_hosts.c */
void advice_failures(struct advice_run *run);  /* cure_failures.c */

/* ---- saying it ---- */

struct advice_item *advice_add(struct advice_run *run, const char *trouble);
/* A sentence more. */
__attribute__((format(printf, 2, 3))) void advice_say(struct advice_item *item, const char *format,
						      ...);
/* NULL: no room; then it is left out. */
struct advice_key *advice_key(struct advice_item *item, const char *name, const char *found,
			      const char *value);

/* Short texts, of which a sentence holds a few. */
__attribute__((format(printf, 1, 2))) const char *advice_text(const char *format, ...);
const char *advice_time(ps_t time); /* "12.3 us" */
const char *advice_bytes(uint64_t bytes);
const char *advice_rate(uint64_t bps);
const char *advice_set_time(ps_t time); /* "12us", as a scenario has it, to three digits */
const char *advice_set_bytes(uint64_t bytes);
const char *advice_args(const struct scenario_program *program); /* "none" where it has none */
const char *advice_set_priorities(uint16_t mask);		 /* "[0, 3]" */
/* The next 1, 2 or 5 times a power of ten. */
uint64_t advice_round_down(uint64_t value);
uint64_t advice_round_up(uint64_t value);

/* ---- asking ---- */

/* How a switch is set. */
const struct scenario_switch *advice_switch(const struct advice_run *run, const char *node);
/* The key of a member of struct scenario_switch for that switch: "switch.REST", or
 * "switches.2.REST" where it is another one there. */
#define ADVICE_SWITCH_KEY(run, node, rest, member)                                                 \
	advice_switch_key(run, node, rest, offsetof(struct scenario_switch, member),               \
			  sizeof(((struct scenario_switch *)0)->member))
const char *advice_switch_key(const struct advice_run *run, const char *node, const char *rest,
			      size_t offset, size_t size);
const struct result_port *advice_port(const struct advice_run *run, const char *node,
				      const char *link, uint8_t priority); /* NULL: none */
/* What the scenario says of that key, up to the end of a line; NULL: nothing. */
const char *advice_said(const struct advice_run *run, const char *key);
/* "machine.parts.3.REST", as the scenario has that part; NULL: it is a profile's. */
const char *advice_part_key(const struct advice_run *run, const struct scenario_machine *machine,
			    const struct scenario_part *part, const char *rest);
bool advice_is_lossless(const struct scenario_switch *sw, uint8_t priority);
uint16_t advice_flow_priorities(const struct advice_run *run); /* mask; programs use any unseen */
/* The fault of that kind on a link, from @sender or any (NULL); NULL: none. Links by their full
 * names. */
const struct scenario_fault *advice_fault(const struct advice_run *run,
					  enum scenario_fault_kind kind, const char *link,
					  const char *sender);
/* Packets that make one round trip at the fastest host's rate, of full ones, which every hop takes
 * in whole before it sends them on: where each is acknowledged at once (nic.ack_every), more under
 * way do not make one flow faster. */
uint32_t advice_window(const struct advice_run *run);
/* Whether all flows that took clearly longer than alone go through a port whose queue had the
 * pausing begin: then pauses hold up nobody who does not cause them. False, too, where that is not
 * known. */
bool advice_hurts_nobody(const struct advice_run *run);
/* Of all pauses with the same root, by place in the tree: how long they lasted in all. Others: 0.
 */
void advice_root_totals(const struct pause_tree *tree, ps_t ret_totals[PAUSE_PLACES_MAX]);

#endif
