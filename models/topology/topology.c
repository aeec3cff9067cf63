/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/topology/topology.h"

#include "util/alloc.h"
#include "util/siphash.h"
#include "util/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 256 };

void topology_fini(struct topology *topology)
{
	for (uint32_t i = 0; i < topology->node_count; i++)
		util_free(topology->nodes[i].name);
	for (uint32_t i = 0; i < topology->link_count; i++) {
		util_free(topology->links[i].name);
		util_free(topology->links[i].port_a);
		util_free(topology->links[i].port_b);
	}
	util_free(topology->nodes);
	util_free(topology->links);
	util_free(topology->index);
	*topology = (struct topology){0};
}

/* Room for one more of @bytes each; the new array, or NULL and the old one is as it was. */
static void *topology_make_room(void *array, uint32_t count, uint32_t *room, size_t bytes)
{
	const uint32_t more = *room ? *room * 2 : 64;
	void *bigger;

	if (count < *room)
		return array;
	bigger = util_realloc(array, more, bytes);
	if (bigger)
		*room = more;
	return bigger;
}

static char *topology_copy_of(const char *text)
{
	const size_t bytes = strlen(text) + 1;
	char *copy = util_alloc(bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

/* Where @name is in the index, or would be. */
static uint64_t *index_slot(const struct topology *topology, const char *name, uint32_t hash)
{
	const uint32_t mask = topology->index_room - 1;

	for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
		uint64_t *slot = &topology->index[at];

		if (*slot == 0 || (*slot >> 32 == hash &&
				   strcmp(topology->nodes[(uint32_t)*slot - 1].name, name) == 0))
			return slot;
	}
}

/* Room for one more, at most half full. */
static int reserve_index(struct topology *topology)
{
	const uint32_t room = topology->index_room ? topology->index_room * 2 : 128;
	uint64_t *index;

	if (topology->index_room / 2 > topology->node_count)
		return 0;
	index = util_calloc(room, sizeof(*index));
	if (!index)
		return -ENOMEM;
	for (uint32_t i = 0; i < topology->index_room; i++) {
		const uint64_t slot = topology->index[i];
		uint32_t at = (uint32_t)(slot >> 32) & (room - 1);

		while (slot != 0 && index[at] != 0)
			at = (at + 1) & (room - 1);
		if (slot != 0)
			index[at] = slot;
	}
	util_free(topology->index);
	topology->index = index;
	topology->index_room = room;
	return 0;
}

static int64_t find_exactly(const struct topology *topology, const char *name)
{
	if (!topology->index)
		return -1;
	return (int64_t)(uint32_t)*index_slot(topology, name, (uint32_t)util_hash_name(name)) - 1;
}

size_t topology_first_nic(const char *name)
{
	static const char first[] = ".nic0";
	const size_t length = strlen(name), tail = sizeof(first) - 1;

	return length > tail && strcmp(name + length - tail, first) == 0 ? length - tail : 0;
}

int64_t topology_find(const struct topology *topology, const char *name)
{
	const size_t length = topology_first_nic(name);
	int64_t found = find_exactly(topology, name);
	char machine[NAME_ROOM];

	if (found >= 0 || length == 0 || length >= sizeof(machine))
		return found;
	memcpy(machine, name, length);
	machine[length] = '\0';
	found = find_exactly(topology, machine);
	return found >= 0 && topology->nodes[found].is_switch ? -1 : found;
}

static const struct topology_link *find_link_exactly(const struct topology *topology,
						     const char *name)
{
	const size_t length = strlen(name);

	for (uint32_t i = 0; i < topology->link_count; i++) {
		const char *own = topology->links[i].name;

		if (strlen(own) >= length && memcmp(own, name, length) == 0 &&
		    (own[length] == '\0' || strcmp(own + length, "#0") == 0))
			return &topology->links[i];
	}
	return NULL;
}

/* One end of a link's name as it stands there: the node's own name, where it is a node. */
static void link_end(const struct topology *topology, const char *text, size_t length,
		     char ret_name[NAME_ROOM])
{
	int64_t node;

	util_text(ret_name, NAME_ROOM, "%.*s", (int)length, text);
	node = topology_find(topology, ret_name);
	if (node >= 0)
		util_text(ret_name, NAME_ROOM, "%s", topology->nodes[node].name);
}

static const struct topology_link *find_joined(const struct topology *topology, const char *left,
					       const char *right, const char *rest)
{
	char name[3 * NAME_ROOM];

	util_text(name, sizeof(name), "%s-%s%s", left, right, rest);
	return find_link_exactly(topology, name);
}

const struct topology_link *topology_find_link(const struct topology *topology, const char *name)
{
	const struct topology_link *link = find_link_exactly(topology, name);
	char left[NAME_ROOM], right[NAME_ROOM];
	size_t ends = 0;

	if (strlen(name) >= NAME_ROOM)
		return link;
	while (name[ends] && name[ends] != '#')
		ends++;
	/* A node's name may have dashes of its own. */
	for (size_t dash = 0; dash < ends && !link; dash++) {
		if (name[dash] != '-')
			continue;
		link_end(topology, name, dash, left);
		link_end(topology, name + dash + 1, ends - dash - 1, right);
		link = find_joined(topology, left, right, name + ends);
		link = link ? link : find_joined(topology, right, left, name + ends);
	}
	return link;
}

static int add_node(struct topology *topology, const char *name, bool is_switch)
{
	struct topology_node *nodes = topology_make_room(topology->nodes, topology->node_count,
							 &topology->node_room, sizeof(*nodes));
	const uint32_t hash = (uint32_t)util_hash_name(name);
	char *copy = topology_copy_of(name);

	if (nodes)
		topology->nodes = nodes;
	if (!nodes || !copy || reserve_index(topology) != 0) {
		util_free(copy);
		return -ENOMEM;
	}
	nodes[topology->node_count] =
		(struct topology_node){copy, is_switch, topology->node_count, 0, !is_switch};
	topology->node_count++;
	*index_slot(topology, name, hash) = (uint64_t)hash << 32 | topology->node_count;
	return 0;
}

int topology_add_node(struct topology *topology, const char *name, bool is_switch)
{
	return topology_find(topology, name) >= 0 ? -EEXIST : add_node(topology, name, is_switch);
}

int topology_add_nic(struct topology *topology, uint32_t first)
{
	const uint32_t nic = topology->nodes[first].nic_count;
	char name[256];
	int ret;

	util_text(name, sizeof(name), "%s.nic%u", topology->nodes[first].name, nic);
	ret = topology_add_node(topology, name, false);
	if (ret)
		return ret;
	topology->nodes[topology->node_count - 1].machine = first;
	topology->nodes[topology->node_count - 1].nic = nic;
	topology->nodes[topology->node_count - 1].nic_count = 0;
	topology->nodes[first].nic_count++;
	return 0;
}

int topology_add_nics(struct topology *topology, uint32_t count)
{
	const uint32_t links = topology->link_count;
	int ret = 0;

	for (uint32_t i = 0; i < links && !ret; i++) {
		struct topology_link link = topology->links[i];
		const bool is_a = !topology->nodes[link.a].is_switch;
		const uint32_t host = is_a ? link.a : link.b;

		if (topology->nodes[host].is_switch)
			continue;
		for (uint32_t nic = 1; nic < count && !ret; nic++) {
			ret = topology_add_nic(topology, host);
			*(is_a ? &link.a : &link.b) = topology->node_count - 1;
			ret = ret ? ret : topology_add_link(topology, &link);
		}
	}
	return ret;
}

int topology_add_link(struct topology *topology, const struct topology_link *link)
{
	struct topology_link *links = topology_make_room(topology->links, topology->link_count,
							 &topology->link_room, sizeof(*links));

	if (!links)
		return -ENOMEM;
	topology->links = links;
	links[topology->link_count++] = *link;
	return 0;
}

static int topology_compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

struct pair { /* a link by the names of its ends, the smaller first */
	const char *low, *high;
	struct topology_link *link;
};

static int topology_compare_ports(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = strcmp(x->low, y->low);

	order = order ? order : strcmp(x->high, y->high);
	order = order ? order : topology_compare_u64(x->link->rate_bps, y->link->rate_bps);
	order = order ? order : topology_compare_u64(x->link->delay, y->link->delay);
	order = order ? order : topology_compare_u64(x->link->error_ppt, y->link->error_ppt);
	order = order ? order : topology_compare_u64(x->link->loss_ppb, y->link->loss_ppb);
	order = order ? order : topology_compare_ports(x->link->port_a, y->link->port_a);
	order = order ? order : topology_compare_ports(x->link->port_b, y->link->port_b);
	return order; /* links that are equal in all are interchangeable */
}

static char *topology_name_of(const struct topology *topology, const struct pair *pair, uint32_t k)
{
	const struct topology_link *link = pair->link;
	const bool turned = pair->low != topology->nodes[link->a].name;
	char text[256];

	if (link->port_a && link->port_b)
		util_text(text, sizeof(text), "%s.%s-%s.%s", pair->low,
			  turned ? link->port_b : link->port_a, pair->high,
			  turned ? link->port_a : link->port_b);
	else
		util_text(text, sizeof(text), "%s-%s#%u", pair->low, pair->high, k);
	return topology_copy_of(text);
}

int topology_name_links(struct topology *topology)
{
	struct pair *pairs = util_calloc(topology->link_count, sizeof(*pairs));
	uint32_t k = 0;
	int ret = 0;

	if (!pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < topology->link_count; i++) {
		struct topology_link *link = &topology->links[i];
		const char *a = topology->nodes[link->a].name, *b = topology->nodes[link->b].name;

		pairs[i] = strcmp(a, b) < 0 ? (struct pair){a, b, link} : (struct pair){b, a, link};
	}
	qsort(pairs, topology->link_count, sizeof(*pairs), compare_pairs);
	for (uint32_t i = 0; i < topology->link_count && !ret; i++) {
		k = i > 0 && pairs[i].low == pairs[i - 1].low && pairs[i].high == pairs[i - 1].high
			    ? k + 1
			    : 0;
		if (!pairs[i].link->name)
			pairs[i].link->name = topology_name_of(topology, &pairs[i], k);
		ret = pairs[i].link->name ? 0 : -ENOMEM;
	}
	util_free(pairs);
	return ret;
}
