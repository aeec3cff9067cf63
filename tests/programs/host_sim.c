/* SPDX-License-Identifier: BSD-2-Clause */

/* Runs a program (the one it is linked with, or a module) as one task a host of a simulated fabric:
 * the first of the three worlds. Prints the reports, sorted, and the digest of the run. */
#include "include/verbena/program.h"
#include "models/fabric/fabric.h"
#include "models/program/spin.h"
#include "models/program/task.h"
#include "models/program/task_gpu.h"
#include "tests/oracle/oracle.h"
#include "tests/programs/congest.h"
#include "tests/programs/report.h"
#include "tools/memory.h"
#include "tools/program.h"
#include "tools/symbol.h"
#include "transport/wire/frame.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
	uint32_t size, hosts, threads, leaves, spines;
	uint64_t seed, background_bytes, loss_ppm;
	bool through_wire, through_bytes, ipv6, no_cost, quiet, oracle;
	enum coro_backend backend;
	uint64_t spin_limit_ms, packet_bytes_max;
	const char *program; /* a module; NULL: what is linked in */
	int arg_count;
	const char *const *args;
};

struct world { /* of one run */
	const struct options *options;
	struct topology topology;
	struct fabric fabric;
	struct congest congest;
	struct spin *spin;
	struct program program;
	struct program_run *run;
	struct host **hosts;	     /* of the ranks */
	struct report_list *reports; /* of each rank: ranks may report at the same time */
	uint64_t digest;
};

/* Where the executable is linked with a program. */
extern __typeof__(prog_main) prog_main __attribute__((weak));

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds,
						  .calloc = memory_calloc,
						  .free = memory_free,
						  .is_elsewhere = task_gpu_is_elsewhere,
						  .find_dmabuf = task_gpu_find_dmabuf};

	return &tasks;
}

static void on_report(void *owner, int rank, int peer, int nth_qp, const struct ibv_wc *wc,
		      const void *bytes)
{
	struct world *world = owner;

	if (report_add(&world->reports[rank], rank, peer, nth_qp, wc, bytes) != 0)
		abort();
}

static void on_say(void *owner, int rank, const char *line)
{
	const struct world *world = owner;

	if (!world->options->quiet)
		fprintf(stderr, "%d: %s\n", rank, line);
}

/* Nothing that a spinning program has begun can be ended in good order. */
static void on_spin(void *owner, const struct spin_report *report)
{
	char text[1024];

	(void)owner;
	symbol_spin(report, text, sizeof(text));
	fprintf(stderr, "%s\n", text);
	_exit(3);
}

static void usage(FILE *file)
{
	fputs("usage: host_sim [OPTIONS] -- [ARG...]\n"
	      "  --size N          ranks (2)        --hosts N     hosts of the star (ranks)\n"
	      "  --leaves N --spines N              a leaf-spine instead of a star\n"
	      "  --seed N (1)      --threads N (1)  --through-wire\n"
	      "  --through-bytes\n"
	      "  --backend stack|thread             --ipv6 --no-cost --quiet\n"
	      "  --background N    every host without a rank writes N bytes to each rank's host\n"
	      "  --loss PPM        of data frames, on every link and in both directions\n"
	      "  --program NAME    a module, by name or path, instead of the one linked in\n"
	      "  --spin-limit MS   of processor time without a call (2000; 0: none)\n"
	      "  --memory BYTES    for payloads of packets under way (1 GiB)\n"
	      "  --oracle          by the plain engine of tests/oracle\n",
	      file);
}

static bool parse(int argc, char **argv, struct options *ret)
{
	enum {
		SIZE = 256,
		HOSTS,
		LEAVES,
		SPINES,
		SEED,
		THREADS,
		WIRE,
		BYTES,
		BACKEND,
		IPV6,
		NO_COST,
		QUIET,
		PROGRAM,
		BACKGROUND,
		LOSS,
		SPIN_LIMIT,
		MEMORY,
		ORACLE
	};
	static const struct option names[] = {
		{"size", required_argument, NULL, SIZE},
		{"hosts", required_argument, NULL, HOSTS},
		{"leaves", required_argument, NULL, LEAVES},
		{"spines", required_argument, NULL, SPINES},
		{"seed", required_argument, NULL, SEED},
		{"threads", required_argument, NULL, THREADS},
		{"through-wire", no_argument, NULL, WIRE},
		{"through-bytes", no_argument, NULL, BYTES},
		{"backend", required_argument, NULL, BACKEND},
		{"ipv6", no_argument, NULL, IPV6},
		{"no-cost", no_argument, NULL, NO_COST},
		{"quiet", no_argument, NULL, QUIET},
		{"program", required_argument, NULL, PROGRAM},
		{"spin-limit", required_argument, NULL, SPIN_LIMIT},
		{"memory", required_argument, NULL, MEMORY},
		{"background", required_argument, NULL, BACKGROUND},
		{"loss", required_argument, NULL, LOSS},
		{"oracle", no_argument, NULL, ORACLE},
		{0},
	};
	struct options o = {.size = 2,
			    .threads = 1,
			    .seed = 1,
			    .spin_limit_ms = SPIN_LIMIT_MS,
			    .packet_bytes_max = 1u << 30};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
		switch (c) {
		case SIZE:
			o.size = (uint32_t)atoi(optarg);
			break;
		case HOSTS:
			o.hosts = (uint32_t)atoi(optarg);
			break;
		case LEAVES:
			o.leaves = (uint32_t)atoi(optarg);
			break;
		case SPINES:
			o.spines = (uint32_t)atoi(optarg);
			break;
		case SEED:
			o.seed = strtoull(optarg, NULL, 0);
			break;
		case THREADS:
			o.threads = (uint32_t)atoi(optarg);
			break;
		case WIRE:
			o.through_wire = true;
			break;
		case BYTES:
			o.through_bytes = true;
			break;
		case BACKEND:
			o.backend = strcmp(optarg, "thread") == 0 ? CORO_THREAD : CORO_STACK;
			break;
		case IPV6:
			o.ipv6 = true;
			break;
		case NO_COST:
			o.no_cost = true;
			break;
		case QUIET:
			o.quiet = true;
			break;
		case PROGRAM:
			o.program = optarg;
			break;
		case ORACLE:
			o.oracle = true;
			break;
		case MEMORY:
			o.packet_bytes_max = strtoull(optarg, NULL, 0);
			break;
		case SPIN_LIMIT:
			o.spin_limit_ms = strtoull(optarg, NULL, 0);
			break;
		case BACKGROUND:
			o.background_bytes = strtoull(optarg, NULL, 0);
			break;
		case LOSS:
			o.loss_ppm = strtoull(optarg, NULL, 0);
			break;
		default:
			usage(stderr);
			return false;
		}
	o.hosts = o.hosts > o.size ? o.hosts : o.size;
	o.arg_count = argc - optind;
	o.args = (const char *const *)argv + optind;
	*ret = o;
	return true;
}

static struct host_params host_params_of(const struct options *o, struct spin *spin)
{
	struct host_params params = {
		.profile =
			{
				.line_rate_bps = 100000000000u,
				.mtu_max = 4096,
				.psn_window = 1u << 20,
				.ack_every = 64,
				.ack_on_data_priority = true,
				.cnp_priority = 6,
				.cnp_enabled = true,
				.cnp_interval = 50 * PS_US,
				.cc = &cc_dcqcn,
				.cc_params = cc_dcqcn_params(100000000000u),
				.wire_overhead = wire_frame_overhead(o->ipv6 ? WIRE_SHAPE_IPV6 : 0),
				.qp_max = 4096,
				.cq_max = 4096,
				.mr_max = 4096,
				.pd_max = 4096,
				.srq_max = 4096,
				.wr_max = 16384,
				.sge_max = 16,
				.cqe_max = 65536,
				.inline_max = 256,
				.rd_atomic_max = 16,
			},
		.cost = o->no_cost ? host_cost_none() : host_cost_generic(),
		.coro_backend = o->backend,
		.loop_delay = 100 * PS_NS,
		.spin = spin,
		.flow_timeout = 10,
		.flow_retries = 7,
		.through_wire = o->through_wire,
		.through_bytes = o->through_bytes,
	};

	return params;
}

static int build(const struct options *o, struct topology *topology)
{
	const struct topology_speed speed = {100000000000u, 100000000000u, PS_US};

	if (o->leaves)
		return topology_leaf_spine(topology, o->leaves, o->spines ? o->spines : 1,
					   (o->hosts + o->leaves - 1) / o->leaves, speed);
	return topology_star(topology, o->hosts, speed);
}

static int open_program(struct world *world)
{
	char error[PROGRAM_ERROR_MAX];
	int ret;

	if (!world->options->program) {
		world->program.main = prog_main;
		return prog_main ? 0 : -ENOENT;
	}
	ret = program_open(&world->program, world->options->program, error);
	ret = ret ? ret : program_spread(&world->program, 0, world->options->size, error);
	if (ret)
		fprintf(stderr, "%s\n", error);
	return ret;
}

static int start(struct world *world)
{
	static const char name[] = "prog";
	const struct options *o = world->options;
	struct program_run_params params = {.program = &world->program,
					    .name = name,
					    .hosts = world->hosts,
					    .size = o->size,
					    .arg_count = o->arg_count,
					    .args = o->args,
					    .watcher = {on_report, on_say, world}};
	const struct congest_params congest = {.ranks = o->size,
					       .hosts = o->hosts,
					       .background_bytes = o->background_bytes,
					       .loss_ppm = o->loss_ppm};
	char host[16];
	int ret;

	for (uint32_t i = 0; i < o->size; i++) {
		snprintf(host, sizeof(host), "h%u", i);
		world->hosts[i] = fabric_host(&world->fabric, host);
	}
	params.has_spaces = memory_open(o->size, PROGRAM_STACK_BYTES) == 0;
	ret = program_start(&params, &world->run);
	ret = ret ? ret : congest_start(&world->congest, &world->fabric, &congest);
	if (ret)
		return ret;
	if (o->oracle) {
		world->digest = oracle_fabric(
			&world->fabric, &(struct net_routing){.reconverge = PS_NEVER}, PS_NEVER);
		return 0;
	}
	ret = fabric_run(&world->fabric, 100 * PS_S);
	world->digest = sim_digest(world->fabric.sim);
	return ret;
}

/* 0, or 1 where a rank failed. */
static int print(const struct world *world, int ret)
{
	struct report_list all = {0};
	int failed = 0;

	for (uint32_t i = 0; i < world->options->size; i++) {
		const int result = program_result(world->run, i)->result;

		failed |= result != 0;
		if (result != 0)
			fprintf(stderr, "rank %u: %d\n", i, result);
		if (report_take(&all, &world->reports[i]) != 0)
			abort();
	}
	report_sort(&all);
	report_print(&all, stdout);
	report_free(&all);
	fprintf(stderr, "digest: %016llx time_ps: %llu hops: %llu ret: %d\n",
		(unsigned long long)world->digest, (unsigned long long)sim_now(world->fabric.sim),
		(unsigned long long)sim_packet_hops(world->fabric.sim), ret);
	congest_print(&world->congest);
	return failed;
}

static void fini(struct world *world)
{
	spin_destroy(world->spin);
	traffic_destroy(world->congest.traffic);
	fabric_fini(&world->fabric);
	congest_fini(&world->congest);
	program_stop(world->run);
	program_close(&world->program);
	topology_fini(&world->topology);
	free(world->hosts);
	free(world->reports);
}

int main(int argc, char **argv)
{
	struct options o;
	struct world world = {.options = &o};
	int ret, failed = 1;

	if (!parse(argc, argv, &o) || open_program(&world) != 0)
		return 2;
	if (o.spin_limit_ms > 0) {
		world.spin = spin_create(o.threads, o.spin_limit_ms, on_spin, NULL);
		if (!world.spin)
			return 3;
	}
	const struct host_params host = host_params_of(&o, world.spin);
	const struct pfc_params pfc = {.lossless = 1,
				       .dynamic = true,
				       .alpha_num = 1,
				       .alpha_den = 8,
				       .resume_bytes = 8400};
	const struct ecn ecn = ecn_make(100000, 400000, 1, 5);
	const struct fabric_params params = {
		.seed = o.seed,
		.thread_count = o.threads,
		.packet_bytes_max = o.packet_bytes_max,
		.oob_delay = 20 * PS_US,
		.ipv6 = o.ipv6,
		.switches = {.buffer_bytes = 4u << 20, .pfc = &pfc, .mtu_bytes = 4200, .ecn = &ecn},
		.host = &host};

	world.hosts = calloc(o.size, sizeof(struct host *));
	world.reports = calloc(o.size, sizeof(*world.reports));
	if (!world.hosts || !world.reports || build(&o, &world.topology) != 0 ||
	    topology_name_links(&world.topology) != 0 ||
	    fabric_create(&world.fabric, &world.topology, &params) != 0)
		return 3;
	ret = start(&world);
	if (world.run)
		failed = print(&world, ret);
	fini(&world);
	return ret != 0 ? 3 : failed;
}
