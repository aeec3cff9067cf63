/* SPDX-License-Identifier: BSD-2-Clause */

/* Pauses that begin at the queue of a port: what would have slowed its senders down before. */
#include "tools/explain/cure_rules.h"

#include <inttypes.h>
#include <string.h>

struct root { /* the pauses that most others came from */
	const struct pause_place *place;
	const struct events_port *in, *out; /* whose other end was paused; where the queue stood */
	const struct scenario_switch *sw;
	uint32_t feeders; /* neighbours that were paused for that queue */
	uint64_t in_bps;  /* of their links */
	ps_t total;	  /* of all pauses that began at queues of switches */
};

static bool is_queue(const struct pause_tree *tree, const struct pause_place *place)
{
	return place->parent < 0 && place->why == PAUSE_QUEUE &&
	       !tree->events->ports[place->port].is_host;
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
	const struct scenario_ecn *ecn = &root->sw->ecn;
	const uint64_t kmin = kmin_of(run, root);
	const char *node = root->in->node;

	advice_say(item,
		   "Marks have to begin well below the pause threshold: at %s, no more than that "
		   "threshold over the number of neighbours that feed the port, %u (Zhu et al., "
		   "SIGCOMM 2015).",
		   advice_set_bytes(kmin), root->feeders);
	advice_key(item, ADVICE_SWITCH_KEY(run, node, "ecn.kmin", ecn),
		   ecn->enabled ? advice_bytes(ecn->kmin_bytes) : "no marks",
		   advice_set_bytes(kmin));
	advice_key(item, ADVICE_SWITCH_KEY(run, node, "ecn.kmax", ecn),
		   ecn->enabled ? advice_bytes(ecn->kmax_bytes) : "no marks",
		   advice_set_bytes(5 * kmin));
}

static void say_no_control(struct advice_run *run, const struct root *root)
{
	const bool marks = root->sw->ecn.enabled;
	struct advice_item *item =
		cure_queues_add(run, root, "Nothing slows the senders down before they are paused");

	advice_say(item,
		   marks ? "Switches mark, and no host heeds it: nic.cc is none."
			 : "No host has congestion control (nic.cc), and %s marks nothing.",
		   root->in->node);
	advice_key(item, "nic.cc", "none", "dcqcn");
	if (!marks || root->sw->ecn.kmin_bytes >= root->place->limit)
		add_marks(run, root, item);
}

static void say_no_marks(struct advice_run *run, const struct root *root, const char *cc)
{
	struct advice_item *item = cure_queues_add(run, root, "Congestion control gets no marks");

	advice_say(
		item,
		"The hosts slow down by marks (nic.cc is %s), and %s marks nothing (ECN is off).",
		cc, root->in->node);
	add_marks(run, root, item);
}

static void say_late_marks(struct advice_run *run, const struct root *root)
{
	struct advice_item *item = cure_queues_add(run, root, "Marks begin behind the pauses");

	advice_say(item,
		   "A queue is marked from %s on (kmin), and a neighbour is paused at %s: whoever "
		   "could have slowed down is paused before he is asked.",
		   advice_bytes(root->sw->ecn.kmin_bytes), advice_bytes(root->place->limit));
	add_marks(run, root, item);
}

/* ---- more than marks can help with ---- */

static void add_window(struct advice_run *run, struct advice_item *item)
{
	const uint32_t window = advice_window(run);

	advice_say(item,
		   "What a sender may have under way before it hears anything is nic.window, %u "
		   "packets: one round trip at line rate (%s) is %u, and more does not make a lone "
		   "flow faster.",
		   run->scenario->nic.psn_window, advice_time(run->rtt), window);
	advice_key(item, "nic.window", advice_text("%u", run->scenario->nic.psn_window),
		   advice_text("%u", window));
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
	add_window(run, item);
}

static void say_slow_control(struct advice_run *run, const struct root *root, const char *cc)
{
	struct advice_item *item = cure_queues_add(run, root, "Senders slow down too slowly");

	if (run->result->marked > 0)
		advice_say(item,
			   "Marks begin in time, at %s, and %" PRIu64
			   " packets were marked; but %s takes several notifications to come down "
			   "from line rate, %s apart, and the queue grows within %s.",
			   advice_bytes(root->sw->ecn.kmin_bytes), run->result->marked, cc,
			   advice_time(run->scenario->nic.cnp_interval),
			   advice_time(growth_of(root)));
	else
		advice_say(item,
			   "%s comes down from line rate more slowly than the queue grows, which "
			   "is within %s.",
			   cc, advice_time(growth_of(root)));
	add_window(run, item);
}

/* The senders have next to nothing under way, and still it is too much. */
static void say_small_buffer(struct advice_run *run, const struct root *root)
{
	struct advice_item *item =
		cure_queues_add(run, root, "The buffer is small for so many senders");
	const uint64_t buffer = root->sw->buffer_bytes;

	advice_say(item,
		   "They have no more than about a round trip under way each (nic.window is %u), "
		   "so what is left is room: a larger buffer, or a larger share of it before a "
		   "pause.",
		   run->scenario->nic.psn_window);
	advice_key(item, ADVICE_SWITCH_KEY(run, root->in->node, "buffer", buffer_bytes),
		   advice_bytes(buffer), advice_set_bytes(advice_round_up(2 * buffer)));
	if (root->sw->xoff_bytes == 0 && !root->sw->has_classes)
		advice_key(item, ADVICE_SWITCH_KEY(run, root->in->node, "alpha", alpha_num),
			   advice_text("%u/%u", root->sw->alpha_num, root->sw->alpha_den), "1")
			->instead = true;
}

/* Less than a quarter of what the buffer holds waits for that port: its threshold is low because of
 * others. */
static bool is_crowded_out(const struct root *root)
{
	const struct pause_place *place = root->place;
	const struct scenario_switch *sw = root->sw;
	uint64_t room;

	if (sw->xoff_bytes > 0 || sw->has_classes || sw->alpha_num == 0)
		return false;
	room = place->limit * sw->alpha_den / sw->alpha_num;
	return room < sw->buffer_bytes && place->queue_bytes < (sw->buffer_bytes - room) / 4;
}

static void say_crowd(struct advice_run *run, const struct root *root)
{
	struct advice_item *item = cure_queues_add(run, root, "Others fill the buffer");

	advice_say(
		item,
		"That is little: the threshold has shrunk because of what waits elsewhere in the "
		"same buffer. Who fills it has to be held back, or the priority needs room of its "
		"own.");
	advice_key(item, ADVICE_SWITCH_KEY(run, root->in->node, "reserve", reserve_bytes),
		   advice_bytes(root->sw->reserve_bytes), advice_set_bytes(50000));
}

void advice_queues(struct advice_run *run)
{
	const struct cc_ops *cc = run->fabric->params.host->profile.cc;
	struct root root;

	if (!run->pauses || run->has_dead_route || !find_root(run, &root))
		return;
	if (is_crowded_out(&root)) {
		if (run->advice->count == 0) /* or what fills it has been told */
			say_crowd(run, &root);
	} else if (cc == &cc_none) {
		say_no_control(run, &root);
	} else if (cc->listens && !root.sw->ecn.enabled) {
		say_no_marks(run, &root, cc->name);
	} else if (run->rtt == 0 || run->scenario->nic.psn_window <= 2 * advice_window(run)) {
		say_small_buffer(run, &root);
	} else if (growth_of(&root) <= run->rtt) {
		say_burst(run, &root);
	} else if (cc->listens && root.sw->ecn.kmin_bytes >= root.place->limit) {
		say_late_marks(run, &root);
	} else {
		say_slow_control(run, &root, cc->name);
	}
}
