/* SPDX-License-Identifier: BSD-2-Clause */
/* What a profile says enters the hash of a scenario as if the scenario said it: scalars, maps and
 * lists, the latter in any order of their entries. The profiles here are the test's own. */
#include "tests/unit/scenario_test.h"

#include "models/profile.h"

#include <string.h>

static struct profile only = {.name = "mine"};

uint32_t profile_count(void)
{
	return 1;
}

const struct profile *profile_at(uint32_t i)
{
	(void)i;
	return &only;
}

const struct profile *profile_find(const char *name)
{
	return strcmp(name, only.name) == 0 ? &only : NULL;
}

static uint64_t hash_with(const char *profile)
{
	static const char text[] = "version: 1\n"
				   "topology: {kind: star, hosts: 3}\n"
				   "switch: {pfc: {}}\n"
				   "profiles: [mine]\n";
	struct scenario scenario;
	struct bad_list errors = {0};
	uint64_t hash;

	only.text = profile;
	if (scenario_parse("test.yaml", text, strlen(text), NULL, &scenario, &errors) != 0)
		fail_msg("%s: %s", profile, errors.count ? errors.lines[0].text : "?");
	hash = scenario.hash;
	scenario_fini(&scenario);
	bad_list_fini(&errors);
	return hash;
}

static void what_a_profile_says_counts(void **state)
{
	static const char *const says[] = {
		"switch: {buffer: 3MiB}\n",
		"switch: {buffer: 4MiB}\n",
		"nic: {mtu: 256}\n",
		"switch: {ecn: {kmin: 7KB, kmax: 9KB}}\n",
		"switch: {classes: [{priorities: [3], alpha: 1/4}]}\n",
		"switch: {classes: [{priorities: [3], alpha: 1/2}]}\n",
		"switch: {classes: [{priorities: [3, 4], alpha: 1/2}]}\n",
		"switch: {classes: [{priorities: [3], alpha: 1/2}, {priorities: [4], alpha: 1/4}]}\n",
		"switch: {dscp: [{values: [26], priority: 3}]}\n",
		"switch: {dscp: [{values: [26], priority: 4}]}\n",
		"switch: {dscp: [{values: [27], priority: 3}]}\n",
	};
	enum { SAYS = sizeof(says) / sizeof(says[0]) };

	(void)state;
	for (int i = 0; i < SAYS; i++)
		for (int k = 0; k < i; k++)
			if (hash_with(says[i]) == hash_with(says[k]))
				fail_msg("one hash for %s and %s", says[i], says[k]);
}

static void the_order_of_entries_does_not(void **state)
{
	(void)state;
	assert_int_equal(hash_with("switch: {classes: [{priorities: [3], alpha: 1/2}, "
				   "{priorities: [4], alpha: 1/4}]}\n"),
			 hash_with("switch: {classes: [{alpha: 1/4, priorities: [4]}, "
				   "{priorities: [3], alpha: 1/2}]}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_profile_says_counts),
		cmocka_unit_test(the_order_of_entries_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
