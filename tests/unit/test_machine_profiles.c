/* SPDX-License-Identifier: BSD-2-Clause */
/* The machines that ship: each can be had by its name, and each of their figures says where it is
 * from. */
#include "tests/unit/scenario_test.h"

#include "models/input/yaml.h"
#include "models/profiles/profile.h"

#include <stdio.h>
#include <string.h>

static void every_machine_is_good(void **state)
{
	uint32_t count = 0;

	(void)state;
	for (uint32_t i = 0; i < profile_count(); i++) {
		const struct profile *profile = profile_at(i);
		struct bad_list errors = {0};
		struct scenario s;
		char text[200];

		if (!profile->is_machine)
			continue;
		snprintf(text, sizeof(text),
			 "version: 1\ntopology: {kind: star, hosts: 2}\nmachine: %s\n",
			 profile->name);
		if (scenario_parse("test.yaml", text, strlen(text), NULL, &s, &errors) != 0)
			fail_msg("%s: %s", profile->name, errors.lines[0].text);
		assert_int_equal(errors.count, strstr(profile->text, "source: guess") ? 1 : 0);
		assert_int_equal(s.machine_count, 1);
		assert_true(s.machines[0].gpu_count > 0);
		scenario_fini(&s);
		bad_list_fini(&errors);
		count++;
	}
	assert_int_equal(count, 12);
}

/* What a part or lane is, and which, is no figure. */
static bool is_figure(const char *key)
{
	static const char *const others[] = {"name", "kind",	"a",	   "b",
					     "numa", "address", "bridges", "links"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(key, others[i]) == 0)
			return false;
	return true;
}

static void find_sources(const struct profile *profile, const struct yaml_node *node)
{
	static const char says[] = "# source: ";
	const char *line = profile->text, *found;

	for (uint32_t i = 1; i < node->at.line; i++)
		line = strchr(line, '\n') + 1;
	found = strstr(line, says);
	if (node->kind == YAML_SCALAR && node->key && is_figure(node->key) &&
	    (!found || found + strlen(says) + 4 > strchr(line, '\n')))
		fail_msg("%s:%u: %s has no source", profile->name, node->at.line, node->key);
	for (const struct yaml_node *child = node->child; child; child = child->next)
		find_sources(profile, child);
}

static void every_figure_has_a_source(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < profile_count(); i++) {
		const struct profile *profile = profile_at(i);
		const struct bad_at at = {.file = profile->name, .line = 1};
		struct bad_list errors = {0};
		struct yaml_node *root;

		if (!profile->is_machine)
			continue;
		assert_int_equal(yaml_parse(profile->text, strlen(profile->text), &at, false, &root,
					    &errors),
				 0);
		find_sources(profile, root);
		yaml_free(root);
	}
}

RUN(T(every_machine_is_good), T(every_figure_has_a_source))
