/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/inventory/xml.h"

#include "util/alloc.h"

#include <string.h>

static void xml_free_one(struct xml_node *node)
{
	struct xml_attribute *next;

	for (struct xml_attribute *a = node->attributes; a; a = next) {
		next = a->next;
		util_free(a->name);
		util_free(a->value);
		util_free(a);
	}
	util_free(node->name);
	util_free(node->text);
	util_free(node);
}

void xml_free(struct xml_node *root)
{
	struct xml_node *node = root, *up;

	while (node) {
		if (node->child) {
			struct xml_node *child = node->child;

			node->child = child->next;
			node = child;
			continue;
		}
		up = node == root ? NULL : node->parent;
		xml_free_one(node);
		node = up;
	}
}

const char *xml_attribute(const struct xml_node *node, const char *name)
{
	for (const struct xml_attribute *a = node->attributes; a; a = a->next)
		if (strcmp(a->name, name) == 0)
			return a->value;
	return NULL;
}

bool xml_is(const struct xml_node *node, const char *name)
{
	return strcmp(node->name, name) == 0;
}

const struct xml_node *xml_child(const struct xml_node *node, const char *name)
{
	const struct xml_node *child = node->child;

	while (child && !xml_is(child, name))
		child = child->next;
	return child;
}

struct xml_node *xml_next(const struct xml_node *root, struct xml_node *node)
{
	if (node->child)
		return node->child;
	while (node != root && !node->next)
		node = node->parent;
	return node == root ? NULL : node->next;
}
