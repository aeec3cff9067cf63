/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/read.h"

#include "models/input/file.h"
#include "models/scenario/internal.h"
#include "models/scenario/place.h"
#include "util/alloc.h"
#include "util/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void scenario_fini(struct scenario *scenario)
{
	topology_fini(&scenario->topology);
	for (uint32_t i = 0; i < scenario->class_count; i++)
		util_free(scenario->classes[i]);
	for (uint32_t i = 0; i < scenario->program_count; i++) {
		struct scenario_program *program = &scenario->programs[i];

		for (uint32_t arg = 0; arg < program->arg_count; arg++)
			util_free(program->args[arg]);
		util_free(program->args);
		util_free(program->hosts);
		util_free(program->run);
		util_free(program->where);
		util_free(program->name);
	}
	for (uint32_t i = 0; i < scenario->fault_count; i++) {
		util_free(scenario->faults[i].link);
		util_free(scenario->faults[i].direction);
	}
	for (uint32_t i = 0; i < scenario->expect_count; i++) {
		util_free(scenario->expects[i].text);
		util_free(scenario->expects[i].file);
	}
	util_free(scenario->expects);
	for (uint32_t i = 0; i < scenario->group_count; i++) {
		scenario_free_rewrites(&scenario->groups[i].is);
		util_free(scenario->groups[i].nodes);
	}
	util_free(scenario->groups);
	scenario_free_rewrites(&scenario->switches);
	util_free(scenario->routes);
	util_free(scenario->nic.rx.hosts);
	for (uint32_t i = 0; i < scenario->machine_count; i++)
		scenario_free_machine(&scenario->machines[i]);
	util_free(scenario->machines);
	for (uint32_t i = 0; i < scenario->stream_count; i++) {
		util_free(scenario->streams[i].hosts);
		util_free(
			(struct cdf_point *)(uintptr_t)scenario->streams[i].arrivals.sizes.points);
	}
	util_free(scenario->streams);
	util_free(scenario->classes);
	util_free(scenario->flows);
	util_free(scenario->programs);
	util_free(scenario->faults);
	util_free(scenario->forgets);
	util_free(scenario->file);
	util_free(scenario->settings);
	util_free(scenario->said);
	util_free(scenario->name);
	*scenario = (struct scenario){0};
}

/* ---- the top ---- */

/* The file's name without folder and ending, as far as it makes a name. */
static void name_of_file(const char *path, char ret_name[64])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	const size_t length = dot && dot > name ? (size_t)(dot - name) : strlen(name);
	size_t at = 0;

	for (size_t i = 0; i < length && at < 63; i++) {
		const char c = name[i];
		const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				  (c >= '0' && c <= '9') || c == '_' || c == '-';

		ret_name[at++] = good ? c : '_';
	}
	ret_name[at] = '\0';
	if (at == 0)
		util_text(ret_name, 64, "scenario");
}

/* Quotes that the text itself has close and open those around it: '\'' */
static char *add_setting(char *at, const char *set)
{
	at = stpcpy(at, " --set '");
	for (; *set; set++)
		at = *set == '\'' ? stpcpy(at, "'\\''") : (*at = *set, at + 1);
	return stpcpy(at, "'");
}

static char *settings_of(struct scenario_reader *r, const struct scenario_overrides *overrides)
{
	size_t room = 1;
	char *text, *at;

	for (uint32_t i = 0; overrides && i < overrides->set_count; i++)
		room += sizeof(" --set ''") + 4 * strlen(overrides->sets[i]);
	text = at = scenario_alloc(r, room, 1);
	for (uint32_t i = 0; text && overrides && i < overrides->set_count; i++)
		at = add_setting(at, overrides->sets[i]);
	return text;
}

static void read_top(struct scenario_reader *r, const struct scenario_overrides *overrides)
{
	struct scenario *s = r->scenario;
	char name[64];

	name_of_file(r->path, name);
	s->file = scenario_copy(r, r->path);
	s->settings = settings_of(r, overrides);
	s->name = scenario_text(r, r->root, KEY_NAME, name);
	scenario_put(r->root, KEY_ROOT, false, s);
	if (overrides && overrides->has_seed)
		s->seed = overrides->seed;
}

static void hash_unless_unset(struct scenario_reader *r, enum scenario_key key, uint64_t value)
{
	if (value != scenario_value_unset(scenario_row_at(key)).number)
		scenario_hash_words(r, &r->hash, scenario_path(key), &value, 1);
}

/* What is no list or map of its own; neither name nor seed. */
static void hash_top(struct scenario_reader *r)
{
	const uint64_t until[] = {r->scenario->until};
	const uint64_t priorities[] = {r->scenario->priority_count};

	if (r->scenario->until != PS_NEVER)
		scenario_hash_words(r, &r->hash, scenario_path(KEY_UNTIL), until, 1);
	if (r->scenario->priority_count != SIM_PRIORITIES)
		scenario_hash_words(r, &r->hash, scenario_path(KEY_PRIORITIES), priorities, 1);
	hash_unless_unset(r, KEY_OOB_DELAY, r->scenario->oob_delay);
	hash_unless_unset(r, KEY_MEMORY, r->scenario->packet_bytes_max);
}

/* Before all others: how many priorities there are says which values are good. */
static void read_priorities(struct scenario_reader *r)
{
	const struct yaml_node *node = scenario_node(r->root, KEY_PRIORITIES);
	const bool many = node && node->kind == YAML_SCALAR && strcmp(node->text, "16") == 0;

	r->scenario->priority_count = many ? SIM_PRIORITIES_MAX : SIM_PRIORITIES;
}

static void read_all(struct scenario_reader *r, const struct scenario_overrides *overrides)
{
	for (uint32_t i = 0; overrides && i < overrides->set_count; i++)
		scenario_set(r, overrides->sets[i], i + 1);
	r->scenario->said = scenario_said(r);
	scenario_unfold_cc(r);
	scenario_unfold_machines(r);
	read_priorities(r);
	scenario_check(r);
	scenario_read_profiles(r);
	read_top(r, overrides);
	scenario_read_topology(r);
	scenario_read_nic(r);
	scenario_read_switches(r);
	scenario_read_windows(r);
	scenario_read_routes(r);
	scenario_read_machines(r);
	scenario_read_rx(r);
	scenario_read_traffic(r);
	scenario_read_programs(r);
	scenario_read_faults(r);
	scenario_read_expects(r);
	if (r->errors->error_count == 0)
		scenario_warn_idle(r);
	hash_top(r);
	r->scenario->hash = scenario_hash_end(&r->hash);
}

int scenario_parse(const char *path, const char *bytes, size_t length,
		   const struct scenario_overrides *overrides, struct scenario *ret_scenario,
		   struct bad_list *errors)
{
	const struct bad_at at = {.file = path, .line = 1};
	struct scenario scenario = {0};
	struct scenario_reader r = {.scenario = &scenario,
				    .errors = errors,
				    .path = path,
				    .source = overrides ? overrides->source : NULL};
	const uint32_t before = errors->error_count;
	int ret = yaml_parse(bytes, length, &at, false, &r.root, errors);

	if (!ret) {
		read_all(&r, overrides);
		ret = r.no_memory || errors->no_memory ? -ENOMEM
		      : errors->error_count > before   ? -EINVAL
						       : 0;
	}
	scenario_free_profiles(&r);
	yaml_free(r.root);
	for (uint32_t i = 0; i < r.path_count; i++)
		util_free(r.paths[i]);
	util_free(r.paths);
	for (uint32_t i = 0; i < r.guess_count; i++)
		util_free(r.guesses[i].keys);
	util_free(r.guesses);
	util_free(r.hosts);
	util_free(r.natural);
	bad_list_sort(errors);
	if (ret)
		scenario_fini(&scenario);
	else
		*ret_scenario = scenario;
	return ret;
}

int scenario_read(const char *path, const struct scenario_overrides *overrides,
		  struct scenario *ret_scenario, struct bad_list *errors)
{
	const struct bad_at at = {.file = path, .line = 1};
	char *bytes;
	size_t length;
	int ret = read_file(overrides ? overrides->source : NULL, path, &at, "file", &bytes,
			    &length, errors);

	if (ret)
		return ret;
	ret = scenario_parse(path, bytes, length, overrides, ret_scenario, errors);
	util_free(bytes);
	return ret;
}

/* ---- the reference ---- */

struct text {
	char *bytes;
	size_t length, room;
	bool no_memory;
};

static void add_text(struct text *text, const char *line)
{
	const size_t length = strlen(line);
	char *bytes;

	if (text->no_memory)
		return;
	if (text->length + length + 1 > text->room) {
		bytes = util_realloc(text->bytes, (text->room + length) * 2 + 4096, 1);
		if (!bytes) {
			text->no_memory = true;
			return;
		}
		text->bytes = bytes;
		text->room = (text->room + length) * 2 + 4096;
	}
	memcpy(text->bytes + text->length, line, length + 1);
	text->length += length;
}

/* Each line a little to the right. */
static void add_example(struct text *text)
{
	char line[128];

	for (const char *from = scenario_example; *from; from = strchr(from, '\n') + 1) {
		snprintf(line, sizeof(line), "    %.*s", (int)(strchr(from, '\n') + 1 - from),
			 from);
		add_text(text, line);
	}
}

static void add_part(struct text *text, const char *name)
{
	add_text(text, "\n==== ");
	add_text(text, name);
	add_text(text, " ====\n");
}

static void add_row(struct text *text, const struct scenario_row *row)
{
	struct bad_text expects;
	char line[1024];

	snprintf(line, sizeof(line), "%s\n    %s%s%s%s\n    %s\n", row->path,
		 scenario_row_expects(row, &expects), row->unset ? "; default " : "",
		 row->unset ? row->unset : "", row->required ? "; required" : "", row->help);
	add_text(text, line);
}

int scenario_schema_text(char **ret_text)
{
	struct text text = {0};

	add_text(&text, "A whole scenario, first.yaml, for \"verbena run first.yaml\":\n\n");
	add_example(&text);
	add_part(&text, "the run");
	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		const struct scenario_row *row = scenario_row_at(i);

		if (scenario_row_is_part(row))
			add_part(&text, row->path);
		add_row(&text, row);
	}
	if (text.no_memory) {
		util_free(text.bytes);
		return -ENOMEM;
	}
	*ret_text = text.bytes;
	return 0;
}
