/* SPDX-License-Identifier: BSD-2-Clause */

/* "machine: {file: X.xml}": parts and lanes that NCCL or hwloc have found become the map that a
 * scenario would say, each with its line in that file. */
#include "models/scenario/machine_file.h"

#include "models/input/file.h"
#include "models/inventory/inventory.h"
#include "models/scenario/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What no such file says. They are guesses, as those of the profiles are
 * (models/profiles/machines/), and told as such. */
static const char socket_latency[] = "200ns"; /* a 64-byte read takes 500 to 550 ns in all */
static const char switch_latency[] = "110ns"; /* PEX 88000: 105 ns, PEX 8747: 126 ns */
static const char gpu_latency[] = "150ns";
static const char nvswitch_latency[] = "100ns";
static const char tags[] = "256"; /* the 8 bits of an extended tag */
static const char board_delay[] = "3ns";
static const char socket_delay[] = "100ns";
static const char nvlink_delay[] = "5ns";
/* What a file may say and this one does not. */
static const char pcie_gen[] = "4", pcie_width[] = "16", nvlink_gen[] = "4";

struct file_reader {
	struct scenario_reader *r;
	struct bad_at at; /* the file, and who names it */
};

/* ---- the map ---- */

/* An entry of @parent, which may be NULL; NULL: no memory. */
static struct yaml_node *file_node(struct file_reader *f, struct yaml_node *parent,
				   enum yaml_kind kind, const char *key, const char *text)
{
	struct yaml_node *node = yaml_new(kind, &f->at);

	if (node && key)
		node->key = scenario_copy(f->r, key);
	if (node && text) {
		node->text = scenario_copy(f->r, text);
		node->length = strlen(text);
	}
	if (!node || (key && !node->key) || (text && !node->text)) {
		f->r->no_memory = true;
		yaml_free(node);
		return NULL;
	}
	if (parent)
		yaml_append(parent, node);
	return node;
}

/* @text NULL or empty: nothing. */
static void file_say(struct file_reader *f, struct yaml_node *map, enum scenario_key key,
		     const char *text)
{
	if (map && text && text[0])
		file_node(f, map, YAML_SCALAR, scenario_row_key(scenario_row_at(key)), text);
}

static void file_say_number(struct file_reader *f, struct yaml_node *map, enum scenario_key key,
			    uint64_t number, const char *unset)
{
	struct bad_text text;

	file_say(f, map, key, number ? bad_text(&text, "%" PRIu64, number) : unset);
}

static void file_say_part(struct file_reader *f, struct yaml_node *list,
			  const struct inventory_part *part)
{
	static const struct {
		const char *kind, *latency, *tags;
	} kinds[] = {[INVENTORY_SOCKET] = {"socket", socket_latency, NULL},
		     [INVENTORY_SWITCH] = {"switch", switch_latency, NULL},
		     [INVENTORY_NIC] = {"nic", NULL, tags},
		     [INVENTORY_GPU] = {"gpu", gpu_latency, tags},
		     [INVENTORY_NVSWITCH] = {"nvswitch", nvswitch_latency, NULL}};
	const uint64_t mib = (part->memory_bytes + (1u << 20) - 1) >> 20;
	struct yaml_node *map;
	struct bad_text memory;

	f->at.line = part->line;
	map = file_node(f, list, YAML_MAP, NULL, NULL);
	file_say(f, map, KEY_MACHINE_PARTS_NAME, part->name);
	file_say(f, map, KEY_MACHINE_PARTS_KIND, kinds[part->kind].kind);
	file_say(f, map, KEY_MACHINE_PARTS_LATENCY, kinds[part->kind].latency);
	file_say(f, map, KEY_MACHINE_PARTS_TAGS, kinds[part->kind].tags);
	file_say(f, map, KEY_MACHINE_PARTS_ADDRESS, part->address);
	if (part->kind == INVENTORY_SOCKET)
		file_say_number(f, map, KEY_MACHINE_PARTS_NUMA, part->numa, NULL);
	if (mib > 0) /* a multiple of 2 MiB */
		file_say(f, map, KEY_MACHINE_PARTS_MEMORY,
			 bad_text(&memory, "%" PRIu64 "MiB", (mib + 1) & ~(uint64_t)1));
}

static void file_say_lane(struct file_reader *f, struct yaml_node *list,
			  const struct inventory *inventory, const struct inventory_lane *lane)
{
	static const struct {
		const char *kind, *delay;
	} kinds[] = {[INVENTORY_PCIE] = {NULL, board_delay},
		     [INVENTORY_UPI] = {"upi", socket_delay},
		     [INVENTORY_XGMI] = {"xgmi", socket_delay},
		     [INVENTORY_NVLINK] = {"nvlink", nvlink_delay}};
	const bool is_of_gpus = inventory->parts[lane->a].kind == INVENTORY_GPU;
	struct yaml_node *map;
	struct bad_text rate;

	f->at.line = lane->line;
	map = file_node(f, list, YAML_MAP, NULL, NULL);
	file_say(f, map, KEY_MACHINE_LANES_A, inventory->parts[lane->a].name);
	file_say(f, map, KEY_MACHINE_LANES_B, inventory->parts[lane->b].name);
	file_say(f, map, KEY_MACHINE_LANES_KIND, kinds[lane->kind].kind);
	if (lane->kind == INVENTORY_PCIE) {
		file_say_number(f, map, KEY_MACHINE_LANES_GEN, lane->gen, pcie_gen);
		file_say_number(f, map, KEY_MACHINE_LANES_WIDTH, lane->width, pcie_width);
	} else if (lane->kind == INVENTORY_NVLINK) {
		file_say_number(f, map, KEY_MACHINE_LANES_GEN, lane->gen, nvlink_gen);
		file_say_number(f, map, KEY_MACHINE_LANES_LINKS, lane->links, NULL);
	} else {
		file_say(f, map, KEY_MACHINE_LANES_RATE,
			 bad_text(&rate, "%" PRIu64 "Mbps", lane->rate_bps / 1000000));
	}
	file_say(f, map, KEY_MACHINE_LANES_DELAY,
		 is_of_gpus ? nvlink_delay : kinds[lane->kind].delay);
}

static struct yaml_node *map_of(struct file_reader *f, const struct inventory *inventory)
{
	struct yaml_node *map = file_node(f, NULL, YAML_MAP, NULL, NULL);
	struct yaml_node *parts =
		map ? file_node(f, map, YAML_LIST,
				scenario_row_key(scenario_row_at(KEY_MACHINE_PARTS)), NULL)
		    : NULL;
	struct yaml_node *lanes =
		map ? file_node(f, map, YAML_LIST,
				scenario_row_key(scenario_row_at(KEY_MACHINE_LANES)), NULL)
		    : NULL;

	for (uint32_t i = 0; parts && i < inventory->part_count; i++)
		file_say_part(f, parts, &inventory->parts[i]);
	for (uint32_t i = 0; lanes && i < inventory->lane_count; i++)
		file_say_lane(f, lanes, inventory, &inventory->lanes[i]);
	return map;
}

/* ---- what the file leaves open ---- */

static void note_unsaid(struct file_reader *f, const struct yaml_node *map, const char *key,
			unsigned unsaid)
{
	struct bad_text keys, note;

	bad_text(&keys, "latency, tags, delay, rates between sockets%s%s%s",
		 unsaid & INVENTORY_NO_LINK ? ", gen and width of some lanes of PCIe" : "",
		 unsaid & INVENTORY_NO_NVLINK ? ", gen of NVLink" : "",
		 unsaid & INVENTORY_NO_MEMORY ? ", memory of GPUs" : "");
	scenario_add_guess(f->r, &(struct scenario_guess){.map = map, .keys = keys.text});
	bad_note(f->r->errors, f->at.namer, key,
		 bad_text(&note, "the file does not say these, and they are guesses: %s%s",
			  keys.text,
			  unsaid & INVENTORY_NO_ADAPTER ? "; that there is an adapter, nic0" : ""));
}

/* ---- the file ---- */

/* Its path, which places in it name, stays as long as the reader does. NULL: no memory. */
static char *path_of(struct scenario_reader *r, const char *name)
{
	char *path = read_file_beside(r->path, name);
	char **paths = path ? scenario_grow(r, r->paths, r->path_count, sizeof(*paths)) : NULL;

	if (!paths) {
		r->no_memory = true;
		util_free(path);
		return NULL;
	}
	r->paths = paths;
	paths[r->path_count++] = path;
	return path;
}

struct yaml_node *scenario_machine_file(struct scenario_reader *r, const struct yaml_node *machine,
					const struct yaml_node *file, const char *key)
{
	char *path = path_of(r, file->text), *bytes = NULL;
	struct file_reader f = {.r = r, .at = {.file = path, .line = 1, .namer = &file->at}};
	struct inventory inventory = {.parts = NULL};
	struct yaml_node *map = NULL;
	size_t length;
	int ret = path ? read_file(r->source, path, &file->at, key, &bytes, &length, r->errors)
		       : -ENOMEM;

	if (!ret) {
		ret = inventory_read(bytes, length, &f.at, &inventory, r->errors);
		util_free(bytes);
	}
	if (!ret) {
		note_unsaid(&f, machine, key, inventory.unsaid);
		map = map_of(&f, &inventory);
	}
	r->no_memory |= ret == -ENOMEM;
	inventory_fini(&inventory);
	return map;
}
