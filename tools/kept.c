/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/kept.h"

#include "tools/command.h"
#include "tools/result/back.h"

#include <stdlib.h>
#include <string.h>

static int bad_folder(const char *path, const char *found)
{
	command_line(stderr, "%s: run: found %s, expected the folder of a run, or a scenario", path,
		     found);
	return COMMAND_BAD;
}

static int read_origin(struct kept *kept, const char *path)
{
	const json_t *json = kept->json, *baseline = json_object_get(json, "baseline");
	struct scenario_overrides *overrides = &kept->overrides;
	const json_t *scenario = json_object_get(json, "scenario");
	const json_t *seed = json_object_get(json, "seed"), *sets = json_object_get(json, "set");
	const json_t *hash = json_object_get(json, "hash");
	const size_t count = json_array_size(sets);
	const char **texts = calloc(count + 1, sizeof(*texts));

	overrides->sets = texts;
	if (!texts)
		return COMMAND_BROKEN;
	if (!json_is_string(scenario))
		return back_refuse(path, "scenario", scenario, "a file");
	if (!json_is_array(sets))
		return back_refuse(path, "set", sets, "a list of texts");
	for (; overrides->set_count < count; overrides->set_count++) {
		const json_t *set = json_array_get(sets, overrides->set_count);

		if (!json_is_string(set))
			return back_refuse(path, "set", set, "a text such as \"until=1ms\"");
		texts[overrides->set_count] = json_string_value(set);
	}
	if (!json_is_null(seed) && !back_is_count(seed))
		return back_refuse(path, "seed", seed, "null or a number from 0 to 2^63 - 1");
	if (hash && !back_is_hash(hash))
		return back_refuse(path, "hash", hash, "16 hexadecimal digits");
	if (baseline && !json_is_null(baseline) && !json_is_string(baseline))
		return back_refuse(path, "baseline", baseline, "null or a file");
	overrides->has_seed = json_is_integer(seed);
	overrides->seed = (uint64_t)json_integer_value(seed);
	kept->baseline = json_string_value(baseline);
	kept->path = strdup(json_string_value(scenario));
	return kept->path ? COMMAND_DONE : COMMAND_BROKEN;
}

int kept_open(struct kept *kept, const char *run)
{
	char path[PATH_MAX] = "";
	FILE *file = NULL;
	int ret = COMMAND_DONE;

	*kept = (struct kept){.json = NULL};
	if (snprintf(path, sizeof(path), "%s/run.json", run) < (int)sizeof(path))
		ret = back_open(path, &file);
	if (ret)
		return ret;
	if (!file)
		return bad_folder(run, "no run.json in it");
	kept->json = json_loadf(file, 0, NULL);
	fclose(file);
	if (!kept->json)
		return bad_folder(run, "a run.json that is no JSON");
	ret = read_origin(kept, path);
	return ret ? ret : copies_open(&kept->copies, run, kept->json);
}

void kept_close(struct kept *kept)
{
	copies_fini(&kept->copies);
	free((void *)(uintptr_t)kept->overrides.sets);
	free(kept->path);
	json_decref(kept->json);
	*kept = (struct kept){.json = NULL};
}

void kept_warn_of_programs(const struct kept *kept, const char *run, const json_t *programs)
{
	const json_t *before = json_object_get(kept->json, "programs");

	if (before && programs && !json_equal(before, programs))
		command_say("%s: its programs are others by now", run);
}
