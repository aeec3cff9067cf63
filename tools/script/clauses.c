/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/script/clauses.h"

#include "tools/command.h"
#include "tools/script/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "9.7.1 C9-20" : parts of digits, dots, a letter and a hyphen */
static bool clause_number_is_one(const char *number)
{
	size_t digits = 0;

	for (const char *c = number; *c; c++) {
		if (*c >= '0' && *c <= '9')
			digits++;
		else if (!strchr(" .-CoAa", *c))
			return false;
	}
	return digits > 0;
}

/* @text: what follows the word "clause". */
static bool clause_add(struct clause_list *list, const char *text, int line)
{
	const char *colon = strchr(text, ':');
	struct clause clause = {.line = line};
	struct clause *more;

	if (!colon || colon[strspn(colon, ": \t")] == '\0')
		return false;
	text += strspn(text, " \t");
	clause.number = strndup(text, (size_t)(colon - text));
	clause.sentence = strdup(colon + strspn(colon, ": \t"));
	more = realloc(list->clauses, (list->count + 1) * sizeof(*more));
	if (more)
		list->clauses = more;
	if (!more || !clause.number || !clause.sentence || !clause_number_is_one(clause.number)) {
		free(clause.number);
		free(clause.sentence);
		return false;
	}
	list->clauses[list->count++] = clause;
	return true;
}

bool clauses_read(const char *path, struct clause_list *ret_list)
{
	FILE *file = fopen(path, "r");
	char text[TEXT_MAX];
	bool good = file != NULL;

	*ret_list = (struct clause_list){NULL, 0};
	if (!file)
		command_say_error(path, errno);
	for (int line = 1; good && fgets(text, sizeof(text), file); line++) {
		text[strcspn(text, "#\n")] = '\0';
		if (strncmp(text, "clause", 6) != 0 || !strchr(" \t", text[6]))
			continue;
		good = clause_add(ret_list, text + 6, line);
		if (!good)
			command_line(stderr,
				     "%s:%d: found \"%s\", expected clause NUMBER...: SENTENCE",
				     path, line, text);
	}
	if (good && ferror(file)) {
		command_say_error(path, errno);
		good = false;
	}
	if (file)
		fclose(file);
	return good;
}

void clauses_free(struct clause_list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		free(list->clauses[i].number);
		free(list->clauses[i].sentence);
	}
	free(list->clauses);
}

enum clause_state clauses_state(const struct clause_list *list, uint32_t i, int failed)
{
	uint32_t next = i + 1;

	if (failed == 0)
		return CLAUSE_HELD;
	if (list->clauses[i].line > failed)
		return CLAUSE_NOT_REACHED;
	while (next < list->count && list->clauses[next].line == list->clauses[next - 1].line + 1)
		next++; /* shares what follows */
	return next < list->count && list->clauses[next].line < failed ? CLAUSE_HELD
								       : CLAUSE_FAILED;
}
