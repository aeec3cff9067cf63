/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "util/alloc.h"
#include "util/check.h"

#include <string.h>

/* ---- values in the tree ---- */

const struct scenario_value *scenario_value_of(const struct yaml_node *node)
{
	static const struct scenario_value none = {.word = -1, .den = 1};

	return node->meaning ? node->meaning : &none;
}

struct yaml_node *scenario_named(const struct yaml_node *map, const char *name)
{
	for (; map && map->kind == YAML_MAP; map = map->base) {
		struct yaml_node *node = yaml_find(map, name);

		if (node)
			return node;
	}
	return NULL;
}

struct yaml_node *scenario_node(const struct yaml_node *map, enum scenario_key key)
{
	const struct scenario_row *row = scenario_row_at(key);
	struct yaml_node *node = scenario_named(map, scenario_row_key(row));

	return node && row->block && node->kind == YAML_SCALAR ? NULL : node; /* off */
}

bool scenario_is_own(const struct yaml_node *map, enum scenario_key key)
{
	return map && map->kind == YAML_MAP &&
	       yaml_find(map, scenario_row_key(scenario_row_at(key)));
}

void scenario_base(struct yaml_node *map, const struct yaml_node *base)
{
	if (map->kind != YAML_MAP)
		return;
	map->base = base;
	for (struct yaml_node *node = map->child; node; node = node->next)
		if (scenario_named(base, node->key))
			scenario_base(node, scenario_named(base, node->key));
}

bool scenario_has(const struct yaml_node *map, enum scenario_key key)
{
	return scenario_node(map, key) != NULL;
}

struct scenario_value scenario_get(const struct yaml_node *map, enum scenario_key key)
{
	const struct yaml_node *node = scenario_node(map, key);

	return node && node->meaning ? *scenario_value_of(node)
				     : scenario_value_unset(scenario_row_at(key));
}

void scenario_put(const struct yaml_node *map, enum scenario_key of, bool said_only, void *into)
{
	struct bad_text text;
	const char *inside = scenario_inside(of, &text);

	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		const struct scenario_row *row = scenario_row_at(i);
		struct scenario_value value;
		bool said;

		if (row->place.bytes == 0 || !scenario_row_in(row, inside))
			continue;
		said = scenario_has(map, (enum scenario_key)i);
		if (said_only && !said)
			continue;
		value = scenario_get(map, (enum scenario_key)i);
		if (!said && !row->unset)
			value.number = row->left_out;
		scenario_row_put(row, &value, into);
	}
}

char *scenario_text(struct scenario_reader *r, const struct yaml_node *map, enum scenario_key key,
		    const char *unset)
{
	const struct yaml_node *node = scenario_node(map, key);
	const char *text = node && node->text ? node->text : unset;

	return text ? scenario_copy(r, text) : NULL;
}

static const char *numbered(struct bad_text *text, const struct yaml_node *map, const char *path)
{
	const char *close = strchr(path, ']');

	if (!close)
		return bad_text(text, "%s", path);
	return bad_text(text, "%.*s%u%s", (int)(close - path), path, map->place, close);
}

const char *scenario_shown(struct bad_text *text, const struct yaml_node *map,
			   enum scenario_key key)
{
	return numbered(text, map, scenario_path(key));
}

const char *scenario_shown_map(struct bad_text *text, const struct yaml_node *map,
			       enum scenario_key of)
{
	struct bad_text inside;

	return numbered(text, map, scenario_inside(of, &inside));
}

/* "nic.timeout" */
static const char *shown_child(struct bad_text *text, const struct yaml_node *map,
			       const struct yaml_node *node, enum scenario_key of)
{
	struct bad_text place;

	scenario_shown_map(&place, map, of);
	return bad_text(text, "%.100s.%.100s", place.text, node->key);
}

void scenario_refuse(struct scenario_reader *r, const struct yaml_node *map,
		     const struct yaml_node *node, enum scenario_key of, const char *expected)
{
	struct bad_text key, found;

	bad(r->errors, &node->at, shown_child(&key, map, node, of), yaml_content(&found, node),
	    expected);
}

void scenario_warn(struct scenario_reader *r, const struct yaml_node *map,
		   const struct yaml_node *node, enum scenario_key of, const char *expected)
{
	struct bad_text key, found;

	bad_warn(r->errors, &node->at, shown_child(&key, map, node, of), yaml_content(&found, node),
		 expected);
}

/* ---- the walk ---- */

struct here {		   /* a place in the tree */
	const char *path;  /* of the table: "traffic[].size" */
	const char *shown; /* for people: "traffic[2].size" */
};

static bool scenario_check_attach(struct scenario_reader *r, struct yaml_node *node,
				  struct scenario_value value)
{
	struct scenario_value *own = util_alloc(sizeof(*own));

	if (!own) {
		r->no_memory = true;
		return false;
	}
	*own = value;
	node->meaning = own;
	return true;
}

static void check_map(struct scenario_reader *r, struct yaml_node *map, struct here here);

static void not_so(struct scenario_reader *r, const struct yaml_node *node,
		   const struct scenario_row *row, struct here here, const char *found)
{
	struct bad_text expected;

	bad(r->errors, &node->at, here.shown, found, scenario_row_expects(row, &expected));
}

static void check_scalar(struct scenario_reader *r, struct yaml_node *node,
			 const struct scenario_row *row, struct here here)
{
	struct scenario_value value;
	struct bad_text found;

	if (node->kind != YAML_SCALAR)
		not_so(r, node, row, here, yaml_content(&found, node));
	else if (!scenario_value_parse(row, node->text, node->length, &value, &found) ||
		 (row->of_fabric && value.number >= r->scenario->priority_count))
		not_so(r, node, row, here, found.text);
	else
		scenario_check_attach(r, node, value);
}

/* Scalars in a list; priorities become a mask. */
static void check_scalars(struct scenario_reader *r, struct yaml_node *node,
			  const struct scenario_row *row, struct here here)
{
	struct scenario_value mask = {.word = -1, .den = 1};
	struct bad_text found;

	if (node->kind != YAML_LIST) {
		not_so(r, node, row, here, yaml_content(&found, node));
		return;
	}
	for (struct yaml_node *child = node->child; child; child = child->next) {
		check_scalar(r, child, row, here);
		if (child->meaning && row->type == SCENARIO_PRIORITIES)
			mask.number |= (uint64_t)1 << scenario_value_of(child)->number;
	}
	if (row->type != SCENARIO_TEXTS && node->child_count == 0)
		not_so(r, node, row, here, "an empty list");
	scenario_check_attach(r, node, mask);
}

static void scenario_check_names(struct scenario_reader *r, struct yaml_node *node,
				 const struct scenario_row *row, struct here here)
{
	struct bad_text found;

	if (node->kind == YAML_LIST)
		check_scalars(r, node, row, here);
	else if (node->kind == YAML_SCALAR)
		check_scalar(r, node, row, here);
	else
		not_so(r, node, row, here, yaml_content(&found, node));
}

static void check_list(struct scenario_reader *r, struct yaml_node *list,
		       const struct scenario_row *row, struct here here)
{
	struct bad_text path, shown, found;
	uint32_t i = 0;

	if (list->kind != YAML_LIST) {
		not_so(r, list, row, here, yaml_content(&found, list));
		return;
	}
	bad_text(&path, "%s[]", here.path);
	for (struct yaml_node *child = list->child; child; child = child->next, i++) {
		bad_text(&shown, "%s[%u]", here.shown, i);
		if (child->kind == YAML_MAP)
			check_map(r, child, (struct here){path.text, shown.text});
		else
			bad(r->errors, &child->at, shown.text, yaml_content(&found, child),
			    "a map of keys");
	}
}

/* Lists are as long as the table lets them be. One that is longer is not read. */
static bool is_too_long(struct scenario_reader *r, struct yaml_node *list,
			const struct scenario_row *row, struct here here)
{
	struct bad_text found, expected;

	if (row->count_max == 0 || list->child_count <= row->count_max)
		return false;
	bad(r->errors, &list->at, here.shown, bad_text(&found, "%u of them", list->child_count),
	    bad_text(&expected, "at most %u", row->count_max));
	for (struct yaml_node *child = list->child, *next; child; child = next) {
		next = child->next;
		yaml_free(child);
	}
	list->child = list->last = NULL;
	list->child_count = 0;
	return true;
}

static void check_node(struct scenario_reader *r, struct yaml_node *node,
		       const struct scenario_row *row, struct here here)
{
	struct bad_text found;

	if (is_too_long(r, node, row, here))
		return;
	switch ((int)row->type) {
	case SCENARIO_MAP:
		if (node->kind == YAML_MAP)
			check_map(r, node, here);
		else if (!row->block || !scenario_is_off(node->text, node->length))
			not_so(r, node, row, here, yaml_content(&found, node));
		break;
	case SCENARIO_LIST:
		check_list(r, node, row, here);
		break;
	case SCENARIO_NAMES:
		scenario_check_names(r, node, row, here);
		break;
	case SCENARIO_PRIORITIES:
	case SCENARIO_COUNTS:
	case SCENARIO_TEXTS:
		check_scalars(r, node, row, here);
		break;
	default:
		check_scalar(r, node, row, here);
	}
}

static void unknown_key(struct scenario_reader *r, const struct yaml_node *node, struct here map,
			const char *dot)
{
	struct bad_text shown, expected, key;
	const char *nearest;

	if (bad_is_full(r->errors)) { /* nobody sees what would be near it */
		bad_count(r->errors);
		return;
	}
	nearest = scenario_nearest_key(map.path, node->key);
	bad_text(&shown, "%s%s%s", map.shown, dot, node->key);
	bad_quote(&key, shown.text, strlen(shown.text));
	key.text[strlen(key.text) - 1] = '\0'; /* printable, without the quotes */
	if (nearest)
		bad_text(&expected, "a known key such as \"%s\"", nearest);
	else
		scenario_keys(map.path, &expected);
	bad(r->errors, &node->at, key.text + 1, "an unknown key", expected.text);
}

/* The keys right inside of a map. */
struct known {
	const struct scenario_row *rows[96];
	const char *keys[96];
	uint32_t count;
};

static struct known known_in(const char *path)
{
	struct known known = {.count = 0};

	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		const struct scenario_row *row = scenario_row_at(i);

		if (!scenario_row_in(row, path))
			continue;
		CHECK(known.count < sizeof(known.rows) / sizeof(known.rows[0]));
		known.rows[known.count] = row;
		known.keys[known.count++] = scenario_row_key(row);
	}
	return known;
}

/* NULL: nobody knows it. */
static const struct scenario_row *find_row(const struct known *known, const char *key)
{
	for (uint32_t i = 0; i < known->count; i++)
		if (known->keys[i][0] == key[0] && strcmp(known->keys[i], key) == 0)
			return known->rows[i];
	return NULL;
}

/* What nobody knows is dropped once it is told: there may be very much of it. */
static void check_map(struct scenario_reader *r, struct yaml_node *map, struct here here)
{
	const char *dot = here.path[0] ? "." : "";
	const struct known known = known_in(here.path);
	struct yaml_node *before = NULL, *next;
	struct bad_text shown, expected;

	for (struct yaml_node *node = map->child; node; node = next) {
		const struct scenario_row *row = find_row(&known, node->key);

		next = node->next;
		if (row) {
			bad_text(&shown, "%s%s%s", here.shown, dot, node->key);
			check_node(r, node, row, (struct here){row->path, shown.text});
			before = node;
		} else {
			unknown_key(r, node, here, dot);
			yaml_drop_behind(map, before);
		}
	}
	for (uint32_t i = 0; i < known.count; i++) {
		const struct scenario_row *row = known.rows[i];

		if (!row->required || yaml_find(map, known.keys[i]))
			continue;
		bad_text(&shown, "%s%s%s", here.shown, dot, known.keys[i]);
		bad(r->errors, &map->at, shown.text, "nothing",
		    scenario_row_expects(row, &expected));
	}
}

void scenario_check_part(struct scenario_reader *r, struct yaml_node *map, enum scenario_key of)
{
	check_map(r, map, (struct here){scenario_path(of), scenario_path(of)});
}

void scenario_check(struct scenario_reader *r)
{
	check_map(r, r->root, (struct here){"", ""});
}
