/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/path.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_MAX = 128 };

/* Of a path: a name, or a place in a list. */
struct step {
	char name[STEP_MAX]; /* "": a place */
	size_t place;
};

/* Takes the first of @at; false: there is none. */
static bool path_take(const char **at, struct step *step)
{
	const char *text = *at + 1;
	size_t length;
	char *end;

	*step = (struct step){.place = 0};
	if (**at == '[' && *text >= '0' && *text <= '9') {
		step->place = strtoul(text, &end, 10);
		*at = end + 1;
		return *end == ']';
	}
	length = strcspn(text, ".[");
	if (**at != '.' || length == 0 || length >= STEP_MAX)
		return false;
	memcpy(step->name, text, length);
	*at = text + length;
	return true;
}

static const json_t *path_follow(const json_t *json, const struct step *step)
{
	return step->name[0] ? json_object_get(json, step->name)
			     : json_array_get(json, step->place);
}

const json_t *result_path_find(const json_t *result, const char *path)
{
	struct step step;

	while (result && *path) {
		if (!path_take(&path, &step))
			return NULL;
		result = path_follow(result, &step);
	}
	return result;
}

static void path_compare(const char *wanted, const char *name, uint32_t *best, const char **nearest)
{
	if (bad_is_nearer(wanted, name, best))
		*nearest = name;
}

bool result_path_nearest(const json_t *result, const char *path, struct bad_text *ret_path)
{
	struct bad_text so_far = {""};
	struct step step;

	while (*path) {
		const char *nearest = NULL, *name;
		const json_t *next;
		uint32_t best = 0;

		if (!path_take(&path, &step))
			return false;
		next = path_follow(result, &step);
		if (!next && step.name[0]) {
			json_t *value;

			json_object_foreach((json_t *)(uintptr_t)result, name, value)
				path_compare(step.name, name, &best, &nearest);
			if (!nearest)
				return false;
			snprintf(step.name, STEP_MAX, "%s", nearest);
		} else if (!next && json_array_size(result) > 0) {
			step.place = json_array_size(result) - 1;
		}
		result = path_follow(result, &step);
		if (!result)
			return false;
		if (step.name[0])
			bad_text(ret_path, "%s.%s", so_far.text, step.name);
		else
			bad_text(ret_path, "%s[%zu]", so_far.text, step.place);
		so_far = *ret_path;
	}
	return true;
}

static void nearest_below(json_t *json, const char *wanted, uint32_t *best, const char **nearest)
{
	const char *name;
	json_t *part;
	size_t i;

	json_object_foreach(json, name, part)
	{
		path_compare(wanted, name, best, nearest);
		nearest_below(part, wanted, best, nearest);
	}
	json_array_foreach(json, i, part) nearest_below(part, wanted, best, nearest);
}

const char *result_path_nearest_name(json_t *json, const char *name)
{
	const char *nearest = NULL;
	uint32_t best = 0;

	nearest_below(json, name, &best, &nearest);
	return nearest;
}
