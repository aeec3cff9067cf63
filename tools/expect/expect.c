/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/expect/expect.h"

#include "tools/command.h"
#include "tools/expect/ask.h"
#include "tools/result/output.h"
#include "tools/result/path.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	TRIAL_ROOTS = 4, /* least and greatest, over zeros and over ones */
	TRIED_AT_ONCE = 64,
	WRONG_MAX = 50, /* then no more of a scenario are tried */
};

/* What stands for values over nothing. */
enum fill {
	FILL_NULL, /* nothing, as in the result */
	FILL_LEAST,
	FILL_GREATEST,
	FILL_MIXED, /* the least and the greatest in turn, */
	FILL_OTHER, /* and the other way round */
	FILL_ZERO,
	FILL_TEXT, /* no number at all */
	FILLS
};

struct filler {
	enum fill fill;
	uint64_t count; /* so far */
};

/* A number further from 0 than anything that is measured, and no two the same nor of the same size:
 * nothing may come out of how two of them compare, nor of their ratio. */
static double far_from_zero(uint64_t number)
{
	double size = 1e30 * (1 + (double)number / 1e6);

	for (uint64_t i = 0; i < number * 7 % 41; i++)
		size *= 1e6;
	return size;
}

static json_t *filling(struct filler *filler)
{
	static const char text[] = "nothing was measured";
	const uint64_t number = filler->count++;
	bool least = filler->fill == FILL_LEAST;

	if (filler->fill == FILL_NULL)
		return json_null();
	if (filler->fill == FILL_ZERO)
		return json_integer(0);
	if (filler->fill == FILL_TEXT)
		return json_string(text);
	if (filler->fill == FILL_MIXED || filler->fill == FILL_OTHER)
		least = number % 2 == (filler->fill == FILL_MIXED);
	return json_real(least ? -far_from_zero(number) : far_from_zero(number));
}

/* Every null below @json becomes what @filler has for it. */
static int fill_nulls(json_t *json, struct filler *filler);

static json_t *filled(json_t *part, struct filler *filler)
{
	if (json_is_null(part))
		return filling(filler);
	return fill_nulls(part, filler) == 0 ? json_incref(part) : NULL;
}

static int fill_nulls(json_t *json, struct filler *filler)
{
	const char *key;
	json_t *part;
	void *next;
	size_t i;

	json_object_foreach_safe(json, next, key, part)
	{
		if (json_object_set_new(json, key, filled(part, filler)) != 0)
			return -ENOMEM;
	}
	json_array_foreach(json, i, part)
	{
		if (json_array_set_new(json, i, filled(part, filler)) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* Appends @root, and @baseline beside it unless that is NULL, with @fill for their values over
 * nothing; @ret_count: how many these are. */
static int add_root(json_t *roots, const json_t *root, const json_t *baseline, enum fill fill,
		    uint64_t *ret_count)
{
	struct filler filler = {.fill = fill};
	json_t *copy = json_array();
	int ret = json_array_append_new(copy, json_deep_copy(root)) ? -ENOMEM : 0;

	if (!ret && baseline)
		ret = json_array_append_new(copy, json_deep_copy(baseline)) ? -ENOMEM : 0;
	ret = ret ? ret : fill_nulls(copy, &filler);

	if (!ret && json_array_append(roots, copy) != 0)
		ret = -ENOMEM;
	json_decref(copy);
	*ret_count = filler.count;
	return ret;
}

static struct expect_question *questions_make(uint32_t count)
{
	return calloc((size_t)count + 1, sizeof(struct expect_question));
}

static void questions_free(struct expect_question *questions, uint32_t count)
{
	for (uint32_t i = 0; questions && i < count; i++)
		expect_scan_fini(&questions[i].scan);
	free(questions);
}

/* ---- before the run ---- */

struct trial {
	const struct scenario *scenario;
	json_t *zeros; /* a result of the scenario's shape */
	const json_t *baseline;
	json_t *roots; /* with 0 and with 1 */
	struct expect_question *questions;
	struct expect_answer *answers;
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

/* Where any baseline will do it is like the result. */
static int add_trial_roots(struct trial *trial, const json_t *root)
{
	const json_t *baseline = trial->baseline == trial->zeros ? root : trial->baseline;
	uint64_t count;
	const int ret = add_root(trial->roots, root, baseline, FILL_LEAST, &count);

	return ret ? ret : add_root(trial->roots, root, baseline, FILL_GREATEST, &count);
}

static int make_roots(struct trial *trial)
{
	json_t *ones = json_deep_copy(trial->zeros);
	int ret = ones && trial->roots ? make_ones(ones) : -ENOMEM;

	ret = ret ? ret : add_trial_roots(trial, trial->zeros);
	ret = ret ? ret : add_trial_roots(trial, ones);
	json_decref(ones);
	return ret;
}

static int trial_init(struct trial *trial, const struct scenario *scenario, const json_t *baseline,
		      bool is_open)
{
	struct result result;
	int ret = result_zero(scenario, &result);

	*trial = (struct trial){
		.scenario = scenario,
		.roots = json_array(),
		.questions = questions_make(scenario->expect_count),
		.answers = calloc((size_t)TRIAL_ROOTS * TRIED_AT_ONCE, sizeof(*trial->answers))};
	if (!ret)
		trial->zeros = output_json_value(&result);
	result_free(&result);
	if (ret || !trial->zeros || !trial->questions || !trial->answers)
		return -ENOMEM;
	trial->baseline = baseline || !is_open ? baseline : trial->zeros;
	return make_roots(trial);
}

static void trial_fini(struct trial *trial)
{
	questions_free(trial->questions, trial->scenario->expect_count);
	free(trial->answers);
	bad_list_fini(&trial->errors);
	json_decref(trial->zeros);
	json_decref(trial->roots);
}

static bool is_number_text(const char *text)
{
	char *end;

	strtod(text, &end);
	return end != text && *end == '\0';
}

/* "1ms" is no jq, and what anybody would write who comes from the scenario. NULL: there is none. */
static const char *find_quantity(const char *text, struct bad_text *ret_expected)
{
	static const char *const units[] = {"ps", "ns",	 "us",	"ms",  "s",    "KB",   "MB",
					    "GB", "KiB", "MiB", "GiB", "Mbps", "Gbps", "Tbps"};

	for (const char *at = text; *at; at++) {
		const size_t digits = strspn(at, "0123456789.");
		size_t letters = 0;

		if (digits == 0 || (at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_')))
			continue;
		while (isalpha((unsigned char)at[digits + letters]))
			letters++;
		for (size_t i = 0;
		     isdigit((unsigned char)*at) && i < sizeof(units) / sizeof(units[0]); i++)
			if (strlen(units[i]) == letters &&
			    strncmp(at + digits, units[i], letters) == 0)
				return bad_text(ret_expected, "a unit behind a bar: (%.*s|%s)",
						(int)digits, at, units[i]);
		at += digits - 1;
	}
	return NULL;
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
		*ret_expected = scan->missing[0] == '$'
					? "fields that the result of the baseline has"
					: "fields that the result of this scenario has";
		return true;
	}
	switch (answer->kind) {
	case EXPECT_TRUE:
	case EXPECT_FALSE:
	case EXPECT_NULL:
		return false;
	case EXPECT_NO_BOOLEAN: /* which number, nobody knows before the run */
		bad_text(ret_found, "%s", is_number_text(answer->text) ? "a number" : answer->text);
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
	case EXPECT_UNTRIED:
		bad_text(ret_found, "%d expressions that do not end before it", EXPECT_ENDLESS_MAX);
		break;
	case EXPECT_NO_JQ:
		bad_text(ret_found, "an expectation");
		*ret_expected = "none: this verbena was built without libjq";
		break;
	}
	return true;
}

static void expect_refuse(struct trial *trial, uint32_t number, const char *found,
			  const char *expected)
{
	const struct scenario_expect *expect = &trial->scenario->expects[number];
	const struct bad_at at = {.file = expect->file, .line = expect->line};
	struct bad_text key;

	bad(&trial->errors, &at, bad_text(&key, "expect[%u]", number), found, expected);
}

/* Of a field that is not there: what is @expected, and the one that may have been meant. */
static const char *such_as(const struct trial *trial, const struct expect_scan *scan,
			   const struct expect_answer *answer, const char *expected,
			   struct bad_text *ret_text)
{
	const char *name = NULL;
	struct bad_text near;

	if (scan->missing[0] == '.' && result_path_nearest(trial->zeros, scan->missing, &near))
		return bad_text(ret_text, "%s, such as %s", expected, near.text);
	if (scan->missing[0] == '\0' && answer->kind == EXPECT_MISSING)
		name = result_path_nearest_name(trial->zeros, answer->text);
	return name ? bad_text(ret_text, "%s, such as .%s", expected, name) : expected;
}

static bool is_boolean(const struct expect_answer *answer)
{
	return answer->kind == EXPECT_TRUE || answer->kind == EXPECT_FALSE;
}

static void judge_trial(struct trial *trial, uint32_t number, const struct expect_answer *answers)
{
	const struct expect_answer *answer = &answers[is_boolean(&answers[0])];
	const struct expect_scan *scan = &trial->questions[number].scan;
	struct bad_text found, unit, such;
	const char *expected, *quantity = NULL;

	if (answer->kind == EXPECT_SYNTAX)
		quantity = find_quantity(trial->questions[number].expression, &unit);
	if (answer->kind == EXPECT_ERROR)
		answer = &answers[2 + is_boolean(&answers[2])];
	if (is_wrong(scan, answer, &found, &expected))
		expect_refuse(trial, number, found.text,
			      quantity ? quantity : such_as(trial, scan, answer, expected, &such));
}

/* False: there is nothing to ask about it. */
static bool read_one(struct trial *trial, uint32_t number, int *ret_error)
{
	const char *text = trial->scenario->expects[number].text;
	struct expect_question *question = &trial->questions[number];
	const struct expect_answer none = {.kind = EXPECT_TRUE};
	struct bad_text found, such;
	const char *expected;

	question->expression = text;
	if (strlen(text) > EXPECT_LENGTH_MAX) {
		expect_refuse(trial, number, "a very long expression", "at most 4096 bytes");
		return false;
	}
	*ret_error = expect_scan(text, trial->zeros, trial->baseline, &question->scan);
	if (*ret_error)
		return false;
	if (question->scan.names_baseline && !trial->baseline) {
		expect_refuse(trial, number, "$baseline",
			      "--baseline RUN beside it, the result to compare with");
		return false;
	}
	if (!is_wrong(&question->scan, &none, &found, &expected))
		return true;
	expect_refuse(trial, number, found.text,
		      such_as(trial, &question->scan, &none, expected, &such));
	return false;
}

/* As many as can be asked at once, from @first on; returns the one behind them. */
static uint32_t try_some(struct trial *trial, uint32_t first, int *ret_error)
{
	const uint32_t count = trial->scenario->expect_count;
	uint32_t end = first;

	while (end < count && end - first < TRIED_AT_ONCE && read_one(trial, end, ret_error))
		end++;
	if (*ret_error)
		return count;
	*ret_error =
		expect_ask(&trial->questions[first], end - first, trial->roots, trial->answers);
	for (uint32_t i = first; i < end && !*ret_error; i++)
		judge_trial(trial, i, &trial->answers[(size_t)(i - first) * TRIAL_ROOTS]);
	/* The one that stands behind them has been refused, unless they were as many as may be. */
	return end < count && end - first < TRIED_AT_ONCE ? end + 1 : end;
}

int expect_check(const struct scenario *scenario, const json_t *baseline, bool is_open)
{
	struct trial trial;
	int ret = COMMAND_DONE, error;

	if (scenario->expect_count == 0)
		return COMMAND_DONE;
	ret = command_need_proc("expectations");
	if (ret)
		return ret;
	error = trial_init(&trial, scenario, baseline, is_open);
	for (uint32_t i = 0; i < scenario->expect_count && !error;) {
		i = try_some(&trial, i, &error);
		if (trial.errors.error_count >= WRONG_MAX && i < scenario->expect_count) {
			expect_refuse(&trial, i, "many errors before it: it was not tried",
				      "fewer at once");
			break;
		}
	}
	if (error || trial.errors.no_memory) {
		command_say("the expectations could not be tried: %s",
			    strerror(error ? -error : ENOMEM));
		ret = COMMAND_BROKEN;
	} else if (trial.errors.error_count > 0) {
		command_print_bad(&trial.errors, false);
		ret = COMMAND_BAD;
	}
	trial_fini(&trial);
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
		fprintf(file, "%s%s is %s%s", i ? ", " : "", path->text, value,
			json_is_null(path->value) ? " (over nothing)" : "");
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

static bool has_null_path(const struct expect_scan *scan)
{
	for (size_t i = 0; i < scan->path_count; i++)
		if (json_is_null(scan->paths[i].value))
			return true;
	return false;
}

/* @null_path: of a value over nothing; which of them an expression came to without naming it is not
 * known. */
static int describe(const struct expect_scan *scan, const struct expect_answer *answer,
		    const char *null_path, FILE *file)
{
	struct bad_text found;
	const char *expected;
	struct expect_scan known = *scan;

	known.missing[0] = '\0'; /* is told by the answer, if it was asked for */
	if (is_wrong(&known, answer, &found, &expected)) {
		fputs(found.text, file);
		return 0;
	}
	if (answer->kind == EXPECT_NULL && !has_null_path(scan)) {
		if (answer->text[0])
			fprintf(file, "a .%s over nothing was asked for", answer->text);
		else
			fprintf(file, "values over nothing, such as %s, decide it", null_path);
		fputs(scan->path_count ? "; " : "", file);
	} else if (scan->path_count == 0) {
		fputs(answer->kind == EXPECT_TRUE ? "true" : "false", file);
	}
	return describe_paths(scan, file);
}

/* Why a verdict is worth nothing unless it is about the flows themselves, or the programs. */
struct remark {
	struct bad_text text; /* empty: it is worth something */
	bool of_flows, of_programs;
	char null_path[EXPECT_PATH_MAX]; /* the first value over nothing; "": none */
};

/* Appends to @path, which has EXPECT_PATH_MAX bytes, where below @json the first null is. False:
 * there is none. */
static bool find_null(json_t *json, char *path)
{
	const size_t length = strlen(path);
	const char *key;
	json_t *part;
	size_t i;

	if (json_is_null(json))
		return true;
	json_object_foreach(json, key, part)
	{
		snprintf(path + length, EXPECT_PATH_MAX - length, ".%s", key);
		if (find_null(part, path))
			return true;
	}
	json_array_foreach(json, i, part)
	{
		snprintf(path + length, EXPECT_PATH_MAX - length, "[%zu]", i);
		if (find_null(part, path))
			return true;
	}
	path[length] = '\0';
	return false;
}

static struct remark remark_flows(const struct result *result)
{
	const struct traffic_sums *sums = &result->flow_sums;
	const uint64_t failed = sums->failed - sums->unfinished;
	struct remark remark = {.of_flows = true};

	if (sums->posted == 0 && result->class_count > 0)
		bad_text(&remark.text, "no flow was sent");
	else if (sums->unfinished > 0 && failed > 0)
		bad_text(&remark.text,
			 "%" PRIu64 " of %" PRIu64 " flows are unfinished, %" PRIu64
			 " have failed or are lost",
			 sums->unfinished, sums->posted, failed);
	else if (sums->unfinished > 0)
		bad_text(&remark.text, "%" PRIu64 " of %" PRIu64 " flows are unfinished",
			 sums->unfinished, sums->posted);
	else if (failed > 0)
		bad_text(&remark.text, "%" PRIu64 " of %" PRIu64 " flows have failed or are lost",
			 failed, sums->posted);
	else
		remark.of_flows = false;
	return remark;
}

static bool gpus_worked(const struct result *result)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < result->machine_count; i++)
		for (uint32_t k = 0; k < result->machines[i].gpu_count; k++)
			for (int work = 0; work < GPU_WORKS; work++)
				count += result->machines[i].gpus[k].counts.works[work].count;
	return count > 0;
}

static struct remark find_remark(const struct result *result)
{
	struct remark remark = remark_flows(result);
	uint64_t completions = 0, ranks = 0, unfinished = 0;
	struct bad_text flows;

	for (uint32_t i = 0; i < result->program_count; i++) {
		ranks += result->programs[i].rank_count;
		unfinished += result->programs[i].unfinished;
		for (uint32_t k = 0; k < result->programs[i].rank_count; k++)
			completions += result->programs[i].ranks[k].result->completions;
	}
	if (unfinished > 0) {
		flows = remark.text;
		bad_text(&remark.text, "%s%s%" PRIu64 " of %" PRIu64 " ranks are unfinished",
			 remark.of_flows ? flows.text : "", remark.of_flows ? ", " : "", unfinished,
			 ranks);
		remark.of_programs = true;
	}
	if (!remark.text.text[0] && result->packet_hops == 0 && completions == 0 &&
	    !gpus_worked(result)) {
		bad_text(&remark.text, "nothing was sent");
		remark.of_flows = true;
	}
	return remark;
}

static int judge_one(struct result_expect *expect, const struct expect_scan *scan,
		     const struct expect_answer *answer, const struct remark *remark)
{
	const bool has_thought = (!remark->of_flows || scan->names_flows) &&
				 (!remark->of_programs || scan->names_programs);
	size_t length;
	FILE *file = open_memstream(&expect->found, &length);
	int ret;

	if (!file)
		return -ENOMEM;
	expect->held = answer->kind == EXPECT_TRUE && has_thought;
	expect->is_remarked = remark->text.text[0] != '\0';
	ret = describe(scan, answer, remark->null_path, file);
	if (expect->is_remarked)
		fprintf(file, "%s%s", has_thought ? "; " : ", but ", remark->text.text);
	return fclose(file) != 0 || ret ? -ENOMEM : 0;
}

/* The result itself, and with each filling where there is something to be filled. */
static int make_fillings(json_t *roots, const json_t *root, const json_t *baseline)
{
	uint64_t nulls = 1;
	int ret = 0;

	for (int fill = FILL_NULL; fill < FILLS && nulls > 0 && !ret; fill++)
		ret = add_root(roots, root, baseline, fill, &nulls);
	return ret;
}

/* Over the result itself, unless what stands for its nulls makes a difference. */
static const struct expect_answer *verdict_of(const struct expect_answer *answers, size_t count)
{
	static const struct expect_answer by_nothing = {.kind = EXPECT_NULL};

	for (size_t i = 1; i < count && answers[0].kind == EXPECT_TRUE; i++)
		if (answers[i].kind != EXPECT_TRUE)
			return &by_nothing;
	return &answers[0];
}

/* Where the first value over nothing is, of the result or else of the baseline; "": nowhere. */
static void name_null(json_t *root, const json_t *baseline, char ret_path[EXPECT_PATH_MAX])
{
	ret_path[0] = '\0';
	if (find_null(root, ret_path) || !baseline)
		return;
	snprintf(ret_path, EXPECT_PATH_MAX, "$baseline");
	if (!find_null((json_t *)(uintptr_t)baseline, ret_path))
		ret_path[0] = '\0';
}

/* What compares with a baseline that there is not. */
static int judge_without_baseline(struct result_expect *expect)
{
	free(expect->found);
	expect->held = false;
	expect->found = strdup("not judged: there is no baseline");
	return expect->found ? 0 : -ENOMEM;
}

static int judge_all(struct result *result, json_t *root, const json_t *baseline,
		     struct expect_question *questions)
{
	const uint32_t count = result->scenario->expect_count;
	struct remark remark = find_remark(result);
	json_t *roots = json_array();
	int ret = roots ? make_fillings(roots, root, baseline) : -ENOMEM;
	const size_t root_count = json_array_size(roots);
	struct expect_answer *answers = calloc(count * root_count + 1, sizeof(*answers));

	ret = answers ? ret : -ENOMEM;
	name_null(root, baseline, remark.null_path);
	for (uint32_t i = 0; i < count && !ret; i++) {
		questions[i].expression = result->scenario->expects[i].text;
		ret = expect_scan(questions[i].expression, root, baseline, &questions[i].scan);
	}
	ret = ret ? ret : expect_ask(questions, count, roots, answers);
	for (uint32_t i = 0; i < count && !ret; i++)
		ret = judge_one(&result->expects[i], &questions[i].scan,
				verdict_of(&answers[i * root_count], root_count), &remark);
	for (uint32_t i = 0; i < count && !ret && !baseline; i++)
		if (questions[i].scan.names_baseline)
			ret = judge_without_baseline(&result->expects[i]);
	free(answers);
	json_decref(roots);
	return ret;
}

static int judge_none(struct result *result)
{
	for (uint32_t i = 0; i < result->expect_count; i++) {
		result->expects[i].found = strdup("not judged: the run ended early");
		if (!result->expects[i].found)
			return -ENOMEM;
	}
	return 0;
}

int expect_judge(struct result *result, const json_t *baseline)
{
	const uint32_t count = result->scenario->expect_count;
	struct expect_question *questions = questions_make(count);
	json_t *root = output_json_value(result);
	int ret = -ENOMEM;

	result->expects = calloc((size_t)count + 1, sizeof(*result->expects));
	if (questions && root && result->expects) {
		result->expect_count = count;
		for (uint32_t i = 0; i < count; i++)
			result->expects[i].text = result->scenario->expects[i].text;
		ret = result->partial ? judge_none(result)
				      : judge_all(result, root, baseline, questions);
	}
	json_decref(root);
	questions_free(questions, count);
	return ret;
}
