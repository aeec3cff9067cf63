/* SPDX-License-Identifier: BSD-2-Clause */
/* What a profile says enters the hash of a scenario as if the scenario said it: scalars, maps and
 * lists, the latter in any order of their entries. The profiles here are the test's own. */
#include "tests/unit/scenario_test.h"

#include "models/profiles/profile.h"

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

#define TOP                                                                                        \
	"version: 1\n"                                                                             \
	"topology: {kind: star, hosts: 3}\n"                                                       \
	"switch: {pfc: {}}\n"                                                                      \
	"profiles: [mine]\n"

/* @text with that profile. */
static void read_with(const char *profile, const char *text, struct scenario *ret_scenario)
{
	struct bad_list errors = {0};

	only.text = profile;
	if (scenario_parse("test.yaml", text, strlen(text), NULL, ret_scenario, &errors) != 0)
		fail_msg("%s: %s", profile, errors.count ? errors.lines[0].text : "?");
	bad_list_fini(&errors);
}

static uint64_t hash_with(const char *profile)
{
	struct scenario scenario;
	uint64_t hash;

	read_with(profile, TOP, &scenario);
	hash = scenario.hash;
	scenario_fini(&scenario);
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
		"switch: {classes: [{priorities: [3], alpha: 1/2}, {priorities: [4], alpha: 2}]}\n",
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

/* What the scenario says of a control goes before what the profile says, key by key; of another
 * control the profile says nothing. */
static void parameters_are_those_of_the_chosen_control(void **state)
{
	static const char profile[] = "nic:\n  cc: dcqcn_hpcc\n"
				      "  cc_params: {rate_ai: 41Mbps, rate_hai: 101Mbps}\n";
	struct scenario s;

	(void)state;
	read_with(profile, TOP, &s);
	assert_int_equal(s.nic.cc_params.r_ai_bps, 41000000);
	assert_int_equal(s.nic.cc_params.r_hai_bps, 101000000);
	scenario_fini(&s);
	read_with(profile, TOP "nic: {cc_params: {rate_hai: 7Mbps}}\n", &s);
	assert_int_equal(s.nic.cc_params.r_ai_bps, 41000000);
	assert_int_equal(s.nic.cc_params.r_hai_bps, 7000000);
	scenario_fini(&s);
	read_with(profile, TOP "nic: {cc: swift, cc_params: {ai: 2}}\n", &s);
	assert_int_equal(s.nic.cc, SCENARIO_CC_SWIFT);
	scenario_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_profile_says_counts),
		cmocka_unit_test(the_order_of_entries_does_not),
		cmocka_unit_test(parameters_are_those_of_the_chosen_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
