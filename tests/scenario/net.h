/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SCENARIO_NET_H
#define TESTS_SCENARIO_NET_H

/* Small fabrics of endpoints and switches for tests: names and links are given in any order, the
 * flow control and the marking are the same everywhere. */
#include "models/link/ecn.h"
#include "models/link/pfc.h"
#include "sim/switch.h"
#include "tests/scenario/endpoint.h"

enum { NET_FRAME_MAX = 9100 };

enum net_fc { NET_NONE, NET_PFC, NET_CREDIT };

struct net;
/* Frames that come to the switch @at by the link @in and leave by @out (NULL: any) with one of the
 * priorities of the mask @from leave with @to. The first rule that knows a frame holds. */
struct net_rewrite {
	const char *at, *in, *out;
	uint8_t from, to;
};
struct net_params {
	uint64_t seed;
	uint32_t threads;	 /* 0: 1 */
	uint32_t priority_count; /* 0: 8 */
	enum net_fc fc;
	struct pfc_params pfc;	 /* of switches; hosts get its times */
	uint64_t buffer_bytes;	 /* NET_NONE: of a switch; NET_CREDIT: of a port and priority */
	const uint64_t *buffers; /* NET_CREDIT: by priority instead; NULL: all alike */
	uint32_t kmin, kmax, pmax_num, pmax_den; /* pmax_den 0: no marking */
	uint16_t marked;			 /* mask of priorities */
	bool reverse_nodes, reverse_links;	 /* another order of addition */
	ps_t window_max,
		cut_every; /* windows no longer than that; looks at these instants; 0: no */
	bool extended;	   /* switches have @more */
	struct sim_switch_params more;
	const struct net_rewrite *rewrites; /* only for extended switches */
	uint32_t rewrite_count;
	/* Of the link of this number; its ends know at once, all others after @reconverge
	 * (PS_NEVER: never). Frames arrive all the same. Only for extended switches. */
	struct net_outage {
		uint32_t link;
		ps_t from, until; /* until 0: none */
		ps_t reconverge;
	} outage;
	bool oracle; /* played by the plain engine of tests/oracle */
	/* The rest is the oracle's, for fabrics that net_make() has not made. */
	uint64_t scenario_hash;
	uint32_t frame_bytes_max; /* NET_CREDIT; 0: NET_FRAME_MAX */
	uint32_t update_bytes;	  /* NET_CREDIT, not the oracle's; 0: the default */
	/* NULL: that of @pfc. */
	uint32_t (*headroom_of)(const struct net *net, const struct sim_node *node, uint32_t port);
	void (*between)(const struct net *net); /* after each instant of a host; NULL: nothing */
	ps_t until; /* the run ends before that; 0, PS_NEVER: when nothing is left */
};

/* What the oracle has to know of links that go down, and of ways that are not the shortest: it
 * finds its own routes. */
struct net_routing {
	const struct net_down {
		const char *link, *sender; /* sender NULL: both directions */
		ps_t from, until;	   /* as its ends know it; until PS_NEVER: for ever */
		ps_t back_at;		   /* when frames arrive again */
	} * downs;
	uint32_t down_count;
	ps_t reconverge; /* until all others know it; PS_NEVER: they never do */
	bool weighted;
	const struct net_rewrite *rewrites;
	uint32_t rewrite_count;
	const struct net_forget { /* @at, the switch of @host, knows its port no more */
		const char *at, *host;
		ps_t from, until;
	} * forgets;
	uint32_t forget_count;
	const struct net_way {
		const char *at, *to,
			*via; /* a switch, a host or a switch with hosts, a neighbour */
	} * ways;
	uint32_t way_count;
};

struct net_link {
	const char *a, *b; /* a name that begins with "s" is a switch's */
	uint64_t rate_bps;
	ps_t delay;
};

struct net {
	struct net_params params;
	const struct sim_body_ops *body;
	struct sim *sim;
	struct sim_routes *routes;
	char out_name[64]; /* of the link with an outage */
	struct net_down out;
	struct net_routing routing; /* the oracle's */
	struct sim_routes *around;
	struct sim_route_change reroutes[2]; /* away from it and back; at 0: there are none */
	struct ecn ecn;
	struct endpoint *hosts;
	struct sim_switch **switches;
	char (*names)[24];
	uint32_t host_count, switch_count;
	ps_t look_at;	/* the next one */
	uint64_t looks; /* so many came at their instants */
};

void net_make(struct net *net, const struct net_params *params, const struct net_link *links,
	      uint32_t link_count);
/* @sw, which is extended, has those of the rules that are its own. */
void net_rewrite(struct sim_switch *sw, const struct net_rewrite *rules, uint32_t count);
void net_free(struct net *net);
struct endpoint *net_host(const struct net *net, const char *name);
struct sim_switch *net_switch(const struct net *net, const char *name);
/* The port of the first switch to @peer. */
uint32_t net_port(const struct net *net, const char *peer);
uint32_t net_address(const struct net *net, const struct endpoint *ep);

/* @packets of @bytes from one host to another, answered, priority 3, ECT, at line rate from @at. */
struct endpoint_flow *net_flow(struct net *net, const char *from, const char *to, uint32_t packets,
			       uint16_t bytes, ps_t at);
/* Runs to the end; the digest. */
uint64_t net_run(struct net *net);
uint64_t net_dropped(const struct net *net);

/* Ready-made lists of links; count is returned, the storage must hold it. Hosts hI, switches sI. */
uint32_t net_star(struct net_link *links, char (*names)[24], uint32_t hosts, uint64_t rate_bps,
		  ps_t delay);
uint32_t net_fat_tree(struct net_link *links, char (*names)[24], uint32_t k, uint64_t rate_bps,
		      ps_t delay);

#endif
