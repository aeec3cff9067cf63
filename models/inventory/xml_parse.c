/* SPDX-License-Identifier: BSD-2-Clause */

/* The tree as libxml2 tells it, element by element. */
#include "models/inventory/xml.h"

#include "util/alloc.h"

#include <errno.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/tree.h>
#include <string.h>

struct xml_build {
	xmlParserCtxtPtr parser;
	const struct bad_at *at;
	struct bad_list *errors;
	struct xml_node *root, *open;
	uint32_t count, depth;
	int ret;
};

static uint32_t xml_line(const struct xml_build *b)
{
	const xmlParserInputPtr input = b->parser->input;

	return input && input->line > 0 ? (uint32_t)input->line : 1;
}

static void xml_stop(struct xml_build *b, int ret)
{
	if (!b->ret)
		b->ret = ret;
	xmlStopParser(b->parser);
}

/* One line for one text: what comes after the first mistake is of no use. */
static void xml_refuse(struct xml_build *b, const char *found, const char *expected)
{
	const struct bad_at at = {.file = b->at->file, .line = xml_line(b), .namer = b->at->namer};

	if (!b->ret)
		bad(b->errors, &at, "document", found, expected);
	xml_stop(b, -EINVAL);
}

/* A parser that was stopped has let go of the text that it read. */
static char *xml_copy(struct xml_build *b, const void *text, size_t length)
{
	char *copy;

	if (b->ret)
		return NULL;
	copy = util_alloc(length + 1);
	if (!copy) {
		xml_stop(b, -ENOMEM);
		return NULL;
	}
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

static bool xml_fits(struct xml_build *b)
{
	struct bad_text expected;

	if (b->count++ < XML_NODES_MAX)
		return true;
	xml_refuse(b, "too many elements and attributes",
		   bad_text(&expected, "at most %u", (uint32_t)XML_NODES_MAX));
	return false;
}

/* @values: five pointers an attribute, of which three count here: name, value and its end. */
static void xml_take_attributes(struct xml_build *b, struct xml_node *node, int count,
				const xmlChar **values)
{
	struct xml_attribute **last = &node->attributes;

	for (int i = 0; i < count && !b->ret; i++, values += 5) {
		struct xml_attribute *a;

		if (!xml_fits(b))
			return;
		a = util_alloc(sizeof(*a));
		if (!a) {
			xml_stop(b, -ENOMEM);
			return;
		}
		*a = (struct xml_attribute){
			.name = xml_copy(b, values[0], strlen((const char *)values[0])),
			.value = xml_copy(b, values[3], (size_t)(values[4] - values[3]))};
		*last = a;
		last = &a->next;
	}
}

static void xml_on_start(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
			 int namespace_count, const xmlChar **namespaces, int count,
			 int default_count, const xmlChar **values)
{
	struct xml_build *b = user;
	struct xml_node *node;
	struct bad_text expected;

	(void)prefix, (void)uri, (void)namespace_count, (void)namespaces, (void)default_count;
	if (b->ret || !xml_fits(b))
		return;
	if (++b->depth > XML_DEPTH_MAX) {
		xml_refuse(b, "elements inside of each other without end",
			   bad_text(&expected, "at most %u deep", (uint32_t)XML_DEPTH_MAX));
		return;
	}
	node = util_alloc(sizeof(*node));
	if (!node) {
		xml_stop(b, -ENOMEM);
		return;
	}
	*node = (struct xml_node){.line = xml_line(b), .parent = b->open};
	if (!b->open)
		b->root = node;
	else if (b->open->last)
		b->open->last->next = node;
	else
		b->open->child = node;
	if (b->open)
		b->open->last = node;
	b->open = node;
	node->name = xml_copy(b, name, strlen((const char *)name));
	xml_take_attributes(b, node, count, values);
}

static void xml_on_end(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
	struct xml_build *b = user;

	(void)name, (void)prefix, (void)uri;
	if (b->ret)
		return;
	b->depth--;
	b->open = b->open->parent;
}

static void xml_on_text(void *user, const xmlChar *text, int length)
{
	struct xml_build *b = user;
	struct xml_node *node = b->open;
	char *whole;

	if (b->ret || !node)
		return;
	whole = util_realloc(node->text, node->length + (size_t)length + 1, 1);
	if (!whole) {
		xml_stop(b, -ENOMEM);
		return;
	}
	memcpy(whole + node->length, text, (size_t)length);
	node->text = whole;
	node->length += (size_t)length;
	whole[node->length] = '\0';
}

static void xml_on_entity(void *user, const xmlChar *name, int type, const xmlChar *public_id,
			  const xmlChar *system_id, xmlChar *content)
{
	(void)name, (void)type, (void)public_id, (void)system_id, (void)content;
	xml_refuse(user, "an entity", "a text that declares none");
}

#if LIBXML_VERSION >= 21200
static void xml_on_error(void *user, const xmlError *error)
#else
static void xml_on_error(void *user, xmlErrorPtr error)
#endif
{
	struct xml_build *b = user;
	const char *message = error->message ? error->message : "an error";
	struct bad_text found;

	if (b->ret || error->level < XML_ERR_ERROR)
		return;
	bad_text(&found, "%.*s", (int)strcspn(message, "\n"), message);
	xml_refuse(b, found.text, "XML");
}

/* ---- the whole ---- */

static void xml_run(struct xml_build *b)
{
	xmlSAXHandler handler = {.initialized = XML_SAX2_MAGIC,
				 .startElementNs = xml_on_start,
				 .endElementNs = xml_on_end,
				 .characters = xml_on_text,
				 .cdataBlock = xml_on_text,
				 .entityDecl = xml_on_entity,
				 .serror = xml_on_error};

	xmlCtxtUseOptions(b->parser, XML_PARSE_NONET | XML_PARSE_COMPACT);
	*b->parser->sax = handler;
	b->parser->userData = b;
	if (xmlParseDocument(b->parser) != 0 && !b->ret)
		xml_refuse(b, "what is none", "XML");
}

int xml_parse(const char *bytes, size_t length, const struct bad_at *at, struct xml_node **ret_root,
	      struct bad_list *errors)
{
	struct xml_build b = {.at = at, .errors = errors};
	const struct bad_at first = {.file = at->file, .line = 1, .namer = at->namer};
	struct bad_text found, expected;

	if (length == 0 || length > XML_BYTES_MAX) {
		bad(errors, &first, "document",
		    length ? bad_text(&found, "%zu bytes", length) : "nothing",
		    bad_text(&expected, "XML of at most %u bytes", (uint32_t)XML_BYTES_MAX));
		return -EINVAL;
	}
	b.parser = xmlCreateMemoryParserCtxt(bytes, (int)length);
	if (!b.parser)
		return -ENOMEM;
	xml_run(&b);
	/* What a text declares lies in a document that only this makes go. */
	xmlFreeDoc(b.parser->myDoc);
	xmlFreeParserCtxt(b.parser);
	if (b.ret) {
		xml_free(b.root);
		return b.ret;
	}
	*ret_root = b.root;
	return 0;
}
