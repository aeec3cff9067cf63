/* SPDX-License-Identifier: BSD-2-Clause */

/* Runs the program it is linked with as one task a host of a simulated fabric: the first of the
 * three worlds. Prints the reports, sorted, and the digest of the run. */
#include "include/verbena/verbena.h"
#include "models/fabric.h"
#include "models/task.h"
#include "tests/programs/prog.h"
#include "tests/programs/report.h"
#include "transport/wire/frame.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	uint32_t size, hosts, threads, leaves, spines;
	uint64_t seed;
	bool through_wire, ipv6, no_cost, quiet;
	enum coro_backend backend;
	int arg_count;
	const char *const *args;
};

struct rank {
	struct prog prog;
	struct report_list *report;
	const struct options *options;
	int result;
};

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds};

	return &tasks;
}

static int rank_put(const struct prog *prog, const char *key, const void *bytes, size_t length)
{
	(void)prog;
	return vb_put(key, bytes, length);
}

static int rank_get(const struct prog *prog, const char *key, void *ret_bytes, size_t length)
{
	int64_t got = vb_get(key, ret_bytes, length);

	(void)prog;
	return got == (int64_t)length ? 0 : got < 0 ? (int)got : -EMSGSIZE;
}

static void rank_sleep_ns(const struct prog *prog, uint64_t ns)
{
	(void)prog;
	vb_sleep_ns(ns);
}

static void rank_say(const struct prog *prog, const char *line)
{
	const struct rank *rank = prog->host;

	if (!rank->options->quiet)
		fprintf(stderr, "%d: %s\n", prog->rank, line);
}

static void rank_report(const struct prog *prog, int peer, int nth_qp, const struct ibv_wc *wc,
			const void *bytes)
{
	const struct rank *rank = prog->host;

	if (report_add(rank->report, prog->rank, peer, nth_qp, wc, bytes) != 0)
		abort();
}

static void rank_main(void *arg)
{
	struct rank *rank = arg;

	rank->result = prog_main(&rank->prog);
}

static void usage(FILE *file)
{
	fputs("usage: host_sim [OPTIONS] -- [ARG...]\n"
	      "  --size N          ranks (2)        --hosts N     hosts of the star (ranks)\n"
	      "  --leaves N --spines N              a leaf-spine instead of a star\n"
	      "  --seed N (1)      --threads N (1)  --through-wire\n"
	      "  --backend stack|thread             --ipv6 --no-cost --quiet\n",
	      file);
}

static bool parse(int argc, char **argv, struct options *ret)
{
	enum { SIZE = 256, HOSTS, LEAVES, SPINES, SEED, THREADS, WIRE, BACKEND, IPV6, NO_COST, QUIET };
	static const struct option names[] = {
		{"size", required_argument, NULL, SIZE},
		{"hosts", required_argument, NULL, HOSTS},
		{"leaves", required_argument, NULL, LEAVES},
		{"spines", required_argument, NULL, SPINES},
		{"seed", required_argument, NULL, SEED},
		{"threads", required_argument, NULL, THREADS},
		{"through-wire", no_argument, NULL, WIRE},
		{"backend", required_argument, NULL, BACKEND},
		{"ipv6", no_argument, NULL, IPV6},
		{"no-cost", no_argument, NULL, NO_COST},
		{"quiet", no_argument, NULL, QUIET},
		{0},
	};
	struct options o = {.size = 2, .threads = 1, .seed = 1};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
		switch (c) {
		case SIZE: o.size = (uint32_t)atoi(optarg); break;
		case HOSTS: o.hosts = (uint32_t)atoi(optarg); break;
		case LEAVES: o.leaves = (uint32_t)atoi(optarg); break;
		case SPINES: o.spines = (uint32_t)atoi(optarg); break;
		case SEED: o.seed = strtoull(optarg, NULL, 0); break;
		case THREADS: o.threads = (uint32_t)atoi(optarg); break;
		case WIRE: o.through_wire = true; break;
		case BACKEND: o.backend = strcmp(optarg, "thread") == 0 ? CORO_THREAD : CORO_STACK; break;
		case IPV6: o.ipv6 = true; break;
		case NO_COST: o.no_cost = true; break;
		case QUIET: o.quiet = true; break;
		default: usage(stderr); return false;
		}
	o.hosts = o.hosts > o.size ? o.hosts : o.size;
	o.arg_count = argc - optind;
	o.args = (const char *const *)argv + optind;
	*ret = o;
	return true;
}

static struct host_params host_params_of(const struct options *o)
{
	struct host_params params = {
		.profile = {
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
			.qp_max = 4096, .cq_max = 4096, .mr_max = 4096, .pd_max = 4096,
			.wr_max = 16384, .sge_max = 16, .cqe_max = 65536, .inline_max = 256,
			.rd_atomic_max = 16,
		},
		.cost = o->no_cost ? host_cost_none() : host_cost_generic(),
		.coro_backend = o->backend,
		.through_wire = o->through_wire,
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

static int spawn_all(struct fabric *fabric, struct rank *ranks, const struct options *o,
		     struct report_list *report)
{
	char name[16];
	int ret = 0;

	for (uint32_t i = 0; i < o->size && !ret; i++) {
		ranks[i] = (struct rank){
			.prog = {.rank = (int)i, .size = (int)o->size, .arg_count = o->arg_count,
				 .args = o->args, .host = &ranks[i], .put = rank_put,
				 .get = rank_get, .sleep_ns = rank_sleep_ns,
				 .report = rank_report, .say = rank_say},
			.report = report,
			.options = o,
			.result = -1,
		};
		snprintf(name, sizeof(name), "h%u", i);
		ret = vb_spawn((struct vb_host *)fabric_host(fabric, name), "prog", rank_main,
			       &ranks[i], 0);
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct options o;
	struct report_list report = {0};
	struct topology topology = {0};
	struct fabric fabric;
	struct rank *ranks;
	int ret, failed = 0;

	if (!parse(argc, argv, &o))
		return 2;
	const struct host_params host = host_params_of(&o);
	const struct fabric_params params = {.seed = o.seed,
					     .thread_count = o.threads,
					     .packet_bytes_max = 1u << 30,
					     .oob_delay = 20 * PS_US,
					     .ipv6 = o.ipv6,
					     .switches = {.buffer_bytes = 16u << 20},
					     .host = &host};

	ranks = calloc(o.size, sizeof(*ranks));
	if (!ranks || build(&o, &topology) != 0 || topology_name_links(&topology) != 0 ||
	    fabric_create(&fabric, &topology, &params) != 0)
		return 3;
	ret = spawn_all(&fabric, ranks, &o, &report);
	if (ret == 0)
		ret = fabric_run(&fabric, 100 * PS_S);
	for (uint32_t i = 0; i < o.size; i++)
		if (ranks[i].result != 0) {
			fprintf(stderr, "rank %u: %d\n", i, ranks[i].result);
			failed = 1;
		}
	report_sort(&report);
	report_print(&report, stdout);
	fprintf(stderr, "digest: %016llx time_ps: %llu hops: %llu ret: %d\n",
		(unsigned long long)sim_digest(fabric.sim), (unsigned long long)sim_now(fabric.sim),
		(unsigned long long)sim_packet_hops(fabric.sim), ret);
	report_free(&report);
	fabric_fini(&fabric);
	topology_fini(&topology);
	free(ranks);
	return ret != 0 ? 3 : failed;
}
