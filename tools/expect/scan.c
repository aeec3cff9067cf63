/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/expect/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

struct value {		    /* what is known of a value before the run */
	const json_t *json; /* NULL: nothing */
	char path[EXPECT_PATH_MAX];
	bool literal; /* @path leads there from the root, by names alone */
};

enum group_kind {
	GROUP_TOP,
	GROUP_ROUND,
	GROUP_SQUARE,
	GROUP_CURLY,
	GROUP_IF,
	GROUP_DEF,
	GROUP_STRING
};

/* Brackets, if ... end, def ... ; "\(...)" and the whole. */
struct group {
	enum group_kind kind;
	struct value outer, input; /* "." at its begin and now */
	bool binding;		   /* after "as" or "label": the next | leaves "." as it is */
	bool alone;		   /* nothing but one term since the begin or the last | */
	/* Of the term before a bracket: where it begins in the output, whether there is one, and
	 * what it holds. */
	size_t term_at;
	bool is_index;
	struct value term;
};

struct scanner {
	const char *in;
	const json_t *baseline;
	struct expect_scan *scan;
	char *out;
	size_t length, room;
	bool no_memory, broken;
	bool has_def; /* a name may no longer be jq's own */
	struct group groups[DEPTH_MAX];
	uint32_t depth;
	/* The term that has just ended, if one has: a postfix may follow. */
	bool has_term, after_end, after_name;
	size_t term_at;
	struct value term;
	char name[32]; /* of the function, where after_name */
};

/* ---- output ---- */

static bool scan_make_room(struct scanner *s, size_t more)
{
	char *bigger;

	if (s->length + more < s->room)
		return true;
	bigger = realloc(s->out, 2 * s->room + more + 64);
	if (!bigger) {
		s->no_memory = true;
		return false;
	}
	s->out = bigger;
	s->room = 2 * s->room + more + 64;
	return true;
}

static void scan_put(struct scanner *s, const char *bytes, size_t length)
{
	if (!scan_make_room(s, length + 1))
		return;
	memcpy(s->out + s->length, bytes, length);
	s->length += length;
	s->out[s->length] = '\0';
}

static void scan_put_text(struct scanner *s, const char *text)
{
	scan_put(s, text, strlen(text));
}

static void scan_insert(struct scanner *s, size_t at, char c)
{
	if (!scan_make_room(s, 2))
		return;
	memmove(s->out + at + 1, s->out + at, s->length - at + 1);
	s->out[at] = c;
	s->length++;
}

/* ---- values ---- */

static struct group *group_of(struct scanner *s)
{
	return &s->groups[s->depth];
}

static const struct value unknown = {.json = NULL};

static struct value first_of(const struct value *value)
{
	const json_t *json = value->json;

	if (json_is_array(json))
		return (struct value){.json = json_array_get(json, 0)};
	if (json_is_object(json))
		return (struct value){.json = json_object_iter_value(
					      json_object_iter((json_t *)(uintptr_t)json))};
	return unknown;
}

static void note_path(struct expect_scan *scan, const struct value *value)
{
	if (!value->json || !value->literal || json_is_object(value->json) ||
	    json_is_array(value->json) || scan->path_count == EXPECT_PATHS_MAX)
		return;
	for (size_t i = 0; i < scan->path_count; i++)
		if (strcmp(scan->paths[i].text, value->path) == 0)
			return;
	scan->paths[scan->path_count].value = value->json;
	memcpy(scan->paths[scan->path_count].text, value->path, EXPECT_PATH_MAX);
	scan->path_count++;
}

static bool is_plain(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return length > 0 && !isdigit((unsigned char)name[0]);
}

static struct value field_of(struct scanner *s, const struct value *of, const char *name,
			     size_t length)
{
	const char *format = is_plain(name, length) ? "%s.%.*s" : "%s.\"%.*s\"";
	struct value value = {.literal = of->literal};
	char key[EXPECT_PATH_MAX];

	if (!json_is_object(of->json) || length >= sizeof(key))
		return unknown;
	memcpy(key, name, length);
	key[length] = '\0';
	if (of->literal && of->path[0] == '\0') {
		s->scan->names_flows = s->scan->names_flows || strcmp(key, "flows") == 0;
		s->scan->names_programs = s->scan->names_programs || strcmp(key, "programs") == 0;
	}
	if (snprintf(value.path, sizeof(value.path), format, of->path, (int)length, name) >=
	    (int)sizeof(value.path))
		value.literal = false;
	value.json = json_object_get(of->json, key);
	if (!value.json && s->scan->missing[0] == '\0')
		memcpy(s->scan->missing, value.path, sizeof(value.path));
	note_path(s->scan, &value);
	return value;
}

static struct value element_of(struct scanner *s, const struct value *of, unsigned long number)
{
	struct value value = {.literal = of->literal};

	if (!json_is_array(of->json))
		return unknown;
	if (snprintf(value.path, sizeof(value.path), "%s[%lu]", of->path, number) >=
	    (int)sizeof(value.path))
		value.literal = false;
	value.json = json_array_get(of->json, number);
	if (!value.json && s->scan->missing[0] == '\0')
		memcpy(s->scan->missing, value.path, sizeof(value.path));
	note_path(s->scan, &value);
	return value;
}

/* ---- terms and groups ---- */

static void begin_term(struct scanner *s, struct value value)
{
	if (s->has_term)
		group_of(s)->alone = false; /* no good jq */
	s->has_term = true;
	s->term_at = s->length;
	s->term = value;
}

static void no_term(struct scanner *s)
{
	s->has_term = s->after_end = s->after_name = false;
}

static void begin_segment(struct group *group, const struct value *input)
{
	group->input = *input;
	group->alone = true;
	group->binding = false;
}

static void open_group(struct scanner *s, enum group_kind kind, struct value input)
{
	struct group *group;

	if (s->depth + 1 == DEPTH_MAX) {
		s->broken = true;
		return;
	}
	group = &s->groups[++s->depth];
	*group = (struct group){.kind = kind,
				.outer = input,
				.term_at = s->has_term ? s->term_at : s->length,
				.is_index = s->has_term,
				.term = s->term};
	begin_segment(group, &input);
	no_term(s);
}

static bool close_group(struct scanner *s, enum group_kind kind)
{
	if (s->depth == 0 || group_of(s)->kind != kind) {
		s->broken = true;
		return false;
	}
	s->term_at = group_of(s)->term_at;
	s->depth--;
	no_term(s);
	return true;
}

/* What a round bracket gets as ".": the arguments of most functions are given something else. */
static struct value input_of_round(struct scanner *s)
{
	struct group *group = group_of(s);

	if (group->binding) { /* of reduce or foreach */
		group->binding = false;
		return unknown;
	}
	if (!s->after_name || (strcmp(s->name, "select") == 0 && !s->has_def))
		return group->input;
	if (strcmp(s->name, "map") == 0 && !s->has_def)
		return first_of(&group->input);
	return unknown;
}

static void field(struct scanner *s, const char *name, size_t length)
{
	struct group *group = group_of(s);

	if (s->has_term) {
		scan_insert(s, s->term_at, '(');
		scan_put_text(s, "|_field(\"");
		scan_put(s, name, length);
		scan_put_text(s, "\"))");
		s->term = field_of(s, &s->term, name, length);
		return;
	}
	begin_term(s, field_of(s, &group->input, name, length));
	scan_put_text(s, "_field(\"");
	scan_put(s, name, length);
	scan_put_text(s, "\")");
}

/* ---- tokens: each returns what follows it ---- */

/* @at is at the quote of a name without escapes: behind the other quote. NULL: it is no such name.
 */
static const char *name_end(const char *at)
{
	const char *end = at + 1 + strcspn(at + 1, "\"\\");

	return *at == '"' && *end == '"' ? end + 1 : NULL;
}

static const char *word_end(const char *at)
{
	while (isalnum((unsigned char)*at) || *at == '_' || (at[0] == ':' && at[1] == ':'))
		at += *at == ':' ? 2 : 1;
	return at;
}

static const char *blank_end(const char *at)
{
	for (; isspace((unsigned char)*at) || *at == '#'; at++)
		if (*at == '#') {
			at += strcspn(at, "\n");
			if (*at == '\0')
				break;
		}
	return at;
}

/* Up to the end of a string or to an expression in it, "\(...)". */
static const char *string_rest(struct scanner *s, const char *at)
{
	const char *begin = at;

	while (*at && *at != '"' && !(at[0] == '\\' && at[1] == '('))
		at += at[0] == '\\' && at[1] ? 2 : 1;
	if (*at == '"') {
		at++;
	} else if (*at) {
		open_group(s, GROUP_STRING, group_of(s)->input);
		at += 2;
	} else {
		s->broken = true;
	}
	scan_put(s, begin, (size_t)(at - begin));
	return at;
}

static const char *string(struct scanner *s, const char *at)
{
	begin_term(s, unknown);
	scan_put(s, at, 1);
	return string_rest(s, at + 1);
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

static void forbid(struct scanner *s, const char *word)
{
	if (s->scan->word[0] == '\0')
		snprintf(s->scan->word, sizeof(s->scan->word), "%s", word);
}

static const char *variable(struct scanner *s, const char *at)
{
	static const char baseline[] = "$baseline";
	const char *end = word_end(at + 1);
	const size_t length = (size_t)(end - at);
	struct value value = unknown;

	if ((length == 4 && strncmp(at, "$ENV", 4) == 0) ||
	    (length > 3 && strncmp(at, "$__", 3) == 0))
		forbid(s, length == 4 ? "$ENV" : "$__");
	if (length == strlen(baseline) && strncmp(at, baseline, length) == 0) {
		s->scan->names_baseline = true;
		value = (struct value){.json = s->baseline, .literal = true};
		memcpy(value.path, baseline, sizeof(baseline));
		if (group_of(s)->binding)
			forbid(s, "as $baseline"); /* it has a meaning already */
	}
	begin_term(s, value);
	scan_put(s, at, length);
	return end;
}

/* Words that are no terms. False: it is one. */
static bool keyword(struct scanner *s, const char *word)
{
	static const char *const operators[] = {"and", "or", "try", "reduce", "foreach", NULL};
	struct group *group = group_of(s);

	if (strcmp(word, "if") == 0) {
		group->alone = false;
		open_group(s, GROUP_IF, group->input);
	} else if (strcmp(word, "then") == 0 || strcmp(word, "elif") == 0 ||
		   strcmp(word, "else") == 0) {
		begin_segment(group, &group->outer);
		no_term(s);
	} else if (strcmp(word, "end") == 0) {
		if (close_group(s, GROUP_IF))
			s->after_end = true;
	} else if (strcmp(word, "def") == 0) {
		s->has_def = true;
		open_group(s, GROUP_DEF, unknown);
	} else if (strcmp(word, "as") == 0 || strcmp(word, "label") == 0) {
		group->binding = true;
		no_term(s);
	} else if (strcmp(word, "catch") == 0) {
		group->input = unknown;
		group->alone = false;
		no_term(s);
	} else if (is_one_of(word, operators)) {
		group->alone = false;
		no_term(s);
	} else {
		return false;
	}
	return true;
}

static const char *word(struct scanner *s, const char *at)
{
	static const char *const forbidden[] = {
		"now",	      "env",	    "input",	      "inputs",
		"debug",      "stderr",	    "input_filename", "input_line_number",
		"halt",	      "halt_error", "import",	      "include",
		"modulemeta", "localtime",  "strflocaltime",  "get_search_list",
		"_field",     "_missing",   "_value",	      NULL};
	const char *end = word_end(at), *next = blank_end(end);
	const size_t length = (size_t)(end - at);
	const bool is_key = group_of(s)->kind == GROUP_CURLY && group_of(s)->alone && *next == ':';
	char text[32] = "";

	if (length < sizeof(text))
		memcpy(text, at, length);
	if (!is_key && is_one_of(text, forbidden))
		forbid(s, text);
	scan_put(s, at, length);
	if (is_key || keyword(s, text))
		return end;
	s->length -= length;
	begin_term(s, unknown);
	s->length += length;
	s->after_name = true;
	memcpy(s->name, text, sizeof(text));
	return end;
}

/* "." and what may follow it. */
static const char *dot(struct scanner *s, const char *at)
{
	const char *end;

	if (isdigit((unsigned char)at[1]) && !s->has_term) {
		begin_term(s, unknown);
		end = at + 1 + strspn(at + 1, "0123456789");
	} else if (s->after_end) {
		end = at + 1; /* what an if has brought is not known */
	} else if (is_plain(at + 1, (size_t)(word_end(at + 1) - at - 1))) {
		end = word_end(at + 1);
		field(s, at + 1, (size_t)(end - at - 1));
		return end;
	} else if (name_end(at + 1)) {
		end = name_end(at + 1);
		field(s, at + 2, (size_t)(end - at - 3));
		return end;
	} else if (s->has_term) {
		end = at + 1; /* jq 1.7: .a.[0] */
	} else {
		begin_term(s, at[1] == '.' ? unknown : group_of(s)->input);
		end = at + 1 + (at[1] == '.');
	}
	scan_put(s, at, (size_t)(end - at));
	return end;
}

static const char *scan_number(struct scanner *s, const char *at)
{
	const char *end = at + strspn(at, "0123456789.");

	if ((*end == 'e' || *end == 'E') && strspn(end + 1, "0123456789+-"))
		end += 1 + strspn(end + 1, "0123456789+-");
	begin_term(s, unknown);
	scan_put(s, at, (size_t)(end - at));
	return end;
}

/* Behind a term that may be null. */
static void scan_put_value(struct scanner *s)
{
	scan_insert(s, s->term_at, '(');
	scan_put_text(s, "|_value(\"\"))");
}

/* ["name"] is .name, and [5] is that part; of any other index the first part stands for all. */
static const char *square(struct scanner *s, const char *at)
{
	const char *inside = blank_end(at + 1), *end = name_end(inside);
	const size_t digits = strspn(inside, "0123456789");

	if (s->has_term && end && *blank_end(end) == ']') {
		field(s, inside + 1, (size_t)(end - inside - 2));
		return blank_end(end) + 1;
	}
	if (s->has_term && digits > 0 && digits < 10 && inside[digits] == ']') {
		s->term = element_of(s, &s->term, strtoul(inside, NULL, 10));
		scan_put(s, at, (size_t)(inside + digits + 1 - at));
		scan_put_value(s);
		return inside + digits + 1;
	}
	open_group(s, GROUP_SQUARE, group_of(s)->input);
	scan_put(s, at, 1);
	return at + 1;
}

static void close_square(struct scanner *s)
{
	const struct group closed = *group_of(s);

	scan_put(s, "]", 1);
	if (!close_group(s, GROUP_SQUARE))
		return;
	s->has_term = true;
	s->term = closed.is_index ? first_of(&closed.term) : unknown;
	if (closed.is_index)
		scan_put_value(s);
}

static void close_unknown(struct scanner *s, enum group_kind kind)
{
	if (!close_group(s, kind))
		return;
	s->has_term = true;
	s->term = unknown;
}

static const char *pipe(struct scanner *s, const char *at)
{
	struct group *group = group_of(s);
	const bool is_update = at[1] == '=';
	const struct value next = group->alone && s->has_term && !is_update ? s->term : unknown;

	if (!group->binding)
		begin_segment(group, &next);
	group->binding = false;
	group->alone = true;
	no_term(s);
	scan_put(s, at, is_update ? 2 : 1);
	return at + (is_update ? 2 : 1);
}

/* Between arguments, keys and values: the next one has "." as the first had. */
static void separator(struct scanner *s, char c)
{
	struct group *group = group_of(s);

	if (c == ';' && group->kind == GROUP_DEF) {
		close_group(s, GROUP_DEF);
	} else if (c == ';' || group->kind == GROUP_CURLY) {
		begin_segment(group, &group->outer);
	} else {
		group->alone = false;
	}
	no_term(s);
}

static const char *optional(struct scanner *s, const char *at)
{
	if (s->has_term) { /* made a term, to which more may be appended */
		scan_insert(s, s->term_at, '(');
		scan_put_text(s, "?)");
	} else {
		scan_put(s, at, 1);
	}
	return at + 1;
}

static const char *punctuation(struct scanner *s, const char *at)
{
	switch (*at) {
	case '|':
		return pipe(s, at);
	case '?':
		return optional(s, at);
	case '[':
		return square(s, at);
	case '(':
		open_group(s, GROUP_ROUND, input_of_round(s));
		break;
	case '{':
		open_group(s, GROUP_CURLY, group_of(s)->input);
		break;
	case ')':
		if (group_of(s)->kind == GROUP_STRING) {
			close_unknown(s, GROUP_STRING);
			scan_put(s, at, 1);
			return string_rest(s, at + 1);
		}
		close_unknown(s, GROUP_ROUND);
		break;
	case ']':
		close_square(s);
		return at + 1;
	case '}':
		close_unknown(s, GROUP_CURLY);
		break;
	case ';':
	case ',':
	case ':':
		separator(s, *at);
		break;
	default:
		group_of(s)->alone = false;
		no_term(s);
	}
	scan_put(s, at, 1);
	return at + 1;
}

static const char *token(struct scanner *s, const char *at)
{
	const bool after_name = s->after_name;

	s->after_name = after_name && *at == '(';
	if (*at == '"')
		return string(s, at);
	if (*at == '$')
		return variable(s, at);
	if (*at == '.')
		return dot(s, at);
	if (isdigit((unsigned char)*at))
		return scan_number(s, at);
	if (isalpha((unsigned char)*at) || *at == '_')
		return word(s, at);
	return punctuation(s, at);
}

int expect_scan(const char *expression, const json_t *root, const json_t *baseline,
		struct expect_scan *ret_scan)
{
	struct scanner *s = calloc(1, sizeof(*s));
	const char *at = expression;

	*ret_scan = (struct expect_scan){.program = NULL};
	if (!s)
		return -ENOMEM;
	s->scan = ret_scan;
	s->baseline = baseline;
	s->groups[0].outer = (struct value){.json = root, .literal = true};
	begin_segment(&s->groups[0], &s->groups[0].outer);
	scan_put_text(s, "");
	for (at = blank_end(at); *at && !s->no_memory && !s->broken; at = blank_end(at)) {
		at = token(s, at);
		if (isspace((unsigned char)*at) || *at == '#')
			scan_put_text(s, " ");
	}
	if (s->broken) { /* jq will say what is wrong with it */
		s->length = 0;
		scan_put_text(s, expression);
	}
	ret_scan->is_closed = !s->broken && s->depth == 0;
	ret_scan->program = s->out;
	if (s->no_memory)
		expect_scan_fini(ret_scan);
	free(s);
	return ret_scan->program ? 0 : -ENOMEM;
}

void expect_scan_fini(struct expect_scan *scan)
{
	free(scan->program);
	scan->program = NULL;
}
