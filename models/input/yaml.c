/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/input/yaml.h"

#include "util/alloc.h"

#include <errno.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

struct yaml_node *yaml_new(enum yaml_kind kind, const struct bad_at *at)
{
	struct yaml_node *node = util_calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->kind = kind;
	node->at = *at;
	return node;
}

void yaml_free(struct yaml_node *node)
{
	struct yaml_node *next;

	if (!node)
		return;
	for (struct yaml_node *child = node->child; child; child = next) {
		next = child->next;
		yaml_free(child); /* no deeper than YAML_DEPTH_MAX */
	}
	util_free(node->key);
	util_free(node->text);
	util_free(node->meaning);
	util_free(node);
}

void yaml_append(struct yaml_node *parent, struct yaml_node *child)
{
	if (parent->last)
		parent->last->next = child;
	else
		parent->child = child;
	parent->last = child;
	child->next = NULL;
	child->place = parent->child_count++;
}

void yaml_unlink(struct yaml_node *parent, struct yaml_node *child)
{
	struct yaml_node **link = &parent->child, *before = NULL;

	while (*link != child) {
		before = *link;
		link = &before->next;
	}
	*link = child->next;
	if (parent->last == child)
		parent->last = before;
	child->next = NULL;
	parent->child_count--;
}

void yaml_drop_behind(struct yaml_node *parent, struct yaml_node *before)
{
	struct yaml_node **link = before ? &before->next : &parent->child, *child = *link;

	*link = child->next;
	if (parent->last == child)
		parent->last = before;
	parent->child_count--;
	yaml_free(child);
}

struct yaml_node *yaml_find(const struct yaml_node *map, const char *key)
{
	for (struct yaml_node *child = map->child; child; child = child->next)
		if (strcmp(child->key, key) == 0)
			return child;
	return NULL;
}

static char *yaml_copy_of(const char *text, size_t length)
{
	char *copy = util_alloc(length + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

struct yaml_node *yaml_copy(const struct yaml_node *from)
{
	struct yaml_node *node = yaml_new(from->kind, &from->at), *child;

	if (!node)
		return NULL;
	node->key = from->key ? yaml_copy_of(from->key, strlen(from->key)) : NULL;
	node->text = from->text ? yaml_copy_of(from->text, from->length) : NULL;
	node->length = from->length;
	if ((from->key && !node->key) || (from->text && !node->text)) {
		yaml_free(node);
		return NULL;
	}
	for (const struct yaml_node *c = from->child; c; c = c->next) {
		child = yaml_copy(c); /* no deeper than YAML_DEPTH_MAX */
		if (!child) {
			yaml_free(node);
			return NULL;
		}
		yaml_append(node, child);
	}
	return node;
}

/* ---- building the tree from the parser's events ---- */

struct anchor {
	char *name;
	const struct yaml_node *node;
	bool open; /* its end has not been seen yet */
};

struct build {
	struct fy_parser *parser;
	const struct bad_at *at;
	struct bad_list *errors;
	struct yaml_node *root, *stack[YAML_DEPTH_MAX];
	char *key; /* of the value to come, in the innermost map */
	uint32_t key_line, depth, documents, aliased;
	struct anchor *anchors;
	uint32_t anchor_count, anchor_room;
	bool is_value, stopped;
	int ret;
};

static void yaml_give_up(struct build *b, int ret)
{
	b->ret = b->ret ? b->ret : ret;
	b->stopped = true;
}

const char *yaml_content(struct bad_text *text, const struct yaml_node *node)
{
	if (node->kind == YAML_MAP)
		return "a map";
	if (node->kind == YAML_LIST)
		return "a list";
	return bad_quote(text, node->text, node->length);
}

static void yaml_refuse(struct build *b, uint32_t line, const char *found, const char *expected)
{
	const struct bad_at at = {.file = b->at->file,
				  .line = b->is_value ? b->at->line : line,
				  .namer = b->at->namer};

	bad(b->errors, &at, b->key ? b->key : "document", found, expected);
	yaml_give_up(b, -EINVAL);
}

static uint32_t yaml_line_of(const struct build *b, struct fy_event *event)
{
	const struct fy_mark *mark = fy_event_start_mark(event);

	if (mark && mark->line >= 0 && !b->is_value)
		return b->at->line + (uint32_t)mark->line;
	return b->key ? b->key_line : b->at->line;
}

static const char *yaml_text_of(struct fy_token *token, size_t *ret_length)
{
	const char *text = token ? fy_token_get_text(token, ret_length) : NULL;

	if (!text)
		*ret_length = 0;
	return text ? text : "";
}

/* The node is complete but for its children: into its parent. */
static void yaml_place(struct build *b, struct yaml_node *node)
{
	struct yaml_node *parent = b->depth > 0 ? b->stack[b->depth - 1] : NULL;

	if (!parent) {
		b->root = node;
		return;
	}
	if (parent->kind == YAML_MAP) {
		node->key = b->key;
		b->key = NULL;
	}
	yaml_append(parent, node);
}

static struct anchor *find_anchor(struct build *b, const char *name, size_t length)
{
	for (uint32_t i = b->anchor_count; i > 0; i--) {
		struct anchor *anchor = &b->anchors[i - 1];

		if (strlen(anchor->name) == length && memcmp(anchor->name, name, length) == 0)
			return anchor;
	}
	return NULL;
}

static void add_anchor(struct build *b, struct fy_event *event, const struct yaml_node *node)
{
	enum { ANCHORS_MAX = 4096 };
	struct fy_token *token = fy_event_get_anchor_token(event);
	const uint32_t room = b->anchor_room ? b->anchor_room * 2 : 8;
	struct anchor *anchors;
	const char *name;
	size_t length;

	if (!token)
		return;
	if (b->anchor_count == ANCHORS_MAX) {
		yaml_refuse(b, node->at.line, "too many anchors", "at most 4096");
		return;
	}
	if (b->anchor_count == b->anchor_room) {
		anchors = util_realloc(b->anchors, room, sizeof(*anchors));
		if (!anchors) {
			yaml_give_up(b, -ENOMEM);
			return;
		}
		b->anchors = anchors;
		b->anchor_room = room;
	}
	name = yaml_text_of(token, &length);
	b->anchors[b->anchor_count] = (struct anchor){.name = yaml_copy_of(name, length),
						      .node = node,
						      .open = node->kind != YAML_SCALAR};
	if (!b->anchors[b->anchor_count].name)
		yaml_give_up(b, -ENOMEM);
	else
		b->anchor_count++;
}

static bool has_tag(struct build *b, struct fy_event *event, uint32_t line)
{
	struct fy_token *tag = fy_event_get_tag_token(event);
	struct bad_text found;
	const char *text;
	size_t length;

	if (!tag)
		return false;
	text = yaml_text_of(tag, &length);
	yaml_refuse(b, line,
		    bad_text(&found, "a tag \"%.*s\"", length < 40 ? (int)length : 40, text),
		    "no tags");
	return true;
}

/* ---- events ---- */

static bool wants_key(const struct build *b)
{
	return b->depth > 0 && b->stack[b->depth - 1]->kind == YAML_MAP && !b->key;
}

static void on_key(struct build *b, const char *text, size_t length, uint32_t line)
{
	struct bad_text found;

	if (length == 2 && memcmp(text, "<<", 2) == 0) {
		yaml_refuse(b, line, "a merge key \"<<\"", "each key by itself");
		return;
	}
	if (length == 0) {
		yaml_refuse(b, line, "an empty key", "a name");
		return;
	}
	if (length > 200) {
		yaml_refuse(b, line, bad_quote(&found, text, length), "a key of this format");
		return;
	}
	b->key = yaml_copy_of(text, length);
	b->key_line = line;
	if (!b->key)
		yaml_give_up(b, -ENOMEM);
}

static void on_scalar(struct build *b, struct fy_event *event)
{
	const uint32_t line = yaml_line_of(b, event);
	const struct bad_at at = {.file = b->at->file, .line = line, .namer = b->at->namer};
	struct yaml_node *node;
	const char *text;
	size_t length;

	if (has_tag(b, event, line))
		return;
	text = yaml_text_of(fy_event_get_token(event), &length);
	if (memchr(text, '\0', length)) {
		yaml_refuse(b, line, "a NUL byte", "text");
		return;
	}
	if (wants_key(b)) {
		on_key(b, text, length, line);
		return;
	}
	node = yaml_new(YAML_SCALAR, &at);
	if (node)
		node->text = yaml_copy_of(text, length);
	if (!node || !node->text) {
		yaml_free(node);
		yaml_give_up(b, -ENOMEM);
		return;
	}
	node->length = length;
	yaml_place(b, node);
	add_anchor(b, event, node);
}

static void yaml_on_start(struct build *b, struct fy_event *event, enum yaml_kind kind)
{
	const uint32_t line = yaml_line_of(b, event);
	const struct bad_at at = {.file = b->at->file, .line = line, .namer = b->at->namer};
	struct yaml_node *node;

	if (has_tag(b, event, line))
		return;
	if (wants_key(b)) {
		yaml_refuse(b, line, "a map or list as a key", "a name");
		return;
	}
	if (b->depth == YAML_DEPTH_MAX) {
		yaml_refuse(b, line, "too many levels", "at most 32");
		return;
	}
	node = yaml_new(kind, &at);
	if (!node) {
		yaml_give_up(b, -ENOMEM);
		return;
	}
	yaml_place(b, node);
	add_anchor(b, event, node);
	b->stack[b->depth++] = node;
}

static int yaml_compare_keys(const void *a, const void *b)
{
	const struct yaml_node *const *x = a, *const *y = b;
	const int order = strcmp((*x)->key, (*y)->key);

	return order ? order : (*x)->at.line < (*y)->at.line ? -1 : 1;
}

/* Each key but once: a text may hold very many, so they are sorted. */
static void find_doubles(struct build *b, const struct yaml_node *map)
{
	struct yaml_node **nodes = util_calloc(map->child_count, sizeof(struct yaml_node *));
	struct bad_text found, expected;
	uint32_t count = 0;

	if (!nodes) {
		yaml_give_up(b, -ENOMEM);
		return;
	}
	for (struct yaml_node *child = map->child; child; child = child->next)
		nodes[count++] = child;
	qsort(nodes, count, sizeof(*nodes), yaml_compare_keys);
	for (uint32_t i = 1; i < count; i++) {
		if (strcmp(nodes[i]->key, nodes[i - 1]->key) != 0)
			continue;
		bad(b->errors, &nodes[i]->at, bad_text(&found, "%s", nodes[i]->key),
		    "it a second time",
		    bad_text(&expected, "it once, as in line %u", nodes[i - 1]->at.line));
		b->ret = b->ret ? b->ret : -EINVAL;
	}
	util_free(nodes);
}

static void on_end(struct build *b)
{
	const struct yaml_node *node = b->stack[--b->depth];

	for (uint32_t i = 0; i < b->anchor_count; i++)
		if (b->anchors[i].node == node)
			b->anchors[i].open = false;
	if (node->kind == YAML_MAP && node->child_count > 1)
		find_doubles(b, node);
}

/* Whether aliases may bring so many nodes more as @from is, at that depth. */
static bool fits_budget(struct build *b, const struct yaml_node *from, uint32_t depth)
{
	if (depth > YAML_DEPTH_MAX)
		b->aliased = YAML_ALIASED_MAX;
	if (++b->aliased > YAML_ALIASED_MAX)
		return false;
	for (const struct yaml_node *child = from->child; child; child = child->next)
		if (!fits_budget(b, child, depth + 1))
			return false;
	return true;
}

static void on_alias(struct build *b, struct fy_event *event)
{
	const uint32_t line = yaml_line_of(b, event);
	struct yaml_node *node;
	struct anchor *anchor;
	const char *name;
	size_t length;

	name = yaml_text_of(fy_event_get_token(event), &length);
	if (wants_key(b)) {
		yaml_refuse(b, line, "an alias as a key", "a name");
		return;
	}
	anchor = find_anchor(b, name, length);
	if (!anchor) {
		yaml_refuse(b, line, "an alias of nothing", "an anchor before it");
		return;
	}
	if (anchor->open) {
		yaml_refuse(b, line, "an alias inside of what it stands for", "no circle");
		return;
	}
	if (!fits_budget(b, anchor->node, b->depth + 1)) {
		yaml_refuse(b, line, "aliases of aliases without end",
			    "at most 100000 nodes by aliases");
		return;
	}
	node = yaml_copy(anchor->node);
	if (!node) {
		yaml_give_up(b, -ENOMEM);
		return;
	}
	util_free(node->key);
	node->key = NULL;
	yaml_place(b, node);
}

static void on_document(struct build *b, struct fy_event *event)
{
	const struct fy_mark *mark = fy_event_start_mark(event);

	if (++b->documents == 1)
		return;
	yaml_refuse(b, mark && mark->line >= 0 ? b->at->line + (uint32_t)mark->line : b->at->line,
		    "a second document", "one");
}

static void yaml_on_event(struct build *b, struct fy_event *event)
{
	switch (event->type) {
	case FYET_DOCUMENT_START:
		on_document(b, event);
		break;
	case FYET_MAPPING_START:
		yaml_on_start(b, event, YAML_MAP);
		break;
	case FYET_SEQUENCE_START:
		yaml_on_start(b, event, YAML_LIST);
		break;
	case FYET_MAPPING_END:
	case FYET_SEQUENCE_END:
		on_end(b);
		break;
	case FYET_SCALAR:
		on_scalar(b, event);
		break;
	case FYET_ALIAS:
		on_alias(b, event);
		break;
	case FYET_NONE:
	case FYET_STREAM_START:
	case FYET_STREAM_END:
	case FYET_DOCUMENT_END:
	default:
		break;
	}
}

/* ---- the whole text ---- */

/* Whether a pattern such as h[1-8] stands bare in that line, counted from 1: within braces or
 * brackets it is no text. */
static bool has_bare_pattern(const char *bytes, size_t length, uint32_t line)
{
	char quote = '\0', before = ' ';

	for (size_t i = 0; i < length && line > 0; before = bytes[i++]) {
		const char c = bytes[i];

		if (c == '\n') {
			line--;
			quote = '\0';
		} else if (line != 1) {
			continue;
		} else if (quote) {
			quote = c == quote ? '\0' : quote;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '[' &&
			   ((before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
			    (before >= '0' && before <= '9') || before == '_')) {
			return true;
		}
	}
	return false;
}

/* What the library says, or that it says nothing. */
static void take_errors(struct build *b, const char *bytes, size_t length, struct fy_diag *diag)
{
	const char *expected = "YAML";
	struct fy_diag_error *error;
	struct bad_text found;
	void *at = NULL;
	bool any = false;

	while ((error = fy_diag_errors_iterate(diag, &at))) {
		if (any)
			continue; /* the first is the cause */
		any = true;
		util_free(b->key);
		b->key = NULL;
		if (has_bare_pattern(bytes, length, error->line > 0 ? (uint32_t)error->line : 1))
			expected = "YAML, where a pattern in braces or brackets has quotes: "
				   "\"h[1-8]\"";
		yaml_refuse(b, b->at->line + (error->line > 0 ? (uint32_t)error->line - 1 : 0),
			    bad_text(&found, "%.200s", error->msg), expected);
	}
	if (any || b->ret)
		return;
	util_free(b->key);
	b->key = NULL;
	if (fy_parser_get_stream_error(b->parser) || b->depth > 0)
		yaml_refuse(b, b->at->line, "something that cannot be read", "YAML");
	else if (!b->root)
		yaml_refuse(b, b->at->line, "nothing", "a map of keys");
	else if (b->root->kind != YAML_MAP && !b->is_value)
		yaml_refuse(b, b->root->at.line, yaml_content(&found, b->root), "a map of keys");
}

static int yaml_run(struct build *b, const char *bytes, size_t length, struct fy_diag *diag)
{
	const struct fy_parse_cfg config = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG,
					    .diag = diag};
	struct fy_event *event;

	b->parser = fy_parser_create(&config);
	if (!b->parser)
		return -ENOMEM;
	if (fy_parser_set_string(b->parser, bytes, length) != 0) {
		fy_parser_destroy(b->parser);
		return -ENOMEM;
	}
	while (!b->stopped && (event = fy_parser_parse(b->parser))) {
		yaml_on_event(b, event);
		fy_parser_event_free(b->parser, event);
	}
	if (!b->stopped)
		take_errors(b, bytes, length, diag);
	fy_parser_destroy(b->parser);
	return b->ret;
}

int yaml_parse(const char *bytes, size_t length, const struct bad_at *at, bool is_value,
	       struct yaml_node **ret_root, struct bad_list *errors)
{
	const struct fy_diag_cfg config = {.level = FYET_WARNING, .module_mask = ~0u};
	struct build b = {.at = at, .errors = errors, .is_value = is_value};
	struct fy_diag *diag;
	int ret;

	if (!yaml_text_is_good(bytes, length, at, errors))
		return -EINVAL;
	diag = fy_diag_create(&config);
	if (!diag)
		return -ENOMEM;
	fy_diag_set_collect_errors(diag, true);
	ret = yaml_run(&b, bytes, length, diag);
	fy_diag_destroy(diag);
	for (uint32_t i = 0; i < b.anchor_count; i++)
		util_free(b.anchors[i].name);
	util_free(b.anchors);
	util_free(b.key);
	if (ret) {
		yaml_free(b.root);
		return ret;
	}
	*ret_root = b.root;
	return 0;
}
