/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/scenario/net.h"

#include "models/link/credit.h"
#include "sim/port.h"
#include "tests/oracle/oracle.h"
#include "util/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIO_HASH = 1 };

static bool is_switch(const char *name)
{
	return name[0] == 's';
}

static struct sim_node *find(const struct net *net, const char *name)
{
	for (uint32_t i = 0; i < net->host_count; i++)
		if (strcmp(net->hosts[i].node.name, name) == 0)
			return &net->hosts[i].node;
	for (uint32_t i = 0; i < net->switch_count; i++)
		if (strcmp(sim_switch_node(net->switches[i])->name, name) == 0)
			return sim_switch_node(net->switches[i]);
	return NULL;
}

static void add_node(struct net *net, const char *name)
{
	if (find(net, name))
		return;
	if (is_switch(name)) {
		net->switches[net->switch_count] = sim_switch_create(name);
		CHECK(net->switches[net->switch_count++] != NULL);
	} else {
		endpoint_init(&net->hosts[net->host_count++], name);
	}
}

static void add_all(struct net *net, const struct net_link *links, uint32_t link_count)
{
	const uint32_t nodes = net->host_count + net->switch_count;

	for (uint32_t i = 0; i < nodes; i++) {
		const uint32_t n = net->params.reverse_nodes ? nodes - 1 - i : i;
		struct sim_node *node =
			n < net->host_count ? &net->hosts[n].node
					    : sim_switch_node(net->switches[n - net->host_count]);

		CHECK(sim_add_node(net->sim, node) == 0);
	}
	for (uint32_t i = 0; i < link_count; i++) {
		const struct net_link *link =
			&links[net->params.reverse_links ? link_count - 1 - i : i];
		struct sim_node *a = find(net, link->a), *b = find(net, link->b);
		char name[64];
		const struct sim_link_params params = {
			.name = name, .rate_bps = link->rate_bps, .delay = link->delay};

		if (net->params.reverse_links) {
			struct sim_node *swap = a;

			a = b;
			b = swap;
		}
		snprintf(name, sizeof(name), "%s-%s", link->a, link->b);
		CHECK(sim_add_link(net->sim, a, b, &params) == 0);
	}
}

static struct sim_fc *make_fc(const struct net *net, struct sim_node *node, bool host)
{
	const struct net_params *p = &net->params;
	struct pfc_params pfc = p->pfc;

	if (p->fc == NET_NONE)
		return sim_fc_none(node, p->buffer_bytes);
	if (p->fc == NET_CREDIT)
		return credit_create(node, &(struct credit_params){
						   .buffer_bytes = p->buffer_bytes,
						   .buffers = p->buffers,
						   .frame_bytes_max = p->frame_bytes_max
									      ? p->frame_bytes_max
									      : NET_FRAME_MAX,
						   .update_bytes = p->update_bytes});
	if (host) {
		pfc.buffer_bytes = 0;
		pfc.headrooms = NULL;
		pfc.watchdog = NULL;
	}
	return pfc_create(node, &pfc);
}

static bool is_link(const char *name, const struct sim_port *port)
{
	return !name || strcmp(name, port->link_name) == 0;
}

void net_rewrite(struct sim_switch *sw, const struct net_rewrite *rules, uint32_t count)
{
	const struct sim_node *node = sim_switch_node(sw);

	for (uint32_t way = 0; way < node->port_count * node->port_count; way++) {
		const uint32_t in = way / node->port_count, out = way % node->port_count;
		uint8_t map[SIM_PRIORITIES] = {0, 1, 2, 3, 4, 5, 6, 7};

		for (uint32_t i = count; i-- > 0;)
			for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
				if (strcmp(rules[i].at, node->name) == 0 &&
				    is_link(rules[i].in, &node->ports[in]) &&
				    is_link(rules[i].out, &node->ports[out]) &&
				    rules[i].from >> q & 1)
					map[q] = rules[i].to;
		CHECK(sim_switch_rewrite(sw, in, out, map) == 0);
	}
}

static void make_ready(struct net *net)
{
	const struct net_params *p = &net->params;

	CHECK(sim_routes_create(net->sim, &sim_switch_ops, &net->routes) == 0);
	if (p->pmax_den)
		net->ecn = ecn_make(p->kmin, p->kmax, p->pmax_num, p->pmax_den);
	for (uint32_t i = 0; i < net->host_count; i++)
		endpoint_ready(&net->hosts[i], make_fc(net, &net->hosts[i].node, true));
	for (uint32_t i = 0; i < net->switch_count; i++) {
		struct sim_switch *sw = net->switches[i];
		struct sim_node *node = sim_switch_node(sw);

		CHECK(sim_switch_ready(sw, sim_route_table_of(net->routes, node),
				       make_fc(net, node, false)) == 0);
		CHECK(!p->extended || sim_switch_extend(sw, &p->more) == 0);
		if (p->rewrite_count > 0)
			net_rewrite(sw, p->rewrites, p->rewrite_count);
		for (uint32_t port = 0; p->pmax_den && port < node->port_count; port++)
			for (uint8_t q = 0; q < sim_priority_count(net->sim); q++)
				if (p->marked >> q & 1)
					CHECK(sim_switch_mark(sw, port, q, &net->ecn.mark) == 0);
	}
}

static void make_outage(struct net *net, const struct net_link *link)
{
	const struct net_outage *out = &net->params.outage;
	const char *const ends[] = {link->a, link->b};
	const struct sim_port *cuts[2];

	snprintf(net->out_name, sizeof(net->out_name), "%s-%s", link->a, link->b);
	net->out = (struct net_down){.link = net->out_name,
				     .from = out->from,
				     .until = out->until,
				     .back_at = out->until};
	net->routing = (struct net_routing){
		.downs = &net->out, .down_count = 1, .reconverge = out->reconverge};
	for (int i = 0; i < 2; i++) {
		struct sim_fc *fc;

		cuts[i] = sim_port_find(net->sim, net->out_name, ends[i]);
		fc = is_switch(ends[i]) ? sim_switch_fc(net_switch(net, ends[i]))
					: net_host(net, ends[i])->fc;
		if (is_switch(ends[i]))
			CHECK(sim_switch_outage(net_switch(net, ends[i]), cuts[i]->index, out->from,
						out->until) == 0);
		if (fc->ops->outage) {
			CHECK(fc->ops->outage(fc, cuts[i]->index, out->from, false) == 0);
			CHECK(fc->ops->outage(fc, cuts[i]->index, out->until, true) == 0);
		}
	}
	if (out->reconverge == PS_NEVER)
		return;
	CHECK(sim_routes_without(net->routes, cuts, 2, &net->around) == 0);
	net->reroutes[0] = (struct sim_route_change){out->from + out->reconverge, net->around};
	net->reroutes[1] = (struct sim_route_change){out->until + out->reconverge, net->routes};
	for (uint32_t i = 0; i < net->switch_count; i++)
		sim_switch_change_routes(net->switches[i], net->reroutes, 2);
}

/* All before each look is done, and nothing after it. */
static int look(struct sim *sim, void *owner)
{
	struct net *net = owner;
	const ps_t every = net->params.cut_every;

	CHECK(sim_played(sim) <= net->look_at);
	net->looks += sim_played(sim) == net->look_at;
	if (sim_next_at(sim) == PS_NEVER)
		return 0;
	if (sim_next_at(sim) >= net->look_at)
		net->look_at = (sim_next_at(sim) / every + 1) * every;
	sim_cut(sim, net->look_at);
	return 0;
}

void net_make(struct net *net, const struct net_params *params, const struct net_link *links,
	      uint32_t link_count)
{
	const struct sim_params sim = {
		.seed = params->seed,
		.scenario_hash = SCENARIO_HASH,
		.thread_count = params->threads ? params->threads : 1,
		.priority_count = params->priority_count,
		.body_ops = &endpoint_body,
		.frames_max = 1 << 20,
		.window_max = params->window_max,
		.frame_bytes_min =
			params->extended && params->more.head_bytes ? params->more.head_bytes : 80,
		.between = params->cut_every ? look : NULL,
		.owner = net,
	};

	*net = (struct net){.params = *params, .body = &endpoint_body, .sim = sim_create(&sim)};
	net->params.scenario_hash = SCENARIO_HASH;
	net->hosts = calloc(2 * link_count, sizeof(*net->hosts));
	net->switches = calloc(2 * link_count, sizeof(struct sim_switch *));
	CHECK(net->sim && net->hosts && net->switches);
	net->look_at = params->cut_every;
	if (params->cut_every)
		sim_cut(net->sim, params->cut_every);
	for (uint32_t i = 0; i < link_count; i++) {
		add_node(net, links[i].a);
		add_node(net, links[i].b);
	}
	add_all(net, links, link_count);
	CHECK(sim_seal(net->sim) == 0);
	make_ready(net);
	net->routing.reconverge = PS_NEVER;
	if (params->outage.until > 0)
		make_outage(net, &links[params->outage.link]);
}

void net_free(struct net *net)
{
	for (uint32_t i = 0; i < net->switch_count; i++)
		sim_switch_drain(net->switches[i]);
	sim_destroy(net->sim);
	for (uint32_t i = 0; i < net->switch_count; i++)
		sim_switch_destroy(net->switches[i]);
	for (uint32_t i = 0; i < net->host_count; i++)
		endpoint_fini(&net->hosts[i]);
	sim_routes_destroy(net->routes);
	sim_routes_destroy(net->around);
	free(net->hosts);
	free(net->switches);
}

struct endpoint *net_host(const struct net *net, const char *name)
{
	struct sim_node *node = find(net, name);

	CHECK(node != NULL);
	CHECK(!is_switch(name));
	return container_of(node, struct endpoint, node);
}

struct sim_switch *net_switch(const struct net *net, const char *name)
{
	for (uint32_t i = 0; i < net->switch_count; i++)
		if (strcmp(sim_switch_node(net->switches[i])->name, name) == 0)
			return net->switches[i];
	util_check_failed("no such switch", __FILE__, __LINE__);
}

uint32_t net_port(const struct net *net, const char *peer)
{
	const struct sim_node *node = sim_switch_node(net->switches[0]);

	for (uint32_t p = 0; p < node->port_count; p++)
		if (strcmp(node->ports[p].peer->name, peer) == 0)
			return p;
	util_check_failed("no such port", __FILE__, __LINE__);
}

uint32_t net_address(const struct net *net, const struct endpoint *ep)
{
	return sim_route_address(net->routes, &ep->node);
}

struct endpoint_flow *net_flow(struct net *net, const char *from, const char *to, uint32_t packets,
			       uint16_t bytes, ps_t at)
{
	struct endpoint *source = net_host(net, from), *sink = net_host(net, to);
	const uint32_t id = source->flow_count + 1;

	return endpoint_add(source, (struct endpoint_flow){
					    .id = id,
					    .dst = net_address(net, sink),
					    .flow_hash = (uint32_t)(source->node.id * 31 + id),
					    .packets = packets,
					    .bytes = bytes,
					    .priority = 3,
					    .ecn = 2,
					    .answer = true,
					    .reply_dst = net_address(net, source),
					    .next_at = at,
				    });
}

uint64_t net_run(struct net *net)
{
	if (net->params.oracle)
		return oracle_run(net);
	CHECK(sim_run(net->sim, PS_NEVER) == 0);
	sim_finish(net->sim);
	return sim_digest(net->sim);
}

uint64_t net_dropped(const struct net *net)
{
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < net->switch_count; i++) {
		const struct sim_switch_stats *stats = sim_switch_stats(net->switches[i]);
		const struct sim_fc *fc = sim_switch_fc(net->switches[i]);

		dropped += stats->dropped_route + stats->dropped_ttl + stats->dropped_watchdog +
			   stats->dropped_mtu + fc->dropped_buffer + fc->dropped_headroom;
	}
	return dropped;
}

static void set_link(struct net_link *link, char (*names)[24], const char *a, const char *b,
		     uint64_t rate_bps, ps_t delay)
{
	snprintf(names[0], sizeof(names[0]), "%s", a);
	snprintf(names[1], sizeof(names[1]), "%s", b);
	*link = (struct net_link){names[0], names[1], rate_bps, delay};
}

uint32_t net_star(struct net_link *links, char (*names)[24], uint32_t hosts, uint64_t rate_bps,
		  ps_t delay)
{
	for (uint32_t i = 0; i < hosts; i++) {
		char name[24];

		snprintf(name, sizeof(name), "h%u", i);
		set_link(&links[i], names + 2 * (size_t)i, name, "s0", rate_bps, delay);
	}
	return hosts;
}

/* Pods of k/2 edge switches sePP_E and as many above, saPP_A; core switches sc_A_C. */
uint32_t net_fat_tree(struct net_link *links, char (*names)[24], uint32_t k, uint64_t rate_bps,
		      ps_t delay)
{
	const uint32_t half = k / 2;
	uint32_t n = 0;

	for (uint32_t pod = 0; pod < k; pod++)
		for (uint32_t i = 0; i < half; i++)
			for (uint32_t j = 0; j < half; j++) {
				char host[24], edge[24], above[24], core[24];

				snprintf(host, sizeof(host), "h%u", (pod * half + i) * half + j);
				snprintf(edge, sizeof(edge), "se%u_%u", pod, i);
				set_link(&links[n], names + 2 * (size_t)n, host, edge, rate_bps,
					 delay);
				n++;
				snprintf(above, sizeof(above), "sa%u_%u", pod, j);
				set_link(&links[n], names + 2 * (size_t)n, edge, above, rate_bps,
					 delay);
				n++;
				snprintf(core, sizeof(core), "sc%u_%u", j, i);
				set_link(&links[n], names + 2 * (size_t)n, above, core, rate_bps,
					 delay);
				n++;
			}
	return n;
}
