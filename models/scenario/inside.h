/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_INSIDE_H
#define MODELS_SCENARIO_INSIDE_H

/* What is inside of machines as it is read: parts and lanes from "machine" (of all) or from one of
 * "machines" (of some, where what these do not say is as "machine" has it). */
#include "models/scenario/internal.h"

struct scenario_inside {
	struct scenario_reader *r;
	const struct yaml_node *map;	      /* NULL: "machine" is not there, or off */
	enum scenario_key of;		      /* KEY_MACHINE or KEY_MACHINES */
	const struct scenario_inside *common; /* of one of "machines": "machine" */
	struct scenario_machine *machine;
	struct scenario_hash hash; /* of one of "machines": so far of its hosts */
	/* What else is said of it, of its lanes' ends, or of what it has from @common, would only
	 * be more errors for one mistake. */
	bool is_bad, parts_bad, common_bad;
};

/* One after the other: parts (inside.c), lanes (lanes.c), the ways over them (ways.c), and what
 * goes wrong on them (inside_faults.c). */
void scenario_inside_read_parts(struct scenario_inside *in);
void scenario_inside_read_lanes(struct scenario_inside *in);
void scenario_inside_read_ways(struct scenario_inside *in);
void scenario_inside_read_faults(struct scenario_inside *in);

/* @key, one of "machine", is wrong in @map, the innermost that it is in. @found NULL: what it says.
 * What is of "machine" and wrong in one of "machines" is told once, at the latter, unless the
 * former is bad anyway. */
void scenario_inside_refuse(struct scenario_inside *in, const struct yaml_node *map,
			    enum scenario_key key, const char *found, const char *expected);
/* It is there, and it is told already what is wrong with it. */
bool scenario_inside_is_wrong(const struct yaml_node *map, enum scenario_key key);
/* The first in that list; NULL: none. */
const struct yaml_node *scenario_inside_entries(const struct yaml_node *map, enum scenario_key key);
uint32_t scenario_inside_number(const struct yaml_node *map, enum scenario_key key);
uint32_t scenario_inside_count(const struct scenario_machine *machine,
			       enum scenario_part_kind kind);
/* -1: there is none of that name. */
int64_t scenario_inside_find_part(const struct scenario_machine *machine, const char *name);
/* Lanes from @from to each part, but those of NVLink; UINT32_MAX: none leads there. 0 of
 * NVSwitches.
 */
void scenario_inside_hops(const struct scenario_machine *machine, uint32_t from,
			  uint32_t *ret_hops);
/* @what and the names of all parts, of many the first: "the name of a part: cpu0, gpu0 to gpu7". */
const char *scenario_inside_names(const struct scenario_machine *machine, const char *what,
				  struct bad_text *ret_text);
/* The lanes of the one way between two parts: "cpu0-sw0, nic0-sw0"; nothing where there is none. */
const char *scenario_inside_way(const struct scenario_machine *machine, uint32_t from, uint32_t to,
				struct bad_text *ret_text);

#endif
