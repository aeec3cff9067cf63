/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario_tool [--set K=V]... [--seed N] [--run] [--threads N] FILE...: what the reader says of
 * each file, a line an error; its hash, or with --run what came of it, or with --oracle the digest
 * by the plain engine of tests/oracle. For tests; runs no programs. */
#include "models/program/task.h"
#include "models/scenario/read.h"
#include "models/trace/vbt.h"
#include "models/traffic/traffic.h"
#include "sim/switch.h"
#include "tests/oracle/oracle.h"
#include "util/alloc.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds};

	return &tasks;
}

static void print_errors(const struct bad_list *errors)
{
	for (uint32_t i = 0; i < errors->count; i++)
		printf("%s%s\n", errors->lines[i].warning ? "warning: " : "",
		       errors->lines[i].text);
}

static void print_fabric(const struct fabric *fabric, const struct traffic *traffic)
{
	const struct traffic_sums sums = traffic_sums(traffic);
	uint64_t pauses = 0, marked = 0, dropped = 0;

	for (uint32_t i = 0; i < fabric->switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(fabric->switches[i]);

		dropped += fc->dropped_buffer + fc->dropped_headroom;
		for (uint32_t port = 0; port < fc->node->port_count; port++) {
			pauses += sim_fc_gate(fc, port)->controls_sent;
			for (uint8_t p = 0; p < SIM_PRIORITIES; p++)
				marked += sim_fc_class(fc, port, p)->marked;
		}
	}
	printf("flows %llu/%llu mismatch %llu retransmitted %llu pauses %llu marked %llu dropped "
	       "%llu "
	       "end %llu\n",
	       (unsigned long long)sums.completed, (unsigned long long)sums.posted,
	       (unsigned long long)sums.mismatch_bytes,
	       (unsigned long long)sums.packets_retransmitted, (unsigned long long)pauses,
	       (unsigned long long)marked, (unsigned long long)dropped,
	       (unsigned long long)sim_now(fabric->sim));
}

/* A recording (.vbt). */
static int read_recording(const char *path)
{
	struct bad_list errors = {0};
	struct vbt_reader reader;
	struct vrb_record record;
	char *bytes = NULL;
	size_t length = 0;
	int ret = read_file_bytes(path, &bytes, &length);

	ret = ret ? ret : vbt_open(&reader, path, (uint8_t *)bytes, length, &errors);
	while (ret == 0 && vbt_next(&reader, &record, NULL, &errors) == 1)
		;
	ret = errors.error_count > 0 ? 2 : ret;
	print_errors(&errors);
	bad_list_fini(&errors);
	util_free(bytes);
	return ret;
}

static bool is_recording(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && strcmp(dot, ".vbt") == 0;
}

static int run(const struct scenario *scenario, const struct scenario_options *options, bool oracle)
{
	struct traffic *traffic;
	struct fabric fabric;
	int ret = scenario_build(scenario, options, &fabric, &traffic);

	if (ret) {
		printf("build: %d\n", ret);
		return 3;
	}
	if (oracle) {
		printf("digest %016llx ret 0\n",
		       (unsigned long long)oracle_scenario(scenario, &fabric));
	} else {
		ret = fabric_run(&fabric, scenario->until);
		print_fabric(&fabric, traffic);
		printf("digest %016llx ret %d\n", (unsigned long long)sim_digest(fabric.sim), ret);
	}
	traffic_destroy(traffic);
	fabric_fini(&fabric);
	return ret ? 3 : 0;
}

static int print_schema(void)
{
	char *text;

	if (scenario_schema_text(&text) != 0)
		return 3;
	fputs(text, stdout);
	util_free(text);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{"set", required_argument, NULL, 's'},	   {"seed", required_argument, NULL, 'S'},
		{"threads", required_argument, NULL, 't'}, {"run", no_argument, NULL, 'r'},
		{"oracle", no_argument, NULL, 'o'},	   {"through-wire", no_argument, NULL, 'w'},
		{"schema", no_argument, NULL, 'h'},	   {0}};
	const char *sets[16];
	struct scenario_overrides overrides = {.sets = sets};
	struct scenario_options options = {.thread_count = 1};
	bool is_run = false, oracle = false;
	int status = 0, c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 's' && overrides.set_count < 16)
			sets[overrides.set_count++] = optarg;
		else if (c == 'S')
			overrides.has_seed = true, overrides.seed = strtoull(optarg, NULL, 0);
		else if (c == 't')
			options.thread_count = (uint32_t)atoi(optarg);
		else if (c == 'r')
			is_run = true;
		else if (c == 'o')
			is_run = oracle = true;
		else if (c == 'w')
			options.through_wire = true;
		else
			return c == 'h' ? print_schema() : 2;
	}
	for (int i = optind; i < argc; i++) {
		struct bad_list errors = {0};
		struct scenario scenario;
		int ret;

		if (is_recording(argv[i])) {
			status = read_recording(argv[i]);
			continue;
		}
		ret = scenario_read(argv[i], &overrides, &scenario, &errors);
		print_errors(&errors);
		bad_list_fini(&errors);
		if (ret) {
			status = 2;
			continue;
		}
		if (is_run)
			status = run(&scenario, &options, oracle);
		else
			printf("hash %016llx\n", (unsigned long long)scenario.hash);
		scenario_fini(&scenario);
	}
	return status;
}
