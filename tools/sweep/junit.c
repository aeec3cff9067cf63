/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/junit.h"
#include "tools/command.h"
#include "tools/sweep/sweep.h"

#include <inttypes.h>
#include <stdlib.h>

/* The processes of a point, each case of it with its share. */
static double seconds_of(const struct sweep_plan *plan, const struct sweep_run *runs,
			 const struct sweep_verdicts *verdicts, uint64_t point)
{
	double seconds = 0;
	uint32_t cases = 0;

	for (uint32_t i = 0; i < plan->seed_count; i++)
		seconds += json_real_value(
			json_object_get(runs[point * plan->seed_count + i].result, "wall_s"));
	for (uint32_t i = 0; i < verdicts->count; i++)
		cases += verdicts->all[i].point == point;
	return seconds / cases;
}

static void fill_sweep_cases(const struct sweep_plan *plan, const struct sweep_run *runs,
			     const struct sweep_verdicts *verdicts, struct junit_case *ret_cases)
{
	double seconds = 0;

	for (uint32_t i = 0; i < verdicts->count; i++) {
		const struct sweep_verdict *verdict = &verdicts->all[i];

		if (i == 0 || verdict->point != verdicts->all[i - 1].point)
			seconds = seconds_of(plan, runs, verdicts, verdict->point);
		ret_cases[i] = (struct junit_case){.name = verdict->name,
						   .verdict = verdict->held	 ? JUNIT_GOOD
							      : verdict->unknown ? JUNIT_ERROR
										 : JUNIT_FAILURE,
						   .type = verdict->unknown ? "run" : "expectation",
						   .message = verdict->message,
						   .seconds = seconds};
	}
}

/* "digest of seed 3 [...]", each name of free(). False: no memory. */
static bool add_digests(const struct sweep_plan *plan, const struct sweep_run *runs,
			uint64_t run_count, struct junit_property *properties, uint32_t *count)
{
	for (uint64_t i = 0; i < run_count; i++) {
		const char *digest = json_string_value(json_object_get(runs[i].result, "digest"));
		char *run = digest ? sweep_name_run(plan, &runs[i]) : NULL, *name = NULL;

		if (!digest)
			continue;
		if (!run || asprintf(&name, "digest of %s", run) < 0)
			name = NULL;
		free(run);
		if (!name)
			return false;
		properties[(*count)++] = (struct junit_property){name, digest};
	}
	return true;
}

int sweep_junit(const char *path, const char *name, double seconds, const struct sweep_plan *plan,
		const struct sweep_run *runs, const struct sweep_verdicts *verdicts)
{
	enum { OWN = 4 };
	const uint64_t run_count = plan->point_count * plan->seed_count;
	struct junit_property *properties = calloc(run_count + OWN, sizeof(*properties));
	struct junit_case *cases = calloc((size_t)verdicts->count + 1, sizeof(*cases));
	char count[24], seeds[24], hold[24];
	struct junit_suite suite = {.name = name,
				    .seconds = seconds,
				    .properties = properties,
				    .property_count = OWN,
				    .cases = cases,
				    .case_count = verdicts->count};
	int ret = COMMAND_BROKEN;

	snprintf(count, sizeof(count), "%" PRIu64, run_count);
	snprintf(seeds, sizeof(seeds), "%u", plan->seed_count);
	snprintf(hold, sizeof(hold), "%u", plan->hold);
	if (properties && cases) {
		properties[0] = (struct junit_property){"runs", count};
		properties[1] = (struct junit_property){"seeds", seeds};
		properties[2] = (struct junit_property){"hold", hold};
		properties[3] = (struct junit_property){"version", command_version};
		fill_sweep_cases(plan, runs, verdicts, cases);
	}
	if (properties && cases &&
	    add_digests(plan, runs, run_count, properties, &suite.property_count))
		ret = junit_write(path, &suite);
	else
		command_say("no memory");
	for (uint32_t i = OWN; i < suite.property_count; i++)
		free((void *)(uintptr_t)properties[i].name);
	free(properties);
	free(cases);
	return ret;
}
