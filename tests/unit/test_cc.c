/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion control by itself. The literals come from a script of exact integers and fractions
 * (Python), written from the equations and not from this code; floor at each division. */
#include "tests/test.h"
#include "transport/cc/cc.h"

static const uint64_t LINE = 100000000000;
static struct cc_params params;
static struct cc_flow flow;

static void start(const struct cc_ops *ops, struct cc_params p)
{
	params = p;
	ops->init(&flow, &params);
	assert_int_equal(flow.rate_bps, LINE);
	assert_false(flow.active);
}

static void test_paper_parameters(void **state)
{
	const struct cc_params p = cc_dcqcn_params(LINE);

	(void)state;
	assert_int_equal(p.rate_min_bps, 10000000);
	assert_int_equal(p.r_ai_bps, 40000000);
	assert_int_equal(p.r_hai_bps, 200000000);
	assert_int_equal(p.alpha_period, 55 * PS_US);
	assert_int_equal(p.increase_period, 55 * PS_US);
	assert_int_equal(p.byte_counter, 10000000);
	assert_int_equal(p.fast_recovery_stages, 5);
}

static void test_hpcc_parameters_scale_with_the_line(void **state)
{
	const struct cc_params p = cc_dcqcn_hpcc_params(LINE);

	(void)state;
	assert_int_equal(p.r_ai_bps, 20000000);	  /* 5 Mb/s * 100 / 25 */
	assert_int_equal(p.r_hai_bps, 200000000); /* 50 Mb/s * 100 / 25 */
	assert_int_equal(p.rate_min_bps, 1000000000);
	assert_int_equal(p.increase_period, 300 * PS_US);
}

/* A10: alpha_k = (1 - 1/256)^k, within 1e-9 of 2^48. */
static void test_alpha_decays(void **state)
{
	static const struct {
		uint32_t k;
		uint64_t alpha;
	} want[] = {{1, 280375465082880},
		    {10, 270671134393553},
		    {100, 190309866270400},
		    {1000, 5618946719110}};
	uint64_t difference;

	(void)state;
	start(&cc_dcqcn, cc_dcqcn_params(LINE));
	cc_dcqcn.on_cnp(&flow, &params, 0);
	assert_int_equal(flow.alpha, (uint64_t)1 << 48);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		cc_dcqcn.advance(&flow, &params, want[i].k * 55 * PS_US - 1);
		assert_true(flow.alpha > want[i].alpha); /* not a picosecond early */
		cc_dcqcn.advance(&flow, &params, want[i].k * 55 * PS_US);
		difference = flow.alpha > want[i].alpha ? flow.alpha - want[i].alpha
							: want[i].alpha - flow.alpha;
		assert_true(difference < 281474); /* 2^48 / 10^9 */
	}
}

/* Timers alone: five steps of fast recovery less one, then additive steps for ever, since the
 * byte counter counts nothing. */
static void test_paper_recovery_by_the_timer(void **state)
{
	static const uint64_t rates[] = {37500000000, 43750000000, 46875000000,
					 48437500000, 49238750000, 49659375000,
					 49889687500, 50024843750, 50112421875};

	(void)state;
	start(&cc_dcqcn, cc_dcqcn_params(LINE));
	cc_dcqcn.on_cnp(&flow, &params, 0);
	assert_int_equal(flow.rate_bps, LINE / 2);
	assert_int_equal(flow.target_bps, LINE);
	cc_dcqcn.on_cnp(&flow, &params, 0);
	assert_int_equal(flow.rate_bps, LINE / 4);
	assert_int_equal(flow.target_bps, LINE / 2);
	for (uint32_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		cc_dcqcn.advance(&flow, &params, (i + 1) * 55 * PS_US);
		assert_int_equal(flow.rate_bps, rates[i]);
	}
}

/* Bytes alone, 10 MB a stage, then both: the hyper increase needs more than five of each. */
static void test_paper_recovery_by_bytes_and_hyper(void **state)
{
	static const uint64_t rates[] = {18750000000, 21875000000, 23437500000, 24218750000,
					 24629375000, 24854687500, 24987343750, 25073671875,
					 25136835937, 25188417968, 25234208984, 25277104492,
					 25398552246, 25659276123, 25989638061, 26354819030};
	uint32_t i;

	(void)state;
	start(&cc_dcqcn, cc_dcqcn_params(LINE));
	cc_dcqcn.on_cnp(&flow, &params, 0);
	cc_dcqcn.on_cnp(&flow, &params, 0);
	cc_dcqcn.on_cnp(&flow, &params, 0);
	cc_dcqcn.on_sent(&flow, &params, 9999999, 1);
	assert_int_equal(flow.byte_stage, 0);
	for (i = 0; i < 7; i++) {
		cc_dcqcn.on_sent(&flow, &params, i ? 10000000 : 1, 2);
		assert_int_equal(flow.rate_bps, rates[i]);
	}
	for (; i < sizeof(rates) / sizeof(rates[0]); i++) {
		cc_dcqcn.advance(&flow, &params, (i - 6) * 55 * PS_US);
		assert_int_equal(flow.rate_bps, rates[i]);
	}
}

static void test_paper_never_below_the_least_rate_nor_above_the_line(void **state)
{
	(void)state;
	start(&cc_dcqcn, cc_dcqcn_params(LINE));
	for (int i = 0; i < 40; i++)
		cc_dcqcn.on_cnp(&flow, &params, 0);
	assert_int_equal(flow.rate_bps, 10000000);
	cc_dcqcn.advance(&flow, &params, 100 * PS_S);
	assert_int_equal(flow.rate_bps, LINE - 1); /* means round down */
	assert_int_equal(flow.target_bps, LINE);
	assert_int_equal(flow.alpha, 0);
}

/* A CNP starts both timers, both stages and the byte counter again. */
static void test_paper_cnp_restarts_everything(void **state)
{
	(void)state;
	start(&cc_dcqcn, cc_dcqcn_params(LINE));
	cc_dcqcn.on_cnp(&flow, &params, 0);
	cc_dcqcn.on_sent(&flow, &params, 19000000, 1);
	cc_dcqcn.on_cnp(&flow, &params, 54 * PS_US);
	assert_int_equal(flow.byte_stage, 0);
	assert_int_equal(flow.byte_count, 0);
	cc_dcqcn.advance(&flow, &params, 109 * PS_US - 1);
	assert_int_equal(flow.time_stage, 0);
	assert_int_equal(flow.alpha, (uint64_t)1 << 48);
	cc_dcqcn.advance(&flow, &params, 109 * PS_US);
	assert_int_equal(flow.time_stage, 1);
	assert_int_equal(flow.alpha, ((uint64_t)1 << 48) / 256 * 255);
}

/* D12 and the steps after it: one lone CNP. */
static void test_hpcc_lone_cnp(void **state)
{
	static const uint64_t rates[] = {50776684273, 75388342136, 87694171068, 93847085534,
					 96923542767, 98461771383, 99230885691, 99615442845};

	(void)state;
	start(&cc_dcqcn_hpcc, cc_dcqcn_hpcc_params(LINE));
	cc_dcqcn_hpcc.on_cnp(&flow, &params, 7 * PS_US);
	cc_dcqcn_hpcc.advance(&flow, &params, 11 * PS_US - 1);
	assert_int_equal(flow.rate_bps, LINE);
	for (uint32_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		cc_dcqcn_hpcc.advance(&flow, &params, (11 + 300 * i) * PS_US);
		assert_int_equal(flow.rate_bps, rates[i]);
	}
}

/* A CNP in every decrease period: the target stays where it was before the first cut. */
static void test_hpcc_target_is_not_clamped_twice(void **state)
{
	(void)state;
	start(&cc_dcqcn_hpcc, cc_dcqcn_hpcc_params(LINE));
	for (uint32_t i = 0; i < 3; i++)
		cc_dcqcn_hpcc.on_cnp(&flow, &params, i * 4 * PS_US);
	cc_dcqcn_hpcc.advance(&flow, &params, 12 * PS_US);
	assert_int_equal(flow.target_bps, LINE);
	assert_int_equal(flow.rate_bps, 13534723410);
	cc_dcqcn_hpcc.on_cnp(&flow, &params, 313 * PS_US); /* after an increase it is */
	cc_dcqcn_hpcc.advance(&flow, &params, 316 * PS_US);
	assert_int_equal(flow.target_bps, 56767361705);
}

/* Lazily applied timers give what prompt ones give. */
static void lazy_is_prompt(const struct cc_ops *ops, struct cc_params p)
{
	struct cc_flow prompt;
	ps_t now = 0;

	start(ops, p);
	prompt = flow;
	for (uint32_t round = 1; round < 60; round++) {
		for (uint32_t i = 0; i < 50 * round; i++)
			ops->advance(&prompt, &params, now += 333333 * (round % 7 + 1));
		ops->advance(&flow, &params, now);
		if (round % 4) {
			ops->on_cnp(&prompt, &params, now);
			ops->on_cnp(&flow, &params, now);
		}
		assert_int_equal(flow.rate_bps, prompt.rate_bps);
		assert_int_equal(flow.target_bps, prompt.target_bps);
		assert_int_equal(flow.alpha, prompt.alpha);
		assert_int_equal(flow.alpha_at, prompt.alpha_at);
		assert_int_equal(flow.increase_at, prompt.increase_at);
		assert_int_equal(flow.decrease_at, prompt.decrease_at);
	}
	for (uint32_t i = 0; i < 300000; i++)
		ops->advance(&prompt, &params, now += PS_US);
	ops->advance(&flow, &params, now);
	assert_int_equal(flow.alpha_at, prompt.alpha_at);
	assert_int_equal(flow.increase_at, prompt.increase_at);
	assert_int_equal(flow.rate_bps, prompt.rate_bps);
	ops->on_cnp(&prompt, &params, now);
	ops->on_cnp(&flow, &params, now);
	ops->advance(&prompt, &params, now + PS_MS);
	ops->advance(&flow, &params, now + PS_MS);
	assert_int_equal(flow.rate_bps, prompt.rate_bps);
}

static void test_lazy_timers_are_as_prompt_ones(void **state)
{
	(void)state;
	lazy_is_prompt(&cc_dcqcn, cc_dcqcn_params(LINE));
	lazy_is_prompt(&cc_dcqcn_hpcc, cc_dcqcn_hpcc_params(LINE));
}

static void test_none_ignores_everything(void **state)
{
	(void)state;
	start(&cc_none, cc_dcqcn_params(LINE));
	cc_none.on_cnp(&flow, &params, 1);
	cc_none.on_sent(&flow, &params, 1000000000, 2);
	cc_none.advance(&flow, &params, PS_S);
	assert_false(flow.active);
	assert_int_equal(flow.rate_bps, LINE);
}

RUN(T(test_paper_parameters), T(test_hpcc_parameters_scale_with_the_line), T(test_alpha_decays),
    T(test_paper_recovery_by_the_timer), T(test_paper_recovery_by_bytes_and_hyper),
    T(test_paper_never_below_the_least_rate_nor_above_the_line),
    T(test_paper_cnp_restarts_everything), T(test_hpcc_lone_cnp),
    T(test_hpcc_target_is_not_clamped_twice), T(test_lazy_timers_are_as_prompt_ones),
    T(test_none_ignores_everything))
