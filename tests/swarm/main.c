/* SPDX-License-Identifier: BSD-2-Clause */

/* Random fabrics, programs and faults; one in three, or with --bus each, with a bus between
 * adapters and memory. Each seed is run as it is, on two threads, with every packet through bytes
 * and by the plain engine of tests/oracle: all held and one digest. A seed that fails prints the
 * line that runs it again. */
#include "tests/swarm/run.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct variant {
	const char *name;
	struct run_options options;
} variants[] = {
	{"base", {.threads = 1}},
	{"threads", {.threads = 2}},
	{"wire", {.threads = 1, .through_wire = true}},
	{"oracle", {.threads = 1, .oracle = true}},
};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

struct swarm {
	uint64_t first, count, hits_min, failures_max;
	const char *only;
	bool verbose, bus;
	struct plan plan;
	struct run run;
	struct matrix matrix;
	struct events events;
	uint64_t failed;
};

static void failed(struct swarm *swarm, const char *variant, const char *what)
{
	swarm->failed++;
	printf("FAILED %s: %s\n  build/tests/swarm --seed %llu --only %s%s --verbose\n", variant,
	       what, (unsigned long long)swarm->plan.seed, variant, swarm->bus ? " --bus" : "");
	fflush(stdout);
}

static void one_variant(struct swarm *swarm, const struct variant *v, uint64_t *digest)
{
	const bool is_base = v == variants;
	struct run_options options = v->options;
	char what[80];

	options.verbose = swarm->verbose;
	options.bus = swarm->bus;
	swarm->events.oracles += v->options.oracle;
	if (!run_plan(&swarm->run, &swarm->plan, &options, is_base ? &swarm->matrix : NULL,
		      &swarm->events))
		failed(swarm, v->name, swarm->run.violation);
	if (is_base)
		*digest = swarm->run.digest;
	else if (*digest != swarm->run.digest) {
		snprintf(what, sizeof(what), "digest %016llx, not %016llx",
			 (unsigned long long)swarm->run.digest, (unsigned long long)*digest);
		failed(swarm, v->name, what);
	}
}

static void one_seed(struct swarm *swarm, uint64_t seed)
{
	uint64_t digest = 0;

	plan_make(&swarm->plan, seed);
	if (swarm->verbose)
		plan_print(&swarm->plan);
	for (int i = 0; i < VARIANTS; i++)
		if (i == 0 || !swarm->only || strcmp(swarm->only, variants[i].name) == 0)
			one_variant(swarm, &variants[i], &digest);
	plan_fini(&swarm->plan);
}

/* Returns how many cells have too few. */
static int print_matrix(const struct swarm *swarm)
{
	int poor = 0;

	printf("%-14s", "");
	for (int f = 0; f < FAULT_KINDS; f++)
		printf("%11s", plan_fault_names[f]);
	for (int op = 0; op < OP_KINDS; op++) {
		printf("\n%-14s", plan_op_names[op]);
		for (int f = 0; f < FAULT_KINDS; f++) {
			printf("%11llu", (unsigned long long)swarm->matrix.hits[op][f]);
			poor += swarm->matrix.hits[op][f] < swarm->hits_min;
		}
	}
	printf("\n");
	return poor;
}

/* Returns how many of those that not every fabric brings about are too few. */
static int print_events(const struct events *e, uint64_t hits_min)
{
	const uint64_t rare[] = {e->rerouted, e->kept,	    e->no_route, e->learned, e->buses,
				 e->replays,  e->rewritten, e->flooded,	 e->unknown, e->not_mine};
	int poor = 0;

	for (size_t i = 0; i < sizeof(rare) / sizeof(rare[0]); i++)
		poor += rare[i] < hits_min;
#define N(member) (unsigned long long)e->member
	printf("seeds %llu (oracle %llu, over a bus %llu, replays there %llu), ends of queue pairs "
	       "%llu, completions "
	       "%llu; failed by "
	       "retries %llu, rnr %llu, plan %llu, flush %llu\n",
	       N(seeds), N(oracles), N(buses), N(replays), N(sides), N(completions),
	       N(failed_retry), N(failed_rnr), N(failed_fatal), N(failed_flush));
	printf("timeouts %llu, naks %llu, implied %llu, rnr %llu, duplicates %llu, sent again "
	       "%llu, "
	       "marked %llu, cnps %llu, pauses %llu, credits %llu, dropped %llu\n"
	       "rerouted %llu, kept %llu, tails overdue %llu; no route %llu, changes of routes "
	       "%llu, rewritten %llu\nflooded %llu, unknown and dropped %llu, copies at other "
	       "switches "
	       "%llu, at other hosts %llu\n",
	       N(timeouts), N(naks), N(implied_naks), N(rnr_naks), N(duplicates), N(retransmitted),
	       N(marked), N(cnps), N(pauses), N(credits), N(dropped), N(rerouted), N(kept),
	       N(overdue), N(no_route), N(learned), N(rewritten), N(flooded), N(unknown),
	       N(not_mine), N(overheard));
#undef N
	return poor;
}

static bool parse(int argc, char **argv, struct swarm *swarm)
{
	static const struct option names[] = {
		{"seed", required_argument, NULL, 's'},	    {"count", required_argument, NULL, 'c'},
		{"only", required_argument, NULL, 'o'},	    {"hits", required_argument, NULL, 'h'},
		{"failures", required_argument, NULL, 'f'}, {"bus", no_argument, NULL, 'b'},
		{"verbose", no_argument, NULL, 'v'},	    {0}};
	int c;

	swarm->first = 1;
	swarm->count = 1;
	swarm->failures_max = 20;
	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
		switch (c) {
		case 's':
			swarm->first = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			swarm->count = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			swarm->only = optarg;
			break;
		case 'h':
			swarm->hits_min = strtoull(optarg, NULL, 0);
			break;
		case 'f':
			swarm->failures_max = strtoull(optarg, NULL, 0);
			break;
		case 'b':
			swarm->bus = true;
			break;
		case 'v':
			swarm->verbose = true;
			break;
		default:
			fputs("usage: swarm [--seed N] [--count M] [--only "
			      "base|threads|wire|oracle]\n"
			      "             [--hits MIN] [--failures MAX] [--bus] [--verbose]\n",
			      stderr);
			return false;
		}
	return optind == argc;
}

int main(int argc, char **argv)
{
	static struct swarm swarm;
	int poor;

	if (!parse(argc, argv, &swarm))
		return 2;
	for (uint64_t seed = swarm.first;
	     seed < swarm.first + swarm.count && swarm.failed < swarm.failures_max; seed++)
		one_seed(&swarm, seed);
	poor = print_matrix(&swarm);
	poor += print_events(&swarm.events, swarm.hits_min);
	if (poor > 0)
		printf("%d counts are below %llu hits\n", poor, (unsigned long long)swarm.hits_min);
	printf("%llu failed\n", (unsigned long long)swarm.failed);
	return swarm.failed > 0 || poor > 0;
}
