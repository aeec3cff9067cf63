/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_SCHEMA_H
#define MODELS_SCENARIO_SCHEMA_H

/* Every key of a scenario, once: what it takes, what holds where it is left out, its range, where
 * its value goes, and what it is for. Reader, defaults, range checks, hash and reference are made
 * from this table (keys.inc). */
#include "models/input/bad.h"

/* A key, in the order of the table: KEY_SWITCH_ECN_KMIN is switch.ecn.kmin, KEY_TRAFFIC_SIZE is
 * traffic[].size. KEY_ROOT is not in it: the map that all others are in. */
enum scenario_key {
#define KEY(name, ...) KEY_##name,
#include "models/scenario/keys.inc"
	KEY_ROOT
};

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

/* What a topology can be made of, and what a block of traffic: not every key belongs to each. */
enum scenario_kind {
	KIND_STAR, /* and so on, as topology.kind has them */
	KIND_LEAF_SPINE,
	KIND_FAT_TREE,
	KIND_CLOS,
	KIND_RAIL,
	KIND_DUMBBELL,
	KIND_TORUS,
	KIND_DRAGONFLY,
	KIND_FULL_MESH,
	KINDS,
	KIND_FILE = KINDS,
	KIND_LISTS, /* of nodes and links */
};
enum scenario_form {
	FORM_INCAST, /* and so on, as traffic[].pattern has them */
	FORM_PERMUTATION,
	FORM_ALL_TO_ALL,
	FORM_RING,
	FORM_FILE,
	FORM_LOAD,
};

/* Bytes of a structure, that of the block in which the key is; 0 bytes: none. */
struct scenario_place {
	uint16_t at, bytes;
};

struct scenario_row {
	const char *path; /* "traffic[].size" */
	enum scenario_type type;
	const char *unset;   /* the value where the key is left out; NULL: none */
	uint64_t min, max;   /* of the value; both 0: any */
	const char *choices; /* words that are taken (besides numbers, but for SCENARIO_WORD) */
	const char *help;
	/* Where the value goes: a number or a word's place as wide as that; a share as two of 32
	 * bits. None: code reads it. */
	struct scenario_place place;
	struct scenario_place also; /* the same once more, for another control */
	const uint64_t *words;	    /* what the choices stand for there; NULL: 0, 1 ... */
	uint64_t left_out;	    /* what goes there if it is left out and nothing is @unset */
	bool q16;		    /* a share that goes there as a number of Q16, never 0 */
	unsigned
		of; /* bits: the kinds, forms or controls (enum scenario_cc) that have it; 0: any */
	uint32_t count_max; /* of what is in a list; 0: any */
	bool required;
	bool block;	/* a map that switches something on by being there, or the word off */
	bool reading;	/* how to read something: no part of what is said */
	bool of_fabric; /* priorities, of which the fabric has eight unless it says sixteen */
};

uint32_t scenario_row_count(void);
/* A whole scenario in few lines, for who begins one. */
extern const char scenario_example[];
/* Whether @row begins a part of the reference: a key of the top, from the first map of them on. */
bool scenario_row_is_part(const struct scenario_row *row);
const struct scenario_row *scenario_row_at(uint32_t i); /* of an enum scenario_key, too */
const char *scenario_path(enum scenario_key key);
/* What stands before the dot of the keys inside of @map: "traffic[]" for KEY_TRAFFIC. */
const char *scenario_inside(enum scenario_key map, struct bad_text *text);
const struct scenario_row *scenario_row(const char *path); /* NULL: none such */
/* The last part of its path. */
const char *scenario_row_key(const struct scenario_row *row);
/* Whether @row is a key right inside of the map at @prefix ("" is the root). */
bool scenario_row_in(const struct scenario_row *row, const char *prefix);
/* The known key inside of @prefix that is most like @key; NULL: none is like it. */
const char *scenario_nearest_key(const char *prefix, const char *key);
/* All keys inside of @prefix: "one of mtu, cc, ...". */
const char *scenario_keys(const char *prefix, struct bad_text *text);

/* Whether a block is said to be off, by a scalar in its place. @text: NULL allowed. */
bool scenario_is_off(const char *text, size_t length);

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
/* Puts the value at the place of the row in the structure @into; of a row without one nothing. */
void scenario_row_put(const struct scenario_row *row, const struct scenario_value *value,
		      void *into);
/* "a time such as 10us, 1ps to 1s". */
const char *scenario_row_expects(const struct scenario_row *row, struct bad_text *text);

#endif
