/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_YAML_H
#define MODELS_YAML_H

/* A YAML text as a tree, each node with its place in the file. Only what a scenario needs: one
 * document; maps with plain keys, lists, scalars; anchors and aliases (followed here, each alias a
 * copy). No tags, no merge keys, no types: a scalar is its text. */
#include "models/input/bad.h"

enum yaml_kind { YAML_SCALAR, YAML_MAP, YAML_LIST };

enum {
	YAML_DEPTH_MAX = 32,
	YAML_ALIASED_MAX = 100000, /* nodes that aliases may bring into being */
};

struct yaml_node {
	enum yaml_kind kind;
	struct bad_at at;
	char *key;  /* where the parent is a map */
	char *text; /* of a scalar; NUL-terminated and without a NUL in it */
	size_t length;
	struct yaml_node *child, *last, *next; /* in the order of the file */
	uint32_t child_count;
	uint32_t place; /* among its parent's children when it was put there, from 0 */
	void *meaning;	/* the reader's, allocated; goes with the node */
	const struct yaml_node
		*base; /* the reader's: a map whose keys hold where they are not here */
};

/* @at: file, and the line of the first byte. The root is a map, unless it @is_value: then it is
 * anything, and all of it is at that line. -EINVAL: in @errors; -ENOMEM. The nodes keep pointers to
 * @at's file and namer. */
int yaml_parse(const char *bytes, size_t length, const struct bad_at *at, bool is_value,
	       struct yaml_node **ret_root, struct bad_list *errors);
void yaml_free(struct yaml_node *node); /* NULL allowed */

struct yaml_node *yaml_find(const struct yaml_node *map, const char *key); /* NULL: none */
/* Puts @child at the end of @parent. */
void yaml_append(struct yaml_node *parent, struct yaml_node *child);
/* Takes @child out, but does not free it. */
void yaml_unlink(struct yaml_node *parent, struct yaml_node *child);
/* The child behind @before, the first one where that is NULL, is gone. There is one. */
void yaml_drop_behind(struct yaml_node *parent, struct yaml_node *before);
/* What @node holds, as one says it to people: "a map", "a list", or its text in quotes. */
const char *yaml_content(struct bad_text *text, const struct yaml_node *node);
struct yaml_node *yaml_new(enum yaml_kind kind, const struct bad_at *at); /* NULL: no memory */
/* @from with its key and all below it, without meanings and bases. NULL: no memory. */
struct yaml_node *yaml_copy(const struct yaml_node *from);

/* NUL, what is no UTF-8 and files beyond the limit: false, and it is reported. */
bool yaml_text_is_good(const char *bytes, size_t length, const struct bad_at *at,
		       struct bad_list *errors);

#endif
