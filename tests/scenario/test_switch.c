/* SPDX-License-Identifier: BSD-2-Clause */

/* Anchors of queues: waiting times, peaks, thresholds, shares. */
#include "sim/port.h"
#include "tests/scenario/net.h"
#include "tests/test.h"
#include "util/rand.h"

#include <math.h>
#include <string.h>

#define G ((uint64_t)1000000000)

/* ---- A1: M/D/1 ---- */

enum { PACKETS = 1000000, BATCHES = 50 };

struct waits {
	const ps_t *starts;
	ps_t alone; /* from the start until the arrival, where nobody is in front */
	uint64_t count;
	double batch[BATCHES];
};

static void note_wait(struct endpoint *ep, const struct sim_pkt *pkt, void *context)
{
	struct waits *waits = context;

	(void)ep;
	waits->batch[waits->count / (PACKETS / BATCHES)] +=
		(double)(pkt->at - waits->starts[waits->count] - waits->alone);
	waits->count++;
}

/* Instants of a Poisson process; with mean 0 periodic ones. */
static ps_t *make_starts(double mean, ps_t period, uint64_t seed)
{
	struct util_rand rand = {.seed = seed};
	ps_t *starts = calloc(PACKETS, sizeof(*starts));
	double at = 0;

	assert_non_null(starts);
	for (uint32_t i = 0; i < PACKETS; i++) {
		const double u = ((double)(util_rand_next(&rand) >> 11) + 0.5) / 9007199254740992.0;

		at += mean > 0 ? -mean * log(u) : (double)period;
		starts[i] = (ps_t)at;
	}
	return starts;
}

/* A sender a thousand times as fast as the port, so that its own line makes nobody wait. */
static void wait_in_line(const ps_t *starts, uint64_t seed, double *ret_mean, double *ret_half)
{
	static const struct net_link links[] = {{"h0", "s0", 100000 * G, 10 * PS_US},
						{"h1", "s0", 100 * G, 10 * PS_US}};
	const struct net_params params = {.seed = seed, .buffer_bytes = 1u << 30};
	struct waits waits = {.starts = starts, .alone = 80 + 80000 + 20 * PS_US};
	double square = 0, mean = 0;
	struct endpoint_flow *flow;
	struct net net;

	net_make(&net, &params, links, 2);
	flow = net_flow(&net, "h0", "h1", PACKETS, 1000, starts[0]);
	flow->starts = starts;
	flow->answer = false;
	net_host(&net, "h1")->seen = note_wait;
	net_host(&net, "h1")->context = &waits;
	net_run(&net);
	assert_int_equal(waits.count, PACKETS);
	net_free(&net);
	for (int b = 0; b < BATCHES; b++)
		mean += waits.batch[b] / PACKETS;
	for (int b = 0; b < BATCHES; b++) {
		const double d = waits.batch[b] / (PACKETS / BATCHES) - mean;

		square += d * d;
	}
	*ret_mean = mean;
	/* t of 49 degrees, 99 %: 2.680 */
	*ret_half = 2.680 * sqrt(square / (BATCHES - 1) / BATCHES);
}

/* Mean wait in service times (80 ns): rho / (2 (1 - rho)). */
static void poisson_packets_wait_as_in_m_d_1(void **state)
{
	static const struct {
		double rho, wait, tolerance;
	} cases[] = {
		{.5, .5, .03}, {.7, 1.16667, .03}, {.8, 2., .03}, {.9, 4.5, .03}, {.95, 9.5, .1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ps_t *starts = make_starts(80000 / cases[i].rho, 0, 11 + i);
		double mean, half;

		wait_in_line(starts, i, &mean, &half);
		free(starts);
		mean /= 80000;
		half /= 80000;
		if (fabs(mean / cases[i].wait - 1) > cases[i].tolerance ||
		    fabs(mean - cases[i].wait) > half)
			fail_msg("rho %.2f: %.4f +- %.4f, expected %.4f", cases[i].rho, mean, half,
				 cases[i].wait);
	}
}

static void packets_in_step_do_not_wait(void **state)
{
	ps_t *starts = make_starts(0, 84211, 1); /* rho .95 */
	double mean, half;

	(void)state;
	wait_in_line(starts, 1, &mean, &half);
	free(starts);
	assert_true(mean == 0);
}

/* ---- A17: the peak of an incast ---- */

static void an_incast_peaks_where_the_sum_says(void **state)
{
	enum { SENDERS_MAX = 32, FRAMES = 50, FRAME = 4178 };

	(void)state;
	for (uint32_t k = 2; k <= SENDERS_MAX; k += k < 8 ? 1 : 8) {
		struct net_link links[SENDERS_MAX + 1];
		char names[2 * (SENDERS_MAX + 1)][24], from[24];
		const uint32_t count = net_star(links, names, k + 1, 100 * G, PS_US);
		const uint32_t peak = (k - 1) * FRAMES * FRAME;
		const struct net_params params = {.seed = k, .buffer_bytes = 1u << 30};
		uint32_t found;
		struct net net;

		net_make(&net, &params, links, count);
		for (uint32_t i = 1; i <= k; i++) {
			snprintf(from, sizeof(from), "h%u", i);
			net_flow(&net, from, "h0", FRAMES, FRAME, 0)->answer = false;
		}
		net_run(&net);
		found = sim_switch_class(net.switches[0], net_port(&net, "h0"), 3)->queue_max;
		if (found + FRAME < peak || found > peak + FRAME)
			fail_msg("%u to 1: %u, expected %u", k, found, peak);
		net_free(&net);
	}
}

/* ---- A7: dynamic thresholds ---- */

static void full_queues_share_the_buffer_by_alpha(void **state)
{
	enum { QUEUES_MAX = 8, FRAME = 586, BUFFER = 4000000, HEADROOM = 60000 };
	static const struct {
		uint32_t num, den;
	} alphas[] = {{1, 16}, {1, 8}, {1, 2}, {1, 1}, {2, 1}, {8, 1}};

	(void)state;
	for (size_t a = 0; a < sizeof(alphas) / sizeof(*alphas); a++)
		for (uint32_t n = 1; n <= QUEUES_MAX; n *= 2) {
			struct net_link links[QUEUES_MAX + 1];
			char names[2 * (QUEUES_MAX + 1)][24], from[24];
			const uint32_t count = net_star(links, names, n + 1, 100 * G, PS_US);
			const uint64_t pool = BUFFER - (uint64_t)(n + 1) * HEADROOM;
			const uint64_t each =
				pool * alphas[a].num / (alphas[a].den + n * alphas[a].num);
			const struct net_params params = {.seed = n,
							  .fc = NET_PFC,
							  .pfc = {.buffer_bytes = BUFFER,
								  .lossless = 8,
								  .dynamic = true,
								  .alpha_num = alphas[a].num,
								  .alpha_den = alphas[a].den,
								  .resume_bytes = 2 * FRAME,
								  .headroom_bytes = HEADROOM}};
			struct sim_fc *fc;
			struct net net;

			links[0].rate_bps = 1000000;
			net_make(&net, &params, links, count);
			for (uint32_t i = 1; i <= n; i++) {
				snprintf(from, sizeof(from), "h%u", i);
				net_flow(&net, from, "h0", 8000, FRAME, 0)->answer = false;
			}
			assert_int_equal(sim_run(net.sim, 2 * PS_MS), 0);
			fc = sim_switch_fc(net.switches[0]);
			for (uint32_t i = 1; i <= n; i++) {
				uint32_t bytes;

				snprintf(from, sizeof(from), "h%u", i);
				/* Without the frame that was too much. */
				bytes = sim_fc_class(fc, net_port(&net, from), 3)->ingress_bytes -
					FRAME;
				/* Two short frames, less than one of full size. */
				if (bytes + 2 * FRAME < each || bytes > each + 2 * FRAME)
					fail_msg("alpha %u/%u, %u queues: %u, expected %llu",
						 alphas[a].num, alphas[a].den, n, bytes,
						 (unsigned long long)each);
			}
			net_free(&net);
		}
}

/* ---- A18: turns ---- */

struct shares {
	uint64_t bytes[SIM_PRIORITIES], window[SIM_PRIORITIES], total;
	uint64_t window_bytes, worst;
	const uint32_t *expected; /* of 1,000 in a window; NULL: not yet */
};

static void note_share(struct endpoint *ep, const struct sim_pkt *pkt, void *context)
{
	struct shares *shares = context;

	(void)ep;
	shares->window[pkt->priority] += pkt->bytes;
	shares->total += pkt->bytes;
	if (shares->total < shares->window_bytes)
		return;
	for (int q = 0; q < SIM_PRIORITIES; q++) {
		const uint64_t expected = shares->total * shares->expected[q] / 1000;
		const uint64_t found = shares->window[q];
		const uint64_t off = found > expected ? found - expected : expected - found;

		shares->worst = off > shares->worst ? off : shares->worst;
		shares->bytes[q] += found;
		shares->window[q] = 0;
	}
	shares->total = 0;
}

/* Classes with frames of several sizes, all with more to send than the port carries. */
static struct shares saturate(const uint8_t *weights, const uint16_t *sizes,
			      const uint32_t *expected)
{
	enum { QUANTUM = 9100 };
	struct net_link links[9];
	char names[18][24], from[24];
	const uint32_t count = net_star(links, names, 9, 400 * G, PS_US);
	struct net_params params = {.seed = 1, .buffer_bytes = 1u << 30, .extended = true};
	struct shares shares = {.window_bytes = 1000 * QUANTUM, .expected = expected};
	struct net net;

	params.more.frame_bytes_max = QUANTUM;
	memcpy(params.more.weights, weights, SIM_PRIORITIES);
	links[0].rate_bps = 100 * G;
	net_make(&net, &params, links, count);
	for (uint32_t q = 0; q < SIM_PRIORITIES; q++) {
		struct endpoint_flow *flow;

		if (sizes[q] == 0)
			continue;
		snprintf(from, sizeof(from), "h%u", q + 1);
		flow = net_flow(&net, from, "h0", 100000000u / sizes[q], sizes[q], 0);
		flow->priority = (uint8_t)q;
		flow->answer = false;
	}
	net_host(&net, "h0")->seen = note_share;
	net_host(&net, "h0")->context = &shares;
	assert_int_equal(sim_run(net.sim, 7800 * PS_US), 0);
	net_free(&net);
	return shares;
}

static void classes_get_their_weights(void **state)
{
	/* Weights 50, 30, 20; 1 and 99; 14 and 15 (SONiC's default), and a class that is idle,
	 * whose share goes to the others by weight: 50 / 70, 20 / 70. */
	static const struct {
		uint8_t weights[8];
		uint16_t sizes[8];
		uint32_t expected[8];
	} cases[] = {
		{{50, 30, 20}, {4178, 1106, 9100}, {500, 300, 200}},
		{{1, 99}, {4178, 4178}, {10, 990}},
		{{0, 0, 0, 15, 14, 14}, {0, 0, 0, 1106, 9100, 586}, {0, 0, 0, 349, 326, 326}},
		{{50, 30, 20}, {4178, 0, 9100}, {714, 0, 286}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct shares shares =
			saturate(cases[i].weights, cases[i].sizes, cases[i].expected);

		/* A quantum at either end of a window, and a thousandth by which the shares above
		 * are rounded. */
		if (shares.worst > 9100 + 9100)
			fail_msg("case %zu: off by %llu in a window", i,
				 (unsigned long long)shares.worst);
		for (int q = 0; q < SIM_PRIORITIES; q++)
			assert_true(shares.bytes[q] > 0 || cases[i].expected[q] == 0);
	}
}

/* A strict class takes what it wants, the others share the rest. */
static void strict_classes_go_first(void **state)
{
	static const uint8_t weights[8] = {75, 25};
	static const uint16_t sizes[8] = {4178, 1106, 0, 0, 0, 0, 4178};
	static const uint32_t expected[8] = {0, 0, 0, 0, 0, 0, 1000};
	const struct shares shares = saturate(weights, sizes, expected);

	(void)state;
	/* What leaves before the strict class is there. */
	assert_true(shares.bytes[0] + shares.bytes[1] < 3 * 4178);
	assert_true(shares.bytes[6] > 50000000);
}

/* ---- priorities that are rewritten ---- */

static void note_priority(struct endpoint *ep, const struct sim_pkt *pkt, void *context)
{
	uint32_t *seen = context;

	(void)ep;
	seen[pkt->priority]++;
}

struct rewritten {
	uint64_t digest;
	uint32_t seen[SIM_PRIORITIES];
	uint64_t sent[SIM_PRIORITIES];	    /* by s0 to s1, frames */
	ps_t paused[2][SIM_PRIORITIES];	    /* s0 by s1, h0 by s0 */
	uint64_t rewritten[SIM_PRIORITIES]; /* by s0 */
};

/* 500 frames of priority 3 that go from h0 by two switches to a slow host, with rules or without.
 */
static struct rewritten send_rewritten(const struct net_rewrite *rules, uint32_t count, bool oracle)
{
	static const struct net_link links[] = {{"h0", "s0", 100 * G, PS_US},
						{"s0", "s1", 100 * G, PS_US},
						{"h1", "s1", 10 * G, PS_US}};
	const struct net_params params = {
		.seed = 1,
		.fc = NET_PFC,
		.pfc = {.buffer_bytes = 4000000,
			.lossless = 0x18,
			.xoff_bytes = 40000,
			.resume_bytes = 4000,
			.headroom_bytes = 100000},
		.extended = true,
		.rewrites = rules,
		.rewrite_count = count,
		.oracle = oracle,
	};
	struct rewritten r = {.digest = 0};
	const struct sim_fc *fc;
	struct net net;
	uint32_t port;

	net_make(&net, &params, links, 3);
	net_flow(&net, "h0", "h1", 500, 1000, 0)->answer = false;
	net_host(&net, "h1")->seen = note_priority;
	net_host(&net, "h1")->context = r.seen;
	r.digest = net_run(&net);
	fc = sim_switch_fc(net_switch(&net, "s0"));
	port = sim_port_find(net.sim, "s0-s1", "s0")->index;
	for (uint8_t q = 0; q < SIM_PRIORITIES; q++) {
		r.sent[q] = sim_fc_class(fc, port, q)->sent_packets;
		r.paused[0][q] = sim_fc_paused_time(fc, port, q, sim_now(net.sim));
		r.paused[1][q] =
			sim_fc_paused_time(net_host(&net, "h0")->fc, 0, q, sim_now(net.sim));
		r.rewritten[q] = sim_switch_stats(net_switch(&net, "s0"))->rewritten[q];
	}
	net_free(&net);
	return r;
}

/* The next switch pauses the new priority, and this one has its sender pause the old one. */
static void what_is_rewritten_is_paused_as_what_it_became(void **state)
{
	static const struct net_rewrite same[] = {{"s0", NULL, NULL, 0xe7, 0},
						  {"s0", "h0-s0", "s0-s1", 8, 3}};
	static const struct net_rewrite rules[] = {{"s1", "h1-s1", NULL, 8, 2},
						   {"s0", "s0-s1", NULL, 8, 2},
						   {"s0", "h0-s0", "s0-s1", 16, 2},
						   {"s0", "h0-s0", "s0-s1", 8, 4},
						   {"s0", NULL, NULL, 0xff, 5}};
	const struct rewritten plain = send_rewritten(NULL, 0, false);
	const struct rewritten idle = send_rewritten(same, 2, false);
	const struct rewritten r = send_rewritten(rules, 5, false);

	(void)state;
	assert_int_equal(plain.seen[3], 500);
	assert_true(plain.paused[0][3] > 0 && plain.paused[1][3] > 0);
	assert_true(idle.digest == plain.digest);
	assert_true(r.digest != plain.digest);
	assert_true(r.digest == send_rewritten(rules, 5, true).digest);
	assert_int_equal(r.seen[4], 500);
	assert_int_equal(r.sent[4], 500);
	assert_int_equal(r.rewritten[4], 500);
	assert_true(r.paused[0][4] == plain.paused[0][3] && r.paused[0][3] == 0);
	assert_true(r.paused[1][3] == plain.paused[1][3] && r.paused[1][4] == 0);
}

RUN(T(poisson_packets_wait_as_in_m_d_1), T(packets_in_step_do_not_wait),
    T(an_incast_peaks_where_the_sum_says), T(full_queues_share_the_buffer_by_alpha),
    T(classes_get_their_weights), T(strict_classes_go_first),
    T(what_is_rewritten_is_paused_as_what_it_became))
