/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/bus.h"
#include "models/scenario/block.h"

#include "util/check.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LIST_MAX = 10000 }; /* blocks, programs, expectations: more come from files and loads */

#define KB 1000ull
#define KIB 1024ull
#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define MBPS 1000000ull
#define TBPS 1000000000000ull

#define PLACE(type, member)                                                                        \
	{                                                                                          \
		offsetof(type, member), sizeof(((type *)0)->member)                                \
	}
#define ALL(member) .place = PLACE(struct scenario, member)
#define SPEED(member) .place = PLACE(struct topology_speed, member)
#define LINK(member) .place = PLACE(struct topology_link, member)
#define SW(member) .place = PLACE(struct scenario_switch, member)
#define AT_RATE(member) .place = PLACE(struct scenario_at_rate, member)
#define CLASS(member) .place = PLACE(struct scenario_class, member)
#define NIC(member) .place = PLACE(struct scenario_nic, member)
#define PARAM(member) .place = PLACE(struct scenario_nic, cc_params.member)
#define ALSO(member) .also = PLACE(struct scenario_nic, cc_params.member)
#define BLOCK(member) .place = PLACE(struct scenario_block, member)
#define PROGRAM(member) .place = PLACE(struct scenario_program, member)
#define FAULT(member) .place = PLACE(struct scenario_fault, member)
/* A numerator and a denominator, one behind the other. */
#define IS_SHARE(type, name) (offsetof(type, name##_den) == offsetof(type, name##_num) + 4)
#define SHARE(type, name)                                                                          \
	.place = {offsetof(type, name##_num), 8 * sizeof(char[IS_SHARE(type, name) ? 1 : -1])}
#define WORDS(...)                                                                                 \
	.words = (const uint64_t[])                                                                \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define KIND(name) (1u << KIND_##name)
#define ANY_KIND ((1u << KINDS) - 1)
#define FORM(name) (1u << FORM_##name)
#define PATTERNS (FORM(FILE) - 1)
#define CC(name) (1u << SCENARIO_CC_##name)

#define KEY(name, ...) [KEY_##name] = {__VA_ARGS__},
static const struct scenario_row rows[] = {
#include "models/scenario/keys.inc"
};

const char scenario_example[] =
	"version: 1\n"
	"name: first                        # results go to verbena-out/first\n"
	"topology: {kind: star, hosts: 5}   # h0 to h4, at a switch s0\n"
	"switch:\n"
	"  buffer: 1MB\n"
	"  pfc: {priorities: [3]}           # which flows have, too\n"
	"nic: {cc: none}                    # or dcqcn\n"
	"traffic:\n"
	"  - {class: incast, pattern: incast, to: h0, size: 1MB}\n"
	"until: 10ms\n";

uint32_t scenario_row_count(void)
{
	return sizeof(rows) / sizeof(rows[0]);
}

bool scenario_row_is_part(const struct scenario_row *row)
{
	const struct scenario_row *first = rows;

	while (first->type != SCENARIO_MAP)
		first++;
	return row >= first && !strchr(row->path, '.');
}

const struct scenario_row *scenario_row_at(uint32_t i)
{
	return &rows[i];
}

const char *scenario_path(enum scenario_key key)
{
	return rows[key].path;
}

const char *scenario_inside(enum scenario_key map, struct bad_text *text)
{
	if (map == KEY_ROOT)
		return bad_text(text, "%s", "");
	return bad_text(text, "%s%s", rows[map].path, rows[map].type == SCENARIO_LIST ? "[]" : "");
}

const struct scenario_row *scenario_row(const char *path)
{
	for (uint32_t i = 0; i < scenario_row_count(); i++)
		if (strcmp(rows[i].path, path) == 0)
			return &rows[i];
	return NULL;
}

const char *scenario_row_key(const struct scenario_row *row)
{
	const char *dot = strrchr(row->path, '.');

	return dot ? dot + 1 : row->path;
}

bool scenario_row_in(const struct scenario_row *row, const char *prefix)
{
	const size_t length = strlen(prefix);
	const char *rest = row->path;

	if (length > 0) {
		if (strncmp(rest, prefix, length) != 0 || rest[length] != '.')
			return false;
		rest += length + 1;
	}
	return strchr(rest, '.') == NULL;
}

const char *scenario_nearest_key(const char *prefix, const char *key)
{
	const char *nearest = NULL;
	uint32_t best = 0;

	for (uint32_t i = 0; i < scenario_row_count(); i++)
		if (scenario_row_in(&rows[i], prefix) &&
		    bad_is_nearer(key, scenario_row_key(&rows[i]), &best))
			nearest = scenario_row_key(&rows[i]);
	return nearest;
}

const char *scenario_keys(const char *prefix, struct bad_text *text)
{
	const char *between = "one of ";
	size_t at = 0;

	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		if (!scenario_row_in(&rows[i], prefix))
			continue;
		at += (size_t)snprintf(text->text + at, sizeof(text->text) - at, "%s%s", between,
				       scenario_row_key(&rows[i]));
		CHECK(at < sizeof(text->text));
		between = ", ";
	}
	return text->text;
}
