/* SPDX-License-Identifier: BSD-2-Clause */

/* Anchors A3 and A4: lost packets alone are sent again, or the whole message (anchors.py). One link
 * of 100 Gb/s and 1 us, W = 8 packets under way between a loss and its NAK. */
#include "sim/fault.h"
#include "tests/model/lab.h"
#include "tests/test.h"

#define G ((uint64_t)1000000000)
enum { LISTED_MAX = 2000, MTU = 4096 };

static struct lab lab;
static struct sim_fault fault;
static uint64_t listed[LISTED_MAX];

static struct lab_pair *open_lab(enum hca_retransmit retransmit)
{
	static const struct lab_link one[] = {{"a", "b", 100 * G, PS_US}};
	const struct lab_params params = {.links = one,
					  .link_count = 1,
					  .ack_every = 4,
					  .retransmit = retransmit,
					  .psn_window = retransmit == HCA_SELECTIVE ? 64 : 0};
	const struct lab_pair_params pair = {
		.from = "a", .to = "b", .timeout = 1, .retry_cnt = 7, .rnr_retry = 7};

	lab_open(&lab, &params);
	return lab_connect(&lab, &pair);
}

static void lose_one_in(uint32_t d, bool way_back)
{
	struct sim_fault_params params = {.lost_numbers = listed, .lost_count = LISTED_MAX};

	for (uint32_t i = 0; i < LISTED_MAX; i++)
		listed[i] = (i + 1) * (uint64_t)d;
	sim_fault_attach(&fault, lab_port(&lab, way_back ? "b" : "a", way_back ? "a" : "b"),
			 &params);
}

static void post_receives(const struct lab_pair *pair, uint32_t count)
{
	const struct hca_sge sge = {.length = 1u << 20, .lkey = pair->to->mr->lkey};
	const struct hca_recv_wr wr = {.sge = &sge, .sge_count = 1};

	while (count-- > 0)
		assert_int_equal(hca_qp_post_recv(pair->to->host->hca, pair->peer, &wr, 0), 0);
}

/* How many of five messages of @packets end within 3 ms, and what share of the link is in use. */
static uint32_t ended(enum hca_retransmit retransmit, enum hca_wr_opcode opcode, uint32_t packets,
		      uint32_t *ret_percent)
{
	const ps_t until = 3 * PS_MS;
	struct lab_pair *pair = open_lab(retransmit);
	const bool is_read = opcode == HCA_WR_RDMA_READ;
	uint32_t count = 0;

	lose_one_in(64, is_read);
	if (opcode == HCA_WR_SEND)
		post_receives(pair, 5);
	for (uint32_t i = 0; i < 5; i++)
		lab_post(&lab, pair, opcode, packets * MTU, 0);
	lab_run(&lab, until);
	for (uint32_t i = 0; i < lab.done_count; i++)
		count += lab.done[i].wc.opcode < HCA_WC_RECV &&
			 lab.done[i].wc.status == HCA_WC_SUCCESS;
	*ret_percent = (uint32_t)(lab_counters(&lab, is_read ? "b" : "a")->tx_bytes * 8 * 100 /
				  (until / PS_NS * 100));
	lab_close(&lab);
	return count;
}

/* One in 64 is lost: a message of 63 - W packets ends, one more and only the first of all, which is
 * before any loss, does, while the link stays busy (Guo et al., SIGCOMM 2016, section 4.1). */
static void longer_than_the_gaps_never_ends(void **state)
{
	static const enum hca_wr_opcode opcodes[] = {HCA_WR_SEND, HCA_WR_RDMA_WRITE};
	uint32_t percent;

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		assert_int_equal(ended(HCA_GO_BACK_0, opcodes[i], 55, &percent), 5);
		assert_int_equal(ended(HCA_GO_BACK_0, opcodes[i], 56, &percent), 1);
		assert_in_range(percent, 95, 100);
		assert_int_equal(ended(HCA_GO_BACK_N, opcodes[i], 56, &percent), 5);
	}
}

/* READ responses are noticed to be missing when the next one comes, and asked for by a request. */
static void reads_never_end_either(void **state)
{
	uint32_t percent;

	(void)state;
	assert_int_equal(ended(HCA_GO_BACK_0, HCA_WR_RDMA_READ, 40, &percent), 5);
	assert_int_equal(ended(HCA_GO_BACK_0, HCA_WR_RDMA_READ, 100, &percent), 0);
	assert_in_range(percent, 95, 100);
	assert_int_equal(ended(HCA_GO_BACK_N, HCA_WR_RDMA_READ, 100, &percent), 5);
}

/* A try succeeds with (1 - p)^m. */
static void tries_until_a_message_ends(void **state)
{
	static const struct {
		uint32_t m, ppb, tries;
	} cases[] = {{100, 5000000, 6603}, {40, 20000000, 8975}};
	enum { MESSAGES = 4000 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct sim_fault_params params = {.loss_ppb = cases[i].ppb};
		struct lab_pair *pair = open_lab(HCA_GO_BACK_0);
		const struct hca_counters *counters = lab_counters(&lab, "a");
		uint64_t tries;

		sim_fault_attach(&fault, lab_port(&lab, "a", "b"), &params);
		for (uint32_t n = 0; n < MESSAGES; n++)
			lab_post(&lab, pair, HCA_WR_RDMA_WRITE, cases[i].m * MTU, 0);
		lab_run(&lab, PS_S);
		assert_int_equal(lab.done_count, MESSAGES);
		assert_int_equal(lab.done[MESSAGES - 1].wc.status, HCA_WC_SUCCESS);
		tries = MESSAGES + counters->packet_seq_err + counters->local_ack_timeout_err;
		assert_in_range(tries, cases[i].tries * 97 / 100, cases[i].tries * 103 / 100);
		lab_close(&lab);
	}
}

static void assert_selective(enum hca_wr_opcode opcode, const struct sim_fault_params *params,
			     ps_t expected)
{
	struct lab_pair *pair = open_lab(HCA_SELECTIVE);
	const bool is_read = opcode == HCA_WR_RDMA_READ;
	ps_t at;

	sim_fault_attach(&fault, lab_port(&lab, is_read ? "b" : "a", is_read ? "a" : "b"), params);
	lab_post(&lab, pair, opcode, 100000 * MTU, 0);
	lab_run(&lab, PS_S);
	assert_int_equal(lab.done_count, 1);
	assert_int_equal(lab.done[0].wc.status, HCA_WC_SUCCESS);
	at = lab.done[0].at;
	if (at < expected / 100 * 98 || at > expected / 100 * 102)
		fail_msg("found %llu, expected %llu", (unsigned long long)at,
			 (unsigned long long)expected);
	lab_close(&lab);
}

/* 1 - p, whatever is lost. */
static void only_lost_packets_take_time(void **state)
{
	static const struct {
		uint32_t ppb, d;
		ps_t at;
	} cases[] = {
		{1000000, 0, 33585585585},  {5000000, 0, 33720603015}, {10000000, 0, 33890909090},
		{50000000, 0, 35317894736}, {0, 64, 34084571428},      {0, 100, 33890909090},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sim_fault_params params = {.loss_ppb = cases[i].ppb,
						  .lost_numbers = listed,
						  .lost_count = cases[i].d ? LISTED_MAX : 0};

		for (uint32_t n = 0; n < LISTED_MAX; n++)
			listed[n] = (n + 1) * (uint64_t)cases[i].d;
		assert_selective(HCA_WR_RDMA_WRITE, &params, cases[i].at);
	}
}

/* Responses that are lost are asked for again, one by one. */
static void and_so_do_lost_responses(void **state)
{
	(void)state;
	assert_selective(HCA_WR_RDMA_READ, &(struct sim_fault_params){.loss_ppb = 1000000},
			 33457457457);
}

RUN(T(longer_than_the_gaps_never_ends), T(reads_never_end_either), T(tries_until_a_message_ends),
    T(only_lost_packets_take_time), T(and_so_do_lost_responses))
