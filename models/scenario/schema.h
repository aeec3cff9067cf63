/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_SCHEMA_H
#define MODELS_SCENARIO_SCHEMA_H

/* Every key of a scenario, once: what it takes, what holds where it is left out, its range, and
 * what it is for. Reader, defaults, range checks, hash and reference are made from this table. */
#include "models/input/bad.h"

enum scenario_type {
	SCENARIO_MAP,
	SCENARIO_LIST,	/* of maps */
	SCENARIO_COUNT, /* digits */
	SCENARIO_BYTES,
	SCENARIO_TIME,
	SCENARIO_RATE,
	SCENARIO_RATIO,	     /* 5%, 1/8, 0.05; range in millionths */
	SCENARIO_CHANCE_PPT, /* a decimal in 10^-12 */
	SCENARIO_WORD,	     /* one of the choices */
	SCENARIO_NAME,	     /* letters, digits, - and _ */
	SCENARIO_NODE,	     /* the same of a node, with a dot where it is an adapter */
	SCENARIO_TEXT,
	SCENARIO_FILE,	     /* relative to the scenario */
	SCENARIO_NAMES,	     /* patterns of names, "h[0-7,9]", one or a list; or a count */
	SCENARIO_PRIORITIES, /* a list of priorities, which becomes a mask */
	SCENARIO_COUNTS,     /* a list of counts */
	SCENARIO_TEXTS,	     /* a list of texts */
};

struct scenario_row {
	const char *path; /* "traffic[].size" */
	enum scenario_type type;
	const char *unset;   /* the value where the key is left out; NULL: none */
	uint64_t min, max;   /* of the value; both 0: any */
	const char *choices; /* words that are taken (besides numbers, but for SCENARIO_WORD) */
	const char *help;
	uint32_t count_max; /* of what is in a list; 0: any */
	bool required;
	bool block;	/* a map that switches something on by being there */
	bool reading;	/* how to read something: no part of what is said */
	bool of_fabric; /* priorities, of which the fabric has eight unless it says sixteen */
};

uint32_t scenario_row_count(void);
const struct scenario_row *scenario_row_at(uint32_t i);
const struct scenario_row *scenario_row(const char *path); /* NULL: none such */
/* The last part of its path. */
const char *scenario_row_key(const struct scenario_row *row);
/* Whether @row is a key right inside of the map at @prefix ("" is the root). */
bool scenario_row_in(const struct scenario_row *row, const char *prefix);
/* The known key inside of @prefix that is most like @key; NULL: none is like it. */
const char *scenario_nearest_key(const char *prefix, const char *key);
/* All keys inside of @prefix: "one of mtu, cc, ...". */
const char *scenario_keys(const char *prefix, struct bad_text *text);

struct scenario_value {
	uint64_t number;   /* in the smallest unit; the mask of priorities */
	uint32_t num, den; /* SCENARIO_RATIO */
	int word;	   /* place among the choices; -1: a number */
};

/* True, or @ret_why says what was found. Scalars only. */
bool scenario_value_parse(const struct scenario_row *row, const char *text, size_t length,
			  struct scenario_value *ret_value, struct bad_text *ret_why);
/* The value of a row that is left out; zeroes where it has none. */
struct scenario_value scenario_value_unset(const struct scenario_row *row);
/* "a time such as 10us, 1ps to 1s". */
const char *scenario_row_expects(const struct scenario_row *row, struct bad_text *text);

#endif
