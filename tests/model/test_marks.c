/* SPDX-License-Identifier: BSD-2-Clause */

/* Anchors of marking and of what marks do: RED's share, pacing of CNPs, decay of alpha, the answer
 * to one CNP. A window of w packets from 100 Gb/s into 25 Gb/s makes a queue that stands still. */
#include "sim/tap.h"
#include "tests/model/lab.h"
#include "tests/test.h"
#include "transport/hca/internal.h"

#define G ((uint64_t)1000000000)

static struct lab lab;
static const struct lab_link narrow[] = {{"a", "s0", 100 * G, PS_US}, {"s0", "b", 25 * G, PS_US}};

static void deaf_init(struct cc_flow *flow, const struct cc_params *params)
{
	*flow = (struct cc_flow){.rate_bps = params->line_rate_bps};
}

static void deaf_advance(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	(void)flow;
	(void)params;
	(void)now;
}

static void deaf_sent(struct cc_flow *flow, const struct cc_params *params, uint32_t bytes,
		      ps_t now)
{
	(void)flow;
	(void)params;
	(void)bytes;
	(void)now;
}

/* Packets may be marked, and nobody slows down. */
static const struct cc_ops deaf = {.name = "deaf",
				   .listens = true,
				   .init = deaf_init,
				   .advance = deaf_advance,
				   .on_cnp = deaf_advance,
				   .on_sent = deaf_sent};

/* @packets under a window of @window; what b counted. */
static struct hca_counters steady(uint32_t packets, uint32_t window, const struct ecn *ecn,
				  ps_t cnp_interval)
{
	const struct lab_params params = {.links = narrow,
					  .link_count = 2,
					  .psn_window = window,
					  .ack_every = 1,
					  .cc = &deaf,
					  .ecn = ecn,
					  .cc_params = {.line_rate_bps = 100 * G},
					  .cnp_interval = cnp_interval};
	struct hca_counters counters;

	lab_open(&lab, &params);
	lab_post(&lab, lab_connect(&lab, &(struct lab_pair_params){.from = "a", .to = "b"}),
		 HCA_WR_RDMA_WRITE, packets * 4096, 0);
	lab_run(&lab, PS_S);
	assert_int_equal(lab.done_count, 1);
	counters = *lab_counters(&lab, "b");
	lab_close(&lab);
	return counters;
}

/* A8: 60,000 packets; binomial, 99 %. */
static void marks_have_the_share_of_red(void **state)
{
	static const struct {
		uint32_t window, marks, margin;
	} cases[] = {{35, 1014, 82}, {60, 5192, 178}, {90, 10205, 238}};
	const struct ecn ecn = ecn_make(100000, 400000, 1, 5);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_in_range(steady(60000, cases[i].window, &ecn, 0).np_ecn_marked_roce_packets,
				cases[i].marks - cases[i].margin, cases[i].marks + cases[i].margin);
}

/* A9: marks every 1,336,960 ps; floor((m - 1) / ceil(N / s)) + 1 CNPs. */
static void cnps_keep_their_distance(void **state)
{
	const struct ecn always = ecn_make(0, 0, 1, 1);
	struct hca_counters c = steady(1000, 60, &always, 50 * PS_US);

	(void)state;
	assert_int_equal(c.np_ecn_marked_roce_packets, 998);
	assert_int_equal(c.np_cnp_sent, 27);
	c = steady(1000, 60, &always, 4 * PS_US);
	assert_int_equal(c.np_ecn_marked_roce_packets, 998);
	assert_int_equal(c.np_cnp_sent, 333);
}

/* A10: (1 - 1/256)^k, here as Q0.48; 10^-9 is 281,474. */
static void alpha_decays(void **state)
{
	static const struct {
		uint32_t k;
		uint64_t alpha;
	} cases[] = {{1, 280375465082880},   {2, 279280248422400},  {10, 270671134393553},
		     {100, 190309866270400}, {1000, 5618946719110}, {3000, 2239160158}};
	const struct cc_params params = cc_dcqcn_params(100 * G);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct cc_flow flow;

		cc_dcqcn.init(&flow, &params);
		cc_dcqcn.on_cnp(&flow, &params, 7 * PS_US);
		cc_dcqcn.advance(&flow, &params, 7 * PS_US + cases[i].k * 55 * PS_US - 1);
		assert_true(flow.alpha > cases[i].alpha + cases[i].alpha / 512);
		cc_dcqcn.advance(&flow, &params, 7 * PS_US + cases[i].k * 55 * PS_US);
		assert_in_range(flow.alpha, cases[i].alpha - 281474, cases[i].alpha + 281474);
	}
}

struct watch {
	struct sim_tap tap; /* first */
	ps_t last_at, cnp_at;
	ps_t first_gap, last_gap; /* between full packets, at two instants after the CNP */
};

static void on_data(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
		    const struct sim_pkt *pkt, ps_t start)
{
	struct watch *watch = (struct watch *)(void *)tap;
	const ps_t since = start - watch->cnp_at;

	(void)th;
	(void)port;
	if (pkt->bytes == 4178 && watch->cnp_at && watch->last_at) {
		if (since > 20 * PS_US && since < 290 * PS_US)
			watch->first_gap = start - watch->last_at;
		if (since > 310 * PS_US && since < 590 * PS_US)
			watch->last_gap = start - watch->last_at;
	}
	watch->last_at = start;
}

static void on_cnp(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
		   const struct sim_pkt *pkt, ps_t start)
{
	struct watch *watch = (struct watch *)(void *)tap;

	(void)th;
	if (pkt->bytes == 98) /* 78 of CNP, preamble and gap: nothing else here is as long */
		watch->cnp_at = start + 98 * 80 + port->delay;
}

/* D12: three hosts send one packet each at one instant; the second to leave sees one behind it and
 * is marked, alone. Its sender then has a path for itself: RC/C = .50777 from 4 us after the CNP,
 * .75388 from 304 us. */
static void one_cnp_halves_the_rate_and_time_gives_it_back(void **state)
{
	static const struct lab_link star[] = {{"a", "s0", 100 * G, PS_US},
					       {"b", "s0", 100 * G, PS_US},
					       {"c", "s0", 100 * G, PS_US},
					       {"d", "s0", 100 * G, PS_US}};
	static const char *const senders[] = {"a", "b", "c"};
	const struct ecn always = ecn_make(0, 0, 1, 1);
	const struct lab_params params = {.links = star,
					  .link_count = 4,
					  .ecn = &always,
					  .ack_every = 64,
					  .cc = &cc_dcqcn_hpcc,
					  .cc_params = cc_dcqcn_hpcc_params(100 * G),
					  .cnp_interval = 4 * PS_US};
	struct watch data[3] = {
		{.tap.on_start = on_data}, {.tap.on_start = on_data}, {.tap.on_start = on_data}};
	struct watch cnps[3] = {
		{.tap.on_start = on_cnp}, {.tap.on_start = on_cnp}, {.tap.on_start = on_cnp}};
	struct cc_flow flow;
	int slowed = -1;

	(void)state;
	/* Who is second is a matter of chance: first find out, then let that one go on. */
	for (int round = 0; round < 2; round++) {
		lab_open(&lab, &params);
		for (int i = 0; i < 3; i++) {
			struct lab_pair *pair = lab_connect(
				&lab, &(struct lab_pair_params){.from = senders[i], .to = "d"});

			sim_tap_attach(&data[i].tap, lab_port(&lab, senders[i], "s0"));
			sim_tap_attach(&cnps[i].tap, lab_port(&lab, "s0", senders[i]));
			lab_post(&lab, pair, HCA_WR_RDMA_WRITE, 4096, 0);
			if (round == 1 && i == slowed)
				lab_post(&lab, pair, HCA_WR_RDMA_WRITE, 8000000, 5 * PS_US);
		}
		lab_run(&lab, PS_S);
		assert_int_equal(lab_counters(&lab, "d")->np_ecn_marked_roce_packets, 1);
		for (int i = 0; i < 3; i++)
			if (lab_counters(&lab, senders[i])->rp_cnp_handled)
				slowed = i;
		assert_true(slowed >= 0);
		if (round == 0) {
			/* The rate itself: what an instant's look at the flow finds. */
			flow = lab.pairs[slowed].qp->cc;
			for (int i = 0; i < 3; i++) {
				data[i].cnp_at = cnps[i].cnp_at;
				data[i].last_at = 0;
			}
			params.cc->advance(&flow, &params.cc_params,
					   data[slowed].cnp_at + 4 * PS_US - 1);
			assert_true(flow.rate_bps == 100 * G);
			params.cc->advance(&flow, &params.cc_params,
					   data[slowed].cnp_at + 4 * PS_US);
			assert_in_range(flow.rate_bps, 50776684270, 50776684274);
			params.cc->advance(&flow, &params.cc_params,
					   data[slowed].cnp_at + 304 * PS_US - 1);
			assert_in_range(flow.rate_bps, 50776684270, 50776684274);
			params.cc->advance(&flow, &params.cc_params,
					   data[slowed].cnp_at + 304 * PS_US);
			assert_in_range(flow.rate_bps, 75388342134, 75388342138);
		}
		lab_close(&lab);
	}
	/* And on the wire: 4,178 bytes at .50777 and .75388 of 100 Gb/s. */
	assert_in_range(data[slowed].first_gap, 658190, 658321);
	assert_in_range(data[slowed].last_gap, 443315, 443403);
}

RUN(T(marks_have_the_share_of_red), T(cnps_keep_their_distance), T(alpha_decays),
    T(one_cnp_halves_the_rate_and_time_gives_it_back))
