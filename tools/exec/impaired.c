/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/exec/impaired.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int impaired_check(const char *rules)
{
	struct nic_impair_bad bad;

	if (nic_impair_check(rules, &bad) > 0)
		return COMMAND_DONE;
	command_say("exec: --impair: found \"%s\", expected %s", bad.found, bad.expected);
	return COMMAND_BAD;
}

/* The @index-th rule's words. */
static void find_rule(const char *rules, int index, const char **ret_at, int *ret_length)
{
	const char *at = rules;

	for (; index > 0; index--)
		at = strchr(at, ',') + 1;
	at += strspn(at, " \t\n");
	*ret_at = at;
	*ret_length = (int)strcspn(at, ",");
}

static void say_rule(const char *words, int length, const struct nic_impair_counts *counts)
{
	const struct {
		const char *what;
		uint64_t count;
	} rows[] = {
		{"lost", counts->lost},	      {"over the limit", counts->over_limit},
		{"marked", counts->marked},   {"corrupted", counts->corrupted},
		{"doubled", counts->doubled}, {"went ahead", counts->early},
		{"delayed", counts->delayed},
	};
	char text[256];
	size_t at;
	int said = 0;

	at = (size_t)snprintf(text, sizeof(text), "%" PRIu64 " packets", counts->met);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].count == 0)
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%" PRIu64 " %s", ", ",
				       rows[i].count, rows[i].what);
		said++;
	}
	command_say("exec: --impair \"%.*s\": %s%s", length, words, text,
		    said > 0	      ? ""
		    : counts->met > 0 ? ", nothing happened to any"
				      : ": it met none");
}

void impaired_tell(const char *rules, const struct nic_impair_board *board)
{
	struct nic_impair_bad bad;
	const int count = nic_impair_check(rules, &bad);

	for (int i = 0; i < count; i++) {
		const char *words;
		int length;

		find_rule(rules, i, &words, &length);
		say_rule(words, length, &board->rules[i]);
	}
}
