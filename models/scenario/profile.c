/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/profiles/profile.h"
#include "models/scenario/internal.h"

#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* "profiles: [msn2700, connectx5]": what they say holds where the scenario says nothing; of two the
 * first that says something. */

static const enum scenario_key parts[] = {KEY_SWITCH, KEY_NIC};
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

static void scenario_profile_refuse(struct scenario_reader *r, const struct yaml_node *node)
{
	const struct profile *named = node->text ? profile_find(node->text) : NULL;
	const struct profile *nearest = named	     ? named
					: node->text ? profile_nearest(node->text)
						     : NULL;
	struct bad_text found, known;

	if (nearest && nearest->is_machine)
		bad_text(&known, "\"machine: %s\" for that machine", nearest->name);
	else if (nearest)
		bad_text(&known, "a known profile such as \"%s\"", nearest->name);
	else
		bad_text(&known, "one of");
	for (uint32_t i = 0; !nearest && i < profile_count(); i++)
		if (!profile_at(i)->is_machine)
			strncat(strncat(known.text, strcmp(known.text, "one of") ? ", " : " ",
					sizeof(known.text) - strlen(known.text) - 1),
				profile_at(i)->name, sizeof(known.text) - strlen(known.text) - 1);
	bad(r->errors, &node->at, scenario_path(KEY_PROFILES), yaml_content(&found, node),
	    known.text);
}

/* The scenario's map of that name, made if it has none. NULL: no memory, or no map. */
static struct yaml_node *scenario_profile_map_of(struct scenario_reader *r, enum scenario_key key,
						 const struct bad_at *at)
{
	struct yaml_node *map = yaml_find(r->root, scenario_path(key));

	if (map)
		return map->kind == YAML_MAP ? map : NULL;
	map = yaml_new(YAML_MAP, at);
	if (map)
		map->key = scenario_copy(r, scenario_path(key));
	if (!map || !map->key) {
		r->no_memory = true;
		yaml_free(map);
		return NULL;
	}
	yaml_append(r->root, map);
	return map;
}

static void read_profile(struct scenario_reader *r, const struct yaml_node *node)
{
	const struct profile *profile = node->text ? profile_find(node->text) : NULL;
	const struct bad_at at = {.file = node->text, .line = 1, .namer = &node->at};
	struct yaml_node **roots, *root = NULL;

	if (!profile || profile->is_machine) {
		scenario_profile_refuse(r, node);
		return;
	}
	roots = scenario_grow(r, r->profiles, r->profile_count, sizeof(struct yaml_node *));
	if (!roots)
		return;
	r->profiles = roots;
	if (yaml_parse(profile->text, strlen(profile->text), &at, false, &root, r->errors) != 0) {
		r->no_memory = true; /* its text is good: a test reads them all */
		return;
	}
	roots[r->profile_count++] = root;
	for (uint32_t i = 0; i < PARTS; i++) {
		struct yaml_node *part = yaml_find(root, scenario_path(parts[i]));

		if (!part)
			continue;
		scenario_check_part(r, part, parts[i]);
		scenario_hash_map(r, &r->hash, part, parts[i]);
	}
}

/* The scenario's map, then those of the profiles, each behind the one before. */
static void put_behind(struct scenario_reader *r, enum scenario_key key, const struct bad_at *at)
{
	const struct yaml_node *base = NULL;
	struct yaml_node *map;

	for (uint32_t i = r->profile_count; i-- > 0;) {
		struct yaml_node *part = yaml_find(r->profiles[i], scenario_path(key));

		if (!part)
			continue;
		if (base)
			scenario_base(part, base);
		base = part;
	}
	map = base ? scenario_profile_map_of(r, key, at) : NULL;
	if (map)
		scenario_base(map, base);
}

void scenario_read_profiles(struct scenario_reader *r)
{
	const struct yaml_node *list = scenario_node(r->root, KEY_PROFILES);

	for (const struct yaml_node *node = list && list->kind == YAML_LIST ? list->child : NULL;
	     node; node = node->next)
		read_profile(r, node);
	for (uint32_t i = 0; i < PARTS && r->profile_count > 0; i++)
		put_behind(r, parts[i], &list->at);
}

void scenario_free_profiles(struct scenario_reader *r)
{
	for (uint32_t i = 0; i < r->profile_count; i++)
		yaml_free(r->profiles[i]);
	util_free(r->profiles);
}
