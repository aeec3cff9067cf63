/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/switch.h"

#include "sim/switch_internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* @pkt ends here. */
void sim_switch_drop(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt)
{
	sw->node.sim->params.body_ops->release(&et->pub, pkt);
	engine_frame_put(et, pkt);
}

static void switch_finish(struct sim_node *node)
{
	const struct sim_switch *sw = container_of(node, struct sim_switch, node);

	sim_digest_add(node, 0, sw->stats.forwarded,
		       sw->stats.dropped_route + sw->stats.dropped_ttl);
	if (!sw->fc)
		return;
	sim_digest_add(node, 0, sw->fc->dropped_buffer, sw->fc->dropped_headroom);
	if (sw->stats.dropped_watchdog > 0)
		sim_digest_add(node, 1, sw->stats.dropped_watchdog, sw->fc->storms);
	if (sw->stats.dropped_mtu > 0)
		sim_digest_add(node, 2, sw->stats.dropped_mtu, 0);
	for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
		if (sw->stats.rewritten[q] > 0)
			sim_digest_add(node, 3, sw->stats.rewritten[q], q);
	if (sw->stats.flooded + sw->stats.dropped_unknown > 0)
		sim_digest_add(node, 4, sw->stats.flooded, sw->stats.dropped_unknown);
	if (sw->stats.flood_copies + sw->stats.not_mine > 0)
		sim_digest_add(node, 5, sw->stats.flood_copies, sw->stats.not_mine);
	if (sw->stats.mcast > 0)
		sim_digest_add(node, 6, sw->stats.mcast, sw->stats.mcast_copies);
	if (sw->more && sw->more->edge)
		sw->more->edge->ops->finish(sw->more->edge, node);
	for (uint32_t p = 0; p < node->port_count; p++)
		for (uint32_t q = 0; q < sw->priority_count; q++)
			if (class_of(sw, p, q)->sent_packets > 0)
				sim_digest_add(node, node->ports[p].link_id + q,
					       class_of(sw, p, q)->sent_bytes,
					       class_of(sw, p, q)->marked);
}

const struct sim_node_ops sim_switch_ops = {
	.kind = "switch",
	.keeps_frames = true,
	.run = sim_switch_run_plain,
	.finish = switch_finish,
};

/* ---- creation and questions ---- */

struct sim_switch *sim_switch_create(const char *name)
{
	struct sim_switch *sw = util_calloc(1, sizeof(*sw));

	if (sw)
		sw->node = (struct sim_node){.ops = &sim_switch_ops, .name = name};
	return sw;
}

struct sim_node *sim_switch_node(struct sim_switch *sw)
{
	return &sw->node;
}

static int make_full(struct sim_switch *sw)
{
	sw->more = util_calloc(1, sizeof(*sw->more));
	return sw->more ? 0 : -ENOMEM;
}

int sim_switch_ready(struct sim_switch *sw, const struct sim_route_table *table, struct sim_fc *fc)
{
	const struct sim *sim = sw->node.sim;

	CHECK(!sw->fc);
	CHECK(fc != NULL);
	CHECK(fc->node == &sw->node);
	sw->pending_words = sw->node.port_count / 64 + 1;
	sw->pending = util_calloc(sw->pending_words, sizeof(uint64_t));
	if (!sw->pending || (fc->full && make_full(sw) != 0))
		return -ENOMEM;
	for (uint32_t p = 0; p < sw->node.port_count && p < 64; p++)
		if (sw->node.ports[p].hooked & SIM_HOOK_WITHIN)
			sw->inner |= (uint64_t)1 << p;
	sw->fc = fc;
	sw->classes = fc->classes;
	sw->priority_count = fc->priority_count;
	sw->heads = fc->ops->heads;
	sw->all = fc->ops->all;
	sw->table = *table;
	sw->mark_key = sim_mark_key(sim->params.seed, sw->node.id);
	fc->user = sw->more ? &sim_switch_user_full : &sim_switch_user_plain;
	return 0;
}

int sim_switch_mark(struct sim_switch *sw, uint32_t port, uint8_t priority,
		    const struct sim_mark *mark)
{
	CHECK(port < sw->node.port_count);
	if (!sw->marks)
		sw->marks = util_calloc((size_t)sw->node.port_count * sw->priority_count,
					sizeof(*sw->marks));
	if (!sw->marks)
		return -ENOMEM;
	sw->marks[port * sw->priority_count + priority] = mark;
	if (!sw->more || !sw->more->params.marks_arrivals)
		class_of(sw, port, priority)->mark_above = mark->quiet_bytes;
	return 0;
}

/* Heads of frames come in where their first bytes are here. */
static void hear_heads(struct sim_switch *sw, uint32_t bytes)
{
	for (uint32_t p = 0; p < sw->node.port_count; p++) {
		const struct sim_port *port = &sw->node.ports[p];
		struct sim_port *sender = &port->peer->ports[port->peer_port];

		sender->head_bytes = bytes;
		sender->hooked |= SIM_HOOK_HEAD;
	}
}

int sim_switch_extend(struct sim_switch *sw, const struct sim_switch_params *params)
{
	CHECK(sw->fc);
	CHECK(!sw->marks);
	if (!sw->more && make_full(sw) != 0)
		return -ENOMEM;
	sw->more->params = *params;
	sw->fc->user = &sim_switch_user_full;
	if (params->head_bytes > 0)
		hear_heads(sw, params->head_bytes);
	if (sim_switch_balance_init(sw) != 0)
		return -ENOMEM;
	return sim_switch_turns_init(sw);
}

void sim_switch_agent(struct sim_switch *sw, struct sim_agent *agent)
{
	CHECK(sw->more && !sw->more->agent);
	CHECK(sw->table.own_group != UINT32_MAX);
	sw->more->agent = agent;
	sw->more->own_address = sim_address(sw->table.own_group, SIM_ROUTE_HERE);
}

/* As the first one, every way leaves every priority as it is. */
static int make_rewrites(struct sim_switch *sw)
{
	const size_t ways = (size_t)sw->node.port_count * sw->node.port_count;

	sw->more->rewrites = util_calloc(ways, sizeof(*sw->more->rewrites));
	for (size_t i = 0; sw->more->rewrites && i < ways; i++)
		for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
			sw->more->rewrites[i] |= q << 3 * q;
	return sw->more->rewrites ? 0 : -ENOMEM;
}

int sim_switch_rewrite(struct sim_switch *sw, uint32_t in, uint32_t out,
		       const uint8_t map[SIM_PRIORITIES])
{
	uint32_t *way;

	CHECK(sw->more && !sw->more->edge);
	CHECK(!sw->all);
	CHECK(sw->priority_count == SIM_PRIORITIES);
	CHECK(in < sw->node.port_count && out < sw->node.port_count);
	if (!sw->more->rewrites && make_rewrites(sw) != 0)
		return -ENOMEM;
	way = &sw->more->rewrites[in * sw->node.port_count + out];
	*way = 0;
	for (uint32_t q = 0; q < SIM_PRIORITIES; q++) {
		CHECK(map[q] < SIM_PRIORITIES);
		*way |= (uint32_t)map[q] << 3 * q;
	}
	return 0;
}

void sim_switch_destroy(struct sim_switch *sw)
{
	if (!sw)
		return;
	sim_fc_destroy(sw->fc);
	util_free(sw->pending);
	util_free(sw->marks);
	if (sw->more) {
		util_free(sw->more->turns);
		util_free(sw->more->partial);
		util_free(sw->more->flowlets);
		util_free(sw->more->outages);
		util_free(sw->more->choice);
		util_free(sw->more->rewrites);
		util_free(sw->more->forgotten);
		if (sw->more->edge)
			sw->more->edge->ops->destroy(sw->more->edge);
		util_free(sw->more);
	}
	util_free(sw);
}

void sim_switch_drain(struct sim_switch *sw)
{
	struct engine_thread *et = &sw->node.sim->threads[0];

	if (sw->more && sw->more->edge)
		sw->more->edge->ops->drain(sw->more->edge, et, sw);
	while (sw->more && sw->more->partial_count > 0)
		sim_switch_drop(et, sw, sim_switch_partial_take(sw));
	for (uint32_t p = 0; sw->fc && p < sw->node.port_count; p++)
		for (uint32_t q = 0; q < sw->priority_count; q++) {
			struct sim_class *class = class_of(sw, p, q);

			while (class->count > 0)
				sim_switch_drop(et, sw, take(sw, &sw->node.ports[p], class, q));
			sw->node.ports[p].waiting = 0;
			class->queue_bytes = 0;
		}
}

struct sim_fc *sim_switch_fc(const struct sim_switch *sw)
{
	return sw->fc;
}

const struct sim_class *sim_switch_class(const struct sim_switch *sw, uint32_t port,
					 uint8_t priority)
{
	return class_of(sw, port, priority);
}

const struct sim_switch_stats *sim_switch_stats(const struct sim_switch *sw)
{
	return &sw->stats;
}

bool sim_switch_hides_numbers(struct sim_node *node)
{
	return node->ops == &sim_switch_ops &&
	       container_of(node, struct sim_switch, node)->more != NULL;
}

static uint32_t sim_switch_port_of(const struct sim_switch *sw, const char *link)
{
	uint32_t p = 0;

	while (p < sw->node.port_count && strcmp(sw->node.ports[p].link_name, link) != 0)
		p++;
	return p;
}

const struct sim_switch *sim_switch_rewriting(struct sim_node *node)
{
	const struct sim_switch *sw = container_of(node, struct sim_switch, node);

	return node->ops == &sim_switch_ops && sw->more && sw->more->rewrites ? sw : NULL;
}

bool sim_switch_holds(const struct sim_switch *sw, const char *in, uint8_t came, const char *out,
		      uint8_t priority)
{
	const uint32_t from = sim_switch_port_of(sw, in), to = sim_switch_port_of(sw, out);
	const struct sim_class *class;
	const struct sim_pkt *pkt;

	CHECK(from < sw->node.port_count);
	CHECK(to < sw->node.port_count);
	if (came != priority && (!sw->more || !sw->more->rewrites))
		return false;
	class = class_of(sw, to, priority);
	pkt = class->head;
	for (uint32_t left = class->count; left > 0; left--) {
		if (pkt->port == from && (!sw->more || (pkt->number & SIM_WAITS_CLASS) == came))
			return true;
		if (left > 1)
			memcpy(&pkt, (const void *)pkt, sizeof(pkt));
	}
	return false;
}

uint64_t sim_switch_queued(const struct sim_switch *sw, uint64_t *ret_bytes)
{
	uint64_t count = 0, bytes = 0;

	for (uint32_t p = 0; sw->fc && p < sw->node.port_count; p++)
		for (uint32_t q = 0; q < sw->priority_count; q++) {
			count += class_of(sw, p, q)->count;
			bytes += class_of(sw, p, q)->queue_bytes;
		}
	for (uint32_t i = 0; sw->more && i < sw->more->partial_count; i++) {
		count++;
		bytes += sw->more->partial[i]->bytes;
	}
	if (sw->more && sw->more->edge) {
		count += sw->more->edge->kept_count;
		bytes += sw->more->edge->kept_bytes;
	}
	*ret_bytes = bytes;
	return count;
}
