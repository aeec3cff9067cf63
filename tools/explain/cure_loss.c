/* SPDX-License-Identifier: BSD-2-Clause */

/* Packets that a switch would not take: too large, or no room. */
#include "tools/explain/cure_rules.h"

#include "models/fabric/flow_control.h"

#include <inttypes.h>
#include <string.h>

/* ---- too large ---- */

void advice_size(struct advice_run *run)
{
	const uint32_t mtu = run->scenario->nic.mtu, frame = run->fabric->params.switches.mtu_bytes;
	const struct fabric_switch_params *params;
	struct sim_switch *worst = NULL;
	uint32_t fits, around;
	struct advice_item *item;
	const char *node;

	for (uint32_t i = 0; i < run->fabric->switch_count; i++)
		if (sim_switch_stats(run->fabric->switches[i])->dropped_mtu >
		    (worst ? sim_switch_stats(worst)->dropped_mtu : 0))
			worst = run->fabric->switches[i];
	if (!worst)
		return;
	node = sim_switch_node(worst)->name;
	params = fabric_switch_params(run->fabric, sim_switch_node(worst));
	around = params->more->frame_limit - advice_switch(run, node)->mtu_bytes;
	for (fits = mtu; fits > 256 && fits + (frame - mtu) > params->more->frame_limit;)
		fits /= 2;
	item = advice_add(run, "Packets are larger than a switch takes");
	advice_say(item,
		   "%s takes IP packets of %u bytes and dropped %" PRIu64
		   " larger ones: a RoCE MTU of %u makes packets of up to %u. Small ones get "
		   "through, so that a ping looks well. One MTU in the whole fabric helps; until "
		   "then a RoCE MTU that fits.",
		   node, advice_switch(run, node)->mtu_bytes, sim_switch_stats(worst)->dropped_mtu,
		   mtu, frame - around);
	advice_key(item, "nic.mtu", advice_text("%u", mtu), advice_text("%u", fits));
	advice_key(item, ADVICE_SWITCH_KEY(run, node, "mtu", mtu_bytes),
		   advice_text("%u", advice_switch(run, node)->mtu_bytes),
		   advice_text("%u", frame - around))
		->instead = true;
}

/* ---- no room ---- */

struct loss {				/* of a priority at a switch */
	const struct result_port *port; /* where most of it came in */
	uint64_t dropped;
};

static void say_first(struct advice_item *item, const struct loss *loss)
{
	advice_say(item,
		   "%s had no room for %" PRIu64 " packets of priority %u; %" PRIu64
		   " of them came from %s.",
		   loss->port->node, loss->dropped, loss->port->priority, loss->port->dropped,
		   loss->port->peer);
}

/* As many of each packet as the switch has flooded, at most, in the mean of all of them; 1: none.
 */
static uint32_t copies_of(const struct advice_run *run, const struct loss *loss,
			  const struct scenario_switch *sw)
{
	const struct sim_switch_stats *stats =
		sim_switch_stats(fabric_switch(run->fabric, loss->port->node));

	if (sw->unknown != SCENARIO_UNKNOWN_FLOOD || stats->flooded == 0)
		return 1;
	return 1 + (uint32_t)((stats->flood_copies + stats->flooded - 1) / stats->flooded);
}

static void say_headroom(struct advice_run *run, const struct loss *loss)
{
	const struct scenario_switch *sw = advice_switch(run, loss->port->node);
	const struct sim_port *port = NULL;
	const struct sim_node *node = sim_switch_node(fabric_switch(run->fabric, loss->port->node));
	struct advice_item *item = advice_add(run, "A lossless priority has too little headroom");
	const uint32_t copies = copies_of(run, loss, sw);
	struct fabric_headroom link;
	uint64_t needed;

	for (uint32_t i = 0; i < node->port_count; i++)
		if (strcmp(node->ports[i].link_name, loss->port->link) == 0)
			port = &node->ports[i];
	link = (struct fabric_headroom){.rate_bps = port->rate_bps,
					.delay = port->delay,
					.latency = sw->latency,
					.response_delay = sw->response_delay,
					.frame_bytes = run->fabric->params.switches.mtu_bytes};
	needed = (uint64_t)copies * fabric_headroom_bytes(&link);
	say_first(item, loss);
	advice_say(item,
		   "That priority is lossless, so they came after a pause had been sent for: %s "
		   "with %s of cable bring up to %s until it is obeyed (IEEE 802.1Qbb, annex N).",
		   advice_rate(port->rate_bps), advice_time(port->delay),
		   advice_bytes(needed / copies));
	if (copies > 1)
		advice_say(item,
			   "But what was flooded took the room of as many packets as ports that "
			   "it left by: %u, %s in all.",
			   copies, advice_bytes(needed));
	if (copies > 1 && sw->headroom_pool_bytes == 0 &&
	    (sw->headroom_auto || sw->headroom_bytes < needed)) {
		advice_key(item,
			   ADVICE_SWITCH_KEY(run, loss->port->node, "pfc.headroom", headroom_bytes),
			   sw->headroom_auto ? "auto" : advice_bytes(sw->headroom_bytes),
			   advice_set_bytes((needed / 1000 + 1) * 1000));
	} else if (!sw->headroom_auto && sw->headroom_bytes < needed) {
		advice_key(item,
			   ADVICE_SWITCH_KEY(run, loss->port->node, "pfc.headroom", headroom_bytes),
			   advice_bytes(sw->headroom_bytes), "auto");
	} else if (sw->headroom_pool_bytes > 0) {
		const uint64_t all =
			needed * node->port_count * (uint32_t)__builtin_popcount(sw->lossless);

		advice_say(item, "All ports share one pool of it, and that was used up.");
		advice_key(item,
			   ADVICE_SWITCH_KEY(run, loss->port->node, "pfc.headroom_pool",
					     headroom_pool_bytes),
			   advice_bytes(sw->headroom_pool_bytes),
			   advice_set_bytes((all / 1000 + 1) * 1000));
	} else {
		advice_say(item, "The headroom is as large as that; why it did not suffice the "
				 "facts do not tell.");
		advice_key(item,
			   ADVICE_SWITCH_KEY(run, loss->port->node, "pfc.headroom", headroom_bytes),
			   sw->headroom_auto ? "auto" : advice_bytes(sw->headroom_bytes), "");
	}
}

/* A lossless priority of hosts that this switch puts into the one at hand; -1: none. */
static int mapped_here(const struct advice_run *run, const struct scenario_switch *sw,
		       uint8_t priority)
{
	const uint16_t used = advice_flow_priorities(run);

	for (int q = 0; sw->mapped && q < SIM_PRIORITIES; q++)
		if (sw->map[q] == priority && q != priority && used >> q & 1 &&
		    advice_is_lossless(sw, (uint8_t)q))
			return q;
	return -1;
}

static void say_mapped(struct advice_run *run, const struct loss *loss, int meant)
{
	struct advice_item *item =
		advice_add(run, "A switch puts lossless traffic into a lossy priority");

	say_first(item, loss);
	advice_say(item,
		   "Hosts send that traffic with DSCP %d, which is priority %d and lossless "
		   "elsewhere; %s maps it to priority %u, for which it never pauses anybody. The "
		   "same map on every switch and adapter helps.",
		   run->scenario->nic.dscp[meant], meant, loss->port->node, loss->port->priority);
	advice_key(item, ADVICE_SWITCH_KEY(run, loss->port->node, "dscp", map),
		   advice_text("DSCP %d to priority %u", run->scenario->nic.dscp[meant],
			       loss->port->priority),
		   "[]");
}

static void say_lossy(struct advice_run *run, const struct loss *loss)
{
	const struct scenario_switch *sw = advice_switch(run, loss->port->node);
	const uint8_t lossless = sw->fc == SCENARIO_FC_PFC ? sw->lossless : 0;
	struct advice_item *item = advice_add(
		run, lossless ? "Traffic is in a priority that may be dropped"
			      : "Nothing holds the senders back when the buffer is full");

	say_first(item, loss);
	if (lossless)
		advice_say(item,
			   "PFC covers priorities %s there, not this one: nobody is paused for it.",
			   advice_set_priorities(lossless));
	else
		advice_say(item, "Flow control is off: the queue of a port grows until the buffer "
				 "is full. PFC on the priority of this traffic keeps it from loss; "
				 "congestion control and marks (nic.cc, switch.ecn) then keep "
				 "pauses rare.");
	advice_key(item, ADVICE_SWITCH_KEY(run, loss->port->node, "pfc.priorities", lossless),
		   lossless ? advice_set_priorities(lossless) : "no PFC",
		   advice_set_priorities((uint8_t)(lossless | 1u << loss->port->priority)));
}

static void say_loss(struct advice_run *run, const struct loss *loss)
{
	const struct scenario_switch *sw = advice_switch(run, loss->port->node);
	const int meant = mapped_here(run, sw, loss->port->priority);

	if (advice_is_lossless(sw, loss->port->priority))
		say_headroom(run, loss);
	else if (meant >= 0)
		say_mapped(run, loss, meant);
	else
		say_lossy(run, loss);
}

static bool has_machine(const struct advice_run *run, const struct result_port *port)
{
	const struct host_bus *bus =
		port->is_host ? fabric_host(run->fabric, port->node)->params.bus : NULL;

	return bus && bus->parts;
}

/* Where PFC does not cover it nobody is paused for a host that is slow. */
static void say_unpaused(struct advice_run *run, const struct loss *loss, struct advice_item *item)
{
	const struct scenario_switch *sw = advice_switch(run, loss->port->peer);

	if (advice_is_lossless(sw, loss->port->priority))
		return;
	if (sw->fc == SCENARIO_FC_PFC)
		advice_say(item,
			   "PFC covers priorities %s there, not this one, so that it has nobody "
			   "pause and what comes too fast is lost (switch.pfc.priorities).",
			   advice_set_priorities(sw->lossless));
	else
		advice_say(item, "PFC is off, so that it has nobody pause and what comes too fast "
				 "is lost (switch.pfc).");
}

static void say_full_host(struct advice_run *run, const struct loss *loss)
{
	const struct host_rx_params *rx = &run->scenario->nic.rx.params;
	struct host *host = fabric_host(run->fabric, loss->port->node);
	struct advice_item *item = advice_add(run, "A host drops what it cannot take in");

	say_first(item, loss);
	if (has_machine(run, loss->port)) {
		say_unpaused(run, loss, item);
		(void)advice_slow_machine(run, host, item);
		return;
	}
	advice_say(item, "Its receive buffer holds %s, emptied at %s.",
		   advice_bytes(rx->buffer_bytes), advice_rate(rx->rate_bps));
	advice_key(item, "nic.rx.rate", advice_rate(rx->rate_bps),
		   advice_text("%" PRIu64 "Gbps", (loss->port->rate_bps + 999999999) / 1000000000));
	if (rx->mtt_entries > 0)
		advice_key(item, "nic.rx.page", advice_bytes(rx->page_bytes), "2MiB")->instead =
			true;
}

/* Of the rows of one node, from the first on: the losses of one priority. */
static struct loss loss_at(const struct result *result, uint64_t first, uint8_t priority)
{
	struct loss loss = {.port = &result->ports[first + priority]};

	for (uint64_t i = first + priority;
	     i < result->port_count &&
	     strcmp(result->ports[i].node, result->ports[first].node) == 0;
	     i += result->priority_count) {
		loss.dropped += result->ports[i].dropped;
		if (result->ports[i].dropped > loss.port->dropped)
			loss.port = &result->ports[i];
	}
	return loss;
}

/* For each priority the node that dropped most: others of the same kind are mended with it; but a
 * machine that takes in too slowly is a cause of its own, and told before. */
void advice_buffers(struct advice_run *run)
{
	const struct result *result = run->result;

	for (uint8_t q = 0; q < result->priority_count; q++) {
		struct loss worst = {.dropped = 0}, slow = {.dropped = 0};
		const char *node = "";

		for (uint64_t i = 0; i < result->port_count; i += result->priority_count) {
			struct loss loss;

			if (strcmp(result->ports[i].node, node) == 0)
				continue; /* counted with its first port */
			node = result->ports[i].node;
			loss = loss_at(result, i, q);
			if (loss.dropped > worst.dropped)
				worst = loss;
			if (loss.dropped > slow.dropped && has_machine(run, loss.port))
				slow = loss;
		}
		if (slow.dropped > 0)
			say_full_host(run, &slow);
		if (worst.dropped > 0 && worst.port->is_host && !has_machine(run, worst.port))
			say_full_host(run, &worst);
		else if (worst.dropped > 0 && !worst.port->is_host)
			say_loss(run, &worst);
	}
}
