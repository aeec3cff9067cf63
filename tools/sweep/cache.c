/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/sweep/sweep.h"

#include "tools/command.h"
#include "tools/result/back.h"
#include "tools/result/path.h"
#include "util/siphash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it says of itself ---- */

static const char hash_key[] = "kept_hash";

/* Of all that it says but that, however it is written. False: no memory. */
static bool hash_result(const json_t *json, char ret_text[BACK_HASH_DIGITS + 1])
{
	json_t *rest = json_copy((json_t *)(uintptr_t)json);
	char *text = NULL;

	if (rest) {
		json_object_del(rest, hash_key);
		text = json_dumps(rest, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
	}
	json_decref(rest);
	if (!text)
		return false;
	snprintf(ret_text, BACK_HASH_DIGITS + 1, "%016" PRIx64,
		 util_hash_bytes((struct util_key){0}, text, strlen(text)));
	free(text);
	return true;
}

static int check_hash(const char *path, const json_t *json)
{
	const json_t *hash = json_object_get(json, hash_key);
	const char *text = json_string_value(hash);
	char now[BACK_HASH_DIGITS + 1];

	if (!hash_result(json, now)) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	if (text && strcmp(text, now) == 0)
		return COMMAND_DONE;
	return back_refuse(path, hash_key, hash,
			   "that of the result as the sweep has kept it, unchanged");
}

static int check_held(const char *path, const json_t *json, const struct sweep_run *run)
{
	const json_t *expects = json_object_get(json, "expect"), *expect;
	size_t i;

	if (!json_is_array(expects) || json_array_size(expects) != run->expect_count)
		return back_refuse(path, "expect", expects, "the expectations of the scenario");
	json_array_foreach(expects, i, expect)
	{
		const json_t *held = json_object_get(expect, "held");

		if (!json_is_boolean(held))
			return back_refuse(path, "held", held, "true or false");
	}
	return COMMAND_DONE;
}

/* All that is read of it: that it is the result of this run, its values, and what it says of what
 * was expected. */
static int check_run(const struct sweep_plan *plan, const char *path, const json_t *json,
		     const struct sweep_run *run)
{
	const json_t *schema = json_object_get(json, "schema"), *seed;
	struct back_run back;
	int ret = back_check_result(path, json, &back);

	if (ret)
		return ret;
	if (json_integer_value(schema) != 2)
		return back_refuse(path, "schema", schema, "2");
	if (!back.same_version)
		return back_refuse(path, "version", json_object_get(json, "version"),
				   "that of this command");
	seed = json_object_get(json, "seed");
	if ((uint64_t)json_integer_value(seed) != run->seed)
		return back_refuse(path, "seed", seed, "that of the run");
	for (uint32_t i = 0; i < plan->show_count; i++) {
		const json_t *value = result_path_find(json, plan->shows[i]);

		if (!value || json_is_object(value) || json_is_array(value))
			return back_refuse(path, plan->shows[i], value, "a value");
	}
	return check_held(path, json, run);
}

/* ---- files ---- */

int cache_load(const struct sweep_plan *plan, const char *path, struct sweep_run *run)
{
	json_t *json;
	int ret = back_load(path, "result", "the result of a run", &json);

	if (json && !json_is_true(json_object_get(json, "partial"))) {
		ret = check_run(plan, path, json, run);
		ret = ret ? ret : check_hash(path, json);
		if (!ret)
			run->result = json_incref(json);
	}
	json_decref(json);
	return ret;
}

static int cache_write(FILE *file, const void *owner)
{
	const json_t *json = owner;

	/* As the run has written it. */
	return json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) == 0 &&
			       fputc('\n', file) != EOF
		       ? 0
		       : -EIO;
}

int cache_keep(const struct sweep_plan *plan, const struct folder *folder, const char *part,
	       struct sweep_run *run)
{
	char hash[BACK_HASH_DIGITS + 1], name[CACHE_NAME_MAX];
	json_t *json;
	int ret = back_load(part, "result", "the result of a run", &json);

	if (!ret && (!json || json_is_true(json_object_get(json, "partial"))))
		ret = COMMAND_BAD;
	ret = ret ? ret : check_run(plan, part, json, run);
	if (!ret && (!hash_result(json, hash) ||
		     json_object_set_new(json, hash_key, json_string(hash)) != 0)) {
		command_say("no memory");
		ret = COMMAND_BROKEN;
	}
	ret = ret ? ret : folder_put(folder, cache_name(run, name), cache_write, json);
	if (!ret)
		run->result = json_incref(json);
	json_decref(json);
	return ret;
}

const char *cache_name(const struct sweep_run *run, char ret_name[CACHE_NAME_MAX])
{
	snprintf(ret_name, CACHE_NAME_MAX, "%016" PRIx64 ".json", run->key);
	return ret_name;
}
