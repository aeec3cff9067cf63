/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/culprits.h"

#include "tools/observe/host_index.h"
#include "tools/result/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROOTS_MAX = 16, NAMED_MAX = 3, SHARE_LEAST = 20, NONE = -1 };

struct culprit { /* a root of pauses */
	const struct explain_xoff *root,
		*leaf; /* and the pause that came of it, of the longest chain */
	ps_t paused;
};

struct view {
	const struct explain *explain;
	const struct account_sum *sum;
	ps_t from, until; /* of the flow */
};

static const struct events_port *port_at(const struct view *view, uint32_t port)
{
	return &view->explain->events->ports[port];
}

/* ---- which pauses ---- */

static const struct explain_xoff *root_of_pause(const struct view *view,
						const struct explain_xoff *xoff)
{
	while (xoff->cause >= 0)
		xoff = &view->explain->xoffs[xoff->cause];
	return xoff;
}

static bool is_same_root(const struct explain_xoff *a, const struct explain_xoff *b)
{
	return a->port == b->port && a->priority == b->priority && a->way_out == b->way_out;
}

static ps_t overlap_of(const struct view *view, const struct explain_xoff *xoff)
{
	const ps_t from = xoff->at > view->from ? xoff->at : view->from;
	const ps_t until = xoff->until < view->until ? xoff->until : view->until;

	return until > from ? until - from : 0;
}

static void count_pause(const struct view *view, const struct explain_xoff *xoff,
			struct culprit *all, uint32_t *count)
{
	const struct explain_xoff *root = root_of_pause(view, xoff);
	const ps_t paused = overlap_of(view, xoff);
	uint32_t i = 0;

	while (i < *count && !is_same_root(all[i].root, root))
		i++;
	if (paused == 0 || i == ROOTS_MAX)
		return;
	if (i == *count)
		all[(*count)++] = (struct culprit){.root = root, .leaf = xoff};
	all[i].paused += paused;
	if (xoff->depth > all[i].leaf->depth)
		all[i].leaf = xoff;
}

/* Of the pauses of @port, towards which the flow goes, while it was under way: the root of most of
 * them. False: no buffer asked for any. */
static bool find_culprit(const struct view *view, uint32_t port, struct culprit *ret_culprit)
{
	const struct explain *explain = view->explain;
	const uint32_t far = port_at(view, port)->far;
	struct culprit all[ROOTS_MAX], *most = all;
	uint32_t count = 0;

	for (uint64_t i = 0; i < explain->xoff_count; i++)
		if (explain->xoffs[i].port == far &&
		    explain->xoffs[i].priority == view->sum->flow.priority)
			count_pause(view, &explain->xoffs[i], all, &count);
	for (uint32_t i = 1; i < count; i++)
		if (all[i].paused > most->paused)
			most = &all[i];
	if (count > 0)
		*ret_culprit = *most;
	return count > 0;
}

/* ---- whose packets go there ---- */

struct named {
	struct subject key;
	uint32_t src, dst, class_index, program, rank;
	uint64_t bytes;
};

static bool is_meanwhile(const struct view *view, ps_t from, ps_t until)
{
	return from < view->until && until > view->from;
}

static void keep_largest(struct named *all, uint64_t *count, const struct named *one)
{
	uint64_t at = *count < NAMED_MAX ? *count : NAMED_MAX;

	for (; at > 0 && all[at - 1].bytes < one->bytes; at--)
		if (at < NAMED_MAX)
			all[at] = all[at - 1];
	if (at < NAMED_MAX)
		all[at] = *one;
	(*count)++;
}

static void culprits_add_flow(const struct view *view, uint64_t i, uint32_t dst, struct named *all,
			      uint64_t *count)
{
	const struct traffic_flow *flow = &view->explain->events->scenario->flows[i];
	const bool has_ended = flow->status != TRAFFIC_PENDING;

	if (flow->dst == dst && flow->priority == view->sum->flow.priority &&
	    is_meanwhile(view, flow->start_at, has_ended ? flow->end_at : PS_NEVER))
		keep_largest(all, count,
			     &(struct named){.key.number = i,
					     .src = flow->src,
					     .dst = flow->dst,
					     .class_index = flow->class_index,
					     .bytes = flow->bytes});
}

static void culprits_add_request(const struct view *view, uint64_t i, uint32_t dst,
				 struct named *all, uint64_t *count)
{
	const struct request *request = request_log_at(view->explain->events->requests, i);
	const bool has_ended = request->state != REQUEST_UNFINISHED;

	if ((request->is_answered ? request->src : request->dst) == dst &&
	    request->priority == view->sum->flow.priority &&
	    is_meanwhile(view, request->posted_at, has_ended ? request->end_at : PS_NEVER))
		keep_largest(all, count,
			     &(struct named){.key = {.is_request = true, .number = i},
					     .src = request->src,
					     .dst = request->dst,
					     .program = request->program,
					     .rank = request->rank,
					     .bytes = request->bytes});
}

static void say_named(const struct view *view, const struct named *one)
{
	const struct events *events = view->explain->events;
	const char *src = events->fabric->table.hosts[one->src]->node.name;
	const char *dst = host_index_name(events->fabric, one->dst);
	char bytes[OUTPUT_TEXT_MAX];

	output_bytes(one->bytes, bytes);
	if (one->key.is_request)
		printf("wr%" PRIu64 " (of %s, rank %u, %s to %s, %s)", one->key.number,
		       events->scenario->programs[one->program].name, one->rank, src, dst, bytes);
	else
		printf("flow %" PRIu64 " (%s, %s to %s, %s)", one->key.number,
		       events->scenario->classes[one->class_index], src, dst, bytes);
}

/* What goes to the host of @name meanwhile, as far as the run knows it to the end. */
static void say_who_goes_to(const struct view *view, const char *name)
{
	const struct events *events = view->explain->events;
	const uint32_t dst = fabric_host(events->fabric, name)->number;
	const uint64_t requests = events->requests ? request_log_count(events->requests) : 0;
	struct named all[NAMED_MAX];
	uint64_t count = 0;

	for (uint64_t i = 0; i < events->scenario->flow_count; i++)
		culprits_add_flow(view, i, dst, all, &count);
	for (uint64_t i = 0; i < requests; i++)
		culprits_add_request(view, i, dst, all, &count);
	if (count == 0)
		return;
	printf("    To %s went meanwhile ", name);
	for (uint64_t i = 0; i < count && i < NAMED_MAX; i++) {
		fputs(i == 0 ? "" : ", ", stdout);
		say_named(view, &all[i]);
	}
	if (count > NAMED_MAX)
		printf(" and %" PRIu64 " more", count - NAMED_MAX);
	puts(view->sum->flow.dst != dst && !view->sum->flow.is_answered
		     ? ": this one goes elsewhere, and waited for theirs."
		     : ".");
}

/* ---- in words ---- */

/* "h0 had s0 pause, and so s0 had h2 pause": from the root on. */
static void say_pauses(const struct view *view, const struct explain_xoff *leaf)
{
	const struct explain *explain = view->explain;
	const struct explain_xoff *chain[ROOTS_MAX];
	uint32_t count = 0;

	for (; count < ROOTS_MAX; leaf = &explain->xoffs[leaf->cause]) {
		chain[count++] = leaf;
		if (leaf->cause < 0)
			break;
	}
	while (count-- > 0)
		printf("%s had %s pause%s", port_at(view, chain[count]->port)->node,
		       port_at(view, chain[count]->port)->peer, count > 0 ? ", and so " : ".\n");
}

static void say_root(const struct view *view, const struct explain_xoff *root)
{
	const struct events_port *in = port_at(view, root->port);
	const struct events_port *out = port_at(view, root->way_out);
	char rate[OUTPUT_TEXT_MAX];

	if (in->is_host) {
		explain_slow_host(view->explain, root->port);
		say_who_goes_to(view, in->node);
		return;
	}
	if (root->is_stormed) {
		explain_storm(out);
		return;
	}
	printf("    That is the root: at %s more came for %s than the %s of that link could "
	       "take.\n",
	       in->node, out->peer, output_rate(out->rate_bps, rate));
	if (port_at(view, out->far)->is_host)
		say_who_goes_to(view, out->peer);
}

/* A pause that nobody's buffer asked for. */
static void say_stormed(const struct view *view, uint32_t port)
{
	const struct events_port *at = port_at(view, port);

	printf("%s paused %s, although no buffer of it had asked for that: a pause storm.\n",
	       at->peer, at->node);
}

static ps_t stopped(const struct view *view, uint32_t port)
{
	return stops_between(&view->explain->stops, port, view->sum->flow.priority, view->from,
			     view->until);
}

/* ---- marks ---- */

/* Where most of its packets were marked, or, of congestion control that does not go by marks, where
 * they waited most. NULL: nowhere. */
static const struct way_hop *slowed_at(const struct ways *ways, bool by_marks)
{
	const struct way_hop *most = NULL;

	for (uint32_t i = 0; i < ways->hop_count; i++) {
		const struct way_hop *hop = &ways->hops[i];

		if ((by_marks ? hop->marks : hop->sum) == 0)
			continue;
		if (!most || (by_marks ? hop->marks > most->marks : hop->sum > most->sum))
			most = hop;
	}
	return most;
}

/* Why its rate was cut. False: it was not, or nobody knows why. */
static bool say_slowed(const struct view *view, const struct ways *ways,
		       struct culprit *ret_culprit)
{
	const struct cc_ops *cc = view->explain->events->fabric->params.host->profile.cc;
	const struct way_hop *hop = slowed_at(ways, cc->listens);
	const struct events_port *at = hop ? port_at(view, hop->port) : NULL;
	char rate[OUTPUT_TEXT_MAX];

	if (cc == &cc_none || view->sum->parts[ACCOUNT_HELD] < view->sum->whole / SHARE_LEAST ||
	    !hop)
		return false;
	printf("What %s went by: ", cc->name);
	if (cc->listens)
		printf("%" PRIu64 " of its packets were marked at %s towards %s.", hop->marks,
		       at->node, at->peer);
	else
		printf("its packets waited %s in the mean at %s towards %s.",
		       explain_length(hop->sum / hop->count), at->node, at->peer);
	if (hop->paused < hop->sum / SHARE_LEAST || !find_culprit(view, hop->port, ret_culprit)) {
		printf(" More came for %s than the %s of that link could take.\n", at->peer,
		       output_rate(at->rate_bps, rate));
		if (port_at(view, at->far)->is_host)
			say_who_goes_to(view, at->peer);
		return false;
	}
	printf(" They waited there for pauses, %.1f %% of their time: ",
	       100.0 * (double)hop->paused / (double)hop->sum);
	say_pauses(view, ret_culprit->leaf);
	say_root(view, ret_culprit->root);
	return true;
}

/* ---- pauses ---- */

/* The port on its way, that of its sender included, that was paused longest; NONE: none for long.
 */
static int64_t paused_at(const struct view *view, const struct ways *ways, uint32_t sender)
{
	int64_t most = NONE;
	ps_t longest = view->sum->whole / SHARE_LEAST;

	if (stopped(view, sender) > longest) {
		longest = stopped(view, sender);
		most = sender;
	}
	for (uint32_t i = 0; i < ways->hop_count; i++)
		if (stopped(view, ways->hops[i].port) > longest) {
			longest = stopped(view, ways->hops[i].port);
			most = ways->hops[i].port;
		}
	return most;
}

static uint32_t port_of_host(const struct view *view, uint32_t host)
{
	const struct events *events = view->explain->events;
	uint32_t port = 0;

	while (strcmp(events->ports[port].node, events->fabric->table.hosts[host]->node.name) != 0)
		port++;
	return port;
}

void culprits_say(const struct explain *explain, const struct account_sum *sum)
{
	const struct account_flow *flow = &sum->flow;
	const struct view view = {.explain = explain,
				  .sum = sum,
				  .from = flow->start_at,
				  .until = flow->start_at + sum->whole};
	const struct ways *ways = flow->is_answered ? sum->back : sum->out;
	struct culprit slowed, paused;
	bool is_slowed;
	int64_t port;

	if (flow->dst == HOST_INDEX_MCAST)
		return;
	port = port_of_host(&view, flow->is_answered ? flow->src : flow->dst);
	if (sum->resent > 0 && explain->ports[port].drops > 0)
		explain_slow_loss(explain, (uint32_t)port);
	is_slowed = say_slowed(&view, ways, &slowed);
	port = paused_at(&view, ways,
			 port_of_host(&view, flow->is_answered ? flow->dst : flow->src));
	if (port == NONE)
		return;
	if (!find_culprit(&view, (uint32_t)port, &paused)) {
		say_stormed(&view, (uint32_t)port);
		return;
	}
	if (is_slowed && is_same_root(slowed.root, paused.root))
		return;
	printf("Paused for %s at %s: ", explain_length(stopped(&view, (uint32_t)port)),
	       port_at(&view, (uint32_t)port)->node);
	say_pauses(&view, paused.leaf);
	say_root(&view, paused.root);
}
