/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/expect/jq.h"

#include <jq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units, in the smallest of what they measure. A field that is missing is told by way of jq's own
 * debug, which nothing that follows can catch: by its name; one that is null, by its name in
 * brackets. */
static const char prelude[] =
	"def ps: .; def ns: . * 1000; def us: . * 1000000; def ms: . * 1000000000;"
	"def s: . * 1000000000000;"
	"def KB: . * 1000; def MB: . * 1000000; def GB: . * 1000000000;"
	"def KiB: . * 1024; def MiB: . * 1048576; def GiB: . * 1073741824;"
	"def Mbps: . * 1000000; def Gbps: . * 1000000000; def Tbps: . * 1000000000000;"
	"def _missing($k): $k | debug | empty;"
	"def _value($k): if . == null then ([$k] | debug | empty), . else . end;"
	"def _field($k): if type == \"object\" and has($k) then .[$k] | _value($k)"
	" elif type == \"object\" or type == \"null\" then _missing($k), null else .[$k] end;\n";

struct heard {
	char error[256]; /* the first */
};

static void keep_text(char *ret_text, size_t room, jv value)
{
	jv text = jv_get_kind(value) == JV_KIND_STRING ? value : jv_dump_string(value, 0);

	snprintf(ret_text, room, "%s", jv_string_value(text));
	jv_free(text);
}

static void on_error(void *owner, jv message)
{
	struct heard *heard = owner;
	char text[512];
	char *begin = text, *end;

	keep_text(text, sizeof(text), message);
	if (heard->error[0])
		return;
	if (strncmp(begin, "jq: error: ", 11) == 0)
		begin += 11;
	end = strstr(begin, " (Unix shell");
	end = end ? end : strstr(begin, " at <");
	end = end ? end : begin + strcspn(begin, "\n");
	snprintf(heard->error, sizeof(heard->error), "%.*s", (int)(end - begin), begin);
}

/* The first that is missing, or else the first that is null. */
static void on_debug(void *owner, jv message)
{
	const bool is_null = jv_get_kind(message) == JV_KIND_ARRAY;
	const enum expect_kind kind = is_null ? EXPECT_NULL : EXPECT_MISSING;
	struct expect_answer *told = owner;

	if (is_null)
		message = jv_array_get(message, 0);
	if (told->kind != EXPECT_MISSING && told->kind != kind) {
		keep_text(told->text, sizeof(told->text), jv_copy(message));
		told->kind = kind;
	}
	jv_free(message);
}

/* @begin: what takes the input apart. A program of nothing is what jq takes it for. */
static bool compile(jq_state *jq, const char *begin, const char *program)
{
	const bool is_empty = program[strspn(program, " \t\r\n")] == '\0';
	const size_t room = sizeof(prelude) + strlen(begin) + strlen(program) + 2;
	char *whole = malloc(room);
	bool done;

	if (!whole)
		abort(); /* the parent knows what that means */
	snprintf(whole, room, "%s%s%s", prelude, begin, is_empty ? "." : program);
	done = jq_compile(jq, whole);
	free(whole);
	return done;
}

/* The input of one. */
static const char begin_one[] = ".[1] as $baseline | .[0] | ";

/* Several in one: its input is [which of them, over what, beside which baseline]. */
static bool compile_all(jq_state *jq, const struct expect_question *questions, size_t count)
{
	char *program = NULL;
	size_t length;
	FILE *file = open_memstream(&program, &length);
	bool done;

	if (!file)
		abort();
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%sif $__which == %zu then (%s)", i ? " el" : "", i,
			questions[i].scan.program);
	fputs(" else empty end", file);
	if (fclose(file) != 0)
		abort();
	done = compile(jq, ".[0] as $__which | .[2] as $baseline | .[1] | ", program);
	free(program);
	return done;
}

/* What came, after the first value: only one counts. */
static enum expect_kind kind_of(jq_state *jq, jv value, struct expect_answer *answer)
{
	jv next = jq_next(jq);

	if (jv_is_valid(next)) {
		jv_free(value);
		jv_free(next);
		return EXPECT_SEVERAL;
	}
	if (jv_invalid_has_msg(jv_copy(next))) {
		jv_free(value);
		keep_text(answer->text, sizeof(answer->text), jv_invalid_get_msg(next));
		return EXPECT_ERROR;
	}
	jv_free(next);
	if (jv_get_kind(value) == JV_KIND_TRUE || jv_get_kind(value) == JV_KIND_FALSE) {
		const bool held = jv_get_kind(value) == JV_KIND_TRUE;

		jv_free(value);
		return held ? EXPECT_TRUE : EXPECT_FALSE;
	}
	keep_text(answer->text, sizeof(answer->text), jv_dump_string(value, 0));
	return EXPECT_NO_BOOLEAN;
}

static struct expect_answer evaluate(jq_state *jq, jv input)
{
	struct expect_answer answer = {.kind = EXPECT_NOTHING}, told = {.kind = EXPECT_NOTHING};
	jv value;

	jq_set_debug_cb(jq, on_debug, &told);
	jq_start(jq, input, 0);
	value = jq_next(jq);
	if (jv_is_valid(value)) {
		answer.kind = kind_of(jq, value, &answer);
	} else if (jv_invalid_has_msg(jv_copy(value))) {
		answer.kind = EXPECT_ERROR;
		keep_text(answer.text, sizeof(answer.text), jv_invalid_get_msg(value));
	} else {
		jv_free(value);
	}
	return told.kind == EXPECT_NOTHING ? answer : told;
}

static void answer_all(jq_state *jq, size_t count, jv roots, const struct expect_jq_ops *ops)
{
	const int root_count = jv_array_length(jv_copy(roots));

	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < root_count; k++) {
			jv input = jv_array_get(jv_copy(roots), k);
			struct expect_answer answer;

			if (count > 1)
				input = jv_array_concat(
					jv_array_append(jv_array(), jv_number((double)i)), input);
			ops->on_begin(ops->owner);
			answer = evaluate(jq, input);
			ops->on_answer(ops->owner, &answer);
		}
	jv_free(roots);
}

static void refuse_all(const char *error, jv roots, const struct expect_jq_ops *ops)
{
	const int root_count = jv_array_length(roots);
	struct expect_answer answer = {.kind = EXPECT_SYNTAX};

	snprintf(answer.text, sizeof(answer.text), "%s", error);
	for (int k = 0; k < root_count; k++)
		ops->on_answer(ops->owner, &answer);
}

bool expect_jq(const struct expect_question *questions, size_t count, const char *roots,
	       const struct expect_jq_ops *ops)
{
	struct heard heard = {.error = ""};
	jq_state *jq = jq_init();
	bool done;

	if (!jq)
		abort();
	jq_set_error_cb(jq, on_error, &heard);
	done = count > 1 ? compile_all(jq, questions, count)
			 : compile(jq, begin_one, questions->scan.program);
	/* What the reader of paths has made of it is none of its own. */
	if (!done && count == 1 && compile(jq, begin_one, questions->expression))
		snprintf(heard.error, sizeof(heard.error), "a form of jq that is not known here");
	if (done)
		answer_all(jq, count, jv_parse(roots), ops);
	else if (count == 1)
		refuse_all(heard.error, jv_parse(roots), ops);
	jq_teardown(&jq);
	return done || count == 1;
}
