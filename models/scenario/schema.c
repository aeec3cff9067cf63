/* SPDX-License-Identifier: BSD-2-Clause */
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

uint32_t scenario_row_count(void)
{
	return sizeof(rows) / sizeof(rows[0]);
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

/* Letters to change, add, drop or exchange with a neighbour. */
static uint32_t distance(const char *a, const char *b)
{
	enum { LENGTH_MAX = 32 };
	const size_t n = strlen(a), m = strlen(b);
	uint32_t d[LENGTH_MAX + 1][LENGTH_MAX + 1];

	if (n > LENGTH_MAX || m > LENGTH_MAX)
		return UINT32_MAX;
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			uint32_t least;

			if (i == 0 || j == 0) {
				d[i][j] = (uint32_t)(i + j);
				continue;
			}
			least = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			least = d[i - 1][j] + 1 < least ? d[i - 1][j] + 1 : least;
			least = d[i][j - 1] + 1 < least ? d[i][j - 1] + 1 : least;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < least)
				least = d[i - 2][j - 2] + 1;
			d[i][j] = least;
		}
	return d[n][m];
}

const char *scenario_nearest_key(const char *prefix, const char *key)
{
	const char *nearest = NULL;
	uint32_t best = (uint32_t)(strlen(key) + 2) / 3 + 1;

	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		const uint32_t d = scenario_row_in(&rows[i], prefix)
					   ? distance(key, scenario_row_key(&rows[i]))
					   : UINT32_MAX;

		if (d >= best)
			continue;
		best = d;
		nearest = scenario_row_key(&rows[i]);
	}
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
