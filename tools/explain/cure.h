/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_ADVICE_H
#define TOOLS_ADVICE_H

/* What would cure a run: rules over what it has measured and how it was set, never over names. Each
 * rule that applies gives an item: what the trouble is, the facts that tell, and keys of the
 * scenario with what was found and what to try. The report page and "verbena explain --why cure"
 * say the same. */
#include "tools/explain/pause_tree.h"
#include "tools/explain/spells.h"
#include "tools/result/result.h"

enum {
	ADVICE_ITEMS_MAX = 16,
	ADVICE_KEYS_MAX = 6,
	ADVICE_WORDS_MAX = 96,
	ADVICE_TEXT_MAX = 1024,
	ADVICE_OPTIONS_MAX = 768,
};

struct advice_key {
	char name[ADVICE_WORDS_MAX];  /* as --set takes it: switch.ecn.kmin, faults.0.detect */
	char found[ADVICE_WORDS_MAX]; /* as the run had it */
	char value[ADVICE_WORDS_MAX]; /* to try; "": there is none to name, the text says what helps
				       */
	bool instead;		      /* of the keys before it, not beside them */
};

struct advice_item {
	const char *trouble; /* a few words */
	char text[ADVICE_TEXT_MAX];
	struct advice_key keys[ADVICE_KEYS_MAX];
	uint32_t key_count;
};

struct advice {
	struct advice_item items[ADVICE_ITEMS_MAX]; /* the likeliest cause first */
	uint32_t count;
	char rest[ADVICE_TEXT_MAX]; /* where there is no item: whether a cure is asked for; else ""
				     */
};

struct advice_source {
	const struct result *result;
	const struct traffic *traffic;	 /* NULL: none */
	const struct pause_tree *pauses; /* NULL, or never started: nobody listened */
	const struct spells *spells;	 /* the same */
};

/* After the run, before the fabric is gone. -ENOMEM. */
int advice_make(const struct advice_source *source, struct advice *ret_advice);

/* What "verbena run" takes to try an item: "--set KEY=VALUE ...", quoted for a shell; "": nothing.
 */
const char *advice_options(const struct advice_item *item, char ret_text[ADVICE_OPTIONS_MAX]);

#endif
