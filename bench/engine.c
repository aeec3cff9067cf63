/* SPDX-License-Identifier: BSD-2-Clause */

/* The engine alone: a permutation on a fat tree with endpoints that have no adapter; PFC and ECN
 * on. engine [k=16] [bytes=2000000] [threads=1] [static=0] [incast=0] [seed=1]; to be counted under
 * callgrind with --toggle-collect=sim_run. */
#include "tests/scenario/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MTU = 4096, HEADERS = 82 };

static struct {
	uint32_t k, bytes, threads, fixed, incast, seed, credit;
} arg = {.k = 16, .bytes = 2000000, .threads = 1, .seed = 1};

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (sscanf(argv[i], "k=%u", &arg.k) + sscanf(argv[i], "bytes=%u", &arg.bytes) +
			    sscanf(argv[i], "threads=%u", &arg.threads) +
			    sscanf(argv[i], "static=%u", &arg.fixed) +
			    sscanf(argv[i], "credit=%u", &arg.credit) +
			    sscanf(argv[i], "incast=%u", &arg.incast) +
			    sscanf(argv[i], "seed=%u", &arg.seed) !=
		    1) {
			fprintf(stderr, "engine: %s?\n", argv[i]);
			exit(2);
		}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t draw(uint32_t *state, uint32_t limit)
{
	*state = *state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)*state * limit >> 32);
}

static void add(struct net *net, uint32_t from, uint32_t to)
{
	const uint32_t packets = (arg.bytes + MTU - 1) / MTU;
	char a[24], b[24];
	struct endpoint_flow *flow;

	snprintf(a, sizeof(a), "h%u", from);
	snprintf(b, sizeof(b), "h%u", to);
	flow = net_flow(net, a, b, packets, MTU + HEADERS, 0);
	flow->last_bytes = (uint16_t)(arg.bytes - (packets - 1) * MTU + HEADERS);
}

/* Sattolo: nobody sends to itself. */
static void add_flows(struct net *net, uint32_t hosts)
{
	uint32_t *to = malloc(hosts * sizeof(*to)), state = arg.seed;

	for (uint32_t i = 0; i < arg.incast; i++)
		add(net, 1 + i * (hosts - 1) / arg.incast, 0);
	for (uint32_t i = 0; i < hosts; i++)
		to[i] = i;
	for (uint32_t i = hosts - 1; i > 0; i--) {
		const uint32_t j = draw(&state, i), swap = to[i];

		to[i] = to[j];
		to[j] = swap;
	}
	for (uint32_t i = 0; arg.incast == 0 && i < hosts; i++)
		add(net, i, to[i]);
	free(to);
}

int main(int argc, char **argv)
{
	struct net_params params = {
		.pfc = {.buffer_bytes = 16 << 20,
			.lossless = 1 << 3,
			.dynamic = true,
			.alpha_num = 1,
			.alpha_den = 8,
			.resume_bytes = 3 * (MTU + HEADERS),
			.xoff_bytes = 15 * (MTU + HEADERS),
			.headroom_bytes = 40000},
		.fc = NET_PFC,
		.kmin = 400000,
		.kmax = 1600000,
		.pmax_num = 1,
		.pmax_den = 5,
		.marked = 1 << 3,
	};
	struct net_link *links;
	char(*names)[24];
	struct net net;
	uint32_t count;
	uint64_t digest, hops, answers = 0;
	double began, built, ended;

	parse(argc, argv);
	params.threads = arg.threads;
	params.seed = arg.seed;
	params.pfc.dynamic = !arg.fixed;
	if (arg.credit) {
		params.fc = NET_CREDIT;
		params.buffer_bytes = arg.credit;
	}
	count = 3 * arg.k * (arg.k / 2) * (arg.k / 2);
	links = malloc(count * sizeof(*links));
	names = malloc(2 * (size_t)count * sizeof(*names));
	count = net_fat_tree(links, names, arg.k, 100000000000, PS_US);
	began = seconds();
	net_make(&net, &params, links, count);
	built = seconds();
	add_flows(&net, net.host_count);
	ended = seconds();
	digest = net_run(&net);
	ended = seconds() - ended;
	hops = sim_packet_hops(net.sim);
	for (uint32_t i = 0; i < net.host_count; i++)
		answers += net.hosts[i].answers;
	printf("digest %016llx hops %llu visits %llu answers %llu dropped %llu end %.3f us\n"
	       "built %.3f s ran %.3f s %.2f Mhops/s %.1f ns/hop\n",
	       (unsigned long long)digest, (unsigned long long)hops,
	       (unsigned long long)sim_events(net.sim), (unsigned long long)answers,
	       (unsigned long long)net_dropped(&net), (double)sim_now(net.sim) / 1e6, built - began,
	       ended, (double)hops / ended / 1e6, ended / (double)hops * 1e9);
	net_free(&net);
	free(links);
	free(names);
	return 0;
}
