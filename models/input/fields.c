/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/input/fields.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Past blanks, to the next byte of the line. */
static const char *skip(const char *at, const char *end)
{
	while (at < end && is_blank(*at))
		at++;
	return at;
}

static const char *end_of_field(const char *at, const char *end)
{
	while (at < end && !is_blank(*at) && *at != '\n')
		at++;
	return at;
}

bool fields_take(struct fields_reader *reader, struct field *ret_field, struct bad_at *ret_at)
{
	for (;;) {
		const char *from = skip(reader->next, reader->end);

		if (from == reader->end) {
			reader->next = from;
			return false;
		}
		if (*from == '\n') {
			reader->at.line++;
			reader->next = from + 1;
			continue;
		}
		reader->next = end_of_field(from, reader->end);
		*ret_field = (struct field){from, (size_t)(reader->next - from)};
		*ret_at = reader->at;
		return true;
	}
}

bool fields_next(struct fields_reader *reader, struct fields *ret_line)
{
	struct fields line = {.count = 0};
	struct field field;

	if (!fields_take(reader, &field, &line.at))
		return false;
	for (;;) {
		const char *from;

		if (line.count < FIELDS_MAX)
			line.field[line.count] = field;
		line.count++;
		from = skip(reader->next, reader->end);
		reader->next = from;
		if (from == reader->end || *from == '\n')
			break;
		reader->next = end_of_field(from, reader->end);
		field = (struct field){from, (size_t)(reader->next - from)};
	}
	*ret_line = line;
	return true;
}

bool fields_is(struct field field, const char *word)
{
	size_t i = 0;

	for (; i < field.length && word[i]; i++) {
		const char c = field.text[i];

		if ((c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c) != word[i])
			return false;
	}
	return i == field.length && !word[i];
}

uint64_t fields_left(struct fields_reader reader)
{
	struct fields line;
	uint64_t count = 0;

	while (fields_next(&reader, &line))
		count++;
	return count;
}
