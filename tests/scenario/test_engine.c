/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/scenario/net.h"
#include "tests/test.h"
#include "util/rand.h"

#include <string.h>

/* ---- random fabrics: the engine against the oracle ---- */

enum { NODES_MAX = 24, LINKS_MAX = 80, REWRITES_MAX = 5 };

struct plan {
	struct pfc_class classes[SIM_PRIORITIES_MAX];
	struct pfc_watchdog dog;
	struct net_link links[LINKS_MAX];
	char names[2 * LINKS_MAX][24];
	uint32_t link_count, host_count;
	struct net_params params;
	struct {
		uint32_t from, to, packets;
		uint16_t bytes;
		uint8_t priority;
		ps_t at;
	} flows[40];
	uint32_t flow_count;
	struct net_rewrite rewrites[REWRITES_MAX];
	char rewrite_links[REWRITES_MAX][56];
};

static uint32_t below(struct util_rand *rand, uint32_t limit)
{
	return (uint32_t)util_rand_below(rand, limit);
}

static void plan_link(struct plan *plan, const char *a_kind, uint32_t a, const char *b_kind,
		      uint32_t b, uint64_t rate_bps, ps_t delay)
{
	struct net_link *link = &plan->links[plan->link_count];
	char(*names)[24] = &plan->names[2 * plan->link_count++];

	assert_true(plan->link_count <= LINKS_MAX);
	snprintf(names[0], sizeof(names[0]), "%s%u", a_kind, a);
	snprintf(names[1], sizeof(names[1]), "%s%u", b_kind, b);
	*link = (struct net_link){names[0], names[1], rate_bps, delay};
}

/* Half of the switches are more than plain. */
static void make_more(struct plan *plan, struct util_rand *rand)
{
	struct sim_switch_params *more = &plan->params.more;
	struct pfc_params *pfc = &plan->params.pfc;

	plan->params.extended = true;
	more->frame_bytes_max = NET_FRAME_MAX;
	more->head_bytes = below(rand, 2) ? 62 : 0;
	for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
		more->weights[q] = (uint8_t)(below(rand, 2) ? 1 + below(rand, 100) : 0);
	if (below(rand, 2)) {
		pfc->classes = plan->classes;
		for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
			plan->classes[q] = (struct pfc_class){
				.alpha_num = 1 + below(rand, 4),
				.alpha_den = below(rand, 3) ? 1 + below(rand, 16) : 0,
				.xoff_bytes =
					below(rand, 2) ? 9000 + below(rand, 30000) : UINT32_MAX,
				.resume_bytes = below(rand, 9000),
				.reserve_bytes = below(rand, 2) * below(rand, 9000),
				.queue_num = 1,
				.queue_den = below(rand, 2) * (1 + below(rand, 32)),
			};
	}
	more->balance = (enum sim_balance)below(rand, 4);
	if (below(rand, 3) == 0 && plan->params.fc != NET_CREDIT) {
		more->balance = SIM_BALANCE_WEAVE;
		more->head_bytes = 0;
		more->conweave =
			(struct sim_conweave_params){.reply = below(rand, 4) * PS_US / 2,
						     .busy = below(rand, 3) * 8 * PS_US,
						     .resume = (1 + below(rand, 20)) * PS_US,
						     .expiry = (1 + below(rand, 40)) * PS_US};
	}
	more->flowlet_gap = below(rand, 3) * PS_US;
	more->mapped = below(rand, 3) == 0 && plan->params.fc != NET_CREDIT;
	for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
		more->map[q] = (uint8_t)below(rand, SIM_PRIORITIES);
	more->marks_arrivals = below(rand, 3) == 0;
	more->frame_limit = below(rand, 6) ? 0 : 5000;
	if (below(rand, 3) == 0) {
		plan->params.outage = (struct net_outage){
			.link = below(rand, plan->link_count),
			.from = 1 + below(rand, 10) * PS_US,
			.reconverge = below(rand, 3) ? below(rand, 4) * PS_US : PS_NEVER,
		};
		plan->params.outage.until =
			plan->params.outage.from + (1 + below(rand, 20)) * PS_US;
	}
	pfc->headroom_pool_bytes = below(rand, 2) * (60000 + below(rand, 200000));
	if (below(rand, 2)) {
		plan->dog = (struct pfc_watchdog){.detection = 1 + below(rand, 8) * PS_US,
						  .restoration = below(rand, 20) * PS_US,
						  .poll = (1 + below(rand, 5)) * PS_US,
						  .drops = below(rand, 2)};
		pfc->watchdog = &plan->dog;
	}
}

/* Of those that pause nobody and reroute nothing half have sixteen priorities, and flows that
 * differ in the fourth bit. */
static void widen(struct plan *plan, uint64_t seed)
{
	struct util_rand rand = {.seed = seed, .purpose = 79};
	struct net_params *params = &plan->params;

	if (params->more.balance == SIM_BALANCE_WEAVE || below(&rand, 2))
		return;
	params->priority_count = SIM_PRIORITIES_MAX;
	params->pfc.lossless = 0;
	params->pfc.watchdog = NULL;
	params->marked |= 1 << 11;
	for (uint32_t i = 0; i < plan->flow_count; i++)
		plan->flows[i].priority += (uint8_t)(8 * below(&rand, 2));
	for (uint32_t q = SIM_PRIORITIES; q < SIM_PRIORITIES_MAX; q++) {
		params->more.weights[q] = (uint8_t)(below(&rand, 2) * below(&rand, 100));
		plan->classes[q] = (struct pfc_class){.alpha_num = 1,
						      .alpha_den = below(&rand, 2) * 8,
						      .xoff_bytes = 9000 + below(&rand, 30000),
						      .reserve_bytes = below(&rand, 2) * 9000};
	}
	for (uint32_t q = 0; params->more.mapped && q < SIM_PRIORITIES_MAX; q++)
		params->more.map[q] = (uint8_t)below(&rand, SIM_PRIORITIES_MAX);
}

/* Switches that rewrite priorities, where nothing forbids it. */
static void make_rewrites(struct plan *plan, uint64_t seed)
{
	struct util_rand rand = {.seed = seed, .purpose = 80};
	struct net_params *params = &plan->params;

	if (!params->extended || params->fc == NET_CREDIT ||
	    params->more.balance == SIM_BALANCE_WEAVE || params->priority_count > SIM_PRIORITIES ||
	    below(&rand, 2))
		return;
	params->rewrites = plan->rewrites;
	params->rewrite_count = 1 + below(&rand, REWRITES_MAX);
	for (uint32_t i = 0; i < params->rewrite_count; i++) {
		struct net_rewrite *rule = &plan->rewrites[i];
		const struct net_link *link = &plan->links[below(&rand, plan->link_count)];
		char *name = plan->rewrite_links[i];

		snprintf(name, sizeof(plan->rewrite_links[i]), "%s-%s", link->a, link->b);
		*rule = (struct net_rewrite){.at = link->a[0] == 's' && below(&rand, 2) ? link->a
											: link->b,
					     .from = (uint8_t)(1 + below(&rand, 255)),
					     .to = (uint8_t)(2 + below(&rand, 4))};
		if (below(&rand, 3) > 0)
			*(below(&rand, 2) ? &rule->in : &rule->out) = name;
	}
}

/* Few different rates, delays and sizes, so that much happens at one instant. */
static void make_plan(struct plan *plan, uint64_t seed)
{
	static const uint64_t rates[] = {100000000000, 25000000000, 106250000000, 400000000000};
	static const ps_t long_delays[] = {PS_US, PS_US / 2, 300 * PS_NS, 5 * PS_US};
	/* Islands: of a few nodes, of whole racks, of everything. */
	static const ps_t short_delays[][4] = {{PS_US, 5 * PS_NS, PS_US, PS_US / 2},
					       {500 * PS_NS, 10 * PS_NS, 1, 5 * PS_US},
					       {7 * PS_NS, 5 * PS_NS, 9 * PS_NS, 50 * PS_NS}};
	static const uint16_t sizes[] = {4178, 1106, 86, 9100};
	struct util_rand rand = {.seed = seed, .purpose = 77};
	const ps_t *delays = seed % 2 ? long_delays : short_delays[seed / 2 % 3];
	const uint32_t switches = 1 + below(&rand, 6), variety = 1 + below(&rand, 4);

	*plan = (struct plan){.params.seed = seed};
	plan->host_count = 2 + below(&rand, 10);
	for (uint32_t i = 1; i < switches; i++) {
		const uint32_t to = below(&rand, i);

		plan_link(plan, "s", i, "s", to, rates[below(&rand, variety)], delays[i % variety]);
	}
	for (uint32_t i = 0; switches > 2 && i < switches; i++) {
		const uint32_t a = below(&rand, switches), b = below(&rand, switches);
		bool known = a == b;

		for (uint32_t l = 0; l < plan->link_count; l++) {
			const uint32_t x = (uint32_t)atoi(plan->links[l].a + 1),
				       y = (uint32_t)atoi(plan->links[l].b + 1);

			known |= (x == a && y == b) || (x == b && y == a);
		}
		if (!known)
			plan_link(plan, "s", a, "s", b, rates[below(&rand, variety)],
				  delays[i % variety]);
	}
	for (uint32_t i = 0; i < plan->host_count; i++)
		plan_link(plan, "h", i, "s", i < switches ? i : i * 5 % switches,
			  rates[below(&rand, variety)], delays[i * 3 % variety]);
	plan->flow_count = 1 + below(&rand, 30);
	for (uint32_t i = 0; i < plan->flow_count; i++) {
		plan->flows[i].from = below(&rand, plan->host_count);
		plan->flows[i].to = below(&rand, 3) ? 0 : below(&rand, plan->host_count);
		if (plan->flows[i].from == plan->flows[i].to)
			plan->flows[i].to = (plan->flows[i].from + 1) % plan->host_count;
		plan->flows[i].packets = 1 + below(&rand, 60);
		plan->flows[i].bytes = sizes[below(&rand, variety)];
		plan->flows[i].priority = (uint8_t)(3 + below(&rand, 2));
		plan->flows[i].at = below(&rand, 3) * PS_US;
	}
	plan->params.pmax_den = below(&rand, 2) ? 5 : 0;
	plan->params.pmax_num = 1;
	plan->params.marked = 1 << 3;
	plan->params.kmin = 5000;
	plan->params.kmax = 60000;
	plan->params.fc = (enum net_fc)below(&rand, 3);
	plan->params.buffer_bytes =
		plan->params.fc == NET_CREDIT ? 9100 + below(&rand, 40000) : 100000;
	plan->params.pfc = (struct pfc_params){
		.buffer_bytes = 400000 + (uint64_t)plan->link_count * 60000 * 2,
		.lossless = below(&rand, 2) ? 0x08 : 0x18,
		.dynamic = below(&rand, 2),
		.alpha_num = 1,
		.alpha_den = 4 + below(&rand, 30),
		.xoff_bytes = 9000 + below(&rand, 40000),
		.resume_bytes = below(&rand, 2) ? 8356 : 2000,
		.headroom_bytes = 60000,
		.quanta = below(&rand, 3) == 0,
		.pause_quanta = (uint16_t)(200 + below(&rand, 1000)),
		.response_delay = below(&rand, 2) * 200 * PS_NS,
	};
	if (below(&rand, 2))
		make_more(plan, &rand);
	widen(plan, seed);
	make_rewrites(plan, seed);
}

struct outcome {
	uint64_t digest, hops, looks, islands, rewritten;
	struct sim_conweave_stats conweave;
};

/* What was sent was received, is queued (credits may wait for each other in a ring of switches) or
 * was dropped and given back. */
static void nothing_is_lost(const struct net *net)
{
	uint64_t sent = 0, received = 0, queued = 0, returned = 0, notes = 0, bytes;

	for (uint32_t i = 0; i < net->host_count; i++) {
		sent += net->hosts[i].sent_packets;
		received += net->hosts[i].received_packets;
		returned += net->hosts[i].returned;
	}
	for (uint32_t i = 0; i < net->switch_count; i++)
		queued += sim_switch_queued(net->switches[i], &bytes);
	for (uint32_t i = 0; i < net->switch_count; i++) {
		const struct sim_conweave_stats stats = sim_switch_conweave_stats(net->switches[i]);

		notes += stats.notes_sent - stats.notes_heard;
	}
	assert_int_equal(sent + notes, received + queued + net_dropped(net));
	assert_true(returned == net_dropped(net) || (notes > 0 && returned < net_dropped(net)));
}

static struct outcome play(const struct plan *plan, struct net_params params)
{
	struct net net;
	struct outcome outcome;

	net_make(&net, &params, plan->links, plan->link_count);
	for (uint32_t i = 0; i < plan->flow_count; i++) {
		char from[24], to[24];
		struct endpoint_flow *flow;

		snprintf(from, sizeof(from), "h%u", plan->flows[i].from);
		snprintf(to, sizeof(to), "h%u", plan->flows[i].to);
		flow = net_flow(&net, from, to, plan->flows[i].packets, plan->flows[i].bytes,
				plan->flows[i].at);
		flow->priority = plan->flows[i].priority;
	}
	outcome.digest = net_run(&net);
	outcome.hops = sim_packet_hops(net.sim);
	outcome.looks = net.looks;
	outcome.islands = sim_island_count(net.sim);
	outcome.conweave = (struct sim_conweave_stats){0};
	outcome.rewritten = 0;
	for (uint32_t i = 0; i < net.switch_count; i++)
		for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
			outcome.rewritten += sim_switch_stats(net.switches[i])->rewritten[q];
	for (uint32_t i = 0; i < net.switch_count; i++) {
		const struct sim_conweave_stats stats = sim_switch_conweave_stats(net.switches[i]);

		outcome.conweave.rerouted += stats.rerouted;
		outcome.conweave.kept += stats.kept;
		outcome.conweave.overdue += stats.overdue;
	}
	if (!params.oracle)
		nothing_is_lost(&net);
	net_free(&net);
	return outcome;
}

/* Windows and the instants at which somebody looks are no part of the model. Returns the looks. */
static uint64_t windows_are_not_seen(const struct plan *plan, uint64_t seed, uint64_t digest)
{
	struct util_rand rand = {.seed = seed, .purpose = 78};
	struct net_params params = plan->params;
	struct outcome outcome;

	params.window_max = 1 + below(&rand, 400000);
	params.cut_every = 30000 + below(&rand, 4000000);
	params.threads = 1 + (uint32_t)(seed / 10 % 3);
	outcome = play(plan, params);
	if (outcome.digest != digest)
		fail_msg("SEED=%llu: windows differ", (unsigned long long)seed);
	return outcome.looks;
}

/* SEED=N: this one alone. SEED_STEP=N: each Nth. Each hundredth seed is played on two or three
 * threads, too, and each tenth, or any that is asked for, with other windows on one to three. */
static void engine_and_oracle_agree(void **state)
{
	uint64_t hops = 0, looks = 0, islands = 0, first = 1, last = 2500, rerouted = 0, kept = 0,
		 overdue = 0;
	uint64_t wide = 0, rewritten = 0, step = 1;
	const char *only = getenv("SEED"), *stepped = getenv("SEED_STEP");

	(void)state;
	if (only)
		first = last = strtoull(only, NULL, 10);
	else if (stepped)
		first = step = strtoull(stepped, NULL, 10);
	only = only ? only : stepped;
	assert_true(step > 0);
	for (uint64_t seed = first; seed <= last; seed += step) {
		struct plan plan;
		struct net_params params;
		struct outcome plain, oracle;

		make_plan(&plan, seed);
		params = plan.params;
		plain = play(&plan, params);
		params.threads = 2 + (uint32_t)(seed / 100 % 2);
		if (seed % 100 == 0 && play(&plan, params).digest != plain.digest)
			fail_msg("SEED=%llu: threads differ", (unsigned long long)seed);
		if (only || seed % 10 == 0)
			looks += windows_are_not_seen(&plan, seed, plain.digest);
		params.oracle = true;
		oracle = play(&plan, params);
		hops += plain.hops;
		islands += plain.islands;
		wide += params.priority_count > SIM_PRIORITIES;
		rewritten += plain.rewritten;
		rerouted += plain.conweave.rerouted;
		kept += plain.conweave.kept;
		overdue += plain.conweave.overdue;
		if (plain.digest != oracle.digest)
			fail_msg("SEED=%llu fc %d: the oracle differs", (unsigned long long)seed,
				 (int)params.fc);
	}
	assert_true(only || (hops > 1000000 && wide > 500));
	assert_true(only || rewritten > 10000);
	assert_true(only || looks > 1000);
	assert_true(only || islands > 1000);
	assert_true(only || (rerouted > 200 && kept > 200 && overdue > 20));
}

RUN(T(engine_and_oracle_agree))
