/* SPDX-License-Identifier: BSD-2-Clause */

/* The reference works, each built directly on the models: what bench/run times and counts, one
 * process a work. Prints one JSON object, without the counted figures.
 *	bench_work NAME [--threads N] [--scale N]	(a scale of N takes 1/N of the bytes) */
#include "bench/work.h"
#include "transport/wire/frame.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Of the fabric of W7: which links are short. */
enum cables { ALL_LONG, ONE_TO_A_HOST, ONE_BETWEEN_SWITCHES, RACKS, ALL_SHORT };

struct work {
	const char *name;
	uint32_t k;	 /* of the fat tree */
	uint32_t fan_in; /* senders of an incast; 0: a permutation */
	uint32_t mtu;	 /* bytes */
	uint64_t bytes;	 /* of a message */
	bool is_static;	 /* XOFF and XON of 15 and 12 packets */
	bool dcqcn;
	bool programs;	   /* a ring of programs with real bytes instead of flows */
	uint32_t fan_out;  /* queue pairs of one host of a star of 17 */
	uint64_t streamed; /* flows, made as they start, on a star of 128 hosts */
	uint32_t live;	   /* flows that all begin at once, on the same star */
	bool pairs;	   /* flows from one host to another share a queue pair */
	ps_t load_until; /* on the 320 hosts of the HPCC authors, a load instead of one flow each */
	uint32_t leaves; /* with as many spines and 16 hosts each, the load is on these */
	uint32_t rails;	 /* of as many adapters of 16 machines each, with two spines, the load on
			    them */
	bool bus;	 /* between adapters and memory: 5 ns there, 5 ns back */
	uint32_t gpus;	 /* switches of two machines with a GPU each, from one of which to the other
			  * a program writes */
	enum cables cables;
	ps_t until; /* the run ends then, whatever is under way; 0: with the last flow */
};

#define LIVE (10 * PS_US)
#define LEAF_SPINE(short_ones)                                                                     \
	.mtu = 4096, .dcqcn = true, .leaves = 4, .cables = (short_ones),                           \
	.load_until = 1500 * PS_US, .until = 1500 * PS_US
#define RAILS(short_ones)                                                                          \
	.mtu = 4096, .dcqcn = true, .rails = 8, .cables = (short_ones),                            \
	.load_until = 1500 * PS_US, .until = 1500 * PS_US

/* The parameters are those of docs/performance.md. */
static const struct work works[] = {
	{.name = "W1", .k = 16, .mtu = 4096, .bytes = 2000000},
	{.name = "W1p", .k = 16, .mtu = 4096, .bytes = 2000000, .is_static = true},
	{.name = "W1c", .k = 16, .mtu = 4096, .bytes = 2000000, .dcqcn = true},
	{.name = "W2", .k = 16, .mtu = 4096, .fan_in = 128, .bytes = 10000000, .dcqcn = true},
	{.name = "W2s", .k = 8, .mtu = 4096, .fan_in = 32, .bytes = 2000000, .dcqcn = true},
	{.name = "W3", .mtu = 1024, .load_until = 10 * PS_MS, .dcqcn = true},
	{.name = "W4", .mtu = 4096, .bytes = 1000, .streamed = 10000000},
	{.name = "W4p", .mtu = 4096, .bytes = 1000, .streamed = 10000000, .pairs = true},
	{.name = "live", .mtu = 4096, .bytes = 1000000, .live = 1000000, .until = LIVE},
	{.name = "livep",
	 .mtu = 4096,
	 .bytes = 1000000,
	 .live = 1000000,
	 .pairs = true,
	 .until = LIVE},
	{.name = "W5", .k = 32, .mtu = 4096, .bytes = 2000000},
	{.name = "Q10", .mtu = 4096, .fan_out = 10, .bytes = 200000000, .dcqcn = true},
	{.name = "Q10k", .mtu = 4096, .fan_out = 10000, .bytes = 200000, .dcqcn = true},
	{.name = "W6", .k = 16, .mtu = 1024, .bytes = 1000000, .programs = true},
	{.name = "W6j", .k = 16, .mtu = 4096, .bytes = 1000000, .programs = true},
	{.name = "W7", LEAF_SPINE(ALL_LONG)},
	{.name = "W7h", LEAF_SPINE(ONE_TO_A_HOST)},
	{.name = "W7s", LEAF_SPINE(ONE_BETWEEN_SWITCHES)},
	{.name = "W7r", LEAF_SPINE(RACKS)},
	{.name = "W7a", LEAF_SPINE(ALL_SHORT)},
	{.name = "W7d", LEAF_SPINE(ALL_LONG), .bus = true},
	{.name = "B1", .mtu = 4096, .bytes = 100000000, .gpus = 1},
	{.name = "B1d", .mtu = 4096, .bytes = 100000000, .gpus = 2},
	{.name = "W8", RAILS(ALL_LONG)},
	{.name = "W8a", RAILS(ALL_SHORT)},
};

static const struct host_bus near_memory = {.way = 5 * PS_NS, .tx_bytes = 32768};

/* Preamble to gap around the payload, with a RETH. */
static uint32_t wire_mtu(const struct work *work)
{
	return work->mtu + 82;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct host_params host_of(const struct work *work)
{
	const uint64_t line = 100000000000u;
	struct host_params host = {
		.profile =
			{
				.line_rate_bps = line,
				.mtu_max = work->mtu,
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
				.qp_max = 16384,
				.cq_max = 16,
				.mr_max = 16384,
				.pd_max = 16,
				.wr_max = work->pairs ? 16384 : 16,
				.sge_max = 1,
				.cqe_max = 4096,
				.rd_atomic_max = 1,
			},
		.cost = work->programs || work->gpus ? host_cost_generic() : host_cost_none(),
		.flow_timeout = 14,
		.flow_retries = 7,
		.flow_pairs = work->pairs,
		.bus = work->bus    ? &near_memory
		       : work->gpus ? &gpus_buses[work->gpus - 1]
				    : NULL,
	};

	return host;
}

struct options {
	uint32_t threads;
	uint64_t scale;
};

static void print(const struct work *work, const struct fabric *fabric, struct load load,
		  double ready_s, double wall_s)
{
	const struct sim *sim = fabric->sim;
	const unsigned long long hops = sim_packet_hops(sim);
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("{\"work\": \"%s\", \"packet_hops\": %llu, \"wall_s\": %.3f, \"hops_per_s\": %.0f, "
	       "\"rss_mib\": %.1f, \"digest\": \"%016llx\", \"ready_ms\": %.1f, \"posted\": %llu, "
	       "\"completed\": %llu, \"time_ps\": %llu, \"visits\": %llu",
	       work->name, hops, wall_s, (double)hops / wall_s, (double)usage.ru_maxrss / 1024,
	       (unsigned long long)sim_digest(sim), ready_s * 1e3, (unsigned long long)load.posted,
	       (unsigned long long)load.completed, (unsigned long long)sim_now(sim),
	       (unsigned long long)sim_events(sim));
	if (work->gpus)
		printf(", \"burst_hops\": %llu", (unsigned long long)gpus_burst_hops(fabric));
	printf("}\n");
}

static struct flows *start_flows(const struct work *work, struct options options,
				 struct fabric *fabric)
{
	if (work->programs || work->gpus)
		return NULL;
	if (work->live)
		return flows_start_all(fabric, work->live / (uint32_t)options.scale, work->bytes);
	if (work->fan_out)
		return flows_start_fan(fabric, work->fan_out, work->bytes / options.scale);
	if (work->streamed)
		return flows_start_stream(fabric, work->streamed / options.scale, work->bytes);
	if (work->load_until)
		return flows_start_load(fabric, work->load_until / options.scale);
	return flows_start(fabric, work->fan_in, work->bytes / options.scale);
}

/* The fabric is there: loads it, runs it and says how it went. 0, or an exit status. */
static int play(const struct work *work, struct options options, struct fabric *fabric,
		double began)
{
	struct flows *flows = start_flows(work, options, fabric);
	const uint64_t bytes = work->bytes / options.scale;
	struct ring *ring = work->programs ? ring_start(fabric, work->k, bytes)
			    : work->gpus   ? ring_start_gpus(fabric, bytes)
					   : NULL;
	const double ready = seconds();
	struct load load;
	double done;
	int ret;

	if (!flows && !ring)
		return 3;
	ret = fabric_run(fabric, work->until ? work->until : PS_NEVER);
	done = seconds();
	load = ring ? ring_load(ring) : flows_end(flows);
	print(work, fabric, load, ready - began, done - ready);
	if (ring) {
		fabric_fini(fabric);
		ring_end(ring);
	}
	if (ret != 0)
		fprintf(stderr, "bench_work: %s: the run ended early: %s\n", work->name,
			ret < 0 ? strerror(-ret) : "stopped");
	if (ret != 0)
		return 3;
	if (work->live ? load.completed > 0 : work->until && load.completed == 0)
		return 1;
	return (!work->until && load.completed < load.posted) || load.wrong_bytes > 0;
}

/* W7: the first link to a host, or the first between switches, or the first kind, or all. */
static void cut_cables(struct topology *topology, enum cables cables)
{
	bool is_first[2] = {true, true};

	for (uint32_t i = 0; i < topology->link_count; i++) {
		struct topology_link *link = &topology->links[i];
		const bool is_fabric =
			topology->nodes[link->a].is_switch && topology->nodes[link->b].is_switch;

		if (cables == ALL_SHORT || (cables == RACKS && !is_fabric))
			link->delay = 10 * PS_NS;
		else if (cables == RACKS)
			link->delay = 500 * PS_NS;
		else if (cables == (is_fabric ? ONE_BETWEEN_SWITCHES : ONE_TO_A_HOST) &&
			 is_first[is_fabric])
			link->delay = 5 * PS_NS;
		is_first[is_fabric] = false;
	}
}

/* Fat trees; and 5 pods of 4 racks of 16 hosts at 100 Gb/s, 4 aggregation switches each, 16 cores,
 * switches joined by 400 Gb/s (Li et al., HPCC, SIGCOMM 2019, 5.1). */
static int make_topology(const struct work *work, struct topology *topology)
{
	const struct topology_speed speed = {100000000000u, 100000000000u, PS_US};
	const struct topology_tier fabric = {400000000000u, PS_US, 1};
	const struct topology_clos clos = {
		.pods = 5,
		.edges = 4,
		.aggregations = 4,
		.cores = 16,
		.hosts_per_edge = 16,
		.host = {100000000000u, PS_US, 1},
		.edge = fabric,
		.core = fabric,
	};
	const struct topology_rail rail = {16, work->rails, 16, 2, true};
	const int ret = work->rails    ? topology_rail(topology, rail, speed)
			: work->leaves ? topology_leaf_spine(topology, work->leaves, work->leaves,
							     16, speed)
			: work->load_until	       ? topology_clos(topology, &clos)
			: work->gpus		       ? topology_star(topology, 2, speed)
			: work->streamed || work->live ? topology_star(topology, 128, speed)
			: work->fan_out		       ? topology_star(topology, 17, speed)
					: topology_fat_tree(topology, work->k, speed);

	if (ret)
		return ret;
	cut_cables(topology, work->cables);
	return topology_name_links(topology);
}

static int run(const struct work *work, struct options options)
{
	const double began = seconds();
	const struct host_params host = host_of(work);
	const struct pfc_params pfc = {
		.lossless = 1,
		.dynamic = !work->is_static,
		.alpha_num = 1,
		.alpha_den = 8,
		.xoff_bytes = work->is_static ? 15 * wire_mtu(work) : 0,
		.resume_bytes = (work->is_static ? 3 : 2) * wire_mtu(work),
	};
	const struct ecn ecn = work->leaves || work->rails ? ecn_make(100000, 400000, 1, 5)
							   : ecn_make(400000, 1600000, 1, 5);
	const struct fabric_params params = {
		.seed = 1,
		.thread_count = options.threads,
		.packet_bytes_max = 1u << 30,
		.oob_delay = 20 * PS_US,
		.host = &host,
		.gpus_of = work->gpus ? gpus_of : NULL,
		.switches = {.buffer_bytes =
				     (work->load_until && !work->leaves && !work->rails ? 32u : 16u)
				     << 20,
			     .pfc = &pfc,
			     .mtu_bytes = wire_mtu(work),
			     .ecn = &ecn},
	};
	struct topology topology = {0};
	struct fabric fabric;
	int ret = 3;

	if (make_topology(work, &topology) == 0 &&
	    fabric_create(&fabric, &topology, &params) == 0) {
		ret = play(work, options, &fabric, began);
		fabric_fini(&fabric);
	}
	topology_fini(&topology);
	return ret;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {{"threads", required_argument, NULL, 't'},
					      {"scale", required_argument, NULL, 's'},
					      {0}};
	struct options options = {.threads = 1, .scale = 1};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
		if (c == 't')
			options.threads = (uint32_t)atoi(optarg);
		else if (c == 's')
			options.scale = strtoull(optarg, NULL, 10);
		else
			return 2;
	for (size_t i = 0; optind < argc && i < sizeof(works) / sizeof(works[0]); i++)
		if (strcmp(works[i].name, argv[optind]) == 0)
			return run(&works[i], options);
	fputs("usage: bench_work W1|W1p|W1c|W2|W2s|W3|W4|W4p|live|livep|W5|Q10|Q10k|W6|W6j|W7|W7h|"
	      "W7s|W7r|W7a|W7d|B1|B1d|W8|W8a [--threads N] [--scale N]\n",
	      stderr);
	return 2;
}
