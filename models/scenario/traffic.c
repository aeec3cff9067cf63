/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/block.h"

#include "models/input/file.h"
#include "models/trace/hpcc_flow.h"
#include "models/trace/htsim_cm.h"
#include "util/alloc.h"
#include "util/rand.h"
#include "util/siphash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A name for random draws: the scenario's seed, the block, a purpose. */
static uint64_t draw(const struct scenario_block *b, const char *purpose, const char *src,
		     const char *dst, uint64_t nth)
{
	const uint64_t words[] = {util_hash_name(b->class_name), util_hash_name(purpose),
				  util_hash_name(src), util_hash_name(dst), nth};

	return util_hash_words((struct util_key){.k0 = b->r->scenario->seed, .k1 = 3}, words, 5);
}

/* The @nic-th adapter of the machine at @host. */
static uint32_t nic_of(const struct scenario_reader *r, uint32_t host, uint32_t nic)
{
	struct bad_text name;

	return (uint32_t)scenario_host_find(
		r, bad_text(&name, "%s.nic%u", r->hosts[host], (unsigned)nic));
}

/* A flow between two adapters, as often as it is repeated. */
static void add_flow(struct scenario_block *b, uint32_t src, uint32_t dst)
{
	const char *const *hosts = b->r->hosts;

	for (uint64_t i = 0; i < b->repeat && !b->r->no_memory; i++) {
		struct traffic_flow flow = b->flow;

		flow.src = src;
		flow.dst = dst;
		flow.bytes = b->size;
		flow.start_at += i * b->every;
		if (b->spread > 0)
			flow.start_at += (ps_t)((u128)draw(b, "spread", hosts[src], hosts[dst], i) *
							(b->spread + 1) >>
						64);
		scenario_block_add(b, flow);
	}
}

static void add_pair(struct scenario_block *b, uint32_t src, uint32_t dst)
{
	if (!b->on_rails)
		add_flow(b, src, dst);
	for (uint32_t nic = 0; b->on_rails && nic < b->rails; nic++)
		add_flow(b, nic_of(b->r, src, nic), nic_of(b->r, dst, nic));
}

/* ---- patterns ---- */

static uint32_t nic_count(const struct scenario_reader *r, uint32_t host)
{
	const struct topology *topology = &r->scenario->topology;

	return topology->nodes[topology_find(topology, r->hosts[host])].nic_count;
}

/* Whether these can be on rails: machines, with as many adapters each. */
static bool are_alike(struct scenario_block *b, const struct scenario_hosts *hosts,
		      enum scenario_key key)
{
	const struct yaml_node *node = scenario_node(b->map, key);
	struct bad_text found;

	for (uint32_t i = 0; i < hosts->count; i++) {
		const uint32_t host = hosts->hosts[i], count = nic_count(b->r, host);

		b->rails = b->rails > 0 ? b->rails : count;
		if (count > 0 && count == b->rails)
			continue;
		if (count > 0)
			bad_text(&found, "%s with %u adapters", b->r->hosts[host], count);
		else
			bad_text(&found, "%s, which is an adapter", b->r->hosts[host]);
		scenario_block_refuse(b, node ? node : scenario_node(b->map, KEY_TRAFFIC_RAILS),
				      node ? key : KEY_TRAFFIC_RAILS, found.text,
				      "machines with as many adapters each");
		return false;
	}
	return true;
}

/* Those that a key of a pattern names. None: reported. */
static struct scenario_hosts pattern_hosts(struct scenario_block *b, enum scenario_key key)
{
	struct scenario_hosts hosts = scenario_block_hosts(b, key);

	if (!b->on_rails)
		return hosts;
	if (!scenario_has(b->map, key))
		hosts.count = b->r->machine_count; /* which come first */
	if (!are_alike(b, &hosts, key))
		hosts.count = 0;
	return hosts;
}

static uint32_t all_of(const struct scenario_block *b)
{
	return b->on_rails ? b->r->machine_count : b->r->host_count;
}

static void add_incast(struct scenario_block *b)
{
	const struct yaml_node *to_node = scenario_node(b->map, KEY_TRAFFIC_TO);
	struct scenario_hosts to = {0}, from;
	struct bad_text found;

	if (!to_node) {
		scenario_block_refuse(b, NULL, KEY_TRAFFIC_TO, "nothing", "a host");
		return;
	}
	to = pattern_hosts(b, KEY_TRAFFIC_TO);
	from = pattern_hosts(b, KEY_TRAFFIC_FROM);
	if (to.count == 1) {
		uint32_t others = 0;

		for (uint32_t i = 0; i < from.count; i++) {
			if (from.hosts[i] != to.hosts[0])
				from.hosts[others++] = from.hosts[i];
			else if (scenario_has(b->map, KEY_TRAFFIC_FROM))
				scenario_block_refuse(
					b, scenario_node(b->map, KEY_TRAFFIC_FROM),
					KEY_TRAFFIC_FROM,
					bad_text(&found, "%s", b->r->hosts[to.hosts[0]]),
					"hosts other than to");
		}
		from.count = others;
		for (uint32_t i = 0;
		     i < from.count && (i > 0 || scenario_block_fits(b, from.count)); i++)
			add_pair(b, from.hosts[i], to.hosts[0]);
		scenario_block_hash_hosts(b, KEY_TRAFFIC_TO, &to, UINT32_MAX);
		scenario_block_hash_hosts(b, KEY_TRAFFIC_FROM, &from, all_of(b) - 1);
	} else if (to.count > 1) {
		scenario_block_refuse(b, to_node, KEY_TRAFFIC_TO,
				      bad_text(&found, "%u hosts", to.count), "one host");
	}
	util_free(to.hosts);
	util_free(from.hosts);
}

/* In the order in which people count. */
static void sort_naturally(const struct scenario_reader *r, struct scenario_hosts *hosts)
{
	uint32_t count = 0, *rank = util_calloc(r->host_count + 1, sizeof(*rank));

	if (!rank)
		return;
	for (uint32_t i = 0; i < hosts->count; i++)
		rank[hosts->hosts[i]] = 1;
	for (uint32_t i = 0; i < r->host_count; i++)
		if (rank[r->natural[i]])
			hosts->hosts[count++] = r->natural[i];
	util_free(rank);
}

/* Sattolo 1986: one cycle through all, so nobody keeps its place. */
static void add_permutation(struct scenario_block *b, const struct scenario_hosts *hosts)
{
	uint32_t *to = scenario_alloc(b->r, hosts->count, sizeof(*to));

	if (!to)
		return;
	for (uint32_t i = 0; i < hosts->count; i++)
		to[i] = hosts->hosts[i];
	for (uint32_t i = hosts->count - 1; i > 0; i--) {
		struct util_rand rand = {.seed = b->r->scenario->seed,
					 .entity = util_hash_name(b->class_name),
					 .purpose = 0x7065726d,
					 .counter = (uint64_t)i << 32};
		const uint32_t j = (uint32_t)util_rand_below(&rand, i), own = to[i];

		to[i] = to[j];
		to[j] = own;
	}
	for (uint32_t i = 0; i < hosts->count; i++)
		add_pair(b, hosts->hosts[i], to[i]);
	util_free(to);
}

static void add_group(struct scenario_block *b, enum scenario_form form)
{
	const uint32_t errors = b->r->errors->error_count;
	struct scenario_hosts hosts = pattern_hosts(b, KEY_TRAFFIC_HOSTS);
	struct bad_text found;
	uint64_t pairs;

	if (hosts.count < 2) {
		if (b->r->errors->error_count == errors)
			scenario_block_refuse(
				b, scenario_node(b->map, KEY_TRAFFIC_HOSTS), KEY_TRAFFIC_HOSTS,
				bad_text(&found, "%u host", hosts.count), "at least two");
		util_free(hosts.hosts);
		return;
	}
	pairs = form == FORM_ALL_TO_ALL ? (uint64_t)hosts.count * (hosts.count - 1) : hosts.count;
	if (!scenario_block_fits(b, pairs)) {
		util_free(hosts.hosts);
		return;
	}
	scenario_sort_hosts(&hosts);
	scenario_block_hash_hosts(b, KEY_TRAFFIC_HOSTS, &hosts, all_of(b));
	if (form == FORM_PERMUTATION)
		add_permutation(b, &hosts);
	if (form == FORM_RING)
		sort_naturally(b->r, &hosts);
	for (uint32_t i = 0; i < hosts.count; i++) {
		if (form == FORM_RING)
			add_pair(b, hosts.hosts[i], hosts.hosts[(i + 1) % hosts.count]);
		for (uint32_t j = 0; form == FORM_ALL_TO_ALL && j < hosts.count; j++)
			if (j != i)
				add_pair(b, hosts.hosts[i], hosts.hosts[j]);
	}
	util_free(hosts.hosts);
}

static void add_pattern(struct scenario_block *b, enum scenario_form form)
{
	struct bad_text expected;

	if (b->repeat == 1 && scenario_has(b->map, KEY_TRAFFIC_EVERY))
		scenario_refuse(b->r, b->map, scenario_node(b->map, KEY_TRAFFIC_EVERY), KEY_TRAFFIC,
				"repeat beside it");
	scenario_block_only_of(b, form, "only keys of this pattern");
	if (!scenario_has(b->map, KEY_TRAFFIC_SIZE)) {
		scenario_block_refuse(
			b, NULL, KEY_TRAFFIC_SIZE, "nothing",
			scenario_row_expects(scenario_row_at(KEY_TRAFFIC_SIZE), &expected));
		return;
	}
	if (b->size == 0)
		return; /* reported already */
	if (form == FORM_INCAST)
		add_incast(b);
	else
		add_group(b, form);
}

/* ---- a file ---- */

/* Node @number of the file as a position; -1: reported. */
static int64_t scenario_traffic_host_of(struct scenario_block *b, uint32_t number,
					const struct bad_at *at, const char *key)
{
	const struct scenario_reader *r = b->r;
	struct bad_text name, found;
	int64_t position;

	if (r->hpcc_nodes && b->format == READ_FORMAT_HPCC)
		position = scenario_host_find(r, bad_text(&name, "n%u", number));
	else
		position = number < r->host_count ? (int64_t)r->natural[number] : -1;
	if (position < 0)
		bad(r->errors, at, key, bad_text(&found, "%u", number), "a host of the topology");
	return position;
}

static void add_file_flow(struct scenario_block *b, const struct read_flow *from, const char *path)
{
	const struct bad_at at = {.file = path,
				  .line = from->line,
				  .namer = &scenario_node(b->map, KEY_TRAFFIC_FILE)->at};
	const int64_t src = scenario_traffic_host_of(b, from->src, &at, "src");
	const int64_t dst = scenario_traffic_host_of(b, from->dst, &at, "dst");
	struct traffic_flow flow = b->flow;

	if (src < 0 || dst < 0)
		return;
	flow.priority = b->format == READ_FORMAT_HPCC ? from->priority : b->flow.priority;
	const uint64_t words[] = {util_hash_name(b->r->hosts[src]),
				  util_hash_name(b->r->hosts[dst]), flow.priority, from->bytes,
				  from->start_at};

	flow.src = (uint32_t)src;
	flow.dst = (uint32_t)dst;
	flow.bytes = from->bytes;
	flow.start_at += from->start_at;
	scenario_hash_words(b->r, &b->hash, "flow", words, 5);
	scenario_block_add(b, flow);
}

/* 0, -EINVAL: reported, -ENOMEM. */
static int scenario_traffic_read_flows(struct scenario_block *b, const char *path,
				       struct read_flow **ret_flows, uint64_t *ret_count)
{
	const struct yaml_node *node = scenario_node(b->map, KEY_TRAFFIC_FILE);
	struct read_flow_file file = {.at = {path, 1, &node->at},
				      .priority_count = b->r->scenario->priority_count};
	struct bad_list *errors = b->r->errors;
	char *bytes = NULL;
	int ret = read_file(b->r->source, path, &node->at, scenario_path(KEY_TRAFFIC_FILE), &bytes,
			    &file.length, errors);

	file.bytes = bytes;
	if (!ret && !yaml_text_is_good(bytes, file.length, &file.at, errors))
		ret = -EINVAL;
	if (!ret) {
		b->format = read_format(b->format, bytes, file.length, &file.at, errors);
		if (b->format == READ_FORMAT_HPCC)
			ret = read_hpcc_flow(&file, ret_flows, ret_count, errors);
		else if (b->format == READ_FORMAT_HTSIM)
			ret = read_htsim_flow(&file, ret_flows, ret_count, errors);
	}
	util_free(bytes);
	return ret;
}

static void add_file(struct scenario_block *b)
{
	const struct yaml_node *priority = scenario_node(b->map, KEY_TRAFFIC_PRIORITY);
	const struct yaml_node *node = scenario_node(b->map, KEY_TRAFFIC_FILE);
	struct read_flow *flows = NULL;
	uint64_t count = 0;
	char *path;
	int ret;

	scenario_block_only_of(b, FORM_FILE, "only class, start and format beside traffic[].file");
	path = node->meaning ? read_file_beside(b->r->path, node->text) : NULL;
	if (!path) {
		b->r->no_memory |= node->meaning != NULL;
		return;
	}
	ret = scenario_traffic_read_flows(b, path, &flows, &count);
	if (b->format == READ_FORMAT_HPCC && priority)
		scenario_refuse(b->r, b->map, priority, KEY_TRAFFIC,
				"none beside flows that have their own");
	b->r->no_memory |= ret == -ENOMEM;
	for (uint64_t i = 0;
	     i < count && b->r->host_count > 0 && (i > 0 || scenario_block_fits(b, count)); i++)
		add_file_flow(b, &flows[i], path);
	util_free(flows);
	util_free(path);
}

/* ---- a block ---- */

/* By the name of the pattern, or of what is there instead. */
static bool name_class(struct scenario_block *b)
{
	struct scenario *s = b->r->scenario;
	const struct yaml_node *node = scenario_node(b->map, KEY_TRAFFIC_CLASS);
	const struct yaml_node *pattern = scenario_node(b->map, KEY_TRAFFIC_PATTERN);
	char *name = scenario_text(b->r, b->map, KEY_TRAFFIC_CLASS,
				   pattern && pattern->meaning		    ? pattern->text
				   : scenario_has(b->map, KEY_TRAFFIC_LOAD) ? "load"
									    : "trace");
	struct bad_text found;
	char **classes;

	if (!name)
		return false;
	for (uint32_t i = 0; i < s->class_count; i++) {
		if (strcmp(s->classes[i], name) != 0)
			continue;
		scenario_block_refuse(b, node, KEY_TRAFFIC_CLASS,
				      bad_text(&found, "%s a second time", name),
				      "another name for each block");
		util_free(name);
		return false;
	}
	classes = scenario_grow(b->r, s->classes, s->class_count, sizeof(char *));
	if (!classes) {
		util_free(name);
		return false;
	}
	s->classes = classes;
	b->class_index = s->class_count;
	b->class_name = classes[s->class_count++] = name;
	return true;
}

static void hash_block(struct scenario_block *b)
{
	const uint64_t name[] = {util_hash_name(b->class_name)};

	scenario_hash_words(b->r, &b->hash, "class", name, 1);
	scenario_hash_map(b->r, &b->hash, b->map, KEY_TRAFFIC);
	scenario_hash_add(b->r, &b->r->hash, scenario_hash_end(&b->hash));
}

static void read_block(struct scenario_reader *r, const struct yaml_node *map)
{
	const int pattern = scenario_get(map, KEY_TRAFFIC_PATTERN).word;
	struct scenario_block b = {.r = r, .map = map};

	scenario_put(map, KEY_TRAFFIC, false, &b);
	b.rails = b.on_rails ? 0 : 1; /* not known yet */
	if (!name_class(&b))
		return;
	b.flow.class_index = b.class_index;
	if (scenario_has(map, KEY_TRAFFIC_LOAD) || scenario_has(map, KEY_TRAFFIC_CDF))
		scenario_read_load(&b);
	else if (scenario_has(map, KEY_TRAFFIC_FILE))
		add_file(&b);
	else if (pattern >= 0 && r->host_count > 0)
		add_pattern(&b, (enum scenario_form)pattern);
	else if (!scenario_has(map, KEY_TRAFFIC_PATTERN))
		scenario_block_refuse(&b, NULL, KEY_TRAFFIC_PATTERN, "nothing",
				      "a pattern, a file or a load");
	hash_block(&b);
}

struct class_place {
	char *name;
	uint32_t old;
};

static int compare_classes(const void *a, const void *b)
{
	return strcmp(((const struct class_place *)a)->name,
		      ((const struct class_place *)b)->name); /* names are unique */
}

/* Classes by name, so that the order of blocks cannot be seen. */
static void sort_classes(struct scenario_reader *r)
{
	struct scenario *s = r->scenario;
	struct class_place *places = scenario_alloc(r, s->class_count + 1, sizeof(*places));
	uint32_t *now = scenario_alloc(r, s->class_count + 1, sizeof(*now));

	for (uint32_t i = 0; places && i < s->class_count; i++)
		places[i] = (struct class_place){s->classes[i], i};
	if (places && s->class_count > 0)
		qsort(places, s->class_count, sizeof(*places), compare_classes);
	for (uint32_t i = 0; places && now && i < s->class_count; i++) {
		s->classes[i] = places[i].name;
		now[places[i].old] = i;
	}
	for (uint64_t f = 0; places && now && f < s->flow_count; f++)
		s->flows[f].class_index = now[s->flows[f].class_index];
	for (uint32_t i = 0; places && now && i < s->stream_count; i++)
		s->streams[i].class_index = now[s->streams[i].class_index];
	util_free(places);
	util_free(now);
}

void scenario_read_traffic(struct scenario_reader *r)
{
	const struct yaml_node *list = scenario_node(r->root, KEY_TRAFFIC);

	for (const struct yaml_node *map = list && list->kind == YAML_LIST ? list->child : NULL;
	     map; map = map->next)
		if (map->kind == YAML_MAP)
			read_block(r, map);
	sort_classes(r);
}
