/* SPDX-License-Identifier: BSD-2-Clause */

/* Pauses that begin at the queue of a port: what would have slowed its senders down before. */
#include "tools/explain/cure_rules.h"

#include "models/link/pfc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct root { /* the pauses that most others came from */
	const struct pause_place *place;
	const struct events_port *in, *out; /* whose other end was paused; where the queue stood */
	const struct scenario_switch *sw;
	struct scenario_ecn ecn; /* where the queue stood ... */
	bool by_rate;		 /* ... which has its own, by the rate of its link */
	uint32_t feeders;	 /* neighbours that were paused for that queue */
	uint64_t in_bps;	 /* of their links */
	ps_t total;		 /* of all pauses that began at queues of switches */
};

static bool is_queue(const struct pause_tree *tree, const struct pause_place *place)
{
	return place->parent < 0 && place->why == PAUSE_QUEUE &&
	       !tree->events->ports[place->port].is_host;
}

static void read_marks(struct root *root)
{
	const struct scenario_at_rate *rate = scenario_rate_of(root->sw, root->out->rate_bps);

	root->ecn = root->sw->ecn;
	root->by_rate = rate && root->ecn.enabled;
	if (!root->by_rate)
		return;
	root->ecn.kmin_bytes = rate->kmin_bytes;
	root->ecn.kmax_bytes = rate->kmax_bytes;
}

static bool find_root(const struct advice_run *run, struct root *ret_root)
{
	const struct pause_tree *tree = run->pauses;
	ps_t totals[PAUSE_PLACES_MAX], all = 0;
	struct root root = {.place = NULL};

	advice_root_totals(tree, totals);
	for (uint32_t i = 0; i < tree->place_count; i++) {
		const struct pause_place *place = &tree->places[i];

		all += totals[i];
		if (!is_queue(tree, place))
			continue;
		root.total += totals[i];
		if (!root.place || totals[i] > totals[root.place - tree->places])
			root.place = place;
	}
	if (!root.place || root.total < all / ADVICE_SHARE)
		return false;
	for (uint32_t i = 0; i < tree->place_count; i++) {
		const struct pause_place *place = &tree->places[i];

		if (is_queue(tree, place) && place->way_out == root.place->way_out &&
		    place->priority == root.place->priority) {
			root.feeders++;
			root.in_bps += tree->events->ports[place->port].rate_bps;
		}
	}
	root.in = &tree->events->ports[root.place->port];
	root.out = &tree->events->ports[root.place->way_out];
	root.sw = advice_switch(run, root.in->node);
	read_marks(&root);
	*ret_root = root;
	return true;
}

static struct advice_item *cure_queues_add(struct advice_run *run, const struct root *root,
					   const char *trouble)
{
	struct advice_item *item = advice_add(run, trouble);
	const struct pause_place *place = root->place;

	advice_say(item,
		   "Most of the pausing begins at %s, in the queue for %s: %s of priority %u "
		   "waited there when it had %s pause first, at %s, since it may hold %s from "
		   "there. Pauses that began at such queues lasted %s in all, over all ports.",
		   root->in->node, root->out->peer, advice_bytes(place->queue_bytes),
		   place->priority, root->in->peer, advice_time(place->first_at),
		   advice_bytes(place->limit), advice_time(root->total));
	return item;
}

/* ---- marks ---- */

/* The threshold over the neighbours that feed a port: so ECN comes before PFC even where one
 * neighbour's packets are all that waits (Zhu et al., SIGCOMM 2015, section 4). But no more than
 * fills the port for one round trip, which no throughput needs, and no less than two large frames.
 */
static uint64_t kmin_of(const struct advice_run *run, const struct root *root)
{
	const uint64_t trip = (uint64_t)((u128)run->rtt * root->out->rate_bps / 8 / PS_S);
	const uint64_t below = root->place->limit / root->feeders;
	const uint64_t kmin = advice_round_down(run->rtt && trip < below ? trip : below);

	return kmin < 5000 ? 5000 : kmin;
}

static void add_marks(struct advice_run *run, const struct root *root, struct advice_item *item)
{
	const struct scenario_ecn *ecn = &root->ecn;
	const uint64_t kmin = kmin_of(run, root);
	const char *node = root->in->node;

	advice_say(item,
		   "Marks have to begin well below the pause threshold: at %s, no more than that "
		   "threshold over the number of neighbours that feed the port, %u (Zhu et al., "
		   "SIGCOMM 2015).",
		   advice_set_bytes(kmin), root->feeders);
	if (root->by_rate) { /* of its list, whichever entry that is */
		advice_key(item, ADVICE_SWITCH_KEY(run, node, "by_rate", rates),
			   advice_bytes(ecn->kmin_bytes), "");
		return;
	}
	advice_key(item, ADVICE_SWITCH_KEY(run, node, "ecn.kmin", ecn),
		   ecn->enabled ? advice_bytes(ecn->kmin_bytes) : "no marks",
		   advice_set_bytes(kmin));
	advice_key(item, ADVICE_SWITCH_KEY(run, node, "ecn.kmax", ecn),
		   ecn->enabled ? advice_bytes(ecn->kmax_bytes) : "no marks",
		   advice_set_bytes(5 * kmin));
}

/* What it costs to slow senders down where pauses do no harm. */
static void say_price(const struct advice_run *run, struct advice_item *item)
{
	ps_t p99 = 0;

	if (!advice_hurts_nobody(run))
		return;
	for (uint32_t i = 0; i < run->result->class_count; i++)
		if (run->result->classes[i].times.p99 > p99)
			p99 = run->result->classes[i].times.p99;
	advice_say(item,
		   "But no bystander is hurt by these pauses: every flow that takes longer than "
		   "alone goes through such a queue itself. What is to be tried trades pauses for "
		   "time then, and may make all of them slower; p99 is %s now, and the last end at "
		   "%s.",
		   advice_time(p99), advice_time(run->result->time));
}

static void say_no_control(struct advice_run *run, const struct root *root)
{
	const bool marks = root->ecn.enabled;
	struct advice_item *item =
		cure_queues_add(run, root, "Nothing slows the senders down before they are paused");

	advice_say(item,
		   marks ? "ECN is on, but nic.cc is none: no host sends packets that may be "
			   "marked (ECT), so that nothing is."
			 : "No host has congestion control (nic.cc), and %s marks nothing.",
		   root->in->node);
	advice_key(item, "nic.cc", "none", "dcqcn");
	if (!marks || root->ecn.kmin_bytes >= root->place->limit)
		add_marks(run, root, item);
	say_price(run, item);
}

static void say_no_marks(struct advice_run *run, const struct root *root, const char *cc)
{
	struct advice_item *item = cure_queues_add(run, root, "Congestion control gets no marks");

	advice_say(
		item,
		"The hosts slow down by marks (nic.cc is %s), and %s marks nothing (ECN is off).",
		cc, root->in->node);
	add_marks(run, root, item);
	say_price(run, item);
}

static void say_late_marks(struct advice_run *run, const struct root *root)
{
	struct advice_item *item = cure_queues_add(run, root, "Marks begin behind the pauses");

	advice_say(item,
		   "A queue is marked from %s on (kmin), and a neighbour is paused at %s: whoever "
		   "could have slowed down is paused before he is asked.",
		   advice_bytes(root->ecn.kmin_bytes), advice_bytes(root->place->limit));
	add_marks(run, root, item);
	say_price(run, item);
}

/* ---- more than marks can help with ---- */

/* What the ports of that switch share; headrooms and reserves are nobody else's. */
static uint64_t pool_of(const struct advice_run *run, const char *name)
{
	for (uint32_t i = 0; i < run->fabric->switch_count; i++)
		if (strcmp(sim_switch_node(run->fabric->switches[i])->name, name) == 0)
			return pfc_pool_bytes(sim_switch_fc(run->fabric->switches[i]));
	return 0;
}

/* Hosts with flows to the host behind that queue; 0: it is none, or nobody knows. */
static uint32_t senders_of(const struct advice_run *run, const struct root *root)
{
	const struct scenario *s = run->scenario;
	bool *seen = calloc((size_t)run->fabric->host_count + 1, sizeof(*seen));
	uint32_t count = 0;

	for (uint64_t i = 0; seen && i < s->flow_count; i++) {
		const struct traffic_flow *flow = &s->flows[i];

		if (seen[flow->src] ||
		    strcmp(run->fabric->table.hosts[flow->dst]->node.name, root->out->peer) != 0)
			continue;
		seen[flow->src] = true;
		count++;
	}
	free(seen);
	return count;
}

static void add_buffer(struct advice_run *run, const struct root *root, struct advice_item *item)
{
	const uint64_t buffer = root->sw->buffer_bytes;

	advice_key(item, ADVICE_SWITCH_KEY(run, root->in->node, "buffer", buffer_bytes),
		   advice_bytes(buffer), advice_set_bytes(advice_round_up(2 * buffer)));
}

/* A window of one round trip holds only if every packet in it is acknowledged at once: with an ACK
 * each n packets the oldest n - 1 of it may have arrived and not been told yet. */
static void add_window(struct advice_run *run, const struct root *root, struct advice_item *item)
{
	const struct scenario_nic *nic = &run->scenario->nic;
	const uint32_t window = advice_window(run), senders = senders_of(run, root);
	const uint64_t bytes = (uint64_t)window * nic->mtu, pool = pool_of(run, root->in->node);

	advice_say(
		item,
		"What a sender may have under way before it hears anything is nic.window, %u "
		"packets: a full one and its ACK take %s, so that with an ACK for each packet %u "
		"keep a lone flow at line rate, and more do not make it faster.",
		nic->psn_window, advice_time(run->full_rtt), window);
	if (senders * bytes > pool) {
		advice_say(item,
			   "But %u hosts with that much under way each are %s, more than the %s "
			   "that the ports of %s share: what is left is room.",
			   senders, advice_bytes(senders * bytes), advice_bytes(pool),
			   root->in->node);
		add_buffer(run, root, item);
		return;
	}
	if (nic->ack_every != 1)
		advice_say(item,
			   nic->ack_every == 0
				   ? "ACKs come only at the end of a message (nic.ack_every), and "
				     "without more of them such a window runs dry."
				   : "ACKs come only every %u packets (nic.ack_every), and without "
				     "more of them a lone flow needs a window of %u.",
			   nic->ack_every, window + nic->ack_every - 1);
	advice_key(item, "nic.window", advice_text("%u", nic->psn_window),
		   advice_text("%u", window));
	if (nic->ack_every != 1)
		advice_key(item, "nic.ack_every",
			   nic->ack_every ? advice_text("%u", nic->ack_every) : "message", "1");
}

/* How long the queue took to grow to what it was, at full rate in and out. */
static ps_t growth_of(const struct root *root)
{
	const uint64_t out = root->out->rate_bps,
		       over = root->in_bps > out ? root->in_bps - out : out;

	return (ps_t)((u128)root->place->queue_bytes * 8 * PS_S / over);
}

static void say_burst(struct advice_run *run, const struct root *root)
{
	struct advice_item *item =
		cure_queues_add(run, root, "The first burst is more than the buffer takes");

	advice_say(item,
		   "At %s in and %s out that queue grows within %s, and an answer to a mark needs "
		   "a round trip, %s: no threshold can be low enough.",
		   advice_rate(root->in_bps), advice_rate(root->out->rate_bps),
		   advice_time(growth_of(root)), advice_time(run->rtt));
	add_window(run, root, item);
}

static void say_slow_control(struct advice_run *run, const struct root *root, const char *cc)
{
	struct advice_item *item = cure_queues_add(run, root, "Senders slow down too slowly");

	if (run->result->marked > 0)
		advice_say(item,
			   "Marks begin in time, at %s, and %" PRIu64
			   " packets were marked; but %s takes several notifications to come down "
			   "from line rate, %s apart, and the queue grows within %s.",
			   advice_bytes(root->ecn.kmin_bytes), run->result->marked, cc,
			   advice_time(run->scenario->nic.cnp_interval),
			   advice_time(growth_of(root)));
	else
		advice_say(item,
			   "%s comes down from line rate more slowly than the queue grows, which "
			   "is within %s.",
			   cc, advice_time(growth_of(root)));
	add_window(run, root, item);
}

/* The senders have next to nothing under way, and still it is too much. */
static void say_small_buffer(struct advice_run *run, const struct root *root)
{
	struct advice_item *item =
		cure_queues_add(run, root, "The buffer is small for so many senders");

	advice_say(item,
		   "They have no more than about a round trip under way each (nic.window is %u), "
		   "so what is left is room: a larger buffer, or a larger share of it before a "
		   "pause.",
		   run->scenario->nic.psn_window);
	add_buffer(run, root, item);
	if (root->sw->xoff_bytes == 0 && !root->sw->has_classes)
		advice_key(item, ADVICE_SWITCH_KEY(run, root->in->node, "alpha", alpha_num),
			   advice_text("%u/%u", root->sw->alpha_num, root->sw->alpha_den), "1")
			->instead = true;
}

/* Less than a quarter of what the buffer holds waits for that port: its threshold is low because of
 * others. */
static bool is_crowded_out(const struct advice_run *run, const struct root *root)
{
	const struct pause_place *place = root->place;
	const struct scenario_switch *sw = root->sw;
	const uint64_t pool = pool_of(run, root->in->node);
	uint64_t room;

	if (sw->xoff_bytes > 0 || sw->has_classes || sw->alpha_num == 0)
		return false;
	room = place->limit * sw->alpha_den / sw->alpha_num;
	return room < pool && place->queue_bytes < (pool - room) / 4;
}

enum { RESERVE = 50000 }; /* bytes of a port's own: a dozen packets */

static void say_crowd(struct advice_run *run, const struct root *root)
{
	struct advice_item *item = cure_queues_add(run, root, "Others fill the buffer");

	advice_say(
		item,
		"That is little: the threshold has shrunk because of what waits elsewhere in the "
		"same buffer. Who fills it has to be held back, or the priority needs room of its "
		"own.");
	if (root->sw->reserve_bytes < RESERVE)
		advice_key(item, ADVICE_SWITCH_KEY(run, root->in->node, "reserve", reserve_bytes),
			   advice_bytes(root->sw->reserve_bytes), advice_set_bytes(RESERVE));
}

void advice_queues(struct advice_run *run)
{
	const struct cc_ops *cc = run->fabric->params.host->profile.cc;
	struct root root;

	if (!run->pauses || run->has_dead_route || !find_root(run, &root))
		return;
	if (is_crowded_out(run, &root)) {
		if (run->advice->count == 0) /* or what fills it has been told */
			say_crowd(run, &root);
	} else if (cc == &cc_none) {
		say_no_control(run, &root);
	} else if (cc->listens && !root.ecn.enabled) {
		say_no_marks(run, &root, cc->name);
	} else if (run->rtt == 0 || run->scenario->nic.psn_window <= 2 * advice_window(run)) {
		say_small_buffer(run, &root);
	} else if (growth_of(&root) <= run->rtt) {
		say_burst(run, &root);
	} else if (cc->listens && root.ecn.kmin_bytes >= root.place->limit) {
		say_late_marks(run, &root);
	} else {
		say_slow_control(run, &root, cc->name);
	}
}
