/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/expect/expect.h"

#include "tools/command.h"
#include "tools/expect/ask.h"
#include "tools/result/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- before the run ---- */

struct trial {
	json_t *zeros, *ones; /* results of the scenario's shape */
	struct bad_list errors;
};

/* Where 0 is divided by 0 the expression may still be a good one. */
static int make_ones(json_t *json)
{
	const char *key;
	json_t *part;
	size_t i;

	if (json_is_integer(json))
		return json_integer_set(json, 1);
	if (json_is_real(json))
		return json_real_set(json, 1);
	json_object_foreach(json, key, part) if (make_ones(part) != 0) return -ENOMEM;
	json_array_foreach(json, i, part) if (make_ones(part) != 0) return -ENOMEM;
	return 0;
}

static int make_trial(const struct scenario *scenario, struct trial *trial)
{
	struct result result;
	int ret = result_zero(scenario, &result);

	*trial = (struct trial){.zeros = NULL};
	if (!ret) {
		trial->zeros = output_json_value(&result);
		trial->ones = json_deep_copy(trial->zeros);
	}
	result_free(&result);
	if (ret || !trial->zeros || !trial->ones || make_ones(trial->ones) != 0)
		return -ENOMEM;
	return 0;
}

/* What is wrong, and what would not be. False: nothing. */
static bool is_wrong(const struct expect_scan *scan, const struct expect_answer *answer,
		     struct bad_text *ret_found, const char **ret_expected)
{
	*ret_expected = "a jq expression that is true or false";
	if (scan->word[0]) {
		bad_text(ret_found, "\"%s\"", scan->word);
		*ret_expected = "an expression over the result and nothing else";
		return true;
	}
	if (scan->missing[0]) {
		bad_text(ret_found, "%s, which is not there", scan->missing);
		*ret_expected = "fields that the result of this scenario has";
		return true;
	}
	switch (answer->kind) {
	case EXPECT_TRUE:
	case EXPECT_FALSE:
		return false;
	case EXPECT_NO_BOOLEAN:
		bad_text(ret_found, "%s", answer->text);
		break;
	case EXPECT_NOTHING:
		bad_text(ret_found, "an expression without a value");
		break;
	case EXPECT_SEVERAL:
		bad_text(ret_found, "an expression with several values");
		break;
	case EXPECT_MISSING:
		bad_text(ret_found, ".%s, which is not there", answer->text);
		*ret_expected = "fields that the result of this scenario has";
		break;
	case EXPECT_SYNTAX:
	case EXPECT_ERROR:
		bad_text(ret_found, "%s", answer->text);
		break;
	case EXPECT_ENDLESS:
		bad_text(ret_found, "an expression that does not end within %d s or 1 GiB",
			 EXPECT_SECONDS_MAX);
		break;
	case EXPECT_NO_JQ:
		bad_text(ret_found, "an expectation");
		*ret_expected = "none: this verbena was built without libjq";
		break;
	}
	return true;
}

static int try_one(struct trial *trial, const struct scenario_expect *expect, uint32_t number)
{
	const struct bad_at at = {expect->file, expect->line, NULL};
	struct expect_answer answer = {.kind = EXPECT_NOTHING};
	struct bad_text key, found;
	struct expect_scan scan;
	const char *expected;
	int ret;

	bad_text(&key, "expect[%u]", number);
	if (strlen(expect->text) > EXPECT_LENGTH_MAX) {
		bad(&trial->errors, &at, key.text, "a very long expression", "at most 4096 bytes");
		return 0;
	}
	ret = expect_scan(expect->text, trial->zeros, &scan);
	if (!ret && !scan.word[0] && !scan.missing[0])
		ret = expect_ask(expect->text, &scan, trial->zeros, &answer);
	if (!ret && answer.kind == EXPECT_ERROR)
		ret = expect_ask(expect->text, &scan, trial->ones, &answer);
	if (!ret && is_wrong(&scan, &answer, &found, &expected))
		bad(&trial->errors, &at, key.text, found.text, expected);
	expect_scan_fini(&scan);
	return ret;
}

int expect_check(const struct scenario *scenario)
{
	struct trial trial;
	int ret = COMMAND_DONE, error;

	if (scenario->expect_count == 0)
		return COMMAND_DONE;
	error = make_trial(scenario, &trial);
	for (uint32_t i = 0; i < scenario->expect_count && !error; i++)
		error = try_one(&trial, &scenario->expects[i], i);
	if (error || trial.errors.no_memory) {
		command_say("the expectations could not be tried: %s",
			    strerror(error ? -error : ENOMEM));
		ret = COMMAND_BROKEN;
	} else if (trial.errors.error_count > 0) {
		command_print_bad(&trial.errors, false);
		ret = COMMAND_BAD;
	}
	bad_list_fini(&trial.errors);
	json_decref(trial.zeros);
	json_decref(trial.ones);
	return ret;
}

/* ---- after the run ---- */

/* ".drops.buffer is 3, .fct.incast.p99_ps is 2412345678 (2.41 ms)"; rates likewise. */
static int describe_paths(const struct expect_scan *scan, FILE *file)
{
	for (size_t i = 0; i < scan->path_count; i++) {
		const struct expect_path *path = &scan->paths[i];
		const size_t length = strlen(path->text);
		char *value = json_dumps(path->value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
		char short_form[OUTPUT_TEXT_MAX];

		if (!value)
			return -ENOMEM;
		fprintf(file, "%s%s is %s", i ? ", " : "", path->text, value);
		if (json_is_integer(path->value) && length > 3 &&
		    strcmp(path->text + length - 3, "_ps") == 0)
			fprintf(file, " (%s)",
				output_time((ps_t)json_integer_value(path->value), short_form));
		if (json_is_integer(path->value) && length > 4 &&
		    strcmp(path->text + length - 4, "_bps") == 0)
			fprintf(file, " (%s)",
				output_rate((uint64_t)json_integer_value(path->value), short_form));
		free(value);
	}
	return 0;
}

static int describe(const struct expect_scan *scan, const struct expect_answer *answer, FILE *file)
{
	struct bad_text found;
	const char *expected;
	struct expect_scan known = *scan;

	known.missing[0] = '\0'; /* is told by the answer, if it was asked for */
	if (is_wrong(&known, answer, &found, &expected)) {
		fputs(found.text, file);
		return 0;
	}
	if (scan->path_count == 0)
		fputs(answer->kind == EXPECT_TRUE ? "true" : "false", file);
	return describe_paths(scan, file);
}

static int judge_one(struct result_expect *expect, const json_t *root)
{
	struct expect_answer answer;
	struct expect_scan scan;
	size_t length;
	FILE *file;
	int ret = expect_scan(expect->text, root, &scan);

	ret = ret ? ret : expect_ask(expect->text, &scan, root, &answer);
	file = ret ? NULL : open_memstream(&expect->found, &length);
	if (!ret && !file)
		ret = -ENOMEM;
	if (file) {
		expect->held = answer.kind == EXPECT_TRUE;
		ret = describe(&scan, &answer, file);
		if (fclose(file) != 0)
			ret = -ENOMEM;
	}
	expect_scan_fini(&scan);
	return ret;
}

int expect_judge(struct result *result)
{
	const struct scenario *scenario = result->scenario;
	json_t *root;
	int ret = 0;

	result->expects = calloc((size_t)scenario->expect_count + 1, sizeof(*result->expects));
	root = result->expects ? output_json_value(result) : NULL;
	if (!root)
		return -ENOMEM;
	for (uint32_t i = 0; i < scenario->expect_count && !ret; i++) {
		struct result_expect *expect = &result->expects[result->expect_count++];

		expect->text = scenario->expects[i].text;
		if (!result->partial) {
			ret = judge_one(expect, root);
			continue;
		}
		expect->found = strdup("not judged: the run ended early");
		ret = expect->found ? 0 : -ENOMEM;
	}
	json_decref(root);
	return ret;
}
