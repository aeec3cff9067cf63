/* SPDX-License-Identifier: BSD-2-Clause */

/* Expectations: which paths are seen to be missing, which words are refused, and what comes of an
 * expression, whatever it is up to. */
#include "tests/test.h"

#include "tools/expect/ask.h"

#include <stdlib.h>
#include <string.h>

static const char shape[] =
	"{\"a\": 0, \"b\": {\"c\": 0, \"d e\": 0, \"now\": 1}, \"list\": [{\"f\": 0, \"n\": null}],"
	" \"fct\": {\"x\": {\"p\": 0}}, \"text\": \"t\"}";

static json_t *root_of(const char *json)
{
	json_t *root = json_loads(json, 0, NULL);

	assert_non_null(root);
	return root;
}

static void missing_is(const char *expression, const char *missing)
{
	json_t *root = root_of(shape);
	struct expect_scan scan;

	assert_int_equal(expect_scan(expression, root, &scan), 0);
	if (strcmp(scan.missing, missing) != 0)
		fail_msg("%s: \"%s\" is missing, not \"%s\"", expression, scan.missing, missing);
	expect_scan_fini(&scan);
	json_decref(root);
}

static void missing_paths_are_seen(void **state)
{
	(void)state;
	missing_is(".a == 0", "");
	missing_is(".nope < 5", ".nope");
	missing_is(".b.c == 0 and .b.\"d e\" == 0 and .b[\"c\"] == 0 and .[\"a\"] == 0", "");
	missing_is(".b.nope == 0", ".b.nope");
	missing_is(".b[\"nope\"] == 0", ".b.nope");
	missing_is(".b.\"no pe\" == 0", ".b.\"no pe\"");
	missing_is(".b [ \"nope\" ] # .x", ".b.nope");
	/* Also where the run might never look. */
	missing_is("if .a > 0 then .nope else true end", ".nope");
	missing_is(".a > 0 and .b.nope > 5", ".b.nope");
	missing_is("(.a, (.b | .nope)) == 0", ".b.nope");
	missing_is("\"\\(.nope)\" == \"\"", ".nope");
	missing_is("[.a, {k: .nope}] == []", ".nope");
	missing_is(".nope // true", ".nope");
	missing_is("try .nope catch true", ".nope");
	missing_is(".nope? == 0", ".nope");
	missing_is(". as $r | .nope < 5", ".nope");
	missing_is(".fct[].nope < 5", ".nope");
	missing_is(".list[0].nope < 5", ".list[0].nope");
	missing_is(".list[1].f < 5", ".list[1]");
	missing_is(".list[-1].nope < 5", ".nope");
	missing_is(".fct | map(.nope) == []", ".nope");
	missing_is("reduce .nope[] as $i (0; . + $i.z) == 0", ".nope");
	/* Where "." is something else, nothing can be said here. */
	missing_is("[.list[] | {q: .f}] | map(.q == 0) | all", "");
	missing_is("reduce .list[] as $i ({z: 0}; .z + $i.f) == 0", "");
	missing_is("[limit(1; .list[])] | all(.f == 0)", "");
	missing_is("def f: .q; {q: 1} | f == 1", "");
	missing_is(".a as $x | {q: $x} | .q == 0", "");
	missing_is("(.b |= {q: .c}) | .b.q == 0", "");
	missing_is(".a == \".nope\" # .nope\n", "");
	missing_is(".b | to_entries | .[0].key == \"c\"", "");
	missing_is("if .a == 0 then {q: 1} else {q: 2} end | .q == 1", "");
}

static void word_is(const char *expression, const char *word)
{
	json_t *root = root_of(shape);
	struct expect_scan scan;

	assert_int_equal(expect_scan(expression, root, &scan), 0);
	if (strcmp(scan.word, word) != 0)
		fail_msg("%s: \"%s\" is refused, not \"%s\"", expression, scan.word, word);
	expect_scan_fini(&scan);
	json_decref(root);
}

static void what_looks_elsewhere_is_refused(void **state)
{
	(void)state;
	word_is("now > 0", "now");
	word_is("env.HOME == \"\"", "env");
	word_is("$ENV.HOME == \"\"", "$ENV");
	word_is("$__loc__.line == 1", "$__");
	word_is("[input, inputs] == []", "input");
	word_is("\"\\(now)\" == \"\"", "now");
	word_is("\"a \\( \"b \\(input)\" ) c\" == \"\"", "input");
	word_is("input_filename == 1", "input_filename");
	word_is("(.a | debug) == 0", "debug");
	word_is("halt", "halt");
	word_is("import \"x\" as x; true", "import");
	word_is(".b.now == 1", "");
	word_is("{now: 1, \"input\": 2} | length == 2", "");
	word_is(".text == \"now env input\" # now", "");
	word_is(".[\"b\"].now == 1 and $r", "");
}

static void paths_are_kept_with_their_values(void **state)
{
	json_t *root = root_of(shape);
	struct expect_scan scan;

	(void)state;
	assert_int_equal(expect_scan(".b.c < 5 and .a == 0 and .b.c > .fct.x.p and .fct[].p == 0 "
				     "and .list[0].f == 0",
				     root, &scan),
			 0);
	assert_int_equal(scan.path_count, 4);
	assert_string_equal(scan.paths[0].text, ".b.c");
	assert_string_equal(scan.paths[1].text, ".a");
	assert_string_equal(scan.paths[2].text, ".fct.x.p");
	assert_string_equal(scan.paths[3].text, ".list[0].f");
	assert_ptr_equal(scan.paths[1].value, json_object_get(root, "a"));
	expect_scan_fini(&scan);
	json_decref(root);
}

static struct expect_answer answer_of(const char *expression)
{
	json_t *root = root_of(shape);
	struct expect_answer answer;
	struct expect_scan scan;

	assert_int_equal(expect_scan(expression, root, &scan), 0);
	assert_int_equal(expect_ask(expression, &scan, root, &answer), 0);
	expect_scan_fini(&scan);
	json_decref(root);
	if (answer.kind == EXPECT_NO_JQ) {
		print_message("built without libjq\n");
		skip();
	}
	return answer;
}

static void is(const char *expression, enum expect_kind kind, const char *text)
{
	const struct expect_answer answer = answer_of(expression);

	if (answer.kind != kind || (text && strcmp(answer.text, text) != 0))
		fail_msg("%s: kind %d, not %d: \"%s\"", expression, answer.kind, kind, answer.text);
}

static void values_are_judged(void **state)
{
	(void)state;
	is(".a == 0", EXPECT_TRUE, "");
	is(".a > 0", EXPECT_FALSE, "");
	is(".a", EXPECT_NO_BOOLEAN, "0");
	is(".b | tojson | length > 3", EXPECT_TRUE, "");
	is("null", EXPECT_NO_BOOLEAN, "null");
	is("empty", EXPECT_NOTHING, "");
	is("true, true", EXPECT_SEVERAL, "");
	is("true, error(\"late\")", EXPECT_ERROR, "late");
	is("error(\"early\")", EXPECT_ERROR, "early");
	is("1 / .a == 0", EXPECT_ERROR, NULL);
	is("", EXPECT_NO_BOOLEAN, NULL);
	is(".a ==", EXPECT_SYNTAX, NULL);
	is(".a == 0) | (true", EXPECT_SYNTAX, NULL);
	is("nonsense(1)", EXPECT_SYNTAX, "nonsense/1 is not defined");
	is("def f: 1; f == 1", EXPECT_TRUE, "");
}

static void fields_that_are_not_there_are_told(void **state)
{
	(void)state;
	is("[.list[] | {q: .f}] | map(.z == 0) | all", EXPECT_MISSING, "z");
	is("[.list[].n.deep] == [null]", EXPECT_MISSING, "deep");
	is(".fct | to_entries | all(.value.z // true)", EXPECT_MISSING, "z");
	is(".fct | to_entries | all(.value.p == 0)", EXPECT_TRUE, "");
	is("(.b | .c) == 0 and (.list[0].n == null)", EXPECT_TRUE, "");
	is("[.b[\"d e\"], .b.\"d e\", (.b).\"d e\"] == [0, 0, 0]", EXPECT_TRUE, "");
	is(".b?.c? == 0 and (.list?[0].f) == 0 and ([.list[].f?] | length == 1)", EXPECT_TRUE, "");
	is("[paths] | length > 5", EXPECT_TRUE, "");
	is("(.b.c |= 5) | .b.c == 5", EXPECT_TRUE, "");
	is("[path(.b.c)] == [[\"b\", \"c\"]]", EXPECT_TRUE, "");
	is("if .a == 0 then .b else .fct end | .c == 0", EXPECT_TRUE, "");
	is("\"x\\(.b.c)y\\(\"\\(.a)\")\" == \"x0y0\"", EXPECT_TRUE, "");
	is(".list[0:1] | length == 1", EXPECT_TRUE, "");
	is("[.list[] as {f: $g} | $g] == [0] and 1.5e1 == 15 and .5 == 0.5", EXPECT_TRUE, "");
}

static void units_are_those_of_the_smallest(void **state)
{
	(void)state;
	is("(2|ms) == 2000000000 and (1|s) == 1000000000000 and (3|us) == 3000000", EXPECT_TRUE,
	   "");
	is("(4|ns) == 4000 and (1|KiB) == 1024 and (1|MiB) == 1048576", EXPECT_TRUE, "");
	is("(100|Gbps) == 100000000000 and (1|KB) == 1000 and (1|MB) == 1000000", EXPECT_TRUE, "");
}

static void nothing_goes_on_for_ever(void **state)
{
	(void)state;
	is("def f: f; f", EXPECT_ENDLESS, "");
	is("[.a | recurse(. + 1; true)] | length == 0", EXPECT_ENDLESS, "");
	is("last(range(1e12)) == 0", EXPECT_ENDLESS, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_paths_are_seen),
		cmocka_unit_test(what_looks_elsewhere_is_refused),
		cmocka_unit_test(paths_are_kept_with_their_values),
		cmocka_unit_test(values_are_judged),
		cmocka_unit_test(fields_that_are_not_there_are_told),
		cmocka_unit_test(units_are_those_of_the_smallest),
		cmocka_unit_test(nothing_goes_on_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
