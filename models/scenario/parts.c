/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "util/alloc.h"
#include "util/siphash.h"

#include <string.h>

/* ---- programs ---- */

static uint32_t read_args(struct scenario_reader *r, const struct yaml_node *map, char ***ret_args)
{
	const struct yaml_node *list = scenario_node(map, KEY_PROGRAMS_ARGS);
	uint32_t count = 0;

	*ret_args = NULL;
	if (!list || list->kind != YAML_LIST)
		return 0;
	*ret_args = scenario_alloc(r, list->child_count + 1, sizeof(char *));
	for (const struct yaml_node *node = list->child; node && *ret_args; node = node->next)
		if (node->text)
			(*ret_args)[count++] = scenario_copy(r, node->text);
	return count;
}

static void hash_program(struct scenario_reader *r, const struct yaml_node *map,
			 const struct scenario_program *program)
{
	struct scenario_hash hash = {0};

	scenario_hash_map(r, &hash, map, KEY_PROGRAMS);
	for (uint64_t rank = 0; rank < program->host_count; rank++) {
		const uint64_t words[] = {rank, util_hash_name(r->hosts[program->hosts[rank]])};

		scenario_hash_words(r, &hash, scenario_path(KEY_PROGRAMS_HOSTS), words, 2);
	}
	scenario_hash_add(r, &r->hash, scenario_hash_end(&hash));
}

static void name_program(struct scenario_reader *r, const struct yaml_node *map,
			 struct scenario_program *program)
{
	const struct scenario *s = r->scenario;
	const struct yaml_node *run = scenario_node(map, KEY_PROGRAMS_RUN);
	const char *slash = run && run->text ? strrchr(run->text, '/') : NULL;
	struct bad_text key, found, where;

	program->run = scenario_text(r, map, KEY_PROGRAMS_RUN, "");
	if (run)
		program->where =
			scenario_copy(r, bad_text(&where, "%s:%u", run->at.file, run->at.line));
	program->name = scenario_text(r, map, KEY_PROGRAMS_NAME, slash ? slash + 1 : program->run);
	for (uint32_t i = 0; program->name && i < s->program_count; i++)
		if (s->programs[i].name && strcmp(s->programs[i].name, program->name) == 0)
			bad(r->errors, &map->at, scenario_shown(&key, map, KEY_PROGRAMS_NAME),
			    bad_text(&found, "%s a second time", program->name),
			    "another name for each program");
}

/* A program is on the machine, and opens whatever adapter it likes. */
static void only_machines(struct scenario_reader *r, const struct yaml_node *map,
			  const struct scenario_hosts *hosts)
{
	const struct yaml_node *node = scenario_node(map, KEY_PROGRAMS_HOSTS);
	struct bad_text key, found;

	/* All of them, if none is named, and that is reported already. */
	for (uint32_t i = 0; node && i < hosts->count; i++)
		if (hosts->hosts[i] >= r->machine_count) {
			bad(r->errors, &node->at, scenario_shown(&key, map, KEY_PROGRAMS_HOSTS),
			    bad_text(&found, "%s, which is an adapter", r->hosts[hosts->hosts[i]]),
			    "machines: programs see all their adapters");
			return;
		}
}

static void read_program(struct scenario_reader *r, const struct yaml_node *map)
{
	struct scenario *s = r->scenario;
	struct scenario_program program = {0};
	struct scenario_program *programs;
	struct scenario_hosts hosts;
	struct bad_text key;

	programs = scenario_grow(r, s->programs, s->program_count, sizeof(*programs));
	if (!programs)
		return;
	s->programs = programs;
	scenario_put(map, KEY_PROGRAMS, false, &program);
	name_program(r, map, &program);
	hosts = scenario_hosts_of(r, scenario_node(map, KEY_PROGRAMS_HOSTS),
				  scenario_shown(&key, map, KEY_PROGRAMS_HOSTS), false);
	program.hosts = hosts.hosts;
	program.host_count = hosts.count;
	only_machines(r, map, &hosts);
	program.arg_count = read_args(r, map, &program.args);
	programs[s->program_count++] = program;
	hash_program(r, map, &program);
}

void scenario_read_programs(struct scenario_reader *r)
{
	const struct yaml_node *list = scenario_node(r->root, KEY_PROGRAMS);

	for (const struct yaml_node *map = list && list->kind == YAML_LIST ? list->child : NULL;
	     map; map = map->next)
		if (map->kind == YAML_MAP)
			read_program(r, map);
}

/* ---- faults ---- */

struct fault_reader {
	struct scenario_reader *r;
	const struct yaml_node *map;
	struct scenario_fault common; /* with names that are not its own */
	uint32_t added;
};

static void parts_add_fault(struct fault_reader *f, struct scenario_fault fault)
{
	struct scenario *s = f->r->scenario;
	struct scenario_fault *faults =
		scenario_grow(f->r, s->faults, s->fault_count, sizeof(*faults));

	f->added++;
	if (!faults)
		return;
	s->faults = faults;
	fault.link = scenario_copy(f->r, f->common.link);
	fault.direction = f->common.direction ? scenario_copy(f->r, f->common.direction) : NULL;
	faults[s->fault_count++] = fault;
}

/* The link whose name is most like @name, or the first; of no topology one of a common shape. */
static const char *nearest_link(const struct topology *topology, const char *name)
{
	const char *nearest = topology->link_count > 0 ? topology->links[0].name : "h0-leaf0";
	uint32_t best = 0;

	for (uint32_t i = 0; i < topology->link_count; i++)
		if (bad_is_nearer(name, topology->links[i].name, &best))
			nearest = topology->links[i].name;
	return nearest;
}

static bool parts_find_ends(struct fault_reader *f)
{
	const struct topology *topology = &f->r->scenario->topology;
	const struct yaml_node *link_node = scenario_node(f->map, KEY_FAULTS_LINK);
	const struct yaml_node *sender = scenario_node(f->map, KEY_FAULTS_SENDER);
	const struct topology_link *link;
	struct bad_text key, found, expected;
	int64_t end;

	if (!link_node)
		bad(f->r->errors, &f->map->at, scenario_shown(&key, f->map, KEY_FAULTS_LINK),
		    "nothing", "the name of a link, or switch and forget");
	if (!link_node || !link_node->meaning || (sender && !sender->meaning))
		return false; /* reported, if not before */
	link = topology_find_link(topology, link_node->text);
	if (!link) {
		bad(f->r->errors, &link_node->at, scenario_shown(&key, f->map, KEY_FAULTS_LINK),
		    bad_quote(&found, link_node->text, link_node->length),
		    bad_text(&expected, "the name of a link, such as %s",
			     nearest_link(topology, link_node->text)));
		return false;
	}
	f->common.link = link->name;
	if (!sender)
		return true;
	end = topology_find(topology, sender->text);
	if (end == (int64_t)link->a || end == (int64_t)link->b) {
		f->common.direction = topology->nodes[end].name;
		return true;
	}
	bad(f->r->errors, &sender->at, scenario_shown(&key, f->map, KEY_FAULTS_SENDER),
	    bad_quote(&found, sender->text, sender->length), "one end of the link");
	return false;
}

static void add_chances(struct fault_reader *f)
{
	static const struct {
		enum scenario_key key;
		enum scenario_fault_kind kind;
		bool behind;
	} chances[] = {
		{KEY_FAULTS_LOSS, SCENARIO_FAULT_LOSS, false},
		{KEY_FAULTS_CORRUPT, SCENARIO_FAULT_CORRUPT, false},
		{KEY_FAULTS_DUPLICATE, SCENARIO_FAULT_DUPLICATE, true},
		{KEY_FAULTS_REORDER, SCENARIO_FAULT_REORDER, true},
	};
	bool behind = false;

	for (size_t i = 0; i < sizeof(chances) / sizeof(chances[0]); i++) {
		const struct scenario_value chance = scenario_get(f->map, chances[i].key);
		struct scenario_fault fault = f->common;

		if (!scenario_has(f->map, chances[i].key))
			continue;
		fault.kind = chances[i].kind;
		fault.num = chance.num;
		fault.den = chance.den;
		fault.delay = chances[i].behind ? scenario_get(f->map, KEY_FAULTS_BY).number : 0;
		behind |= chances[i].behind;
		parts_add_fault(f, fault);
	}
	if (!behind && scenario_has(f->map, KEY_FAULTS_BY))
		scenario_refuse(f->r, f->map, scenario_node(f->map, KEY_FAULTS_BY), KEY_FAULTS,
				"duplicate or reorder beside it");
}

static void add_down(struct fault_reader *f)
{
	struct scenario_fault fault = f->common;

	fault.kind = SCENARIO_FAULT_DOWN;
	fault.num = fault.den = 1;
	fault.control = true;
	fault.delay = scenario_get(f->map, KEY_FAULTS_DETECT).number;
	if (scenario_get(f->map, KEY_FAULTS_DOWN).word == 1)
		parts_add_fault(f, fault);
	else if (scenario_has(f->map, KEY_FAULTS_DETECT))
		scenario_refuse(f->r, f->map, scenario_node(f->map, KEY_FAULTS_DETECT), KEY_FAULTS,
				"down: yes beside it");
	f->added += scenario_has(f->map, KEY_FAULTS_DOWN);
}

/* From a host, since a switch pauses for reasons of its own. */
static void add_pause(struct fault_reader *f)
{
	const struct topology *topology = &f->r->scenario->topology;
	const struct yaml_node *pause = scenario_node(f->map, KEY_FAULTS_PAUSE);
	struct scenario_fault fault = f->common;
	const int64_t node = fault.direction ? topology_find(topology, fault.direction) : -1;

	if (!pause || !pause->meaning)
		return;
	fault.kind = SCENARIO_FAULT_PAUSE;
	fault.den = 1;
	fault.priorities = (uint8_t)scenario_value_of(pause)->number;
	f->added++;
	if (node < 0 || topology->nodes[node].is_switch)
		scenario_refuse(f->r, f->map, pause, KEY_FAULTS, "sender beside it, a host");
	else if (f->r->scenario->switches.fc != SCENARIO_FC_PFC)
		scenario_refuse(f->r, f->map, pause, KEY_FAULTS, "switch.pfc beside it");
	else
		parts_add_fault(f, fault);
}

static void add_others(struct fault_reader *f)
{
	const struct yaml_node *nth = scenario_node(f->map, KEY_FAULTS_DROP_NTH);
	struct scenario_fault fault = f->common;

	fault.den = 1;
	fault.kind = SCENARIO_FAULT_DELAY;
	fault.delay = scenario_get(f->map, KEY_FAULTS_DELAY).number;
	if (fault.delay > 0)
		parts_add_fault(f, fault);
	fault.kind = SCENARIO_FAULT_RATE;
	fault.delay = 0;
	fault.rate_bps = scenario_get(f->map, KEY_FAULTS_RATE).number;
	if (fault.rate_bps > 0)
		parts_add_fault(f, fault);
	fault.rate_bps = 0;
	add_down(f);
	add_pause(f);
	fault.kind = SCENARIO_FAULT_DROP_NTH;
	for (const struct yaml_node *node = nth ? nth->child : NULL; node; node = node->next) {
		fault.nth = scenario_value_of(node)->number;
		parts_add_fault(f, fault);
	}
	/* If bad, it was reported. */
	f->added += nth != NULL || scenario_has(f->map, KEY_FAULTS_DELAY) ||
		    scenario_has(f->map, KEY_FAULTS_RATE);
}

/* Credits count what was sent and what was freed: the room of a frame that is lost never comes
 * back, and a second copy makes room that nobody has. */
static void check_credit(struct scenario_reader *r, const struct yaml_node *map)
{
	static const enum scenario_key keys[] = {KEY_FAULTS_LOSS,      KEY_FAULTS_CORRUPT,
						 KEY_FAULTS_DUPLICATE, KEY_FAULTS_DROP_NTH,
						 KEY_FAULTS_FRAMES,    KEY_FAULTS_DOWN};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (r->scenario->switches.fc == SCENARIO_FC_CREDIT && scenario_has(map, keys[i]))
			scenario_refuse(r, map, scenario_node(map, keys[i]), KEY_FAULTS,
					"no switch.credit beside it, whose counts must stay right");
}

static void hash_fault(struct scenario_reader *r, const struct scenario_fault *fault)
{
	const uint64_t words[] = {util_hash_name(fault->link),
				  fault->direction ? util_hash_name(fault->direction) : 0,
				  fault->kind,
				  fault->num,
				  fault->den,
				  fault->nth,
				  fault->delay,
				  fault->from_at,
				  fault->until_at,
				  fault->control,
				  fault->rate_bps,
				  fault->priorities};
	struct bad_text inside;
	const bool newer = fault->rate_bps > 0 || fault->priorities > 0;

	/* A key at its default is as if it were not there. */
	scenario_hash_words(r, &r->hash, scenario_inside(KEY_FAULTS, &inside), words,
			    newer	     ? 12
			    : fault->control ? 10
					     : 9);
}

static void read_fault(struct scenario_reader *r, const struct yaml_node *map, uint32_t place)
{
	struct fault_reader f = {.r = r, .map = map, .common.place = place};
	struct bad_text key;

	scenario_put(map, KEY_FAULTS, false, &f.common);
	if (f.common.until_at <= f.common.from_at && f.common.until_at > 0)
		scenario_refuse(r, map, scenario_node(map, KEY_FAULTS_UNTIL), KEY_FAULTS,
				"a time after from");
	if (scenario_has(map, KEY_FAULTS_SWITCH) || scenario_has(map, KEY_FAULTS_FORGET)) {
		scenario_read_forget(r, map,
				     &(struct scenario_forget){.place = place,
							       .from_at = f.common.from_at,
							       .until_at = f.common.until_at});
		return;
	}
	check_credit(r, map);
	if (!parts_find_ends(&f))
		return;
	add_chances(&f);
	add_others(&f);
	if (f.added == 0)
		bad(r->errors, &map->at, scenario_shown_map(&key, map, KEY_FAULTS), "no fault",
		    "loss, corrupt, duplicate, reorder, delay, drop_nth, down, rate or pause");
}

void scenario_read_faults(struct scenario_reader *r)
{
	const struct yaml_node *list = scenario_node(r->root, KEY_FAULTS);
	uint32_t place = 0;

	for (const struct yaml_node *map = list && list->kind == YAML_LIST ? list->child : NULL;
	     map; map = map->next, place++)
		if (map->kind == YAML_MAP && r->host_count > 0)
			read_fault(r, map, place);
	for (uint32_t i = 0; i < r->scenario->fault_count; i++)
		hash_fault(r, &r->scenario->faults[i]);
}

/* ---- expectations ---- */

void scenario_read_expects(struct scenario_reader *r)
{
	const struct yaml_node *list = scenario_node(r->root, KEY_EXPECT);
	struct scenario *s = r->scenario;

	if (!list || list->kind != YAML_LIST)
		return;
	s->expects = scenario_alloc(r, list->child_count + 1, sizeof(*s->expects));
	for (const struct yaml_node *node = list->child; node && s->expects; node = node->next)
		if (node->text)
			s->expects[s->expect_count++] = (struct scenario_expect){
				.text = scenario_copy(r, node->text),
				.file = scenario_copy(r, node->at.file),
				.line = node->at.line,
			};
}
