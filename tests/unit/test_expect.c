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

	assert_int_equal(expect_scan(expression, root, NULL, &scan), 0);
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

	assert_int_equal(expect_scan(expression, root, NULL, &scan), 0);
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
				     root, NULL, &scan),
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
	json_t *root = root_of(shape), *roots = json_pack("[[O]]", root);
	struct expect_question question = {.expression = expression};
	struct expect_answer answer;

	assert_non_null(roots);
	assert_int_equal(expect_scan(expression, root, NULL, &question.scan), 0);
	assert_int_equal(expect_ask(&question, 1, roots, &answer), 0);
	expect_scan_fini(&question.scan);
	json_decref(roots);
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
	is("(.b | .c) == 0 and (.list[0].f == 0)", EXPECT_TRUE, "");
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

/* By whatever way it comes, and whatever is then made of it. */
static void null_that_is_asked_for_is_told(void **state)
{
	(void)state;
	is(".list[0].n < 5", EXPECT_NULL, "n");
	is(".list[0].n == null or true", EXPECT_NULL, "n");
	is("[.list[].n] == [null]", EXPECT_NULL, "n");
	is("[.list[] | select(.n != null)] | length == 0", EXPECT_NULL, "n");
	is(".list[0].n / .list[0].n < 5", EXPECT_NULL, "n");
	is("(try (.list[0].n | error) catch true)", EXPECT_NULL, "n");
	is("[.list[0][]] | length == 2", EXPECT_NULL, "");
	is("[.list[0] | to_entries[].value] | length == 2", EXPECT_NULL, "value");
	is("[0, null][1] == null", EXPECT_NULL, "");
	is("[0, null] | .[1]? == null", EXPECT_NULL, "");
	is(".list[0].n == null and .fct[\"x\" + \"\"].q.r == 1", EXPECT_MISSING, "q");
	/* Not asked for. */
	is(".list[0].f == 0 or .list[0].n > 0", EXPECT_TRUE, "");
	is(".list | length == 1", EXPECT_TRUE, "");
	is("[.list[] | select(.f > 0) | .n] == []", EXPECT_TRUE, "");
	is("[.list[0][\"f\"], .fct[].p, .fct.x[]] == [0, 0, 0]", EXPECT_TRUE, "");
	is("[paths(type == \"null\")] | length == 1", EXPECT_TRUE, "");
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

static void are_named(const char *expression, bool flows, bool programs)
{
	json_t *root = root_of("{\"flows\": {\"n\": 0}, \"a\": {\"flows\": 0},"
			       " \"programs\": [{\"flows\": 0}]}");
	struct expect_scan scan;

	assert_int_equal(expect_scan(expression, root, NULL, &scan), 0);
	if (scan.names_flows != flows || scan.names_programs != programs)
		fail_msg("%s: names flows: %d, programs: %d", expression, scan.names_flows,
			 scan.names_programs);
	expect_scan_fini(&scan);
	json_decref(root);
}

/* Those of the result; what is called so elsewhere, or may be elsewhere, is nothing. */
static void whether_flows_and_programs_are_named_is_seen(void **state)
{
	(void)state;
	are_named(".flows.n == 0", true, false);
	are_named(".a.flows == 0 and (.flows | .n) == 0", true, false);
	are_named(". as $r | .flows.n == $r.a.flows", true, false);
	are_named(".[\"flows\"].n == 0 and .\"programs\" == []", true, true);
	are_named("[.programs[] | .flows] | add == 0", false, true);
	are_named("select(.flows.n == 0) | .a.flows == 0", true, false);
	are_named("if .a.flows == 0 then .flows.n == 0 else .programs == [] end", true, true);
	are_named(". as $r | $r.flows.n == 0", false, false);
	are_named("def f: .flows.n; f == 0", false, false);
	are_named("def select(f): {flows: 1} | f; select(.flows == 1)", false, false);
	are_named("{flows: .a.flows} | .flows < 5", false, false);
	are_named("{\"flows\": 1, programs: 2} | .flows == 1 and .programs == 2", false, false);
	are_named(".a as $f | $f.flows == 0", false, false);
	are_named("[{flows: 1}] | all(.flows == 1) and (.[0] | .flows == 1)", false, false);
	are_named("(., {flows: 1}) | .flows != 2", false, false);
	are_named(". + {flows: 1} | .flows == 1", false, false);
	are_named("reduce 1 as $i ({flows: 1}; .flows += $i) | .flows == 2", false, false);
	are_named("try error({flows: 1}) catch .flows == 1", false, false);
	are_named(".flows |= 1 | .a.flows == 0", true, false);
	are_named(".a.flows == 0", false, false);
	are_named(".a | .flows == 0", false, false);
	are_named(".flow == 0 or .flowss == 0", false, false);
	are_named("\".flows\" == .a # .flows", false, false);
}

static void closed_is(const char *expression, bool closed)
{
	json_t *root = root_of(shape);
	struct expect_scan scan;

	assert_int_equal(expect_scan(expression, root, NULL, &scan), 0);
	if (scan.is_closed != closed)
		fail_msg("%s: closed: %d", expression, scan.is_closed);
	expect_scan_fini(&scan);
	json_decref(root);
}

static void what_may_stand_in_brackets_is_known(void **state)
{
	(void)state;
	closed_is(".a == 0", true);
	closed_is("if (.a == 0) then [.b] else {c: \"\\(.a)\"} end | . == 0", true);
	closed_is("def f: 1; f == 1 # )", true);
	closed_is("\")\" == .text", true);
	closed_is(".a == 0) | (true", false);
	closed_is("(.a == 0", false);
	closed_is(".text == \"", false);
	closed_is(".text == \"\\(.a\"", false);
	closed_is("if .a then .b", false);
	closed_is("def f: 1", false);
}

/* Each gets its own answers, over each root, whatever stands beside it. */
static void many_at_once_are_as_each_alone(void **state)
{
	static const struct {
		const char *text;
		enum expect_kind kinds[2];
	} all[] = {
		{".a == 0", {EXPECT_TRUE, EXPECT_FALSE}},
		{".b.c > 5", {EXPECT_FALSE, EXPECT_TRUE}},
		{".a == 0) | (true", {EXPECT_SYNTAX, EXPECT_SYNTAX}},
		{"def f: 1; f == 1 # )", {EXPECT_TRUE, EXPECT_TRUE}},
		{"no(1)", {EXPECT_SYNTAX, EXPECT_SYNTAX}},
		{"if .a == 0 then last(range(1e12)) else true end",
		 {EXPECT_ENDLESS, EXPECT_ENDLESS}},
		{".a", {EXPECT_NO_BOOLEAN, EXPECT_NO_BOOLEAN}},
		{"true, .a == 0", {EXPECT_SEVERAL, EXPECT_SEVERAL}},
		{"[.list[] | {q: .f}] | map(.z == 0) | all", {EXPECT_MISSING, EXPECT_MISSING}},
		{"empty", {EXPECT_NOTHING, EXPECT_NOTHING}},
		{"$__which == 0 or $__nope == 0", {EXPECT_SYNTAX, EXPECT_SYNTAX}},
		{"1 / .a == 1", {EXPECT_ERROR, EXPECT_TRUE}},
		{".a == 1", {EXPECT_FALSE, EXPECT_TRUE}},
	};
	enum { COUNT = sizeof(all) / sizeof(all[0]), ALL = 3 * COUNT };
	json_t *root = root_of(shape);
	json_t *other = root_of("{\"a\": 1, \"b\": {\"c\": 9}, \"list\": [{\"f\": 0}]}");
	json_t *roots = json_pack("[[o],[o]]", root, other);
	struct expect_question questions[ALL] = {{.expression = NULL}};
	struct expect_answer answers[2 * ALL];
	size_t count = 0;

	(void)state;
	assert_non_null(roots);
	if (answer_of("true").kind == EXPECT_NO_JQ)
		skip();
	for (size_t i = 0; i < ALL; i++) {
		/* One that takes a second will do. */
		if (i > COUNT && all[i % COUNT].kinds[0] == EXPECT_ENDLESS)
			continue;
		questions[count].expression = all[i % COUNT].text;
		assert_int_equal(expect_scan(questions[count].expression, root, NULL,
					     &questions[count].scan),
				 0);
		count++;
	}
	assert_int_equal(expect_ask(questions, count, roots, answers), 0);
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;

		while (strcmp(all[k].text, questions[i].expression) != 0)
			k++;
		for (size_t r = 0; r < 2; r++)
			if (answers[2 * i + r].kind != all[k].kinds[r])
				fail_msg("%zu: %s: root %zu: kind %d, not %d: \"%s\"", i,
					 all[k].text, r, answers[2 * i + r].kind, all[k].kinds[r],
					 answers[2 * i + r].text);
		expect_scan_fini(&questions[i].scan);
	}
	json_decref(roots);
}

static void too_many_that_do_not_end_end_it(void **state)
{
	enum { ALL = EXPECT_ENDLESS_MAX + 2 };
	json_t *root = root_of(shape), *roots = json_pack("[[o]]", root);
	struct expect_question questions[ALL] = {{.expression = NULL}};
	struct expect_answer answers[ALL];

	(void)state;
	assert_non_null(roots);
	if (answer_of("true").kind == EXPECT_NO_JQ)
		skip();
	for (size_t i = 0; i < ALL; i++) {
		/* It dies at once of too much memory. */
		questions[i].expression = "[range(1e12)] == 0";
		assert_int_equal(
			expect_scan(questions[i].expression, root, NULL, &questions[i].scan), 0);
	}
	assert_int_equal(expect_ask(questions, ALL, roots, answers), 0);
	for (size_t i = 0; i < ALL; i++) {
		assert_int_equal(answers[i].kind,
				 i < EXPECT_ENDLESS_MAX ? EXPECT_ENDLESS : EXPECT_UNTRIED);
		expect_scan_fini(&questions[i].scan);
	}
	json_decref(roots);
}

/* The zone of the process, and of whoever started it, is nothing that a verdict may depend on. */
static void time_is_that_of_greenwich(void **state)
{
	(void)state;
	setenv("TZ", "JST-9", 1);
	is("(0 | strftime(\"%H %Z\")) == \"00 UTC\"", EXPECT_TRUE, "");
	is("(\"1970-01-01T00:00:00Z\" | strptime(\"%Y-%m-%dT%H:%M:%SZ\") | mktime) == 0",
	   EXPECT_TRUE, "");
	unsetenv("TZ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_paths_are_seen),
		cmocka_unit_test(what_looks_elsewhere_is_refused),
		cmocka_unit_test(paths_are_kept_with_their_values),
		cmocka_unit_test(values_are_judged),
		cmocka_unit_test(fields_that_are_not_there_are_told),
		cmocka_unit_test(null_that_is_asked_for_is_told),
		cmocka_unit_test(units_are_those_of_the_smallest),
		cmocka_unit_test(nothing_goes_on_for_ever),
		cmocka_unit_test(whether_flows_and_programs_are_named_is_seen),
		cmocka_unit_test(what_may_stand_in_brackets_is_known),
		cmocka_unit_test(many_at_once_are_as_each_alone),
		cmocka_unit_test(too_many_that_do_not_end_end_it),
		cmocka_unit_test(time_is_that_of_greenwich),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
