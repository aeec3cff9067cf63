/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/script/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void line_bad(const struct line *line, const char *found, const char *expected)
{
	fflush(stdout);
	fprintf(stderr, "%s:%d: found \"%s\", expected %s\n", line->file, line->number, found,
		expected);
	exit(SCRIPT_BAD);
}

void (*line_on_difference)(const struct line *line, const char *found, const char *expected);

void line_differs(const struct line *line, const char *found, const char *expected)
{
	if (line_on_difference)
		line_on_difference(line, found, expected);
	fflush(stdout);
	fprintf(stderr, "%s:%d:\n  found    %s\n  expected %s\n", line->file, line->number, found,
		expected);
	exit(SCRIPT_DIFFERS);
}

void line_split(struct line *line, char *text)
{
	char *save = NULL;

	line->count = line->next = 0;
	memset(line->used, 0, sizeof(line->used));
	text[strcspn(text, "#\n")] = 0;
	for (char *word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (line->count == WORDS_MAX)
			line_bad(line, word, "fewer words");
		line->words[line->count++] = word;
	}
}

const char *line_word(struct line *line, const char *what)
{
	if (line->next == line->count)
		line_bad(line, "end of line", what);
	line->used[line->next] = true;
	return line->words[line->next++];
}

bool line_flag(struct line *line, const char *name)
{
	for (int i = line->next; i < line->count; i++)
		if (strcmp(line->words[i], name) == 0)
			return line->used[i] = true;
	return false;
}

const char *line_get(struct line *line, const char *key)
{
	size_t len = strlen(key);

	for (int i = line->next; i < line->count; i++) {
		if (strncmp(line->words[i], key, len) != 0 || line->words[i][len] != '=')
			continue;
		line->used[i] = true;
		return line->words[i] + len + 1;
	}
	return NULL;
}

uint64_t text_number(const struct line *line, const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end)
		line_bad(line, text, "a number");
	return value;
}

uint64_t line_number(struct line *line, const char *key, uint64_t otherwise)
{
	const char *text = line_get(line, key);

	return text ? text_number(line, text) : otherwise;
}

uint64_t line_number_to(struct line *line, const char *key, uint64_t otherwise, uint64_t most)
{
	const uint64_t value = line_number(line, key, otherwise);
	char expected[64];

	if (value <= most)
		return value;
	snprintf(expected, sizeof(expected), "%s of at most %llu", key, (unsigned long long)most);
	line_bad(line, line_get(line, key), expected);
}

void line_end(const struct line *line)
{
	for (int i = 0; i < line->count; i++)
		if (!line->used[i])
			line_bad(line, line->words[i], "end of line, or a word that is known here");
}

ps_t text_time(const struct line *line, const char *text)
{
	static const struct {
		const char *unit;
		ps_t ps;
	} units[] = {{"ps", 1}, {"ns", PS_NS}, {"us", PS_US}, {"ms", PS_MS}, {"s", PS_S}};
	char *end;
	uint64_t value;

	if (strcmp(text, "never") == 0)
		return PS_NEVER;
	value = strtoull(text, &end, 10);
	if (end != text && !*end && value == 0)
		return 0;
	for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].unit) == 0)
			return value * units[i].ps;
	line_bad(line, text, "a time: 0, or a number with ps, ns, us, ms or s");
}

long text_name(const struct line *line, const char *text, const struct name_value *names,
	       const char *what)
{
	for (; names->name; names++)
		if (strcmp(names->name, text) == 0)
			return names->value;
	line_bad(line, text, what);
}

const char *text_of(long value, const struct name_value *names)
{
	for (; names->name; names++)
		if (names->value == value)
			return names->name;
	return "unknown";
}
