/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/input/bad.h"

#include "util/alloc.h"
#include "util/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bad_list_fini(struct bad_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		util_free(list->lines[i].text);
		util_free(list->lines[i].file);
	}
	util_free(list->lines);
	*list = (struct bad_list){0};
}

static int compare_lines(const void *a, const void *b)
{
	const struct bad_line *x = a, *y = b;

	if (x->number >> 16 != y->number >> 16)
		return x->number < y->number ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* For the while of sorting, the number's high half is that of the file. */
void bad_list_sort(struct bad_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		uint32_t first = 0;

		while (strcmp(list->lines[first].file, list->lines[i].file) != 0)
			first++;
		list->lines[i].number = first << 16 | i;
	}
	if (list->count > 0)
		qsort(list->lines, list->count, sizeof(*list->lines), compare_lines);
}

static bool bad_grow(struct bad_list *list)
{
	const uint32_t room = list->room ? list->room * 2 : 16;
	struct bad_line *lines;

	if (list->count < list->room)
		return true;
	lines = util_realloc(list->lines, room, sizeof(*lines));
	if (!lines)
		return false;
	list->lines = lines;
	list->room = room;
	return true;
}

static char *bad_copy_of(const char *text)
{
	const size_t bytes = strlen(text) + 1;
	char *copy = util_alloc(bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

static void bad_add(struct bad_list *list, const struct bad_at *at, bool warning, const char *line)
{
	struct bad_line own = {.line = at->line, .warning = warning};

	own.text = bad_copy_of(line);
	own.file = bad_copy_of(at->file);
	if (!own.text || !own.file || !bad_grow(list)) {
		util_free(own.text);
		util_free(own.file);
		list->no_memory = true;
		return;
	}
	list->lines[list->count++] = own;
}

/* @said is what it is about; where that is and who named the file stand around it. */
static void bad_report(struct bad_list *list, const struct bad_at *at, bool warning,
		       const char *said)
{
	char line[2560], shown[4 * sizeof(line)], namer[512] = "", number[16] = "";
	size_t length = 0;

	if (bad_is_full(list))
		return;
	if (at->namer && strcmp(at->namer->file, at->file) != 0)
		snprintf(namer, sizeof(namer), " (named at %s:%u)", at->namer->file,
			 at->namer->line);
	if (at->line > 0)
		snprintf(number, sizeof(number), ":%u", at->line);
	snprintf(line, sizeof(line), "%.500s%s: %.1500s%s", at->file, number, said, namer);
	for (const char *c = line; *c; length += strlen(shown + length))
		c += util_text_show(c, shown + length);
	shown[length] = '\0';
	bad_add(list, at, warning, shown);
}

static void bad_report_found(struct bad_list *list, const struct bad_at *at, bool warning,
			     const char *key, const char *found, const char *expected)
{
	char said[1500];

	snprintf(said, sizeof(said), "%.200s: found %.400s, expected %.639s%s", key, found,
		 expected, warning ? "; ignored" : "");
	bad_report(list, at, warning, said);
}

static bool line_is_told(const struct bad_list *list, const struct bad_at *at)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (!list->lines[i].warning && list->lines[i].line == at->line &&
		    strcmp(list->lines[i].file, at->file) == 0)
			return true;
	return false;
}

void bad(struct bad_list *list, const struct bad_at *at, const char *key, const char *found,
	 const char *expected)
{
	bad_count(list);
	if (at->is_copy && line_is_told(list, at))
		return;
	bad_report_found(list, at, false, key, found, expected);
}

void bad_warn(struct bad_list *list, const struct bad_at *at, const char *key, const char *found,
	      const char *expected)
{
	bad_report_found(list, at, true, key, found, expected);
}

void bad_note(struct bad_list *list, const struct bad_at *at, const char *key, const char *text)
{
	char said[1500];

	snprintf(said, sizeof(said), "%.200s: %.1200s", key, text);
	bad_report(list, at, true, said);
}

const char *bad_text(struct bad_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text->text, sizeof(text->text), format, args);
	va_end(args);
	return text->text;
}

const char *bad_quote(struct bad_text *text, const char *bytes, size_t length)
{
	enum { SHOWN_MAX = 60 };
	size_t at = 0;

	if (length == 0)
		return bad_text(text, "nothing");
	text->text[at++] = '"';
	for (size_t i = 0; i < length && i < SHOWN_MAX; i++) {
		const unsigned char c = (unsigned char)bytes[i];

		if (c >= ' ' && c < 0x7f && c != '\\' && c != '"')
			text->text[at++] = (char)c;
		else if (c == '\\' || c == '"')
			at += (size_t)snprintf(text->text + at, 3, "\\%c", c);
		else
			at += (size_t)snprintf(text->text + at, 5, "\\x%02x", c);
	}
	snprintf(text->text + at, 5, "%s", length > SHOWN_MAX ? "...\"" : "\"");
	return text->text;
}

/* Letters to change, add, drop or exchange with a neighbour. */
static uint32_t bad_distance(const char *a, const char *b)
{
	enum { LENGTH_MAX = 32 };
	const size_t n = strlen(a), m = strlen(b);
	uint32_t d[LENGTH_MAX + 1][LENGTH_MAX + 1];

	if (n > LENGTH_MAX || m > LENGTH_MAX)
		return UINT32_MAX;
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			uint32_t least;

			if (i == 0 || j == 0) {
				d[i][j] = (uint32_t)(i + j);
				continue;
			}
			least = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			least = d[i - 1][j] + 1 < least ? d[i - 1][j] + 1 : least;
			least = d[i][j - 1] + 1 < least ? d[i][j - 1] + 1 : least;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < least)
				least = d[i - 2][j - 2] + 1;
			d[i][j] = least;
		}
	return d[n][m];
}

bool bad_is_nearer(const char *word, const char *known, uint32_t *best)
{
	const uint32_t below = *best ? *best : (uint32_t)(strlen(word) + 2) / 3 + 1;
	const uint32_t d = bad_distance(word, known);

	if (d >= below)
		return false;
	*best = d;
	return true;
}
