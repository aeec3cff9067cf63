/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_INTERNAL_H
#define TESTS_ORACLE_INTERNAL_H

/* What the oracle's engine and its switches share. */
#include "sim/order.h"
#include "sim/tap.h"
#include "tests/oracle/oracle.h"
#include "util/check.h"

#include <stdlib.h>
#include <string.h>

enum phase { TIMER, DEPART, ARRIVE, WAKE };

struct event {
	ps_t at;
	uint64_t node_id, mix, link_id, number;
	enum phase phase;
	struct sim_node *node;
	uint32_t port;
	struct sim_pkt pkt;
	bool whole; /* its head was here before */
};

struct item {
	struct item *next;
	struct sim_pkt pkt;
	bool to_mark; /* for the queue that it found */
	uint8_t came; /* the class that it has come in as */
};

/* One priority of one port. */
struct lane {
	struct item *head, **tail;
	uint64_t queue, ingress, headroom, freed, stated, sent, limit; /* bytes */
	uint64_t out_bytes, marked, out_packets, count;
	ps_t until, refresh, paused_at, heard_at;
	bool paused, stopped; /* by the other end; the other end by us */
	bool said;	      /* once, at least */
	bool storm, shut;     /* the watchdog's */
	uint64_t deficit;     /* of its turns */
};

struct port {
	bool busy;
	ps_t end;		     /* of the frame on the wire */
	uint64_t number, sent_bytes; /* of frames, control frames among them */
	int turn;
	bool begun;
	struct lane lanes[SIM_CONTROL_QUEUE + 1];
};

struct node {
	struct sim_node *sim;
	struct port *ports;
	bool host;
	uint64_t used, forwarded, dropped_route, dropped_buffer, dropped_headroom;
	uint64_t in_headroom, dropped_watchdog, storms, dropped_mtu;
	uint64_t dropped_unknown, flooded, flood_copies, not_mine, mcast, mcast_copies;
	uint64_t rewritten[SIM_PRIORITIES];
	struct {
		uint32_t port;
		ps_t at;
	} flowlets[4096]; /* port: one more than it is; 0: none yet */
	ps_t poll_at;
	struct conweave *conweave; /* weave.c */
};

/* struct event.port of timers that are no port's: the watchdog's, weave.c's, and those of links
 * that go down (number 0) and come back (1), before all others of their instant; the port is the
 * frame's. */
#define ORACLE_WEAVE (UINT32_MAX - 1)
#define ORACLE_OUTAGE (UINT32_MAX - 2)

struct oracle {
	struct net *net;
	struct event **heap;
	uint32_t count, max;
	struct node *nodes; /* by sim_node.index */
	ps_t now;
	struct ways *ways; /* route.c */
};

/* oracle.c */
void oracle_push(struct oracle *o, struct event event);
void oracle_at_port(struct oracle *o, enum phase phase, struct sim_node *node, uint32_t port,
		    ps_t at);
/* The frame arrives, as its faults will have it; returns when it has left. */
ps_t oracle_transmit(struct oracle *o, struct sim_node *node, uint32_t index,
		     const struct sim_pkt *pkt, ps_t at);
uint32_t oracle_head_bytes(const struct oracle *o);
int oracle_priorities(const struct oracle *o);		/* of the fabric */
uint64_t oracle_credits(const struct oracle *o, int q); /* bytes of each port's buffer */

/* route.c: what a frame that comes to @node at @at for @dst may leave by, in order of ports' links;
 * returns how many. */
enum { ORACLE_WAYS = 64 };
uint32_t oracle_ways(const struct oracle *o, const struct node *node, uint32_t dst, ps_t at,
		     uint16_t *ret_ports);
/* Whether @node knows that what it sends by @port is lost. */
bool oracle_port_is_down(const struct oracle *o, const struct node *node, uint32_t port, ps_t at);
void oracle_ways_init(struct oracle *o);
void oracle_ways_fini(struct oracle *o);

/* weave.c: the first switch of a frame, the last, a note for the switch, a timer, the end. */
void oracle_conweave_first(struct oracle *o, struct node *node, struct sim_pkt *pkt,
			   const uint16_t *set, uint32_t count, uint64_t key, uint32_t own_group);
void oracle_conweave_last(struct oracle *o, struct node *node, struct sim_pkt *pkt, uint32_t way);
void oracle_conweave_note(struct oracle *o, struct node *node, const struct sim_pkt *pkt);
void oracle_conweave_timer(struct oracle *o, struct node *node, ps_t at);
void oracle_conweave_finish(struct node *node);

/* switch.c */
uint32_t oracle_way(const struct oracle *o, struct node *node, const struct sim_pkt *pkt);
/* Out of port @index, or to its queue. */
void oracle_pass_on(struct oracle *o, struct node *node, const struct sim_pkt *pkt, uint32_t index);
/* False: there is none, and the frame is gone. */
bool oracle_room(struct oracle *o, struct node *node, struct sim_pkt *pkt);
/* What has room joins its queue; @now: not from a timer. */
void oracle_queue(struct oracle *o, struct node *node, struct item *item, uint32_t index, ps_t at,
		  bool now);
/* A frame that has come in leaves by port @index, or meets something that keeps it from that. */
void oracle_go_on(struct oracle *o, struct node *node, struct event *event, uint32_t index);
/* It goes nowhere, and is counted. */
void oracle_refuse(struct oracle *o, struct node *node, struct sim_pkt *pkt, uint64_t *counter);
/* It comes again when all of it is here. */
void oracle_push_whole(struct oracle *o, const struct event *event);

/* flood.c: false: it is for nobody who is forgotten. */
bool oracle_unknown(struct oracle *o, struct node *node, struct event *event, uint8_t class);
/* flood.c: false: it is for one host. */
bool oracle_mcast(struct oracle *o, struct node *node, struct event *event);

/* switch.c */
void oracle_switch_event(struct oracle *o, struct node *node, struct event *event);

#endif
