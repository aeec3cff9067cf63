/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/scenario_test.h"

#include "models/program/task.h"

#include <errno.h>
#include <string.h>

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds};

	return &tasks;
}

/* A text for one key may well have marks and nobody who heeds them, or the other way round. */
static bool is_expected(const char *line)
{
	return strncmp(line, "--set:1: ", 9) == 0 || strstr(line, ": nic.cc: ") ||
	       strstr(line, "].ecn: ") || strstr(line, "switch.ecn: ");
}

int parse_with(const char *text, const char *set, struct scenario *ret_scenario)
{
	const struct scenario_overrides overrides = {.sets = &set, .set_count = set != NULL};
	struct bad_list errors = {0};
	const int ret =
		scenario_parse("test.yaml", text, strlen(text), &overrides, ret_scenario, &errors);

	if (ret == 0 && errors.count > 0 && !is_expected(errors.lines[0].text))
		fail_msg("%s", errors.lines[0].text);
	if (ret == -EINVAL)
		assert_true(errors.error_count > 0 && errors.count > 0);
	bad_list_fini(&errors);
	return ret;
}

void assert_good(const char *text, const char *set, struct scenario *ret_scenario)
{
	const int ret = parse_with(text, set, ret_scenario);

	if (ret != 0)
		fail_msg("%d for %s with %s", ret, text, set ? set : "nothing");
}

void world_build(struct world *world, const char *text, uint32_t threads)
{
	const struct scenario_options options = {.thread_count = threads};
	struct bad_list errors = {0};

	if (scenario_parse("test.yaml", text, strlen(text), NULL, &world->scenario, &errors) != 0)
		fail_msg("%s", errors.lines[0].text);
	bad_list_fini(&errors);
	assert_int_equal(
		scenario_build(&world->scenario, &options, &world->fabric, &world->traffic), 0);
}

void world_end(struct world *world)
{
	traffic_destroy(world->traffic);
	fabric_fini(&world->fabric);
	scenario_fini(&world->scenario);
}
