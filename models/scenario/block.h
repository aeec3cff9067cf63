/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SCENARIO_BLOCK_H
#define MODELS_SCENARIO_BLOCK_H

/* A block of traffic while it is read: what patterns, files and loads share (scenario_block.c). */
#include "models/scenario/internal.h"
#include "models/trace/format.h"

struct scenario_block { /* one item of the list */
	struct scenario_reader *r;
	const struct yaml_node *map;
	struct scenario_hash hash;
	struct traffic_flow flow; /* what all have in common */
	ps_t spread, every;
	uint64_t repeat, size;	     /* of a file: once */
	uint32_t load_num, load_den; /* of a load: 0: none said */
	ps_t until;
	enum { STREAM_AUTO, STREAM_ALWAYS, STREAM_NEVER } stream;
	bool on_rails;	/* of a pattern: over machines, once for each adapter that they have */
	uint32_t rails; /* so often: 1, or what the machines have */
	uint32_t class_index;
	const char *class_name;
	enum read_format format; /* of a file */
};

/* Reports what was found under a key of the block; @node: that of the key, NULL: there is none. */
void scenario_block_refuse(const struct scenario_block *b, const struct yaml_node *node,
			   enum scenario_key key, const char *found, const char *expected);
/* Refuses the keys that would have no effect, being those of other forms. */
void scenario_block_only_of(struct scenario_block *b, enum scenario_form form,
			    const char *expected);
/* The hosts that a key names; all where it is left out. For util_free(). */
struct scenario_hosts scenario_block_hosts(struct scenario_block *b, enum scenario_key key);
/* They are part of what the block says, unless they are @all. */
void scenario_block_hash_hosts(struct scenario_block *b, enum scenario_key key,
			       const struct scenario_hosts *hosts, uint32_t all);
/* Before any is made: so many pairs, each as often as the block repeats; false: reported. */
bool scenario_block_fits(struct scenario_block *b, uint64_t pairs);
void scenario_block_add(struct scenario_block *b, struct traffic_flow flow);
/* By position, so that nothing depends on how they were written. */
void scenario_sort_hosts(struct scenario_hosts *hosts);

/* scenario_load.c: open-loop traffic. */
void scenario_read_load(struct scenario_block *b);

#endif
