/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/junit.h"

#include "models/input/bad.h"
#include "tools/command.h"
#include "tools/result/failures.h"

#include <inttypes.h>
#include <stdlib.h>

/* A partial run of a scenario that expects nothing has still something to tell. */
static bool is_alone(const struct result *result)
{
	return result->partial && result->expect_count == 0 && result->program_count == 0;
}

/* @found: what a false one has found; @remark: what is told beside a good one, or NULL. */
static struct junit_case case_of(const struct result *result, const char *name, bool is_good,
				 const char *found, const char *remark)
{
	if (result->partial)
		return (struct junit_case){name, JUNIT_ERROR, "partial", "the run ended early", 0};
	if (!is_good)
		return (struct junit_case){name, JUNIT_FAILURE, "expectation", found, 0};
	return (struct junit_case){name, JUNIT_GOOD, NULL, remark, 0};
}

struct program_text {
	struct bad_text name, found;
};

static uint32_t fill_cases(const struct result *result, struct program_text *texts,
			   struct junit_case *ret_cases)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < result->expect_count; i++) {
		const struct result_expect *expect = &result->expects[i];

		ret_cases[count++] = case_of(result, expect->text, expect->held, expect->found,
					     expect->is_remarked ? expect->found : NULL);
	}
	for (uint32_t i = 0; i < result->program_count; i++) {
		const struct result_program *program = &result->programs[i];

		bad_text(&texts[i].name, "program %s", program->name);
		failures_of_ranks(result, i, &texts[i].found);
		ret_cases[count++] =
			case_of(result, texts[i].name.text, !failures_has_program(result, i),
				texts[i].found.text, NULL);
	}
	if (is_alone(result))
		ret_cases[count++] = case_of(result, "the run", true, NULL, NULL);
	return count;
}

int junit_write_run(const char *path, const struct result *result)
{
	const size_t most = (size_t)result->expect_count + result->program_count + 1;
	struct junit_case *cases = calloc(most, sizeof(*cases));
	struct program_text *texts = calloc((size_t)result->program_count + 1, sizeof(*texts));
	char seed[24], digest[24];
	const struct junit_property properties[] = {
		{"seed", seed}, {"digest", digest}, {"version", result->version}};
	struct junit_suite suite = {.name = result->scenario->name,
				    .seconds = result->wall_s,
				    .properties = properties,
				    .property_count = 3,
				    .cases = cases};
	int ret = COMMAND_BROKEN;

	snprintf(seed, sizeof(seed), "%" PRIu64, result->scenario->seed);
	snprintf(digest, sizeof(digest), "%016" PRIx64, result->digest);
	if (cases && texts) {
		suite.case_count = fill_cases(result, texts, cases);
		ret = junit_write(path, &suite);
	} else {
		command_say("no memory");
	}
	free(texts);
	free(cases);
	return ret;
}
