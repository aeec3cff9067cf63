/* SPDX-License-Identifier: BSD-2-Clause */

/* Anchors of time: store and forward, windows, the end of patience, what headers cost. The
 * constants are what anchors.py prints. */
#include "sim/port.h"
#include "tests/model/lab.h"
#include "tests/test.h"

#define G ((uint64_t)1000000000)

static struct lab lab;
static const struct lab_link one[] = {{"a", "b", 100 * G, PS_US}};

static void assert_within(uint64_t found, uint64_t expected, uint64_t per_million)
{
	const uint64_t margin = (uint64_t)((u128)expected * per_million / 1000000);

	if (found + margin < expected || found > expected + margin)
		fail_msg("found %llu, expected %llu", (unsigned long long)found,
			 (unsigned long long)expected);
}

struct burst {
	struct lab_link links[4];
	uint32_t link_count, mtu;
	enum hca_wr_opcode opcode;
	uint32_t bytes;
	bool ipv6, vlan;
	ps_t at; /* of the completion */
};

struct cut {
	struct burst burst;
	uint32_t head_bytes;
	ps_t latency;
};

#define AB                                                                                         \
	{                                                                                          \
		"a", "b", 100 * G, PS_US                                                           \
	}
#define TWO                                                                                        \
	{"a", "s0", 100 * G, PS_US},                                                               \
	{                                                                                          \
		"s0", "b", 100 * G, PS_US                                                          \
	}
#define FOUR                                                                                       \
	{"a", "s0", 100 * G, PS_US}, {"s0", "s1", 100 * G, PS_US}, {"s1", "s2", 100 * G, PS_US},   \
	{                                                                                          \
		"s2", "b", 100 * G, PS_US                                                          \
	}

static const struct burst bursts[] = {
	{{AB}, 1, 1024, HCA_WR_RDMA_WRITE, 1024, false, false, 2096640},
	{{AB}, 1, 2048, HCA_WR_RDMA_WRITE, 20480, false, false, 3712160},
	{{AB}, 1, 4096, HCA_WR_SEND, 409600, false, false, 35430880},
	{{TWO}, 2, 1024, HCA_WR_SEND, 7169, false, false, 4728480},
	{{TWO}, 2, 2048, HCA_WR_RDMA_WRITE, 6144, false, false, 4697920},
	{{TWO}, 2, 4096, HCA_WR_RDMA_WRITE, 205133, false, false, 21096000},
	{{FOUR}, 4, 1024, HCA_WR_RDMA_WRITE, 65536, false, false, 13960800},
	{{FOUR}, 4, 2048, HCA_WR_SEND, 12287, false, false, 9561120},
	{{FOUR}, 4, 4096, HCA_WR_RDMA_WRITE, 1, false, false, 8060160},
	{{TWO}, 2, 4096, HCA_WR_RDMA_WRITE, 81930, true, false, 11081280},
	{{TWO}, 2, 4096, HCA_WR_RDMA_WRITE, 81930, false, true, 11050560},
	{{TWO}, 2, 1024, HCA_WR_SEND, 9221, true, true, 4930720},
	{{{"a", "s0", 100 * G, PS_US},
	  {"s0", "s1", 25 * G, 2 * PS_US},
	  {"s1", "b", 400 * G, PS_US / 2}},
	 3,
	 4096,
	 HCA_WR_RDMA_WRITE,
	 163917,
	 false,
	 false,
	 60941960},
	{{{"a", "s0", 10 * G, PS_US}, {"s0", "b", 100 * G, 3 * PS_US}},
	 2,
	 2048,
	 HCA_WR_SEND,
	 24576,
	 false,
	 false,
	 28694080},
	{{{"a", "s0", 106250000000, PS_US},
	  {"s0", "s1", 106250000000, PS_US},
	  {"s1", "s2", 106250000000, PS_US},
	  {"s2", "b", 106250000000, PS_US}},
	 4,
	 4096,
	 HCA_WR_RDMA_WRITE,
	 123880,
	 false,
	 false,
	 18493300},
	{{{"a", "s0", 106250000000, PS_US}, {"s0", "b", 100 * G, PS_US}},
	 2,
	 1024,
	 HCA_WR_RDMA_WRITE,
	 0,
	 false,
	 false,
	 4028575},
};

/* Switches that cut through. */
static const struct cut cuts[] = {
	{{{TWO}, 2, 4096, HCA_WR_RDMA_WRITE, 205133, false, false, 20763520}, 62, 0},
	{{{FOUR}, 4, 1024, HCA_WR_RDMA_WRITE, 65536, false, false, 13700640}, 62, 0},
	{{{FOUR}, 4, 4096, HCA_WR_RDMA_WRITE, 1, false, false, 9844800}, 62, 300 * PS_NS},
	{{{FOUR}, 4, 2048, HCA_WR_SEND, 12287, false, false, 12059040}, 62, 500 * PS_NS},
	{{{TWO}, 2, 4096, HCA_WR_RDMA_WRITE, 81930, true, false, 10748800}, 82, 0},
	{{{{"a", "s0", 100 * G, PS_US},
	   {"s0", "s1", 25 * G, 2 * PS_US},
	   {"s1", "b", 400 * G, PS_US / 2}},
	  3,
	  4096,
	  HCA_WR_RDMA_WRITE,
	  163917,
	  false,
	  false,
	  61410920},
	 62,
	 200 * PS_NS},
	{{{{"a", "s0", 10 * G, PS_US}, {"s0", "b", 100 * G, 3 * PS_US}},
	  2,
	  2048,
	  HCA_WR_SEND,
	  24576,
	  false,
	  false,
	  28692160},
	 62,
	 0},
	{{{{"a", "s0", 106250000000, PS_US},
	   {"s0", "s1", 106250000000, PS_US},
	   {"s1", "s2", 106250000000, PS_US},
	   {"s2", "b", 106250000000, PS_US}},
	  4,
	  4096,
	  HCA_WR_RDMA_WRITE,
	  123880,
	  false,
	  false,
	  17554534},
	 62,
	 0},
};

static void post_receive(const struct lab_pair *pair, uint32_t bytes)
{
	const struct hca_sge sge = {.length = bytes, .lkey = pair->to->mr->lkey};
	const struct hca_recv_wr wr = {.sge = &sge, .sge_count = 1};

	assert_int_equal(hca_qp_post_recv(pair->to->host->hca, pair->peer, &wr, 0), 0);
}

/* The requester's completion of the burst's one message. */
static ps_t completion_of(const struct cut *cut, bool through_wire)
{
	const struct burst *burst = &cut->burst;
	const struct lab_params params = {.links = burst->links,
					  .link_count = burst->link_count,
					  .mtu = burst->mtu,
					  .ipv6 = burst->ipv6,
					  .head_bytes = cut->head_bytes,
					  .latency = cut->latency,
					  .vlan = burst->vlan,
					  .through_wire = through_wire};
	struct lab_pair *pair;
	ps_t at = 0;

	lab_open(&lab, &params);
	pair = lab_connect(&lab, &(struct lab_pair_params){.from = "a", .to = "b"});
	post_receive(pair, burst->bytes);
	lab_post(&lab, pair, burst->opcode, burst->bytes, 0);
	lab_run(&lab, PS_S);
	for (uint32_t i = 0; i < lab.done_count; i++) {
		assert_int_equal(lab.done[i].wc.status, HCA_WC_SUCCESS);
		at = lab.done[i].wc.opcode < HCA_WC_RECV ? lab.done[i].at : at;
	}
	lab_close(&lab);
	return at;
}

/* A2, to the picosecond. */
static void takes_its_time(const struct cut *cut, size_t number)
{
	for (int wire = 0; wire < 2; wire++)
		if (completion_of(cut, wire) != cut->burst.at)
			fail_msg("case %zu: %llu, expected %llu", number,
				 (unsigned long long)completion_of(cut, wire),
				 (unsigned long long)cut->burst.at);
}

static void messages_take_the_time_of_store_and_forward(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bursts) / sizeof(*bursts); i++)
		takes_its_time(&(struct cut){bursts[i], 0, 0}, i);
}

static void messages_take_the_time_of_cut_through(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++)
		takes_its_time(&cuts[i], i);
}

static ps_t last_done(enum hca_wr_opcode opcode, uint32_t bytes, uint32_t count,
		      const struct lab_params *params, uint8_t rd_atomic)
{
	struct lab_pair *pair;
	ps_t at;

	lab_open(&lab, params);
	pair = lab_connect(
		&lab, &(struct lab_pair_params){.from = "a", .to = "b", .rd_atomic = rd_atomic});
	for (uint32_t i = 0; i < count; i++)
		lab_post(&lab, pair, opcode, bytes, 0);
	lab_run(&lab, PS_S);
	assert_int_equal(lab.done_count, count);
	assert_int_equal(lab.done[count - 1].wc.status, HCA_WC_SUCCESS);
	at = lab.done[count - 1].at;
	lab_close(&lab);
	return at;
}

/* A13: min(C, W / RTT). */
static void a_window_limits_the_rate(void **state)
{
	static const struct {
		uint32_t window;
		ps_t at;
	} cases[] = {{1, 23411200000}, {2, 11705600000}, {4, 5852800000}, {16, 3342400000}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct lab_params params = {.links = one,
						  .link_count = 1,
						  .psn_window = cases[i].window,
						  .ack_every = 1};

		assert_within(last_done(HCA_WR_RDMA_WRITE, 40960000, 1, &params, 1), cases[i].at,
			      10000);
	}
}

/* A13: min(C, READs under way * size / RTT). */
static void reads_under_way_limit_the_rate(void **state)
{
	static const struct {
		uint8_t reads;
		uint32_t bytes;
		ps_t at;
	} cases[] = {{1, 4096, 4684800000},
		     {2, 4096, 2342400000},
		     {4, 4096, 1171200000},
		     {1, 16384, 6690880000},
		     {4, 16384, 2675200000}};
	const struct lab_params params = {.links = one, .link_count = 1};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_within(
			last_done(HCA_WR_RDMA_READ, cases[i].bytes, 2000, &params, cases[i].reads),
			cases[i].at, 10000);
}

/* A14: (retry_cnt + 1) * 2T, to the picosecond. */
static void silence_ends_after_the_last_retry(void **state)
{
	static const struct {
		uint8_t timeout, retry_cnt;
		ps_t at;
	} cases[] = {{1, 0, 16384000}, {4, 3, 524288000}, {8, 7, 16777216000}};
	const struct lab_params params = {.links = one, .link_count = 1};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct lab_pair_params to = {.from = "a",
						   .to = "b",
						   .timeout = cases[i].timeout,
						   .retry_cnt = cases[i].retry_cnt,
						   .silent = true};

		lab_open(&lab, &params);
		lab_post(&lab, lab_connect(&lab, &to), HCA_WR_RDMA_WRITE, 64, 0);
		lab_run(&lab, PS_S);
		assert_int_equal(lab.done_count, 1);
		assert_int_equal(lab.done[0].wc.status, HCA_WC_RETRY_EXC_ERR);
		assert_true(lab.done[0].at == cases[i].at);
		assert_int_equal(lab_port(&lab, "a", "b")->sent_packets, cases[i].retry_cnt + 1);
		lab_close(&lab);
	}
}

/* A14: rnr_retry + 1 sends, each the coded time (5: 60 us) after the NAK of the one before. */
static void a_receiver_that_is_never_ready(void **state)
{
	const struct lab_params params = {.links = one, .link_count = 1};

	(void)state;
	lab_open(&lab, &params);
	lab_post(&lab,
		 lab_connect(&lab,
			     &(struct lab_pair_params){
				     .from = "a", .to = "b", .rnr_retry = 3, .rnr_timer = 5}),
		 HCA_WR_SEND, 64, 0);
	lab_run(&lab, PS_S);
	assert_int_equal(lab.done_count, 1);
	assert_int_equal(lab.done[0].wc.status, HCA_WC_RNR_RETRY_EXC_ERR);
	assert_true(lab.done[0].at == 188074240);
	assert_int_equal(lab_port(&lab, "a", "b")->sent_packets, 4);
	lab_close(&lab);

	lab_open(&lab, &params);
	lab_post(&lab,
		 lab_connect(&lab,
			     &(struct lab_pair_params){
				     .from = "a", .to = "b", .rnr_retry = 7, .rnr_timer = 5}),
		 HCA_WR_SEND, 64, 0);
	lab_run(&lab, 10 * PS_MS);
	assert_int_equal(lab.done_count, 0);
	assert_int_equal(lab_port(&lab, "a", "b")->sent_packets, 162);
	lab_close(&lab);
}

/* A15: payload over time, against payload over bytes on the wire. */
static void headers_cost_what_they_weigh(void **state)
{
	static const struct lab_link near[] = {{"a", "b", 100 * G, PS_NS}};
	static const struct {
		uint32_t mtu, ppb;
	} cases[] = {{1024, 925858951}, {2048, 961502347}, {4096, 980373384}};
	enum { BYTES = 1 << 28 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct lab_params params = {
			.links = near, .link_count = 1, .mtu = cases[i].mtu, .ack_every = 64};
		const ps_t time = last_done(HCA_WR_RDMA_WRITE, BYTES, 1, &params, 1);

		/* bits * 10^9 / (10^11 b/s * s) */
		assert_within((uint64_t)((u128)BYTES * 8 * PS_S / 100 / time), cases[i].ppb, 100);
	}
}

RUN(T(messages_take_the_time_of_store_and_forward), T(messages_take_the_time_of_cut_through),
    T(a_window_limits_the_rate), T(reads_under_way_limit_the_rate),
    T(silence_ends_after_the_last_retry), T(a_receiver_that_is_never_ready),
    T(headers_cost_what_they_weigh))
