/* SPDX-License-Identifier: BSD-2-Clause */

/* "machine: NAME", "machine: {profile: NAME}" and "machine: {file: X.xml}": what stands there
 * becomes parts and lanes as if the scenario said it, before anything is checked. What the scenario
 * says of a part of the same name, or of a lane with the same ends, goes first. */
#include "models/profiles/profile.h"
#include "models/scenario/internal.h"
#include "models/scenario/machine_file.h"

#include "util/alloc.h"

#include <string.h>

static const char *key_of(enum scenario_key key)
{
	return scenario_row_key(scenario_row_at(key));
}

/* ---- names of keys, one behind another ---- */

static bool has_name(const char *names, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = names; *at; at += strspn(at, ", ")) {
		const size_t word = strcspn(at, ",");

		if (word == length && strncmp(at, name, length) == 0)
			return true;
		at += word;
	}
	return false;
}

/* Names of keys, each once. */
static void guess_name(struct bad_text *names, const char *name)
{
	const size_t so_far = strlen(names->text);

	if (has_name(names->text, name) || so_far + strlen(name) + 3 > sizeof(names->text))
		return;
	strcat(strcat(names->text, so_far ? ", " : ""), name);
}

/* ---- one behind another ---- */

static const char *profile_text(const struct yaml_node *map, enum scenario_key key)
{
	const struct yaml_node *node = yaml_find(map, key_of(key));

	return node && node->text ? node->text : "";
}

static bool is_part_twin(const struct yaml_node *own, const struct yaml_node *entry)
{
	return strcmp(profile_text(own, KEY_MACHINE_PARTS_NAME),
		      profile_text(entry, KEY_MACHINE_PARTS_NAME)) == 0;
}

/* Between two parts there may be lanes of several kinds. */
static bool is_lane_twin(const struct yaml_node *own, const struct yaml_node *entry)
{
	const char *a = profile_text(own, KEY_MACHINE_LANES_A),
		   *b = profile_text(own, KEY_MACHINE_LANES_B);
	const char *c = profile_text(entry, KEY_MACHINE_LANES_A);
	const char *d = profile_text(entry, KEY_MACHINE_LANES_B);
	const char *kind = profile_text(own, KEY_MACHINE_LANES_KIND);
	const char *its = profile_text(entry, KEY_MACHINE_LANES_KIND);

	if (kind[0] && strcmp(kind, its[0] ? its : "pcie") != 0)
		return false;
	return (strcmp(a, c) == 0 && strcmp(b, d) == 0) || (strcmp(a, d) == 0 && strcmp(b, c) == 0);
}

/* What @from says and @own does not goes from there to here. */
static void graft_map(struct yaml_node *own, struct yaml_node *from)
{
	struct yaml_node *next;

	for (struct yaml_node *node = from->child; node; node = next) {
		next = node->next;
		if (yaml_find(own, node->key))
			continue;
		yaml_unlink(from, node);
		yaml_append(own, node);
	}
}

static struct yaml_node *twin_in(const struct yaml_node *list, const struct yaml_node *entry,
				 bool (*is_twin)(const struct yaml_node *own,
						 const struct yaml_node *entry))
{
	struct yaml_node *own = list->child;

	while (own && (own->kind != YAML_MAP || !is_twin(own, entry)))
		own = own->next;
	return own;
}

/* Of two lists with the same key in @own and @from. */
static void graft_list(struct yaml_node *own, struct yaml_node *from, enum scenario_key key)
{
	struct yaml_node *list = yaml_find(own, key_of(key));
	struct yaml_node *of = yaml_find(from, key_of(key)), *next, *twin;

	if (!list || list->kind != YAML_LIST || !of)
		return;
	for (struct yaml_node *entry = of->child; entry; entry = next) {
		next = entry->next;
		twin = twin_in(list, entry, key == KEY_MACHINE_PARTS ? is_part_twin : is_lane_twin);
		if (twin) {
			graft_map(twin, entry);
			continue;
		}
		yaml_unlink(of, entry);
		yaml_append(list, entry);
	}
}

static void graft(struct yaml_node *own, struct yaml_node *from)
{
	graft_list(own, from, KEY_MACHINE_PARTS);
	graft_list(own, from, KEY_MACHINE_LANES);
	graft_map(own, from);
}

/* ---- of which lane it is said ---- */

static const char *kind_of_lane(const struct yaml_node *lane)
{
	const char *kind = profile_text(lane, KEY_MACHINE_LANES_KIND);

	return kind[0] ? kind : "pcie";
}

/* How many lanes of @list are those that @own speaks of, and of which kinds. */
static uint32_t list_kinds(const struct yaml_node *list, const struct yaml_node *own,
			   struct bad_text *ret_kinds)
{
	uint32_t count = 0;

	bad_text(ret_kinds, "%s", "");
	for (const struct yaml_node *lane = list->child; lane; lane = lane->next) {
		if (lane->kind != YAML_MAP || !is_lane_twin(own, lane))
			continue;
		count++;
		guess_name(ret_kinds, kind_of_lane(lane));
	}
	return count;
}

/* A lane without a kind is the one between its parts, if there is but one. False: reported, which
 * of them is not told. */
static bool check_kinds(struct scenario_reader *r, const struct yaml_node *map,
			enum scenario_key of, const struct yaml_node *from)
{
	const struct yaml_node *own = yaml_find(map, key_of(KEY_MACHINE_LANES));
	const struct yaml_node *list = yaml_find(from, key_of(KEY_MACHINE_LANES));
	bool is_good = true;

	if (!own || own->kind != YAML_LIST || !list || list->kind != YAML_LIST)
		return true;
	for (const struct yaml_node *lane = own->child; lane; lane = lane->next) {
		struct bad_text place, whole, path, kinds, expected;

		if (lane->kind != YAML_MAP || list_kinds(list, lane, &kinds) < 2)
			continue;
		bad_text(&path, "%.100s%.100s", scenario_shown_map(&place, map, of),
			 scenario_shown(&whole, lane, KEY_MACHINE_LANES_KIND) +
				 strlen(scenario_path(KEY_MACHINE)));
		bad(r->errors, &lane->at, path.text, "nothing",
		    bad_text(&expected, "which of the lanes from %.60s to %.60s it is: %.200s",
			     profile_text(lane, KEY_MACHINE_LANES_A),
			     profile_text(lane, KEY_MACHINE_LANES_B), kinds.text));
		is_good = false;
	}
	return is_good;
}

static bool names_machine(const struct yaml_node *map)
{
	return map->kind == YAML_MAP && (yaml_find(map, key_of(KEY_MACHINE_PROFILE)) ||
					 yaml_find(map, key_of(KEY_MACHINE_FILE)));
}

static void mark_copy(struct yaml_node *node)
{
	node->at.is_copy = true;
	for (struct yaml_node *child = node->child; child; child = child->next)
		mark_copy(child);
}

/* What one of "machines" says of parts and lanes goes before those of @common, "machine", where
 * that names a machine and @map does not. False: reported. */
static bool put_common(struct scenario_reader *r, struct yaml_node *map,
		       const struct yaml_node *common)
{
	struct yaml_node *copy;

	if (map->kind != YAML_MAP || names_machine(map))
		return true;
	if (!check_kinds(r, map, KEY_MACHINES, common))
		return false;
	copy = yaml_copy(common);
	if (copy) {
		mark_copy(copy);
		graft_list(map, copy, KEY_MACHINE_PARTS);
		graft_list(map, copy, KEY_MACHINE_LANES);
	}
	r->no_memory |= !copy;
	yaml_free(copy);
	return true;
}

/* ---- what is guessed ---- */

/* Whether that line of a profile says so. */
static bool is_guessed(const char *text, uint32_t line)
{
	static const char says[] = "source: guess";
	const char *at = text, *found;

	for (uint32_t i = 1; i < line; i++)
		at += strcspn(at, "\n") + 1;
	found = strstr(at, says);
	return found && found < at + strcspn(at, "\n");
}

/* In the order of the schema, not in that in which a scenario says what else holds. */
static void sort_names(struct bad_text *names)
{
	struct bad_text sorted = {""};

	for (int key = KEY_MACHINE + 1; key < KEY_MACHINES; key++)
		if (has_name(names->text, key_of((enum scenario_key)key)))
			guess_name(&sorted, key_of((enum scenario_key)key));
	*names = sorted;
}

static void find_guesses(const struct yaml_node *node, const struct profile *profile,
			 struct bad_text *names)
{
	if (node->kind == YAML_SCALAR && node->key && strcmp(node->at.file, profile->name) == 0 &&
	    is_guessed(profile->text, node->at.line))
		guess_name(names, node->key);
	for (const struct yaml_node *child = node->child; child; child = child->next)
		find_guesses(child, profile, names);
}

/* ---- profiles ---- */

static void machine_profile_refuse(struct scenario_reader *r, const struct yaml_node *name,
				   const char *key, const struct profile *profile)
{
	struct bad_text found, known, list = {""};
	uint32_t best = 0;
	const char *nearest = NULL;

	for (uint32_t i = 0; i < profile_count(); i++) {
		if (!profile_at(i)->is_machine)
			continue;
		guess_name(&list, profile_at(i)->name);
		if (name->text && bad_is_nearer(name->text, profile_at(i)->name, &best))
			nearest = profile_at(i)->name;
	}
	if (profile)
		bad_text(&known, "\"profiles: [%s]\" for what is of no machine, or one of %.500s",
			 profile->name, list.text);
	else if (nearest)
		bad_text(&known, "a known machine such as \"%s\"", nearest);
	else
		bad_text(&known, "one of %.600s", list.text);
	bad(r->errors, &name->at, key, yaml_content(&found, name), known.text);
}

/* False: reported, or no memory. */
static bool put_profile(struct scenario_reader *r, struct yaml_node *map,
			const struct yaml_node *name, enum scenario_key of, const char *key)
{
	const enum scenario_key of_map = of == KEY_MACHINE_PROFILE ? KEY_MACHINE : KEY_MACHINES;
	const struct profile *profile = name->text ? profile_find(name->text) : NULL;
	struct bad_text guesses = {""};
	struct yaml_node *root = NULL, *machine;
	struct bad_at at;
	bool is_good;

	if (!profile || !profile->is_machine) {
		machine_profile_refuse(r, name, key, profile);
		return false;
	}
	at = (struct bad_at){.file = profile->name, .line = 1, .namer = &name->at};
	if (yaml_parse(profile->text, strlen(profile->text), &at, false, &root, r->errors) != 0) {
		r->no_memory = true; /* its text is good: a test reads them all */
		return false;
	}
	machine = yaml_find(root, scenario_path(KEY_MACHINE));
	is_good = check_kinds(r, map, of_map, machine);
	if (is_good)
		graft(map, machine);
	yaml_free(root);
	if (!is_good)
		return false;
	find_guesses(map, profile, &guesses);
	sort_names(&guesses);
	if (guesses.text[0])
		scenario_add_guess(
			r, &(struct scenario_guess){
				   .map = map, .name = name, .of = of, .keys = guesses.text});
	return true;
}

static bool is_of_profile(const struct scenario_guess *guess, const char *name)
{
	return guess->name && strcmp(guess->name->text, name) == 0;
}

/* Of each profile once, where it is named first: all that holds of it in some machine. */
static void note_guesses(struct scenario_reader *r)
{
	for (uint32_t i = 0; i < r->guess_count; i++) {
		const struct scenario_guess *guess = &r->guesses[i];
		const char *name = guess->name ? guess->name->text : NULL;
		struct bad_text names = {""}, key, note;
		bool is_noted = !name;

		for (uint32_t k = 0; name && k < i; k++)
			is_noted |= is_of_profile(&r->guesses[k], name);
		if (is_noted)
			continue;
		for (uint32_t k = i; k < r->guess_count; k++)
			for (int of = KEY_MACHINE + 1; of < KEY_MACHINES; of++)
				if (is_of_profile(&r->guesses[k], name) &&
				    has_name(r->guesses[k].keys, key_of((enum scenario_key)of)))
					guess_name(&names, key_of((enum scenario_key)of));
		sort_names(&names);
		bad_note(r->errors, &guess->name->at, scenario_shown(&key, guess->map, guess->of),
			 bad_text(&note, "of what %.100s says these figures are guesses: %.400s",
				  name, names.text));
	}
}

/* ---- where they stand ---- */

void scenario_unfold_name(struct scenario_reader *r, struct yaml_node *map)
{
	struct yaml_node *name;

	if (map->kind != YAML_SCALAR || map->length == 0 || scenario_is_off(map->text, map->length))
		return;
	name = yaml_new(YAML_SCALAR, &map->at);
	if (name)
		name->key = scenario_copy(r, key_of(KEY_MACHINE_PROFILE));
	if (!name || !name->key) {
		r->no_memory = true;
		yaml_free(name);
		return;
	}
	name->text = map->text;
	name->length = map->length;
	map->kind = YAML_MAP;
	map->text = NULL;
	map->length = 0;
	yaml_append(map, name);
}

/* The same of a file. */
static bool put_file(struct scenario_reader *r, struct yaml_node *map, const struct yaml_node *file,
		     enum scenario_key of, const char *key)
{
	struct yaml_node *machine;
	struct bad_text found;
	bool is_good;

	if (file->kind != YAML_SCALAR || file->length == 0) {
		bad(r->errors, &file->at, key, yaml_content(&found, file), "a file");
		return false;
	}
	machine = scenario_machine_file(r, map, file, key);
	is_good = machine && check_kinds(r, map, of, machine);
	if (is_good)
		graft(map, machine);
	yaml_free(machine);
	return is_good;
}

/* False: it is not known what is in it. */
static bool unfold_machine(struct scenario_reader *r, struct yaml_node *map, enum scenario_key of)
{
	const struct yaml_node *name, *file;
	const enum scenario_key of_name =
		of == KEY_MACHINE ? KEY_MACHINE_PROFILE : KEY_MACHINES_PROFILE;
	struct bad_text name_key, file_key;

	if (map->kind != YAML_MAP)
		return true;
	name = yaml_find(map, key_of(KEY_MACHINE_PROFILE));
	file = yaml_find(map, key_of(KEY_MACHINE_FILE));
	scenario_shown(&name_key, map, of_name);
	scenario_shown(&file_key, map, of == KEY_MACHINE ? KEY_MACHINE_FILE : KEY_MACHINES_FILE);
	if (name && file) {
		bad(r->errors, &file->at, file_key.text, "a file beside a profile",
		    "one of the two");
		return false;
	}
	if (name)
		return put_profile(r, map, name, of_name, name_key.text);
	return file ? put_file(r, map, file, of, file_key.text) : true;
}

/* So many adapters as @machine has are those of each host of a topology that does not say it. */
static void say_nics(struct scenario_reader *r, const struct yaml_node *machine)
{
	struct yaml_node *topology = yaml_find(r->root, scenario_path(KEY_TOPOLOGY));
	const struct yaml_node *parts = yaml_find(machine, key_of(KEY_MACHINE_PARTS));
	struct yaml_node *nics;
	uint32_t count = 0;
	struct bad_text text;

	for (const struct yaml_node *part = parts ? parts->child : NULL; part; part = part->next)
		count += strcmp(profile_text(part, KEY_MACHINE_PARTS_KIND), "nic") == 0;
	if (count < 2 || !topology || topology->kind != YAML_MAP ||
	    !yaml_find(topology, key_of(KEY_TOPOLOGY_KIND)) ||
	    yaml_find(topology, key_of(KEY_TOPOLOGY_NICS)))
		return;
	nics = yaml_new(YAML_SCALAR, &machine->at);
	if (nics) {
		nics->key = scenario_copy(r, key_of(KEY_TOPOLOGY_NICS));
		nics->text = scenario_copy(r, bad_text(&text, "%u", count));
		nics->length = strlen(text.text);
	}
	if (!nics || !nics->key || !nics->text) {
		r->no_memory = true;
		yaml_free(nics);
		return;
	}
	yaml_append(topology, nics);
}

/* More would be said of what nobody knows. */
static void drop(struct scenario_reader *r, enum scenario_key key)
{
	struct yaml_node *node = yaml_find(r->root, scenario_path(key));

	if (!node)
		return;
	yaml_unlink(r->root, node);
	yaml_free(node);
}

void scenario_unfold_machines(struct scenario_reader *r)
{
	struct yaml_node *machine = yaml_find(r->root, scenario_path(KEY_MACHINE));
	struct yaml_node *list = yaml_find(r->root, scenario_path(KEY_MACHINES));
	struct yaml_node *some = list && list->kind == YAML_LIST ? list->child : NULL;
	bool is_known = true;

	if (machine) {
		scenario_unfold_name(r, machine);
		is_known = unfold_machine(r, machine, KEY_MACHINE);
	}
	for (struct yaml_node *map = some; map; map = map->next)
		is_known &= unfold_machine(r, map, KEY_MACHINES);
	note_guesses(r);
	if (!is_known) {
		drop(r, KEY_MACHINE);
		drop(r, KEY_MACHINES);
		return;
	}
	if (!machine || !names_machine(machine))
		return;
	for (struct yaml_node *map = some; map && !r->no_memory; map = map->next)
		is_known &= put_common(r, map, machine);
	if (is_known) {
		say_nics(r, machine);
		return;
	}
	drop(r, KEY_MACHINE);
	drop(r, KEY_MACHINES);
}
