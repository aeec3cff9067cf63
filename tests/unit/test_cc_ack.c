/* SPDX-License-Identifier: BSD-2-Clause */
/* Controls that hear of ACKs, and NVIDIA's form of DCQCN, step by step. The literals come from
 * tests/model/cc_steps.py, exact rationals of the published formulas; integers may be off by
 * 10^-6. */
#include "tests/test.h"
#include "transport/cc/cc.h"

enum { MTU = 1024 };

static const uint64_t LINE = 100000000000;
static uint64_t memory[64];
static struct cc_params params;
static struct cc_flow flow;

static void start(const struct cc_ops *ops)
{
	assert_true(ops->state_bytes <= sizeof(memory));
	params = cc_dcqcn_params(LINE);
	params.rate_min_bps = 100000000;
	params.mtu_bytes = MTU;
	params.nv = cc_nv_defaults();
	params.timely = cc_timely_defaults(ops == &cc_timely_patched);
	params.timely.segment_bytes = MTU;
	params.swift = cc_swift_defaults(20 * PS_US);
	params.dctcp = cc_dctcp_defaults(LINE);
	params.hpcc = cc_hpcc_defaults(LINE, 10 * PS_US);
	flow = (struct cc_flow){.state = memory};
	ops->init(&flow, &params);
	assert_int_equal(flow.rate_bps, LINE);
}

static void assert_rate(uint64_t expected, size_t step)
{
	const uint64_t off = expected / 1000000 + 1;

	if (flow.rate_bps + off < expected || flow.rate_bps > expected + off)
		fail_msg("step %zu: rate %llu, expected %llu", step,
			 (unsigned long long)flow.rate_bps, (unsigned long long)expected);
}

struct round_trip {
	uint64_t rtt_us, rate;
};

static void follow(const struct cc_ops *ops, const struct round_trip *steps, size_t count)
{
	start(ops);
	for (size_t i = 0; i < count; i++) {
		const struct cc_ack ack = {.rtt = steps[i].rtt_us * PS_US, .packets = 1};

		ops->on_ack(&flow, &params, &ack);
		assert_rate(steps[i].rate, i);
	}
}

static void test_timely_follows_the_gradient(void **state)
{
	static const struct round_trip steps[] = {
		{60, 100000000000}, {60, 100000000000}, {70, 65000000000}, {65, 65010000000},
		{60, 65020000000},  {55, 65030000000},	{54, 65040000000}, {53, 65090000000},
		{52, 65140000000},  {51, 65190000000},	{40, 65200000000}, {600, 56506666667},
		{400, 56516666667}, {450, 100000000},
	};

	(void)state;
	follow(&cc_timely, steps, sizeof(steps) / sizeof(steps[0]));
}

/* Five calm updates in a row raise the rate faster; one below the low threshold is not of the row.
 */
static void test_timely_counts_calm_updates_anew(void **state)
{
	static const struct round_trip steps[] = {
		{300, 100000000000}, {310, 65000000000}, {300, 65010000000}, {290, 65020000000},
		{280, 65030000000},  {270, 65040000000}, {40, 65050000000},  {50, 65060000000},
		{50, 65070000000},   {50, 65080000000},	 {50, 65090000000},  {50, 65140000000},
	};

	(void)state;
	follow(&cc_timely, steps, sizeof(steps) / sizeof(steps[0]));
}

static void test_patched_timely_follows_the_distance(void **state)
{
	static const struct round_trip steps[] = {
		{60, 100000000000}, {60, 99925000000},	{64, 99736242800}, {62, 99671942040},
		{60, 99629643081},  {55, 99636182831},	{40, 99646182831}, {600, 99513321253},
		{400, 99523321253}, {402, 99533321253},
	};

	(void)state;
	follow(&cc_timely_patched, steps, sizeof(steps) / sizeof(steps[0]));
}

/* One update a segment, and only where a round trip is known. */
static void test_timely_waits_for_its_segment(void **state)
{
	struct cc_ack ack = {.rtt = 40 * PS_US, .packets = 1};

	(void)state;
	start(&cc_timely);
	params.timely.segment_bytes = 3 * MTU;
	flow.rate_bps = LINE / 2;
	for (int i = 0; i < 3; i++)
		cc_timely.on_ack(&flow, &params, &ack); /* the third is the first that is taken */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(flow.rate_bps, LINE / 2);
		ack.rtt = i < 2 ? 40 * PS_US : 0;
		cc_timely.on_ack(&flow, &params, &ack);
	}
	assert_int_equal(flow.rate_bps, LINE / 2);
	ack.rtt = 40 * PS_US;
	cc_timely.on_ack(&flow, &params, &ack);
	assert_int_equal(flow.rate_bps, LINE / 2 + 10000000);
}

static void test_swift_keeps_its_target(void **state)
{
	static const struct {
		uint64_t now_us, rtt_us, packets, rate;
	} steps[] = {
		{100, 25, 100, 100000000000},	{110, 25, 100, 100000000000},
		{120, 60, 60, 100000000000},	{130, 60, 60, 100000000000},
		{190, 90, 60, 100000000000},	{300, 400, 60, 100000000000},
		{800, 900, 60, 100000000000},	{2000, 1900, 60, 100000000000},
		{5000, 2900, 30, 100000000000}, {9000, 3900, 15, 100000000000},
		{15000, 4900, 7, 100000000000}, {21000, 35, 6, 100000000000},
		{21100, 35, 6, 100000000000},	{30000, 8000, 3, 100000000000},
		{40000, 9000, 1, 100000000000}, {50000, 9500, 1, 693893},
		{60000, 9600, 1, 343332},
	};

	(void)state;
	start(&cc_swift);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct cc_ack ack = {.now = steps[i].now_us * PS_US,
					   .rtt = steps[i].rtt_us * PS_US,
					   .packets = 1};
		const uint64_t off = steps[i].rate / 1000; /* a window has 16 binary places */

		cc_swift.on_ack(&flow, &params, &ack);
		assert_int_equal(flow.cwnd_bytes, steps[i].packets * MTU);
		assert_in_range(flow.rate_bps, steps[i].rate - off, steps[i].rate + off);
	}
}

static void test_swift_grows_by_what_an_ack_acknowledges(void **state)
{
	static const uint32_t packets[] = {250, 160}, windows[] = {102, 104};

	(void)state;
	start(&cc_swift);
	for (uint32_t i = 0; i < 2; i++) {
		const struct cc_ack ack = {
			.now = (100 + 10 * i) * PS_US, .rtt = 25 * PS_US, .packets = packets[i]};

		cc_swift.on_ack(&flow, &params, &ack);
		assert_int_equal(flow.cwnd_bytes, windows[i] * MTU);
	}
}

static void test_dctcp_cuts_once_a_round(void **state)
{
	static const struct {
		uint64_t acked, sent;
		bool ecn;
		uint64_t rate;
	} steps[] = {
		{1000, 5000, true, 50000000000},    {2000, 6000, false, 50000000000},
		{5000, 9000, true, 50000000000},    {6000, 10000, true, 25520833333},
		{7000, 11000, true, 25520833333},   {11000, 15000, false, 26135833333},
		{16000, 20000, false, 26750833333}, {21000, 25000, true, 14756103522},
	};

	(void)state;
	start(&cc_dctcp);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct cc_ack ack = {.packets = 1,
					   .ecn = steps[i].ecn,
					   .acked = steps[i].acked,
					   .sent = steps[i].sent};

		cc_dctcp.on_ack(&flow, &params, &ack);
		assert_rate(steps[i].rate, i);
	}
}

static void test_nvidia_cuts_and_recovers(void **state)
{
	static const struct {
		uint64_t at_us;
		bool cnp;
		uint64_t rate, target;
	} steps[] = {
		{10, true, 50048828125, 100000000000},	 {11, true, 50048828125, 100000000000},
		{14, true, 25293231010, 100000000000},	 {20, true, 13091223082, 100000000000},
		{310, false, 13091223082, 100000000000}, {400, true, 54336798590, 56545611541},
		{610, false, 54336798590, 56545611541},	 {910, false, 55441205065, 56545611541},
	};

	(void)state;
	start(&cc_dcqcn_nv);
	assert_false(flow.active);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const ps_t now = steps[i].at_us * PS_US;

		if (steps[i].cnp)
			cc_dcqcn_nv.on_cnp(&flow, &params, now);
		else
			cc_dcqcn_nv.advance(&flow, &params, now);
		assert_rate(steps[i].rate, i);
		assert_in_range(flow.target_bps, steps[i].target - 2, steps[i].target + 2);
	}
}

/* 2 MB make a stage; the second one raises the target by rpg_ai_rate. */
static void test_nvidia_counts_bytes(void **state)
{
	uint64_t target;

	(void)state;
	start(&cc_dcqcn_nv);
	params.nv.clamp_tgt_rate = true;
	cc_dcqcn_nv.on_cnp(&flow, &params, 0);
	cc_dcqcn_nv.on_cnp(&flow, &params, 4 * PS_US);
	target = flow.target_bps;
	cc_dcqcn_nv.on_sent(&flow, &params, 32767 * 64 - 1, 5 * PS_US);
	assert_true(flow.rate_bps < target / 10 * 6);
	cc_dcqcn_nv.on_sent(&flow, &params, 1, 5 * PS_US);
	assert_int_equal(flow.target_bps, target);
	assert_true(flow.rate_bps > target / 10 * 7);
	cc_dcqcn_nv.on_sent(&flow, &params, 32767 * 64, 5 * PS_US);
	assert_int_equal(flow.target_bps, target + 5000000);
}

static const struct hop_step {
	uint64_t acked, sent;
	uint32_t time_ns, bytes, queue_bytes;
	uint64_t window[2]; /* without stages; with two */
} hop_steps[] = {
	{1000, 100000, 16770000, 1048000, 40000, {125000, 125000}},
	{50000, 150000, 16774000, 1048390, 50000, {105396, 105396}},
	{100000, 200000, 784, 204, 60000, {96155, 96155}},
	{101000, 201000, 5784, 692, 50000, {90187, 90187}},
	{201001, 301000, 15784, 1660, 20000, {74485, 74485}},
	{301000, 400000, 25784, 2500, 0, {82327, 74547}},
	{301001, 400500, 30784, 2950, 0, {79490, 74547}},
	{401000, 500000, 40784, 3300, 0, {125000, 74609}},
	{501000, 600000, 50784, 3800, 0, {125000, 125000}},
	{600500, 700000, 60784, 4300, 0, {125000, 125000}},
};

static void follow_hops(uint32_t max_stage, uint32_t column)
{
	start(&cc_hpcc);
	params.hpcc.max_stage = max_stage;
	assert_int_equal(params.hpcc.w_ai, 62); /* 125,000 bytes / 20 / 100 */
	assert_int_equal(flow.cwnd_bytes, 125000);
	for (size_t i = 0; i < sizeof(hop_steps) / sizeof(hop_steps[0]); i++) {
		const struct hop_step *step = &hop_steps[i];
		const struct cc_hop hop = {LINE, step->time_ns, step->bytes, step->queue_bytes};
		const struct cc_ack ack = {.packets = 1,
					   .hops = &hop,
					   .hop_count = 1,
					   .acked = step->acked,
					   .sent = step->sent};

		cc_hpcc.on_ack(&flow, &params, &ack);
		if (flow.cwnd_bytes + 2 < step->window[column] ||
		    flow.cwnd_bytes > step->window[column] + 2)
			fail_msg("step %zu: window %llu, expected %llu", i,
				 (unsigned long long)flow.cwnd_bytes,
				 (unsigned long long)step->window[column]);
	}
}

/* Both counters of a hop wrap in the third step. */
static void test_hpcc_follows_the_busiest_hop(void **state)
{
	(void)state;
	follow_hops(0, 0);
	follow_hops(2, 1);
}

/* From 10 Gb/s half way to the line at each turn of the timer, which runs from the first packet on
 * and not from when the queue pair was made. */
static void starts_slowly(const struct cc_ops *ops, ps_t period)
{
	static const uint64_t rates[] = {55000000000, 77500000000, 88750000000, 94375000000,
					 97187500000};
	const ps_t first = 7 * PS_MS;

	start(ops);
	params.start_rate_bps = 10000000000;
	ops->init(&flow, &params);
	assert_true(flow.active);
	ops->advance(&flow, &params, first);
	ops->on_sent(&flow, &params, MTU, first);
	assert_int_equal(flow.rate_bps, 10000000000);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		ops->advance(&flow, &params, first + (i + 1) * period - 1);
		assert_rate(i ? rates[i - 1] : 10000000000, i);
		ops->advance(&flow, &params, first + (i + 1) * period);
		assert_rate(rates[i], i);
	}
}

static void test_a_flow_may_start_below_the_line_rate(void **state)
{
	static const struct cc_ops *const by_acks[] = {&cc_timely, &cc_timely_patched, &cc_dctcp,
						       &cc_hpcc};

	(void)state;
	starts_slowly(&cc_dcqcn, 55 * PS_US);
	starts_slowly(&cc_dcqcn_hpcc, 55 * PS_US);
	starts_slowly(&cc_dcqcn_nv, 300 * PS_US);
	for (size_t i = 0; i < sizeof(by_acks) / sizeof(by_acks[0]); i++) {
		start(by_acks[i]);
		params.start_rate_bps = 10000000000;
		by_acks[i]->init(&flow, &params);
		assert_int_equal(flow.rate_bps, 10000000000);
		params.start_rate_bps = 2 * LINE;
		by_acks[i]->init(&flow, &params);
		assert_int_equal(flow.rate_bps, LINE);
	}
	/* 12,500 bytes in 10 us. */
	start(&cc_hpcc);
	params.start_rate_bps = 10000000000;
	cc_hpcc.init(&flow, &params);
	assert_int_equal(flow.cwnd_bytes, 12500);
}

/* The first CNP after a slow start is the first all the same. */
static void test_a_slow_start_and_a_cnp(void **state)
{
	(void)state;
	start(&cc_dcqcn_hpcc);
	params.decrease_period = 4 * PS_US;
	params.start_rate_bps = 10000000000;
	cc_dcqcn_hpcc.init(&flow, &params);
	cc_dcqcn_hpcc.advance(&flow, &params, PS_US);
	cc_dcqcn_hpcc.on_cnp(&flow, &params, 2 * PS_US);
	cc_dcqcn_hpcc.advance(&flow, &params, 6 * PS_US);
	assert_int_equal(flow.rate_bps, 5000000000);
}

RUN(T(test_a_flow_may_start_below_the_line_rate), T(test_a_slow_start_and_a_cnp),
    T(test_hpcc_follows_the_busiest_hop), T(test_timely_follows_the_gradient),
    T(test_timely_counts_calm_updates_anew), T(test_patched_timely_follows_the_distance),
    T(test_timely_waits_for_its_segment), T(test_swift_keeps_its_target),
    T(test_swift_grows_by_what_an_ack_acknowledges), T(test_dctcp_cuts_once_a_round),
    T(test_nvidia_cuts_and_recovers), T(test_nvidia_counts_bytes))
