/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_INVENTORY_XML_H
#define MODELS_INVENTORY_XML_H

/* An XML text as a tree, each element with its line. Nothing that it names is fetched or opened: a
 * document type is passed over, and a text that declares an entity is refused. */
#include "models/input/bad.h"

enum {
	XML_BYTES_MAX = 16 << 20,
	XML_NODES_MAX = 200000, /* elements, and attributes of all */
	XML_DEPTH_MAX = 64,
};

struct xml_attribute {
	char *name, *value;
	struct xml_attribute *next; /* in the order of the file */
};

struct xml_node {
	char *name; /* without the prefix of a namespace */
	char *text; /* all between its tags that is in no element; NULL: nothing */
	size_t length;
	uint32_t line;
	struct xml_attribute *attributes;
	uint32_t mark; /* the reader's; 0 at first */
	struct xml_node *parent, *child, *last, *next;
};

/* @at: file and who named it. -EINVAL: in @errors, in one line, as all is where libxml2 was not
 * built in; -ENOMEM. */
int xml_parse(const char *bytes, size_t length, const struct bad_at *at, struct xml_node **ret_root,
	      struct bad_list *errors);
void xml_free(struct xml_node *root); /* NULL allowed */

/* The value of an attribute; NULL: there is none. */
const char *xml_attribute(const struct xml_node *node, const char *name);
bool xml_is(const struct xml_node *node, const char *name);
/* The first child of that name; NULL: none. */
const struct xml_node *xml_child(const struct xml_node *node, const char *name);
/* The node behind @node in the order of the file, of all that are inside of @root; NULL: none. */
struct xml_node *xml_next(const struct xml_node *root, struct xml_node *node);

#endif
