/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/sweep/sweep.h"

#include "models/input/file.h"
#include "models/input/yaml.h"
#include "models/scenario/read.h"
#include "util/alloc.h"
#include "util/quantity.h"

#include <errno.h>
#include <inttypes.h>
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

	bad(r->errors, &node->at, key,
	    node->kind == YAML_LIST && node->child_count == 0 ? "an empty list"
							      : yaml_content(&found, node),
	    expected);
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

/* ---- values ---- */

/* As YAML: whatever it says, it is a text. */
static void put_quoted(FILE *file, const char *text)
{
	fputc('\'', file);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', file);
		fputc(*text, file);
	}
	fputc('\'', file);
}

/* As YAML in one line, @has_braces, in which any text is quoted; or for people, without signs. */
static void write_value(FILE *file, const struct yaml_node *node, bool has_braces)
{
	if (node->kind == YAML_SCALAR) {
		if (has_braces)
			put_quoted(file, node->text);
		else
			fputs(node->text, file);
		return;
	}
	if (has_braces)
		fputc(node->kind == YAML_MAP ? '{' : '[', file);
	for (const struct yaml_node *child = node->child; child; child = child->next) {
		const char *behind = child->kind != YAML_MAP ? "=" : child->child ? " " : "";

		if (child->key)
			fprintf(file, "%s%s", child->key, has_braces ? ": " : behind);
		write_value(file, child, has_braces);
		if (child->next)
			fputs(has_braces ? ", " : " ", file);
	}
	if (has_braces)
		fputc(node->kind == YAML_MAP ? '}' : ']', file);
}

/* A scalar as it stands, as --set has it, too. */
static char *text_of(struct reader *r, const struct yaml_node *node, bool is_setting)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (file) {
		write_value(file, node, is_setting && node->kind != YAML_SCALAR);
		if (fclose(file) == 0)
			return text;
	}
	free(text);
	r->no_memory = true;
	return NULL;
}

static void read_values(struct reader *r, struct sweep_key *key, const struct yaml_node *list)
{
	key->values = calloc(list->child_count, sizeof(*key->values));
	key->labels = calloc(list->child_count, sizeof(*key->labels));
	r->no_memory = r->no_memory || !key->values || !key->labels;
	if (!key->values || !key->labels)
		return;
	for (const struct yaml_node *v = list->child; v; v = v->next) {
		key->values[key->count] = text_of(r, v, true);
		key->labels[key->count++] = text_of(r, v, false);
	}
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

		if (strcmp(node->key, "seed") == 0) {
			bad(r->errors, &node->at, "seed", "it below set",
			    "seeds beside set, as in \"seeds: [1, 2]\"");
			continue;
		}
		if (node->kind != YAML_LIST || node->child_count == 0) {
			plan_refuse(r, node, node->key, "a list of at least one value");
			continue;
		}
		key->name = copy(r, node->key);
		key->line = node->at.line;
		r->plan->key_count++;
		read_values(r, key, node);
	}
}

static int plan_compare_seeds(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* A seed that counts twice would not be luck of one more. */
static void plan_refuse_twins(struct reader *r, const struct yaml_node *list)
{
	const size_t count = r->plan->seed_count;
	uint64_t *sorted = calloc(count + 1, sizeof(*sorted));
	struct bad_text found;

	r->no_memory = r->no_memory || !sorted;
	if (sorted) {
		memcpy(sorted, r->plan->seeds, count * sizeof(*sorted));
		qsort(sorted, count, sizeof(*sorted), plan_compare_seeds);
	}
	for (size_t i = 1; sorted && i < count; i++) {
		if (sorted[i] != sorted[i - 1])
			continue;
		bad(r->errors, &list->at, "seeds", bad_text(&found, "%" PRIu64 " twice", sorted[i]),
		    "seeds that differ");
		break;
	}
	free(sorted);
}

static void read_seeds(struct reader *r, const struct yaml_node *node)
{
	struct sweep_plan *plan = r->plan;
	const uint32_t before = r->errors->error_count;
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
	if (r->errors->error_count == before)
		plan_refuse_twins(r, node);
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

/* Once the seeds are known: "all", or "19 of 20". */
static void read_hold(struct reader *r, const struct yaml_node *node)
{
	static const char of[] = " of ";
	const char *text = node && node->kind == YAML_SCALAR ? node->text : "";
	const char *middle = strstr(text, of);
	uint64_t hold = 0, seeds = 0;
	struct bad_text expected;

	r->plan->hold = r->plan->seed_count;
	if (!node || strcmp(text, "all") == 0)
		return;
	if (middle && strlen(text) == node->length &&
	    util_count_parse(text, (size_t)(middle - text), &hold) == UTIL_QUANTITY_OK &&
	    util_count_parse(middle + strlen(of), strlen(middle + strlen(of)), &seeds) ==
		    UTIL_QUANTITY_OK &&
	    hold > 0 && hold <= seeds && seeds == r->plan->seed_count) {
		r->plan->hold = (uint32_t)hold;
		return;
	}
	plan_refuse(r, node, "hold",
		    bad_text(&expected,
			     "all, or so many \"of %u\", which is how many seeds there are",
			     r->plan->seed_count));
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
	else if (strcmp(node->key, "hold") != 0)
		bad(r->errors, &node->at, node->key, "an unknown key",
		    "scenario, set, seeds, hold or show");
}

static void count_points(struct sweep_plan *plan)
{
	plan->point_count = 1;
	for (uint32_t i = 0; i < plan->key_count && plan->point_count <= SWEEP_RUNS_MAX; i++)
		plan->point_count *= plan->keys[i].count;
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
	read_hold(r, yaml_find(root, "hold"));
	for (size_t i = 0; !yaml_find(root, "show") && i < sizeof(usual) / sizeof(usual[0]); i++)
		plan->shows[plan->show_count++] = copy(r, usual[i]);
	count_points(plan);
	if (plan->point_count * (plan->seed_count ? plan->seed_count : 1) > SWEEP_RUNS_MAX)
		bad(r->errors, &root->at, "set", "too many combinations", "at most 100000 runs");
}

int sweep_plan_read(const char *path, struct sweep_plan *ret_plan, struct bad_list *errors)
{
	const struct bad_at at = {.file = path, .line = 1};
	struct reader r = {.plan = ret_plan, .errors = errors};
	struct yaml_node *root = NULL;
	char *bytes = NULL;
	size_t length;
	int ret;

	*ret_plan = (struct sweep_plan){.scenario = NULL};
	ret = read_file(NULL, path, &at, "file", &bytes, &length, errors);
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

static void free_values(struct sweep_key *key)
{
	for (uint32_t i = 0; i < key->count; i++) {
		free(key->values[i]);
		free(key->labels[i]);
	}
	key->count = 0;
}

static int narrow_key(struct sweep_key *key, const char *value)
{
	free_values(key);
	key->values[0] = strdup(value);
	key->labels[0] = strdup(value);
	key->count = 1;
	key->is_told = true;
	return key->values[0] && key->labels[0] ? 0 : -ENOMEM;
}

int sweep_plan_narrow(struct sweep_plan *plan, const struct scenario_overrides *told)
{
	int ret = 0;

	for (uint32_t i = 0; i < told->set_count && !ret; i++) {
		const size_t length = strcspn(told->sets[i], "=");

		for (uint32_t k = 0; k < plan->key_count && !ret; k++)
			if (strlen(plan->keys[k].name) == length &&
			    strncmp(plan->keys[k].name, told->sets[i], length) == 0)
				ret = narrow_key(&plan->keys[k], told->sets[i] + length + 1);
	}
	count_points(plan);
	if (told->has_seed) {
		plan->seeds[0] = told->seed;
		plan->seed_count = plan->hold = 1;
	}
	return ret;
}

bool sweep_is_plan(const char *path)
{
	const struct bad_at at = {.file = path, .line = 1};
	struct bad_list errors = {.lines = NULL};
	struct yaml_node *root = NULL;
	char *bytes = NULL;
	size_t length;
	bool is_plan = false;

	if (read_file(NULL, path, &at, "file", &bytes, &length, &errors) == 0 &&
	    yaml_parse(bytes, length, &at, false, &root, &errors) == 0)
		is_plan = yaml_find(root, "scenario") && !yaml_find(root, "version") &&
			  !yaml_find(root, "topology");
	yaml_free(root);
	util_free(bytes);
	bad_list_fini(&errors);
	return is_plan;
}

void sweep_plan_free(struct sweep_plan *plan)
{
	for (uint32_t i = 0; i < plan->key_count; i++) {
		free_values(&plan->keys[i]);
		free(plan->keys[i].values);
		free(plan->keys[i].labels);
		free(plan->keys[i].name);
	}
	for (uint32_t i = 0; i < plan->show_count; i++)
		free(plan->shows[i]);
	free(plan->seeds);
	util_free(plan->scenario);
	*plan = (struct sweep_plan){.scenario = NULL};
}

static uint64_t sweep_plan_place(const struct sweep_plan *plan, uint64_t point, uint32_t key)
{
	for (uint32_t i = plan->key_count - 1; i > key; i--)
		point /= plan->keys[i].count;
	return point % plan->keys[key].count;
}

const char *sweep_setting(const struct sweep_plan *plan, uint64_t point, uint32_t key)
{
	return plan->keys[key].values[sweep_plan_place(plan, point, key)];
}

const char *sweep_value(const struct sweep_plan *plan, uint64_t point, uint32_t key)
{
	return plan->keys[key].labels[sweep_plan_place(plan, point, key)];
}
