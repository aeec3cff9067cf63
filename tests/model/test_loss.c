/* SPDX-License-Identifier: BSD-2-Clause */

/* Anchor A3: what go-back-N leaves of a link that loses packets. W = 8 packets are under way
 * between a loss and its NAK (anchors.py). */
#include "sim/fault.h"
#include "tests/model/lab.h"
#include "tests/test.h"

#define G ((uint64_t)1000000000)
enum { LISTED_MAX = 2000 };

static struct lab lab;
static struct sim_fault fault;
static uint64_t listed[LISTED_MAX];

static ps_t time_of(uint32_t packets, const struct sim_fault_params *params)
{
	static const struct lab_link one[] = {{"a", "b", 100 * G, PS_US}};
	const struct lab_params lossy = {.links = one, .link_count = 1, .ack_every = 16};
	ps_t at;

	lab_open(&lab, &lossy);
	sim_fault_attach(&fault, lab_port(&lab, "a", "b"), params);
	lab_post(&lab,
		 lab_connect(&lab,
			     &(struct lab_pair_params){
				     .from = "a", .to = "b", .timeout = 1, .retry_cnt = 7}),
		 HCA_WR_RDMA_WRITE, packets * 4096, 0);
	lab_run(&lab, PS_S);
	assert_int_equal(lab.done_count, 1);
	assert_int_equal(lab.done[0].wc.status, HCA_WC_SUCCESS);
	at = lab.done[0].at;
	lab_close(&lab);
	return at;
}

static void assert_time(ps_t found, ps_t expected)
{
	if (found < expected / 100 * 98 || found > expected / 100 * 102)
		fail_msg("found %llu, expected %llu", (unsigned long long)found,
			 (unsigned long long)expected);
}

/* Every D-th packet on the link: (D - 1 - W) / D. */
static void one_in_d_packets_is_lost(void **state)
{
	static const struct {
		uint32_t d;
		ps_t at;
	} cases[] = {{64, 7778676363}, {100, 7345934065}, {1000, 6745509586}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sim_fault_params params = {.lost_numbers = listed};

		while (params.lost_count < LISTED_MAX) {
			listed[params.lost_count] = (params.lost_count + 1) * (uint64_t)cases[i].d;
			params.lost_count++;
		}
		assert_time(time_of(20000, &params), cases[i].at);
	}
}

/* Each with probability p: (1 - p) / (1 + p W). */
static void packets_are_lost_at_random(void **state)
{
	static const struct {
		uint32_t ppb;
		ps_t at;
	} cases[] = {{1000000, 33725117117}, {5000000, 34935638190}, {10000000, 36462545454}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct sim_fault_params params = {.loss_ppb = cases[i].ppb};

		assert_time(time_of(100000, &params), cases[i].at);
	}
}

RUN(T(one_in_d_packets_is_lost), T(packets_are_lost_at_random))
