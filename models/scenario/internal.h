/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_INTERNAL_H
#define MODELS_SCENARIO_INTERNAL_H

/* What the parts of the scenario reader share. Each part goes on after an error, so that all are
 * seen; the scenario is thrown away if there was any. */
#include "models/input/yaml.h"
#include "models/scenario/scenario.h"
#include "models/scenario/schema.h"

struct scenario_reader {
	struct scenario *scenario;
	struct bad_list *errors;
	struct yaml_node *root;
	const char *path;		  /* of the scenario */
	const struct read_source *source; /* of the files that it names; NULL: the file system */
	bool no_memory;
	struct yaml_node **profiles; /* their roots */
	uint32_t profile_count;
	char **paths; /* of files of machines: nodes of the tree name them */
	uint32_t path_count;
	/* Maps of machines, and which keys of what they take over are guesses: "latency, tags". */
	struct scenario_guess {
		const struct yaml_node *map, *name; /* the latter: of the profile; NULL: a file */
		enum scenario_key of;
		char *keys;
	} * guesses;
	uint32_t guess_count;
	bool topology_bad; /* an error that would only bring others */
	bool hpcc_nodes;   /* the topology names its nodes n0, n1 ... */
	/* Once the topology stands: the names of hosts, which are adapters of machines, in order (a
	 * position is one in the host table: first adapters, then all others), and positions in
	 * the order in which people count (h2 before h10, and both before h2.nic1). */
	const char **hosts;
	uint32_t *natural;
	uint32_t host_count, machine_count; /* the latter: first adapters */
	struct scenario_hash {
		uint64_t *parts;
		uint64_t count, room;
	} hash; /* of the whole */
};

/* ---- scenario_check.c: a tree by the table ---- */

/* Every key known, every value good; attaches the values to the nodes. */
void scenario_check(struct scenario_reader *r);
/* The same of a map from elsewhere that stands for that of the key @of. */
void scenario_check_part(struct scenario_reader *r, struct yaml_node *map, enum scenario_key of);
/* --set KEY=VALUE, @number from 1, into the tree. */
void scenario_set(struct scenario_reader *r, const char *set, uint32_t number);

/* Puts the value of each key right inside of @of whose row has a place there in the structure
 * @into: what @map (NULL: not there) says, or what holds where it is left out; @said_only: that
 * stays as it is. */
void scenario_put(const struct yaml_node *map, enum scenario_key of, bool said_only, void *into);
/* The value of a key in @map, or what holds where it is left out: for keys without a place. */
struct scenario_value scenario_get(const struct yaml_node *map, enum scenario_key key);
bool scenario_has(const struct yaml_node *map, enum scenario_key key);
/* The node of a key of @map; NULL: none, or it is a block that is off, or @map is NULL. */
struct yaml_node *scenario_node(const struct yaml_node *map, enum scenario_key key);
struct yaml_node *scenario_named(const struct yaml_node *map, const char *name);
/* Whether @key is in @map itself, not in its base. */
bool scenario_is_own(const struct yaml_node *map, enum scenario_key key);
/* From now on the keys of @base, a map or NULL, hold where they are not in @map; and so on, map by
 * map. */
void scenario_base(struct yaml_node *map, const struct yaml_node *base);
/* Its text, copied; @unset (may be NULL) where it is left out. */
char *scenario_text(struct scenario_reader *r, const struct yaml_node *map, enum scenario_key key,
		    const char *unset);
const struct scenario_value *scenario_value_of(const struct yaml_node *node);

/* "traffic[2].size" for KEY_TRAFFIC_SIZE and the map that is traffic[2]. */
const char *scenario_shown(struct bad_text *text, const struct yaml_node *map,
			   enum scenario_key key);
/* "traffic[2]" for KEY_TRAFFIC and that map. */
const char *scenario_shown_map(struct bad_text *text, const struct yaml_node *map,
			       enum scenario_key of);
/* Reports that @node, a key of @map, which is that of the key @of or in its list, is of no use
 * there. */
void scenario_refuse(struct scenario_reader *r, const struct yaml_node *map,
		     const struct yaml_node *node, enum scenario_key of, const char *expected);
/* The same where the run goes on without it. */
void scenario_warn(struct scenario_reader *r, const struct yaml_node *map,
		   const struct yaml_node *node, enum scenario_key of, const char *expected);

/* ---- scenario_idle.c ---- */

/* The whole scenario is read: warns of what it says and what has no effect beside other keys. */
void scenario_warn_idle(struct scenario_reader *r);

/* ---- scenario_names.c ---- */

/* Calls @each for every name of a pattern ("h[0-7,9]", "p[0-3]e0,s0"). False where @each says so,
 * or the pattern is none, with @ret_why telling. */
bool scenario_names(const char *pattern, size_t length, bool (*each)(void *owner, const char *name),
		    void *owner, struct bad_text *ret_why);
enum { SCENARIO_NAMES_MAX = 200000 };

struct scenario_hosts { /* positions in the host table, in the order in which they are named */
	uint32_t *hosts;
	uint32_t count;
};
/* The hosts that the patterns of @node (a scalar or a list) name, each but @once or up to 16 times.
 * Errors are reported under @key; all hosts in order where @node is NULL. For util_free(). */
struct scenario_hosts scenario_hosts_of(struct scenario_reader *r, const struct yaml_node *node,
					const char *key, bool once);
/* By its name, -1: none. */
int64_t scenario_host_find(const struct scenario_reader *r, const char *name);
/* Fills hosts, natural, host_count from the topology. */
void scenario_hosts_index(struct scenario_reader *r);

/* ---- the sections ---- */

/* Before all others: puts profiles behind what the scenario says. */
void scenario_read_profiles(struct scenario_reader *r);
void scenario_free_profiles(struct scenario_reader *r);
void scenario_read_topology(struct scenario_reader *r);
/* scenario_kinds.c: a topology of a kind. -ENOMEM. */
int scenario_read_kind(struct scenario_reader *r, const struct yaml_node *map);
/* Of the topology: keys that would have no effect, since @kind has them not, are errors. */
void scenario_only_these(struct scenario_reader *r, const struct yaml_node *map,
			 enum scenario_kind kind, const char *expected);
void scenario_read_nic(struct scenario_reader *r);
/* After the switches, whose latencies they need: the longest round trip, and what goes by it. */
void scenario_read_windows(struct scenario_reader *r);
/* nic.cc_params; the rest of the adapter is read. @rate_bps: of its link. */
void scenario_read_cc(struct scenario_reader *r, const struct yaml_node *nic_map,
		      uint64_t rate_bps);
/* Before anything is checked: "cc: {dcqcn: {...}}" becomes cc: dcqcn with these cc_params. */
void scenario_unfold_cc(struct scenario_reader *r);
const struct cc_ops *scenario_cc_ops(enum scenario_cc cc);
void scenario_read_switches(struct scenario_reader *r);
void scenario_read_routes(struct scenario_reader *r);
/* machine_profile.c, before anything is checked: "machine: NAME", "profile" and "file" become parts
 * and lanes, and adapters of the topology where it does not say how many. */
void scenario_unfold_machines(struct scenario_reader *r);
/* "machine: NAME" becomes "machine: {profile: NAME}". */
void scenario_unfold_name(struct scenario_reader *r, struct yaml_node *map);
/* machine.c, after the topology. */
void scenario_read_machines(struct scenario_reader *r);
void scenario_free_machine(struct scenario_machine *machine);
void scenario_read_rx(struct scenario_reader *r);
void scenario_read_traffic(struct scenario_reader *r);
void scenario_read_programs(struct scenario_reader *r);
void scenario_read_faults(struct scenario_reader *r);
/* forget.c: one of them, that of a switch; @common: place and times. */
void scenario_read_forget(struct scenario_reader *r, const struct yaml_node *map,
			  const struct scenario_forget *common);
void scenario_read_expects(struct scenario_reader *r);

/* The topology as it must be for a fabric: names once, hosts with one link, all in one piece.
 * @at says where it comes from. */
void scenario_check_topology(struct scenario_reader *r, const struct bad_at *at, const char *key);

/* A frame of the largest packet, preamble and gap included. */
uint32_t scenario_frame_bytes(const struct scenario *scenario);
unsigned scenario_wire_shape(const struct scenario *scenario); /* of all packets, WIRE_SHAPE_ */
/* What PFC keeps free for what comes in at @link's end at a switch like @sw, per priority. */
uint32_t scenario_headroom_bytes(const struct scenario *scenario, const struct scenario_switch *sw,
				 const struct topology_link *link);

/* ---- said.c ---- */

/* scenario.said; NULL: no memory, which @r notes. */
char *scenario_said(struct scenario_reader *r);

/* ---- scenario_hash.c: what a scenario says, without regard to order ---- */

void scenario_hash_add(struct scenario_reader *r, struct scenario_hash *hash, uint64_t part);
/* One key with its value, as words. */
void scenario_hash_words(struct scenario_reader *r, struct scenario_hash *hash, const char *path,
			 const uint64_t *words, size_t count);
/* Every value in @map (that of the key @of, or in its list) that is not what holds anyway; neither
 * names of hosts nor files, which count by what they mean. */
void scenario_hash_map(struct scenario_reader *r, struct scenario_hash *hash,
		       const struct yaml_node *map, enum scenario_key of);
/* Of all parts, in any order; empties it. */
uint64_t scenario_hash_end(struct scenario_hash *hash);

/* ---- scenario_memory.c ---- */

/* Memory, or NULL and r->no_memory. */
void *scenario_alloc(struct scenario_reader *r, size_t count, size_t bytes);
/* Its keys, copied, are guesses; of nobody else than who reads machines. */
void scenario_add_guess(struct scenario_reader *r, const struct scenario_guess *guess);
char *scenario_copy(struct scenario_reader *r, const char *text);
/* Room for @count + 1 in an array of a power of two; NULL: none, and the old one stays. */
void *scenario_grow(struct scenario_reader *r, void *array, uint64_t count, size_t bytes);

#endif
