/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/scenario_test.h"

#include "models/task.h"

#include <string.h>

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds};

	return &tasks;
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
