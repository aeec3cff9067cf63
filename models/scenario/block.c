/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/block.h"

#include "util/siphash.h"

void scenario_block_refuse(const struct scenario_block *b, const struct yaml_node *node,
			   enum scenario_key key, const char *found, const char *expected)
{
	struct bad_text shown;

	bad(b->r->errors, node ? &node->at : &b->map->at, scenario_shown(&shown, b->map, key),
	    found, expected);
}

void scenario_block_only_of(struct scenario_block *b, enum scenario_form form, const char *expected)
{
	struct bad_text text;
	const char *inside = scenario_inside(KEY_TRAFFIC, &text);

	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		const struct scenario_row *row = scenario_row_at(i);
		const struct yaml_node *node = scenario_node(b->map, (enum scenario_key)i);

		if (node && row->of && !(row->of >> form & 1) && scenario_row_in(row, inside))
			scenario_refuse(b->r, b->map, node, KEY_TRAFFIC, expected);
	}
}

struct scenario_hosts scenario_block_hosts(struct scenario_block *b, enum scenario_key key)
{
	struct bad_text shown;

	return scenario_hosts_of(b->r, scenario_node(b->map, key),
				 scenario_shown(&shown, b->map, key), true);
}

static int compare_positions(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/* In order of position, so that nothing depends on how they were written. */
void scenario_sort_hosts(struct scenario_hosts *hosts)
{
	for (uint32_t gap = hosts->count / 2; gap > 0; gap /= 2)
		for (uint32_t i = gap; i < hosts->count; i++) {
			const uint32_t host = hosts->hosts[i];
			uint32_t j = i;

			for (; j >= gap && compare_positions(host, hosts->hosts[j - gap]) < 0;
			     j -= gap)
				hosts->hosts[j] = hosts->hosts[j - gap];
			hosts->hosts[j] = host;
		}
}

void scenario_block_hash_hosts(struct scenario_block *b, enum scenario_key key,
			       const struct scenario_hosts *hosts, uint32_t all)
{
	if (hosts->count == all)
		return; /* as if left out */
	for (uint32_t i = 0; i < hosts->count; i++) {
		const uint64_t words[] = {util_hash_name(b->r->hosts[hosts->hosts[i]])};

		scenario_hash_words(b->r, &b->hash, scenario_path(key), words, 1);
	}
}

/* Before any is made: a large number of flows takes a large amount of memory. */
bool scenario_block_fits(struct scenario_block *b, uint64_t pairs)
{
	struct bad_text found;

	pairs = pairs <= READ_FLOWS_MAX ? pairs * b->rails : pairs;
	if (pairs <= READ_FLOWS_MAX &&
	    pairs * b->repeat + b->r->scenario->flow_count <= READ_FLOWS_MAX)
		return true;
	bad(b->r->errors, &b->map->at, scenario_path(KEY_TRAFFIC),
	    bad_text(&found, "%llu flows", (unsigned long long)(pairs * b->repeat)),
	    "at most 4000000, all blocks together");
	return false;
}

void scenario_block_add(struct scenario_block *b, struct traffic_flow flow)
{
	struct scenario *s = b->r->scenario;
	struct traffic_flow *flows;

	flows = scenario_grow(b->r, s->flows, s->flow_count, sizeof(*flows));
	if (!flows)
		return;
	s->flows = flows;
	flows[s->flow_count++] = flow;
}
