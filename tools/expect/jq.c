/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/expect/jq.h"

#include <jq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Units, in the smallest of what they measure. A field that is missing is told by way of jq's own
 * debug, which nothing that follows can catch. */
static const char prelude[] =
	"def ps: .; def ns: . * 1000; def us: . * 1000000; def ms: . * 1000000000;"
	"def s: . * 1000000000000;"
	"def KB: . * 1000; def MB: . * 1000000; def GB: . * 1000000000;"
	"def KiB: . * 1024; def MiB: . * 1048576; def GiB: . * 1073741824;"
	"def Mbps: . * 1000000; def Gbps: . * 1000000000; def Tbps: . * 1000000000000;"
	"def _missing($k): $k | debug | empty;"
	"def _field($k): if type == \"object\" and has($k) then .[$k]"
	" elif type == \"object\" or type == \"null\" then _missing($k), null else .[$k] end;\n";

struct heard {
	struct expect_answer *answer;
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

static void on_debug(void *owner, jv message)
{
	struct heard *heard = owner;

	if (heard->answer->kind != EXPECT_MISSING)
		keep_text(heard->answer->text, sizeof(heard->answer->text), jv_copy(message));
	heard->answer->kind = EXPECT_MISSING;
	jv_free(message);
}

static bool compile(jq_state *jq, const char *expression)
{
	const size_t room = sizeof(prelude) + strlen(expression) + 1;
	char *program = malloc(room);
	bool done;

	if (!program)
		abort(); /* the parent knows what that means */
	snprintf(program, room, "%s%s", prelude, expression);
	done = jq_compile(jq, program);
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

static void evaluate(jq_state *jq, const char *json, struct expect_answer *ret_answer)
{
	struct expect_answer answer = {.kind = EXPECT_NOTHING};
	jv value;

	jq_start(jq, jv_parse(json), 0);
	value = jq_next(jq);
	if (jv_is_valid(value)) {
		answer.kind = kind_of(jq, value, &answer);
	} else if (jv_invalid_has_msg(jv_copy(value))) {
		answer.kind = EXPECT_ERROR;
		keep_text(answer.text, sizeof(answer.text), jv_invalid_get_msg(value));
	} else {
		jv_free(value);
	}
	if (ret_answer->kind != EXPECT_MISSING)
		*ret_answer = answer;
}

void expect_jq(const char *expression, const struct expect_scan *scan, const char *json,
	       struct expect_answer *ret_answer)
{
	struct heard heard = {.answer = ret_answer};
	jq_state *jq = jq_init();

	*ret_answer = (struct expect_answer){.kind = EXPECT_NOTHING};
	if (!jq)
		abort();
	jq_set_error_cb(jq, on_error, &heard);
	jq_set_debug_cb(jq, on_debug, &heard);
	if (compile(jq, scan->program) || compile(jq, expression)) {
		evaluate(jq, json, ret_answer);
	} else {
		ret_answer->kind = EXPECT_SYNTAX;
		snprintf(ret_answer->text, sizeof(ret_answer->text), "%s", heard.error);
	}
	jq_teardown(&jq);
}
