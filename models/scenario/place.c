/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/place.h"

#include <string.h>

void scenario_switch_refuse(const struct place *p, const struct yaml_node *map,
			    enum scenario_key key, const char *found, const char *expected)
{
	const struct yaml_node *node = scenario_node(map, key);
	struct bad_text place, whole, path, content;

	bad_text(&path, "%.100s%.100s", scenario_shown_map(&place, p->map, p->of),
		 scenario_shown(&whole, map, key) + strlen(scenario_path(KEY_SWITCH)));
	bad(p->r->errors, node ? &node->at : &map->at, path.text,
	    found ? found : yaml_content(&content, node), expected);
}
