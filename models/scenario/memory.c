/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "util/alloc.h"

#include <string.h>

void *scenario_alloc(struct scenario_reader *r, size_t count, size_t bytes)
{
	void *memory = util_calloc(count, bytes);

	r->no_memory |= !memory;
	return memory;
}

char *scenario_copy(struct scenario_reader *r, const char *text)
{
	const size_t bytes = strlen(text) + 1;
	char *copy = scenario_alloc(r, bytes, 1);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

void scenario_add_guess(struct scenario_reader *r, const struct scenario_guess *guess)
{
	struct scenario_guess *all =
		scenario_grow(r, r->guesses, r->guess_count, sizeof(*r->guesses));
	char *copy = scenario_copy(r, guess->keys);

	r->guesses = all ? all : r->guesses;
	if (!all || !copy) {
		util_free(copy);
		return;
	}
	r->guesses[r->guess_count] = *guess;
	r->guesses[r->guess_count++].keys = copy;
}

void *scenario_grow(struct scenario_reader *r, void *array, uint64_t count, size_t bytes)
{
	void *bigger;

	if (count > 0 && (count & (count - 1)) != 0)
		return array;
	bigger = util_realloc(array, count ? count * 2 : 1, bytes);
	r->no_memory |= !bigger;
	return bigger;
}
