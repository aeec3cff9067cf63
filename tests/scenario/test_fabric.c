/* SPDX-License-Identifier: BSD-2-Clause */

/* Links, switch, flow control and marking against numbers computed elsewhere. */
#include "models/link/credit.h"
#include "sim/order.h"
#include "tests/scenario/net.h"
#include "tests/test.h"

#include <string.h>

#define G ((uint64_t)1000000000)
enum { LINKS_MAX = 160 };

/* ---- times ---- */

static ps_t tx_time(uint64_t rate_bps, uint32_t bytes)
{
	const struct net_link link = {"a", "b", rate_bps, 1};
	struct net net;
	ps_t time;

	net_make(&net, &(struct net_params){.seed = 1}, &link, 1);
	time = sim_port_tx_time(net_host(&net, "a")->port, bytes);
	net_free(&net);
	return time;
}

/* ceil(bytes * 8 * 10^12 / rate), computed with rationals elsewhere. */
static void serialisation_is_exact_and_rounded_up(void **state)
{
	(void)state;
	assert_true(tx_time(100 * G, 4178) == 334240);
	assert_true(tx_time(106250000000, 1) == 76);
	assert_true(tx_time(106250000000, 4178) == 314579);
	assert_true(tx_time(106250000000, 1700) == 128000);
	assert_true(tx_time(106250000000, 17) == 1280);
	assert_true(tx_time(106250000000, 65535) == 4934400);
	assert_true(tx_time(3 * G, 9216) == 24576000);
	assert_true(tx_time(1000, 65535) == 524280000000000);
	assert_true(tx_time(1, 1) == 8000000000000);
	for (uint64_t rate = 999999937; rate < 900 * G; rate = rate * 3 + 1)
		for (uint32_t bytes = 1; bytes < 65536; bytes += 1 + bytes / 3)
			assert_true(tx_time(rate, bytes) == util_tx_time(bytes, rate));
}

struct path {
	uint32_t links, packets;
	uint16_t bytes, last_bytes;
	uint64_t rates[4];
	ps_t delays[4];
	ps_t last_at;
};

/* Anchor A2: when the last bit of the last packet of a burst arrives, store and forward. */
static void bursts_take_the_time_of_store_and_forward(void **state)
{
	static const struct path paths[] = {
		{1, 1, 4178, 0, {100 * G}, {PS_US}, 1334240},
		{1, 10, 4178, 1000, {106250000000}, {PS_US}, 3906506},
		{2, 10, 4178, 178, {100 * G, 100 * G}, {PS_US, PS_US}, 5356640},
		{2, 3, 2130, 0, {25 * G, 100 * G}, {PS_US, 2 * PS_US}, 5215200},
		{4,
		 7,
		 1106,
		 0,
		 {100 * G, 100 * G, 100 * G, 100 * G},
		 {PS_US, PS_US, PS_US, PS_US},
		 4884800},
		{4,
		 5,
		 4178,
		 333,
		 {106250000000, 106250000000, 106250000000, 106250000000},
		 {PS_US, PS_US, PS_US, PS_US},
		 6227126},
		{4,
		 21,
		 4178,
		 500,
		 {100 * G, 25 * G, 400 * G, 106250000000},
		 {PS_US, 500000, 300000, PS_US},
		 30309227},
	};
	static const char *names[] = {"s0", "s1", "s2"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const struct path *p = &paths[i];
		struct net_link links[4];
		struct endpoint_flow *flow;
		struct net net;

		for (uint32_t l = 0; l < p->links; l++)
			links[l] = (struct net_link){l == 0 ? "a" : names[l - 1],
						     l + 1 == p->links ? "b" : names[l],
						     p->rates[l], p->delays[l]};
		net_make(&net, &(struct net_params){.seed = 1, .buffer_bytes = 1 << 20}, links,
			 p->links);
		flow = net_flow(&net, "a", "b", p->packets, p->bytes, 0);
		flow->last_bytes = p->last_bytes;
		net_run(&net);
		assert_true(net_host(&net, "b")->last_at == p->last_at);
		assert_int_equal(sim_route_hops(net.routes, &net_host(&net, "a")->node,
						&net_host(&net, "b")->node),
				 p->links);
		net_free(&net);
	}
}

/* ---- routes ---- */

/* Two hosts across k=4's core: four ways; each carries its share of many flows. */
static void equal_ways_get_equal_shares(void **state)
{
	struct net_link links[LINKS_MAX];
	char names[2 * LINKS_MAX][24];
	const uint32_t count = net_fat_tree(links, names, 4, 100 * G, PS_US);
	uint32_t share[4] = {0};
	struct net net;

	(void)state;
	net_make(&net, &(struct net_params){.seed = 1, .buffer_bytes = 1 << 24}, links, count);
	for (uint32_t i = 0; i < 4000; i++)
		net_flow(&net, "h0", "h15", 1, 86, i * 20 * PS_NS)->flow_hash = i;
	net_run(&net);
	for (uint32_t c = 0; c < 4; c++) {
		char name[24];

		snprintf(name, sizeof(name), "sc%u_%u", c / 2, c % 2);
		share[c] = (uint32_t)sim_switch_stats(net_switch(&net, name))->forwarded;
	}
	/* 4,000 there and 4,000 back: 2,000 each, deviation 38.7; five of them. */
	for (uint32_t c = 0; c < 4; c++)
		assert_in_range(share[c], 2000 - 194, 2000 + 194);
	net_free(&net);
}

static void picks_are_scaled_without_bias(void **state)
{
	uint32_t counts[7] = {0};

	(void)state;
	for (uint32_t i = 0; i < 70000; i++)
		counts[sim_route_pick(0x123456789abcdef1, i * 2654435761u, 7)]++;
	for (uint32_t i = 0; i < 7; i++)
		assert_in_range(counts[i], 10000 - 463, 10000 + 463);
}

/* ---- marking ---- */

/* kmin = kmax = one frame. Of n frames that come at once on an idle port one goes ahead; when the
 * others leave, n - 2, n - 3, ... 0 are behind them: all but the last two are marked. */
static void marks_by_the_queue_without_the_frame(void **state)
{
	struct net_link links[LINKS_MAX];
	char names[2 * LINKS_MAX][24];
	const uint32_t count = net_star(links, names, 7, 100 * G, PS_US);
	struct net net;

	(void)state;
	net_make(&net,
		 &(struct net_params){.seed = 1,
				      .buffer_bytes = 1 << 20,
				      .kmin = 4178,
				      .kmax = 4178,
				      .pmax_num = 1,
				      .pmax_den = 1,
				      .marked = 8},
		 links, count);
	for (uint32_t i = 0; i < 6; i++) {
		char name[24];

		snprintf(name, sizeof(name), "h%u", i);
		net_flow(&net, name, "h6", 1, 4178, 0);
	}
	net_run(&net);
	assert_int_equal(net_host(&net, "h6")->received_packets, 6);
	assert_int_equal(net_host(&net, "h6")->marked, 3);
	net_free(&net);
}

/* Anchor A8: at a constant queue the share of marks is pmax (q - kmin) / (kmax - kmin). */
static void marks_the_share_of_red(void **state)
{
	static const struct {
		uint32_t queue, expected, margin; /* of 100,000; 99 % */
	} cases[] = {{100000, 0, 0},	   {100001, 0, 2},	{250000, 10000, 245},
		     {400000, 20000, 326}, {175000, 5000, 178}, {400001, 100000, 0}};
	const struct ecn ecn = ecn_make(100000, 400000, 1, 5);
	const uint64_t key = sim_mark_key(1, 99);

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		uint32_t marks = 0;

		for (uint64_t psn = 0; psn < 100000; psn++)
			marks += ecn.mark.mark(&ecn.mark, cases[c].queue,
					       sim_mark_draw(key, (uint64_t[]){0x11, psn}, 12345));
		assert_true(marks + cases[c].margin >= cases[c].expected);
		assert_true(marks <= cases[c].expected + cases[c].margin);
	}
}

/* ---- PFC ---- */

static void headroom_is_that_of_the_formula(void **state)
{
	/* 100 Gb/s, 100 m, frames of 1,500: 572,480 bits. */
	const struct pfc_headroom link = {.rate_bps = 100 * G,
					  .delay = 500 * PS_NS,
					  .response_delay = 4474880,
					  .frame_bytes_max = 1520,
					  .lossless_bytes_max = 1520};

	(void)state;
	assert_int_equal(pfc_headroom_bytes(&link), 71560);
}

static struct net_params pfc_params(uint32_t headroom)
{
	return (struct net_params){
		.seed = 1,
		.fc = NET_PFC,
		.pfc = {.buffer_bytes = 4000000,
			.lossless = 8,
			.xoff_bytes = 10 * 4178,
			.resume_bytes = 2 * 4178,
			.headroom_bytes = headroom,
			.response_delay = 400 * PS_NS},
	};
}

/* 1 + 1: two senders at line rate into one port; each ingress fills at half the rate. */
static void incast(struct net *net, const struct net_params *params, uint32_t packets)
{
	static const struct net_link links[] = {{"h0", "s0", 100 * G, PS_US},
						{"h1", "s0", 100 * G, PS_US},
						{"h2", "s0", 100 * G, PS_US}};

	net_make(net, params, links, 3);
	net_flow(net, "h0", "h2", packets, 4178, 0);
	net_flow(net, "h1", "h2", packets, 4178, 0);
}

static uint32_t enough_headroom(void)
{
	return pfc_headroom_bytes(&(struct pfc_headroom){.rate_bps = 100 * G,
							 .delay = PS_US,
							 .response_delay = 400 * PS_NS,
							 .frame_bytes_max = 4178,
							 .lossless_bytes_max = 4178});
}

static void lossless_with_headroom_and_lossy_without(void **state)
{
	struct net_params params = pfc_params(enough_headroom());
	struct net net;
	uint64_t sent = 0, resumed = 0;

	(void)state;
	incast(&net, &params, 400);
	net_run(&net);
	assert_int_equal(net_dropped(&net), 0);
	assert_int_equal(net_host(&net, "h2")->received_packets, 800);
	for (uint32_t p = 0; p < 3; p++) {
		const struct sim_port *port = &sim_switch_node(net.switches[0])->ports[p];
		const struct sim_gate *gate = sim_fc_gate(sim_switch_fc(net.switches[0]), p);
		const struct endpoint *host = container_of(port->peer, struct endpoint, node);

		sent += gate->controls_sent;
		resumed += gate->resumes_sent;
		assert_int_equal(sim_fc_gate(host->fc, 0)->controls_received, gate->controls_sent);
		assert_int_equal(sim_fc_gate(host->fc, 0)->resumes_received, gate->resumes_sent);
		assert_int_equal(host->port->paused, 0);
		assert_true((gate->controls_sent > 0) ==
			    (sim_fc_paused_time(host->fc, 0, 3, sim_now(net.sim)) > 0));
	}
	assert_true(sent > 10);
	assert_int_equal(sent, resumed);
	assert_int_equal(sim_switch_fc(net.switches[0])->used, 0);
	net_free(&net);

	params = pfc_params(4178);
	params.pfc.buffer_bytes = 300000;
	params.pfc.xoff_bytes = 280000;
	params.pfc.resume_bytes = 8356;
	incast(&net, &params, 400);
	net_run(&net);
	assert_true(sim_switch_fc(net.switches[0])->dropped_headroom > 0);
	net_free(&net);
}

/* The first XOFF: an ingress holds 10 frames and gets the 11th. Each second frame of both goes out,
 * so of one ingress the n-th arrival finds about n / 2 there. */
static void a_pause_begins_and_ends_at_its_thresholds(void **state)
{
	struct net_params params = pfc_params(enough_headroom());
	uint32_t queue_max;
	struct net net;

	(void)state;
	params.pfc.response_delay = 0;
	incast(&net, &params, 400);
	assert_int_equal(sim_run(net.sim, 7 * PS_US), 0);
	/* 18 arrivals of each by then: at most 9 or 10 wait. */
	assert_int_equal(sim_switch_fc(net.switches[0])->eager_count, 0);
	assert_int_equal(sim_run(net.sim, 12 * PS_US), 0);
	assert_true(sim_switch_fc(net.switches[0])->eager_count > 0);
	net_run(&net);
	/* Two ingresses of at most 11 frames and what flies for 2 us and two frames (2 * 12.5 KB
	 * more, of which half leaves meanwhile). */
	queue_max = sim_switch_class(net.switches[0], 2, 3)->queue_max;
	assert_in_range(queue_max, 2 * 11 * 4178, 2 * (11 * 4178 + 25000 + 2 * 4178));
	net_free(&net);
}

/* Pauses that run out: the same load passes, and a lost resume would not stop it for ever. */
static void quanta_run_out_and_are_refreshed(void **state)
{
	struct net_params params = pfc_params(enough_headroom());
	struct net net;

	(void)state;
	params.pfc.quanta = true;
	params.pfc.pause_quanta = 300; /* 1.5 us at 100 Gb/s */
	incast(&net, &params, 400);
	net_run(&net);
	assert_int_equal(net_dropped(&net), 0);
	assert_int_equal(net_host(&net, "h2")->received_packets, 800);
	assert_true(sim_fc_gate(sim_switch_fc(net.switches[0]), 0)->controls_sent >
		    sim_fc_gate(sim_switch_fc(net.switches[0]), 0)->resumes_sent);
	net_free(&net);
}

/* ---- credits ---- */

static void credits_never_drop_at_any_buffer_size(void **state)
{
	(void)state;
	for (uint32_t buffer = NET_FRAME_MAX; buffer < 60000; buffer += 977) {
		const struct net_params params = {
			.seed = buffer, .fc = NET_CREDIT, .buffer_bytes = buffer};
		struct net net;

		incast(&net, &params, 100);
		net_flow(&net, "h2", "h0", 100, 9100, 0);
		net_run(&net);
		assert_int_equal(net_dropped(&net), 0);
		assert_int_equal(net_host(&net, "h2")->received_packets, 200 + 100);
		assert_int_equal(net_host(&net, "h0")->received_packets, 100 + 100);
		for (uint32_t p = 0; p < 3; p++)
			assert_true(sim_switch_class(net.switches[0], p, 3)->queue_max <=
				    2 * buffer);
		net_free(&net);
	}
}

/* ---- frames for a switch itself ---- */

struct ear {
	struct sim_agent agent; /* first */
	uint32_t count, bytes;
};

static void on_frame(struct sim_agent *agent, struct sim_thread *th, struct sim_switch *sw,
		     const struct sim_pkt *frame)
{
	struct ear *ear = (struct ear *)(void *)agent;

	(void)th;
	assert_int_equal(sim_pkt_priority(frame, sim_switch_fc(sw)->priority_count), 11);
	ear->count++;
	ear->bytes += frame->bytes;
}

/* With room for one frame at a time: were the room of one not given back, the next would never
 * come. Without an agent there is nobody. */
static void a_switch_hears_what_is_for_itself(void **state)
{
	static const enum net_fc fcs[] = {NET_NONE, NET_CREDIT};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		const struct net_params params = {.seed = i,
						  .fc = fcs[i / 2],
						  .priority_count = SIM_PRIORITIES_MAX,
						  .extended = true,
						  .buffer_bytes = i / 2 ? NET_FRAME_MAX : 1u << 20};
		struct ear ear = {.agent.on_frame = on_frame};
		struct endpoint_flow *flow;
		uint64_t bytes;
		struct net net;

		incast(&net, &params, 0);
		flow = net_flow(&net, "h0", "h2", 50, 9000, 0);
		flow->priority = 11;
		flow->dst = sim_address(
			sim_route_table_of(net.routes, sim_switch_node(net.switches[0]))->own_group,
			SIM_ROUTE_HERE);
		net_flow(&net, "h0", "h2", 50, 9000, 0);
		if (i % 2)
			sim_switch_agent(net.switches[0], &ear.agent);
		net_run(&net);
		assert_int_equal(ear.count, i % 2 ? 50 : 0);
		assert_int_equal(ear.bytes, i % 2 ? 50 * 9000 : 0);
		assert_int_equal(sim_switch_stats(net.switches[0])->dropped_route, i % 2 ? 0 : 50);
		assert_int_equal(sim_switch_queued(net.switches[0], &bytes), 0);
		assert_int_equal(sim_switch_fc(net.switches[0])->used, 0);
		assert_int_equal(net_host(&net, "h2")->received_packets, 50);
		net_free(&net);
	}
}

/* Whose agent understands nothing but its like: what a host says to it goes no further, and counts
 * as what it is where there is no agent. */
static void what_no_switch_has_said_has_no_route(void **state)
{
	const struct net_params params = {.seed = 1,
					  .extended = true,
					  .more.balance = SIM_BALANCE_WEAVE,
					  .more.conweave = {.resume = PS_US, .expiry = PS_US},
					  .buffer_bytes = 1u << 20};
	struct endpoint_flow *flow;
	uint64_t bytes;
	struct net net;

	(void)state;
	incast(&net, &params, 0);
	flow = net_flow(&net, "h0", "h2", 50, 9000, 0);
	flow->dst = sim_address(
		sim_route_table_of(net.routes, sim_switch_node(net.switches[0]))->own_group,
		SIM_ROUTE_HERE);
	net_flow(&net, "h0", "h2", 50, 9000, 0);
	net_run(&net);
	assert_int_equal(sim_switch_stats(net.switches[0])->dropped_route, 50);
	assert_int_equal(sim_switch_conweave_stats(net.switches[0]).notes_heard, 0);
	assert_int_equal(net_host(&net, "h0")->returned, 50);
	assert_int_equal(sim_switch_queued(net.switches[0], &bytes), 0);
	assert_int_equal(net_host(&net, "h2")->received_packets, 50);
	net_free(&net);
}

/* ---- conservation ---- */

/* Anchor A16: at every instant what was sent is delivered, dropped, queued or on a wire. */
static void packets_are_conserved(struct net_params params)
{
	struct net_link links[LINKS_MAX];
	char names[2 * LINKS_MAX][24];
	const uint32_t count = net_fat_tree(links, names, 4, 100 * G, PS_US);
	struct net net;

	net_make(&net, &params, links, count);
	for (uint32_t i = 1; i < 16; i++) {
		char name[24];

		snprintf(name, sizeof(name), "h%u", i);
		net_flow(&net, name, "h0", 50, 4178, 0);
	}
	for (ps_t at = PS_US; at < 400 * PS_US; at += 7 * PS_US) {
		uint64_t sent = 0, received = 0, queued = 0, bytes, started = 0, control = 0;

		assert_int_equal(sim_run(net.sim, at), 0);
		for (uint32_t i = 0; i < net.host_count; i++) {
			sent += net.hosts[i].sent_packets;
			received += net.hosts[i].received_packets;
			started += net.hosts[i].port->sent_packets;
			control += sim_fc_gate(net.hosts[i].fc, 0)->controls_received +
				   sim_fc_gate(net.hosts[i].fc, 0)->resumes_received;
		}
		for (uint32_t i = 0; i < net.switch_count; i++) {
			struct sim_node *node = sim_switch_node(net.switches[i]);
			struct sim_fc *fc = sim_switch_fc(net.switches[i]);

			queued += sim_switch_queued(net.switches[i], &bytes);
			for (uint32_t p = 0; p < node->port_count; p++) {
				started += node->ports[p].sent_packets;
				control += sim_fc_gate(fc, p)->controls_received +
					   sim_fc_gate(fc, p)->resumes_received;
				control -= sim_fc_control(fc, p)->sent_packets;
			}
		}
		/* On a wire: all that started less all that arrived; without control frames. */
		assert_int_equal(sent, received + queued + net_dropped(&net) + started -
					       sim_packet_hops(net.sim) + control);
	}
	net_run(&net);
	assert_int_equal(net_host(&net, "h0")->received_packets + net_dropped(&net), 750);
	net_free(&net);
}

static void packets_are_conserved_with_pfc_and_with_drops(void **state)
{
	struct net_params params = pfc_params(enough_headroom());

	(void)state;
	packets_are_conserved(params);
	params.fc = NET_NONE;
	params.buffer_bytes = 60000;
	packets_are_conserved(params);
}

/* A switch of a thousand ports. */
static void a_thousand_ports(void **state)
{
	enum { MANY = 1000 };
	struct net_link *links = calloc(MANY, sizeof(*links));
	char(*names)[24] = calloc(2 * MANY, sizeof(*names));
	struct net_params params = pfc_params(enough_headroom());
	struct net net;

	(void)state;
	params.pfc.buffer_bytes = 64000000;
	net_make(&net, &params, links, net_star(links, names, MANY, 100 * G, PS_US));
	for (uint32_t i = 0; i < MANY; i++) {
		char from[24], to[24];

		snprintf(from, sizeof(from), "h%u", i);
		snprintf(to, sizeof(to), "h%u", (i * 7 + 1) % MANY);
		if ((i * 7 + 1) % MANY != i)
			net_flow(&net, from, to, 20, 4178, 0);
		snprintf(to, sizeof(to), "h%u", i % 10);
		if (i % 10 != i)
			net_flow(&net, from, to, 2, 4178, 0);
	}
	net_run(&net);
	assert_int_equal(net_dropped(&net), 0);
	net_free(&net);
	free(links);
	free(names);
}

RUN(T(serialisation_is_exact_and_rounded_up), T(bursts_take_the_time_of_store_and_forward),
    T(equal_ways_get_equal_shares), T(picks_are_scaled_without_bias),
    T(marks_by_the_queue_without_the_frame), T(marks_the_share_of_red),
    T(headroom_is_that_of_the_formula), T(lossless_with_headroom_and_lossy_without),
    T(a_pause_begins_and_ends_at_its_thresholds), T(quanta_run_out_and_are_refreshed),
    T(credits_never_drop_at_any_buffer_size), T(a_switch_hears_what_is_for_itself),
    T(what_no_switch_has_said_has_no_route), T(packets_are_conserved_with_pfc_and_with_drops),
    T(a_thousand_ports))
