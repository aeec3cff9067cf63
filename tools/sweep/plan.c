/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/sweep/sweep.h"

#include "models/input/file.h"
#include "models/input/yaml.h"
#include "util/alloc.h"
#include "util/quantity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct sweep_plan *plan;
	struct bad_list *errors;
	bool no_memory;
};

static char *copy(struct reader *r, const char *text)
{
	char *own = strdup(text);

	if (!own)
		r->no_memory = true;
	return own;
}

static void plan_refuse(struct reader *r, const struct yaml_node *node, const char *key,
			const char *expected)
{
	struct bad_text found;

	if (node->kind == YAML_SCALAR)
		bad_quote(&found, node->text, node->length);
	else
		bad_text(&found, node->kind == YAML_MAP ? "a map" : "a list");
	bad(r->errors, &node->at, key, found.text, expected);
}

static bool is_scalars(const struct yaml_node *list)
{
	if (list->kind != YAML_LIST || list->child_count == 0)
		return false;
	for (const struct yaml_node *node = list->child; node; node = node->next)
		if (node->kind != YAML_SCALAR)
			return false;
	return true;
}

static void plan_read_scenario(struct reader *r, const struct yaml_node *node)
{
	if (node->kind != YAML_SCALAR || node->length == 0) {
		plan_refuse(r, node, "scenario", "a file");
		return;
	}
	r->plan->scenario = read_file_beside(node->at.file, node->text);
	r->no_memory = r->no_memory || !r->plan->scenario;
}

static void read_set(struct reader *r, const struct yaml_node *map)
{
	if (map->kind != YAML_MAP || map->child_count > SWEEP_KEYS_MAX) {
		plan_refuse(r, map, "set", "a map of at most 8 keys, each with a list of values");
		return;
	}
	for (const struct yaml_node *node = map->child; node; node = node->next) {
		struct sweep_key *key = &r->plan->keys[r->plan->key_count];

		if (!is_scalars(node)) {
			plan_refuse(r, node, node->key,
				    "a list of at least one value, all of them scalars");
			continue;
		}
		key->values = calloc(node->child_count, sizeof(*key->values));
		key->name = copy(r, node->key);
		key->line = node->at.line;
		r->plan->key_count++;
		for (const struct yaml_node *v = node->child; v && key->values; v = v->next)
			key->values[key->count++] = copy(r, v->text);
		r->no_memory = r->no_memory || !key->values;
	}
}

static void read_seeds(struct reader *r, const struct yaml_node *node)
{
	struct sweep_plan *plan = r->plan;
	uint64_t count = node->child_count;

	if (node->kind == YAML_SCALAR &&
	    (util_count_parse(node->text, node->length, &count) != UTIL_QUANTITY_OK || count == 0 ||
	     count > SWEEP_RUNS_MAX)) {
		plan_refuse(r, node, "seeds", "a number from 1 to 100000, or a list of seeds");
		return;
	}
	if (node->kind != YAML_SCALAR && !is_scalars(node)) {
		plan_refuse(r, node, "seeds", "a number from 1 to 100000, or a list of seeds");
		return;
	}
	plan->seeds = calloc(count, sizeof(*plan->seeds));
	if (!plan->seeds) {
		r->no_memory = true;
		return;
	}
	for (; node->kind == YAML_SCALAR && plan->seed_count < count; plan->seed_count++)
		plan->seeds[plan->seed_count] = plan->seed_count + 1;
	for (const struct yaml_node *seed = node->child; seed; seed = seed->next)
		if (util_count_parse(seed->text, seed->length, &plan->seeds[plan->seed_count++]) !=
			    UTIL_QUANTITY_OK ||
		    plan->seeds[plan->seed_count - 1] > INT64_MAX)
			plan_refuse(r, seed, "seeds", "a number from 0 to 2^63 - 1");
}

static void read_show(struct reader *r, const struct yaml_node *list)
{
	if (!is_scalars(list) || list->child_count > SWEEP_SHOWS_MAX) {
		plan_refuse(r, list, "show", "a list of at most 16 paths such as .drops.buffer");
		return;
	}
	for (const struct yaml_node *node = list->child; node; node = node->next) {
		r->plan->show_lines[r->plan->show_count] = node->at.line;
		r->plan->shows[r->plan->show_count++] = copy(r, node->text);
	}
}

static void read_key(struct reader *r, const struct yaml_node *node)
{
	if (strcmp(node->key, "scenario") == 0)
		plan_read_scenario(r, node);
	else if (strcmp(node->key, "set") == 0)
		read_set(r, node);
	else if (strcmp(node->key, "seeds") == 0)
		read_seeds(r, node);
	else if (strcmp(node->key, "show") == 0)
		read_show(r, node);
	else
		bad(r->errors, &node->at, node->key, "an unknown key",
		    "scenario, set, seeds or show");
}

static void plan_finish(struct reader *r, const struct yaml_node *root)
{
	static const char *const usual[] = {".drops.buffer", ".pfc.pause_sent", ".ecn.marked",
					    ".queue.max_bytes"};
	struct sweep_plan *plan = r->plan;

	if (!yaml_find(root, "scenario"))
		bad(r->errors, &root->at, "scenario", "nothing", "a file");
	if (!yaml_find(root, "seeds")) {
		plan->seeds = calloc(1, sizeof(*plan->seeds));
		r->no_memory = r->no_memory || !plan->seeds;
		if (plan->seeds)
			plan->seeds[plan->seed_count++] = 1;
	}
	for (size_t i = 0; !yaml_find(root, "show") && i < sizeof(usual) / sizeof(usual[0]); i++)
		plan->shows[plan->show_count++] = copy(r, usual[i]);
	plan->point_count = 1;
	for (uint32_t i = 0; i < plan->key_count && plan->point_count <= SWEEP_RUNS_MAX; i++)
		plan->point_count *= plan->keys[i].count;
	if (plan->point_count * (plan->seed_count ? plan->seed_count : 1) > SWEEP_RUNS_MAX)
		bad(r->errors, &root->at, "set", "too many combinations", "at most 100000 runs");
}

int sweep_plan_read(const char *path, struct sweep_plan *ret_plan, struct bad_list *errors)
{
	const struct bad_at at = {path, 1, NULL};
	struct reader r = {.plan = ret_plan, .errors = errors};
	struct yaml_node *root = NULL;
	char *bytes = NULL;
	size_t length;
	int ret;

	*ret_plan = (struct sweep_plan){.scenario = NULL};
	ret = read_file(path, &at, "file", &bytes, &length, errors);
	ret = ret ? ret : yaml_parse(bytes, length, &at, false, &root, errors);
	if (!ret) {
		for (const struct yaml_node *node = root->child; node; node = node->next)
			read_key(&r, node);
		plan_finish(&r, root);
		ret = r.no_memory ? -ENOMEM : errors->error_count > 0 ? -EINVAL : 0;
	}
	yaml_free(root);
	util_free(bytes);
	return ret;
}

void sweep_plan_free(struct sweep_plan *plan)
{
	for (uint32_t i = 0; i < plan->key_count; i++) {
		for (uint32_t k = 0; k < plan->keys[i].count; k++)
			free(plan->keys[i].values[k]);
		free(plan->keys[i].values);
		free(plan->keys[i].name);
	}
	for (uint32_t i = 0; i < plan->show_count; i++)
		free(plan->shows[i]);
	free(plan->seeds);
	util_free(plan->scenario);
	*plan = (struct sweep_plan){.scenario = NULL};
}

const char *sweep_value(const struct sweep_plan *plan, uint64_t point, uint32_t key)
{
	for (uint32_t i = plan->key_count - 1; i > key; i--)
		point /= plan->keys[i].count;
	return plan->keys[key].values[point % plan->keys[key].count];
}
