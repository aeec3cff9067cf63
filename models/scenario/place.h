/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_PLACE_H
#define MODELS_SCENARIO_PLACE_H

/* What switches are: all of them by "switch", some by "switches". A place is one of these maps. */
#include "models/scenario/internal.h"

struct place {
	struct scenario_reader *r;
	const struct yaml_node *map;
	enum scenario_key of; /* KEY_SWITCH or KEY_SWITCHES */
	struct scenario_switch *sw;
	const bool *members; /* by node of the topology */
};

/* Reports @key, one of "switch", as one of the place; @map is the innermost map that it is in;
 * @found NULL: what it says. */
void scenario_switch_refuse(const struct place *p, const struct yaml_node *map,
			    enum scenario_key key, const char *found, const char *expected);

/* rewrite.c: switch.rewrite, after nic.dscp and what may forbid it. */
void scenario_read_rewrites(const struct place *p);
/* What the list that stands in @map itself says by names and its order, which is all that
 * scenario_hash_map() does not see of it. */
void scenario_hash_rewrites(struct scenario_reader *r, struct scenario_hash *hash,
			    const struct yaml_node *map);
void scenario_free_rewrites(struct scenario_switch *sw);

#endif
