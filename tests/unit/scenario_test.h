/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_SCENARIO_TEST_H
#define TESTS_UNIT_SCENARIO_TEST_H

/* Scenarios given as text, read, or built and ready to run; programs are tasks. */
#include "tests/test.h"

#include "models/scenario/read.h"

/* Reads @text with one --set, or NULL. A good one has no warnings, unless it is the --set that has
 * no effect in @text; a bad one says why. */
int parse_with(const char *text, const char *set, struct scenario *ret_scenario);
void assert_good(const char *text, const char *set, struct scenario *ret_scenario);

struct world {
	struct scenario scenario;
	struct fabric fabric;
	struct traffic *traffic;
};

void world_build(struct world *world, const char *text, uint32_t threads);
void world_end(struct world *world);

#endif
