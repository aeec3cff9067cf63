/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/sweep/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TOLD_MAX = 5 }; /* seeds of one verdict */

struct judging {
	const struct sweep_plan *plan;
	const struct sweep_run *runs; /* of the point, by seed */
	uint64_t point;
	struct sweep_verdicts *verdicts;
};

/* The one expectation of a run; NULL: the run has no result. */
static const json_t *expect_of(const struct sweep_run *run, size_t number)
{
	return json_array_get(json_object_get(run->result, "expect"), number);
}

/* Any run of the point that has a result; NULL: none. */
static const struct sweep_run *made_of(const struct judging *j)
{
	for (uint32_t i = 0; i < j->plan->seed_count; i++)
		if (j->runs[i].result)
			return &j->runs[i];
	return NULL;
}

/* @text, and the settings of @point. */
static char *name_at(const struct sweep_plan *plan, uint64_t point, const char *text)
{
	char *name = NULL;
	size_t length;
	FILE *file = open_memstream(&name, &length);

	if (!file)
		return NULL;
	fputs(text, file);
	for (uint32_t i = 0; i < plan->key_count; i++)
		fprintf(file, "%s%s=%s", i ? ", " : " [", plan->keys[i].name,
			sweep_value(plan, point, i));
	if (plan->key_count > 0)
		fputc(']', file);
	if (fclose(file) == 0)
		return name;
	free(name);
	return NULL;
}

char *sweep_name_run(const struct sweep_plan *plan, const struct sweep_run *run)
{
	char seed[32];

	snprintf(seed, sizeof(seed), "seed %" PRIu64, run->seed);
	return name_at(plan, run->point, seed);
}

/* What the seeds in which it did not hold have found, the first of them. */
static void put_seeds(const struct judging *j, size_t number, FILE *file)
{
	uint32_t told = 0;

	for (uint32_t i = 0; i < j->plan->seed_count; i++) {
		const json_t *expect = expect_of(&j->runs[i], number);
		const char *found = json_string_value(json_object_get(expect, "found"));

		if (json_is_true(json_object_get(expect, "held")) || told++ >= TOLD_MAX)
			continue;
		fprintf(file, "; seed %" PRIu64 ": ", j->runs[i].seed);
		if (expect)
			fprintf(file, "found %s", found ? found : "nothing");
		else
			fprintf(file, "the run could not be made: %s",
				j->runs[i].trouble ? j->runs[i].trouble : "nobody knows why");
	}
	if (told > TOLD_MAX)
		fprintf(file, "; and %u more", told - TOLD_MAX);
}

static char *describe_seeds(const struct judging *j, size_t number, uint32_t held, bool is_good)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		return NULL;
	fprintf(file, "held in %u of %u seeds", held, j->plan->seed_count);
	if (!is_good)
		fprintf(file, ", expected %u", j->plan->hold);
	put_seeds(j, number, file);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}

static int add_verdict(const struct judging *j, size_t number, const char *text)
{
	struct sweep_verdicts *verdicts = j->verdicts;
	struct sweep_verdict *verdict, *all;
	uint32_t held = 0, made = 0;

	for (uint32_t i = 0; i < j->plan->seed_count; i++) {
		const json_t *expect = expect_of(&j->runs[i], number);

		made += expect != NULL;
		held += json_is_true(json_object_get(expect, "held"));
	}
	all = realloc(verdicts->all, ((size_t)verdicts->count + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	verdicts->all = all;
	verdict = &all[verdicts->count++];
	*verdict = (struct sweep_verdict){
		.name = name_at(j->plan, j->point, text),
		.point = j->point,
		.unknown = made < j->plan->seed_count,
		.held = made == j->plan->seed_count && held >= j->plan->hold,
	};
	if (held < j->plan->seed_count)
		verdict->message = describe_seeds(j, number, held, verdict->held);
	return verdict->name && (held == j->plan->seed_count || verdict->message) ? 0 : -ENOMEM;
}

/* Where no run of it could be made nobody knows what was expected, but something has to be said. */
static int judge_point(const struct judging *j)
{
	const struct sweep_run *made = made_of(j);
	int ret = made ? 0 : add_verdict(j, 0, "the runs");

	for (size_t i = 0; made && i < made->expect_count && !ret; i++)
		ret = add_verdict(j, i,
				  json_string_value(json_object_get(expect_of(made, i), "text")));
	return ret;
}

int sweep_judge(const struct sweep_plan *plan, const struct sweep_run *runs,
		struct sweep_verdicts *ret_verdicts)
{
	int ret = 0;

	*ret_verdicts = (struct sweep_verdicts){.all = NULL};
	for (uint64_t point = 0; point < plan->point_count && !ret; point++) {
		const struct judging judging = {plan, &runs[point * plan->seed_count], point,
						ret_verdicts};

		ret = judge_point(&judging);
	}
	return ret;
}

void sweep_verdicts_free(struct sweep_verdicts *verdicts)
{
	for (uint32_t i = 0; i < verdicts->count; i++) {
		free(verdicts->all[i].name);
		free(verdicts->all[i].message);
	}
	free(verdicts->all);
	*verdicts = (struct sweep_verdicts){.all = NULL};
}
