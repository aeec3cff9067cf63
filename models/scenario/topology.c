/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/input/file.h"
#include "models/scenario/internal.h"
#include "models/topology/hpcc_topology.h"
#include "models/topology/htsim_topo.h"
#include "models/trace/format.h"

#include "util/alloc.h"
#include "util/quantity.h"

#include <errno.h>
#include <string.h>

enum { LINKS_MAX = 8 << 20 };

/* ---- a file ---- */

/* -EINVAL: reported; -ENOMEM. */
static int read_bytes(struct scenario_reader *r, enum read_format format, const char *bytes,
		      size_t length, const struct bad_at *at)
{
	struct topology *topology = &r->scenario->topology;

	if (!yaml_text_is_good(bytes, length, at, r->errors))
		return -EINVAL;
	format = read_format(format, bytes, length, at, r->errors);
	r->hpcc_nodes = format == READ_FORMAT_HPCC;
	if (format == READ_FORMAT_HPCC)
		return read_hpcc_topology(bytes, length, at, topology, r->errors);
	if (format == READ_FORMAT_HTSIM)
		return read_htsim_topology(bytes, length, at, topology, r->errors);
	return -EINVAL;
}

static int read_topology_file(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct yaml_node *node = scenario_node(map, KEY_TOPOLOGY_FILE);
	char *path, *bytes;
	size_t length;
	int ret;

	scenario_only_these(r, map, KIND_FILE, "nothing beside topology.file");
	if (!node->meaning)
		return 0;
	path = read_file_beside(r->path, node->text);
	if (!path)
		return -ENOMEM;
	ret = read_file(r->source, path, &node->at, scenario_path(KEY_TOPOLOGY_FILE), &bytes,
			&length, r->errors);
	if (!ret) {
		const struct bad_at at = {.file = path, .line = 1, .namer = &node->at};

		ret = read_bytes(r, (enum read_format)scenario_get(map, KEY_TOPOLOGY_FORMAT).word,
				 bytes, length, &at);
		util_free(bytes);
	}
	util_free(path);
	return ret == -EINVAL ? 0 : ret;
}

/* ---- lists ---- */

struct naming {
	struct scenario_reader *r;
	bool is_switch;
	int ret;
	struct bad_text why;
};

static bool add_named(void *owner, const char *name)
{
	struct naming *n = owner;

	if (strchr(name, '.')) {
		n->ret = -EINVAL;
		bad_text(&n->why, "%s, with a dot, which stands before an adapter", name);
		return false;
	}
	n->ret = topology_add_node(&n->r->scenario->topology, name, n->is_switch);
	if (n->ret == -EEXIST)
		bad_text(&n->why, "%s a second time", name);
	return n->ret == 0;
}

static int read_nodes(struct scenario_reader *r, const struct yaml_node *map, enum scenario_key key,
		      bool is_switch)
{
	const struct yaml_node *node = scenario_node(map, key);
	const struct yaml_node *item = node && node->kind == YAML_LIST ? node->child : node;
	struct naming n = {.r = r, .is_switch = is_switch};
	struct bad_text why;

	for (; item; item = item == node ? NULL : item->next) {
		if (!item->meaning || scenario_names(item->text, item->length, add_named, &n, &why))
			continue;
		if (n.ret == -ENOMEM)
			return n.ret;
		bad(r->errors, &item->at, scenario_path(key), n.ret ? n.why.text : why.text,
		    "names, each once");
		n.ret = 0;
	}
	return 0;
}

struct ends {
	struct scenario_reader *r;
	uint32_t *nodes, count;
	struct bad_text why;
};

/* NAME.nicK of a host NAME is there because it is named, and with it all of lesser numbers. -1: it
 * is none. */
static int64_t find_nic(struct scenario_reader *r, const char *name)
{
	struct topology *topology = &r->scenario->topology;
	const char *dot = strrchr(name, '.');
	struct bad_text machine;
	uint64_t nic;
	int64_t first;

	if (!dot || strncmp(dot, ".nic", 4) != 0 || (dot[4] == '0' && dot[5]) ||
	    util_count_parse(dot + 4, strlen(dot + 4), &nic) != UTIL_QUANTITY_OK ||
	    nic >= TOPOLOGY_NICS_MAX)
		return -1;
	first = topology_find(topology, bad_text(&machine, "%.*s", (int)(dot - name), name));
	if (first < 0 || topology->nodes[first].nic_count == 0)
		return -1;
	while (topology->nodes[first].nic_count <= nic)
		if (topology_add_nic(topology, (uint32_t)first) != 0) {
			r->no_memory = true;
			return -1;
		}
	return topology_find(topology, name);
}

static bool add_end(void *owner, const char *name)
{
	struct ends *ends = owner;
	int64_t node = topology_find(&ends->r->scenario->topology, name);
	uint32_t *nodes;

	node = node >= 0 ? node : find_nic(ends->r, name);
	if (node < 0) {
		bad_text(&ends->why, "%s, which is neither host nor switch", name);
		return false;
	}
	nodes = scenario_grow(ends->r, ends->nodes, ends->count, sizeof(*nodes));
	if (!nodes)
		return false;
	ends->nodes = nodes;
	nodes[ends->count++] = (uint32_t)node;
	return true;
}

static struct ends ends_of(struct scenario_reader *r, const struct yaml_node *link,
			   enum scenario_key key)
{
	const struct yaml_node *node = scenario_node(link, key), *item;
	struct ends ends = {.r = r};
	struct bad_text why, shown;

	for (item = node && node->kind == YAML_LIST ? node->child : node; item;
	     item = item == node ? NULL : item->next) {
		bad_text(&ends.why, "%s", "");
		if (!item->meaning ||
		    scenario_names(item->text, item->length, add_end, &ends, &why))
			continue;
		bad(r->errors, &item->at, scenario_shown(&shown, link, key),
		    ends.why.text[0] ? ends.why.text : why.text, "names of the topology");
	}
	return ends;
}

static int add_links(struct scenario_reader *r, const struct yaml_node *node, const struct ends *a,
		     const struct ends *b)
{
	struct topology *topology = &r->scenario->topology;
	struct topology_link link = {0};
	const bool ports = scenario_has(node, KEY_TOPOLOGY_LINKS_PORT_A);
	struct bad_text key, found;
	int ret = 0;

	scenario_put(node, KEY_TOPOLOGY_LINKS, false, &link);
	for (uint64_t i = 0; i < (uint64_t)a->count * b->count && !ret; i++) {
		link.a = a->nodes[i / b->count];
		link.b = b->nodes[i % b->count];
		if (link.a == link.b) {
			bad(r->errors, &node->at, scenario_shown(&key, node, KEY_TOPOLOGY_LINKS_B),
			    bad_text(&found, "%s", topology->nodes[link.a].name),
			    "another node than a");
			return 0;
		}
		link.port_a =
			ports ? scenario_text(r, node, KEY_TOPOLOGY_LINKS_PORT_A, NULL) : NULL;
		link.port_b =
			ports ? scenario_text(r, node, KEY_TOPOLOGY_LINKS_PORT_B, NULL) : NULL;
		ret = topology_add_link(topology, &link);
	}
	return ret;
}

static int scenario_topology_read_link(struct scenario_reader *r, const struct yaml_node *node)
{
	struct ends a = ends_of(r, node, KEY_TOPOLOGY_LINKS_A),
		    b = ends_of(r, node, KEY_TOPOLOGY_LINKS_B);
	const bool ports = scenario_has(node, KEY_TOPOLOGY_LINKS_PORT_A);
	struct bad_text key, found;
	int ret = 0;

	r->topology_bad |= a.count == 0 || b.count == 0;
	if ((uint64_t)a.count * b.count + r->scenario->topology.link_count > LINKS_MAX)
		bad(r->errors, &node->at, scenario_path(KEY_TOPOLOGY_LINKS),
		    bad_text(&found, "%llu links", (unsigned long long)a.count * b.count),
		    "at most 8388608");
	else if (ports != scenario_has(node, KEY_TOPOLOGY_LINKS_PORT_B))
		bad(r->errors, &node->at, scenario_shown_map(&key, node, KEY_TOPOLOGY_LINKS),
		    "a port at one end only", "port_a and port_b, or none");
	else if (ports && (a.count > 1 || b.count > 1))
		bad(r->errors, &node->at, scenario_shown_map(&key, node, KEY_TOPOLOGY_LINKS),
		    "ports of several links", "one link where ports have names");
	else
		ret = add_links(r, node, &a, &b);
	util_free(a.nodes);
	util_free(b.nodes);
	return ret;
}

static int read_lists(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct yaml_node *links = scenario_node(map, KEY_TOPOLOGY_LINKS);
	int ret = read_nodes(r, map, KEY_TOPOLOGY_HOSTS, false);

	scenario_only_these(r, map, KIND_LISTS, "a kind, a file, or hosts, switches and links");
	ret = ret ? ret : read_nodes(r, map, KEY_TOPOLOGY_SWITCHES, true);
	for (const struct yaml_node *link = links && links->kind == YAML_LIST ? links->child : NULL;
	     link && !ret; link = link->next)
		if (link->kind == YAML_MAP)
			ret = scenario_topology_read_link(r, link);
	return ret;
}

/* ---- all of it ---- */

/* No value of it has been reported. */
static bool is_good(const struct yaml_node *node)
{
	if (node->kind == YAML_SCALAR)
		return node->meaning != NULL;
	for (const struct yaml_node *child = node->child; child; child = child->next)
		if (!is_good(child))
			return false;
	return true;
}

static void hash_topology(struct scenario_reader *r)
{
	const struct topology *topology = &r->scenario->topology;

	for (uint32_t i = 0; i < topology->node_count; i++) {
		const uint64_t words[] = {topology->nodes[i].is_switch};

		scenario_hash_words(r, &r->hash, topology->nodes[i].name, words, 1);
	}
	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];
		const uint64_t words[] = {link->rate_bps, link->delay, link->error_ppt,
					  link->loss_ppb};

		scenario_hash_words(r, &r->hash, link->name, words,
				    link->loss_ppb    ? 4
				    : link->error_ppt ? 3
						      : 2);
	}
}

void scenario_read_topology(struct scenario_reader *r)
{
	const struct yaml_node *map = scenario_node(r->root, KEY_TOPOLOGY);
	const uint32_t errors = r->errors->error_count;
	struct topology *topology = &r->scenario->topology;
	int ret;

	if (!map || map->kind != YAML_MAP)
		return; /* reported already */
	if (scenario_has(map, KEY_TOPOLOGY_KIND))
		ret = scenario_read_kind(r, map);
	else
		ret = scenario_has(map, KEY_TOPOLOGY_FILE) ? read_topology_file(r, map)
							   : read_lists(r, map);
	if (r->errors->error_count == errors && !ret)
		ret = topology_name_links(topology);
	if (ret)
		r->no_memory = true;
	if (ret || r->errors->error_count != errors || r->topology_bad || !is_good(map))
		return;
	scenario_check_topology(r, &map->at, scenario_path(KEY_TOPOLOGY));
	if (r->errors->error_count != errors)
		return;
	hash_topology(r);
	scenario_hosts_index(r);
}
