/* SPDX-License-Identifier: BSD-2-Clause */

/* What would cure a run, in lines. */
#include "tools/explain/explain.h"
#include "tools/result/output.h"

#include <stdio.h>
#include <string.h>

/* In lines of up to that width, each behind @margin. */
static void put_wrapped(const char *text, const char *margin)
{
	enum { WIDTH = 100 };
	size_t column = 0;

	while (*text) {
		const size_t length = strcspn(text, " ");

		if (column == 0 || column + 1 + length > WIDTH) {
			printf("%s%s", column ? "\n" : "", margin);
			column = strlen(margin);
		} else {
			putchar(' ');
			column++;
		}
		fwrite(text, 1, length, stdout);
		column += length;
		text += length + strspn(text + length, " ");
	}
	putchar('\n');
}

static void print_cure_put_key(const struct advice_key *key)
{
	printf("    %s%s: found ", key->instead ? "or " : "", key->name);
	output_line(key->found, stdout);
	if (key->value[0])
		printf(", try %s", key->value);
	else
		fputs("; no value to try there, what helps is said above", stdout);
	putchar('\n');
}

void explain_cure(const struct advice *advice, const char *name)
{
	char options[ADVICE_OPTIONS_MAX];
	uint32_t tried = 0;

	for (uint32_t i = 0; i < advice->count; i++) {
		const struct advice_item *item = &advice->items[i];

		printf("%u. %s\n", i + 1, item->trouble);
		put_wrapped(item->text, "  ");
		for (uint32_t k = 0; k < item->key_count; k++)
			print_cure_put_key(&item->keys[k]);
		if (!advice_options(item, options)[0])
			continue;
		fputs("  Try it: verbena run ", stdout);
		output_line(name, stdout);
		printf(" %s --out try-%u\n", options, i + 1);
		tried = tried ? tried : i + 1;
	}
	if (tried) {
		fputs("What a try brings and what it costs, before and after: verbena report ",
		      stdout);
		output_line(name, stdout);
		printf(" try-%u\n", tried);
	}
	if (advice->count == 0)
		put_wrapped(advice->rest, "");
}
