/* SPDX-License-Identifier: BSD-2-Clause */

/* The reference works, each built directly on the models: what `bench/run` times and counts. One
 * process a work. Prints one JSON object without the counted figures.
 *	work NAME [--threads N] [--scale N]	(a scale of N takes 1/N of the bytes) */
#include "models/fabric.h"
#include "models/traffic.h"
#include "sim/switch.h"
#include "transport/wire/frame.h"
#include "util/siphash.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MTU = 4096, WIRE_MTU = MTU + 82 };

struct work {
	const char *name;
	uint32_t k;	/* of the fat tree */
	uint32_t fan_in; /* senders of an incast; 0: a permutation */
	uint64_t bytes;
	bool is_static; /* XOFF and XON of 15 and 12 packets */
	bool dcqcn;
};

static const struct work works[] = {
	{.name = "W1", .k = 16, .bytes = 2000000},
	{.name = "W1p", .k = 16, .bytes = 2000000, .is_static = true},
	{.name = "W1c", .k = 16, .bytes = 2000000, .dcqcn = true},
	{.name = "W2", .k = 16, .fan_in = 128, .bytes = 10000000, .dcqcn = true},
	{.name = "W2s", .k = 8, .fan_in = 32, .bytes = 2000000, .dcqcn = true},
};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider none = {.list = NULL};

	return &none; /* no programs here */
}

static struct host_params host_of(const struct work *work)
{
	const uint64_t line = 100000000000u;
	struct host_params host = {
		.profile =
			{
				.line_rate_bps = line,
				.mtu_max = MTU,
				.psn_window = 1u << 20,
				.ack_every = 1,
				.ack_on_data_priority = false,
				.ack_priority = 5,
				.cnp_priority = 6,
				.cnp_enabled = work->dcqcn,
				.cnp_interval = 50 * PS_US,
				.cc = work->dcqcn ? &cc_dcqcn : &cc_none,
				.cc_params = cc_dcqcn_params(line),
				.wire_overhead = wire_frame_overhead(0),
				.qp_max = 4096,
				.cq_max = 16,
				.mr_max = 4096,
				.pd_max = 16,
				.wr_max = 16,
				.sge_max = 1,
				.cqe_max = 4096,
				.rd_atomic_max = 1,
			},
		.cost = host_cost_none(),
		.flow_timeout = 14,
		.flow_retries = 7,
	};

	return host;
}

/* Everybody sends to somebody else, by Sattolo's shuffle. */
static uint64_t permutation(struct traffic_flow *flows, uint32_t hosts, uint64_t bytes)
{
	uint32_t *to = calloc(hosts, sizeof(*to));

	for (uint32_t i = 0; i < hosts; i++)
		to[i] = i;
	for (uint32_t i = hosts - 1; i > 0; i--) {
		const uint64_t word = i;
		const uint32_t j = (uint32_t)(util_hash_words((struct util_key){1, 0}, &word, 1) % i);
		const uint32_t swap = to[i];

		to[i] = to[j];
		to[j] = swap;
	}
	for (uint32_t i = 0; i < hosts; i++)
		flows[i] = (struct traffic_flow){.src = i, .dst = to[i], .bytes = bytes};
	free(to);
	return hosts;
}

static uint64_t incast(struct traffic_flow *flows, uint32_t hosts, uint32_t fan_in, uint64_t bytes)
{
	for (uint32_t i = 0; i < fan_in; i++)
		flows[i] = (struct traffic_flow){
			.src = 1 + (uint32_t)((uint64_t)i * (hosts - 1) / fan_in), .bytes = bytes};
	return fan_in;
}

static int run(const struct work *work, uint32_t threads, uint64_t scale)
{
	const double begin = seconds();
	const struct host_params host = host_of(work);
	const struct pfc_params pfc = {
		.lossless = 1,
		.dynamic = !work->is_static,
		.alpha_num = 1,
		.alpha_den = 8,
		.xoff_bytes = work->is_static ? 15 * WIRE_MTU : 0,
		.resume_bytes = (work->is_static ? 3 : 2) * WIRE_MTU,
	};
	const struct ecn ecn = ecn_make(400000, 1600000, 1, 5);
	const struct fabric_params params = {
		.seed = 1,
		.thread_count = threads,
		.packet_bytes_max = 1u << 30,
		.host = &host,
		.switches = {.buffer_bytes = 16u << 20, .pfc = &pfc, .mtu_bytes = WIRE_MTU, .ecn = &ecn},
	};
	const struct topology_speed speed = {100000000000u, 100000000000u, PS_US};
	struct topology topology = {0};
	struct fabric fabric;
	struct traffic *traffic;
	struct traffic_flow *flows;
	struct rusage usage;
	double ready, done;
	uint64_t count;

	if (topology_fat_tree(&topology, work->k, speed) || topology_name_links(&topology) ||
	    fabric_create(&fabric, &topology, &params))
		return 3;
	flows = calloc(fabric.host_count, sizeof(*flows));
	count = work->fan_in
			? incast(flows, fabric.host_count, work->fan_in, work->bytes / scale)
			: permutation(flows, fabric.host_count, work->bytes / scale);
	if (traffic_create(&fabric, flows, count, &traffic))
		return 3;
	ready = seconds();
	if (fabric_run(&fabric, PS_NEVER))
		return 3;
	done = seconds();
	getrusage(RUSAGE_SELF, &usage);
	const struct traffic_sums sums = traffic_sums(traffic);

	printf("{\"work\": \"%s\", \"packet_hops\": %llu, \"wall_s\": %.3f, \"hops_per_s\": %.0f, "
	       "\"ready_ms\": %.1f, \"rss_mib\": %.1f, \"completed\": %llu, \"posted\": %llu, "
	       "\"time_ps\": %llu, \"digest\": \"%016llx\"}\n",
	       work->name, (unsigned long long)sim_packet_hops(fabric.sim), done - ready,
	       (double)sim_packet_hops(fabric.sim) / (done - ready), (ready - begin) * 1e3,
	       (double)usage.ru_maxrss / 1024, (unsigned long long)sums.completed,
	       (unsigned long long)sums.posted, (unsigned long long)sim_now(fabric.sim),
	       (unsigned long long)sim_digest(fabric.sim));
	traffic_destroy(traffic);
	fabric_fini(&fabric);
	topology_fini(&topology);
	free(flows);
	return sums.completed == sums.posted ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {{"threads", required_argument, NULL, 't'},
					      {"scale", required_argument, NULL, 's'},
					      {0}};
	uint32_t threads = 1;
	uint64_t scale = 1;
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
		if (c == 't')
			threads = (uint32_t)atoi(optarg);
		else if (c == 's')
			scale = strtoull(optarg, NULL, 10);
		else
			return 2;
	for (size_t i = 0; optind < argc && i < sizeof(works) / sizeof(works[0]); i++)
		if (strcmp(works[i].name, argv[optind]) == 0)
			return run(&works[i], threads, scale);
	fputs("usage: work W1|W1p|W1c|W2|W2s [--threads N] [--scale N]\n", stderr);
	return 2;
}
