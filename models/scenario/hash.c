/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "util/alloc.h"
#include "util/siphash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The parts are sorted and hashed as one, so that their order counts nothing and yet no two can
 * make up for each other, as they can in a sum. */

void scenario_hash_add(struct scenario_reader *r, struct scenario_hash *hash, uint64_t part)
{
	uint64_t *parts = scenario_grow(r, hash->parts, hash->count, sizeof(*parts));

	if (!parts)
		return;
	hash->parts = parts;
	parts[hash->count++] = part;
}

void scenario_hash_words(struct scenario_reader *r, struct scenario_hash *hash, const char *path,
			 const uint64_t *words, size_t count)
{
	scenario_hash_add(
		r, hash, util_hash_words((struct util_key){util_hash_name(path), 0}, words, count));
}

static int compare_parts(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

uint64_t scenario_hash_end(struct scenario_hash *hash)
{
	uint64_t value;

	if (hash->count > 0)
		qsort(hash->parts, hash->count, sizeof(*hash->parts), compare_parts);
	value = util_hash_words((struct util_key){0}, hash->parts, hash->count);
	util_free(hash->parts);
	*hash = (struct scenario_hash){0};
	return value;
}

static bool hash_same(const struct scenario_value *a, const struct scenario_value *b)
{
	return a->number == b->number && a->num == b->num && a->den == b->den && a->word == b->word;
}

static void add_scalar(struct scenario_reader *r, struct scenario_hash *hash,
		       const struct scenario_row *row, const struct yaml_node *node)
{
	const struct scenario_value *value = scenario_value_of(node);
	const struct scenario_value unset = scenario_value_unset(row);
	const bool is_text = row->type == SCENARIO_TEXT || row->type == SCENARIO_NAME ||
			     row->type == SCENARIO_NODE;

	if (!node->meaning)
		return; /* reported already */
	const uint64_t words[] = {is_text ? util_hash_name(node->text) : value->number, value->num,
				  value->den, (uint64_t)(int64_t)value->word};

	if (!is_text && row->unset && hash_same(value, &unset))
		return;
	scenario_hash_words(r, hash, row->path, words, 4);
}

/* Texts in their order, counts in any. */
static void add_scalars(struct scenario_reader *r, struct scenario_hash *hash,
			const struct scenario_row *row, const struct yaml_node *list)
{
	uint64_t nth = 0;

	for (const struct yaml_node *node = list->child; node; node = node->next, nth++) {
		const uint64_t words[] = {scenario_value_of(node)->number};
		const uint64_t text[] = {nth, util_hash_name(node->text ? node->text : "")};

		if (row->type == SCENARIO_TEXTS)
			scenario_hash_words(r, hash, row->path, text, 2);
		else
			scenario_hash_words(r, hash, row->path, words, 1);
	}
}

static void hash_inside(struct scenario_reader *r, struct scenario_hash *hash,
			const struct yaml_node *map, const char *path);

/* One that is off is as if it were not there, unless it would be there otherwise. @in: the map that
 * it is in. */
static void add_block(struct scenario_reader *r, struct scenario_hash *hash,
		      const struct scenario_row *row, const struct yaml_node *map,
		      const struct yaml_node *in)
{
	const bool off = row->block && map->kind == YAML_SCALAR;
	const uint64_t here[] = {!off};

	if (row->block && (!off || scenario_named(in->base, map->key)))
		scenario_hash_words(r, hash, row->path, here, 1);
	hash_inside(r, hash, map, row->path);
}

/* Its entries in any order. */
static void add_list(struct scenario_reader *r, struct scenario_hash *hash,
		     const struct scenario_row *row, const struct yaml_node *list)
{
	struct bad_text path;

	bad_text(&path, "%s[]", row->path);
	for (const struct yaml_node *node = list->child; node; node = node->next) {
		struct scenario_hash entry = {0};

		hash_inside(r, &entry, node, path.text);
		scenario_hash_add(r, hash, scenario_hash_end(&entry));
	}
}

static void hash_inside(struct scenario_reader *r, struct scenario_hash *hash,
			const struct yaml_node *map, const char *path)
{
	const struct yaml_node *node = map && map->kind == YAML_MAP ? map->child : NULL;

	for (; node; node = node->next) {
		const struct scenario_row *row = NULL;

		for (uint32_t i = 0; i < scenario_row_count() && !row; i++)
			if (scenario_row_in(scenario_row_at(i), path) &&
			    strcmp(scenario_row_key(scenario_row_at(i)), node->key) == 0)
				row = scenario_row_at(i);
		if (!row || row->type == SCENARIO_NAMES || row->type == SCENARIO_FILE ||
		    row->reading)
			continue;
		if (row->type == SCENARIO_MAP)
			add_block(r, hash, row, node, map);
		else if (row->type == SCENARIO_LIST)
			add_list(r, hash, row, node);
		else if (row->type == SCENARIO_COUNTS || row->type == SCENARIO_TEXTS)
			add_scalars(r, hash, row, node);
		else
			add_scalar(r, hash, row, node);
	}
}

void scenario_hash_map(struct scenario_reader *r, struct scenario_hash *hash,
		       const struct yaml_node *map, enum scenario_key of)
{
	struct bad_text inside;

	hash_inside(r, hash, map, scenario_inside(of, &inside));
}
