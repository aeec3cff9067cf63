/* SPDX-License-Identifier: BSD-2-Clause */

/* The page from a result made by hand: names may hold anything, numbers are those of the result. */
#include "tests/test.h"

#include "models/program/task.h"
#include "tools/program.h"
#include "tools/report/html.h"
#include "tools/report/report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define EVIL "</script><script>alert(1)</script><!-- \"'&\x01 \xe6\xbc\xa2"

const struct vrb_provider *vrb_provider(void)
{
	return NULL; /* no programs here */
}

static char evil[] = EVIL, plain[] = "plain", uplink[] = EVIL "-s0#0";

static struct {
	struct scenario scenario;
	struct topology_node nodes[2];
	struct topology_link link;
	struct result_class class;
	struct result_flow flows[2];
	struct result_port ports[2 * SIM_PRIORITIES];
	struct result_link links[2];
	struct program_result rank_result;
	struct result_rank rank;
	struct result_program program;
	struct result result;
} m;

/* Two nodes, one link, a flow that is ok and one that is not, a program. */
static void make(void)
{
	m.nodes[0] = (struct topology_node){.name = evil, .nic_count = 1};
	m.nodes[1] = (struct topology_node){.name = plain, .is_switch = true};
	m.link = (struct topology_link){
		.name = uplink, .a = 0, .b = 1, .rate_bps = 100000000000u, .delay = PS_US};
	m.scenario = (struct scenario){
		.file = evil, .name = evil, .settings = evil, .seed = 7, .until = PS_NEVER};
	m.scenario.topology = (struct topology){
		.nodes = m.nodes, .links = &m.link, .node_count = 2, .link_count = 1};
	m.class =
		(struct result_class){.name = evil, .posted = 2, .count = 1, .times = {5, 5, 5, 5}};
	for (int i = 0; i < 2; i++)
		m.flows[i] = (struct result_flow){.id = (uint64_t)i,
						  .class_name = evil,
						  .src = evil,
						  .dst = evil,
						  .bytes = 1000,
						  .start_at = 3,
						  .end_at = i ? PS_NEVER : 8,
						  .fct = i ? PS_NEVER : 5,
						  .ideal = 5,
						  .ok = !i,
						  .slowdown = i ? 0 : 1,
						  .status = i ? "unfinished" : "ok"};
	for (int i = 0; i < 2; i++)
		m.links[i] = (struct result_link){.node = m.nodes[i].name,
						  .link = uplink,
						  .peer = m.nodes[1 - i].name,
						  .sent_bytes = 12345};
	for (int i = 0; i < 2 * SIM_PRIORITIES; i++)
		m.ports[i] = (struct result_port){.node = m.nodes[i / SIM_PRIORITIES].name,
						  .link = uplink,
						  .peer = m.nodes[!(i / 8)].name,
						  .is_host = i < SIM_PRIORITIES,
						  .queue_max = 99,
						  .paused = 2,
						  .paused_since = PS_NEVER,
						  .rate_bps = 1000000000};
	m.rank_result = (struct program_result){.ended = true, .result = 3, .end_at = 9};
	m.rank = (struct result_rank){.host = evil, .result = &m.rank_result};
	m.program = (struct result_program){
		.name = evil, .run = evil, .rank_count = 1, .ranks = &m.rank, .failed = 1};
	m.result = (struct result){.scenario = &m.scenario,
				   .version = evil,
				   .digest = 0xabcdef,
				   .time = 10,
				   .flow_sums = {.posted = 2, .completed = 1, .failed = 1},
				   .flows = m.flows,
				   .flow_count = 2,
				   .classes = &m.class,
				   .class_count = 1,
				   .ports = m.ports,
				   .priority_count = SIM_PRIORITIES,
				   .port_count = 2 * SIM_PRIORITIES,
				   .links = m.links,
				   .link_count = 2,
				   .programs = &m.program,
				   .program_count = 1};
}

static char *page_of(int *ret_status)
{
	const struct report report = {.result = &m.result};
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	*ret_status = report_write(&report, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(strlen(text), length); /* no NUL in it */
	return text;
}

static uint32_t count(const char *text, const char *what)
{
	uint32_t found = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		found++;
	return found;
}

static json_t *data_of(const char *page, const char *id)
{
	char mark[64];
	const char *begin, *end;
	json_t *data;

	snprintf(mark, sizeof(mark), "id=\"%s\">", id);
	begin = strstr(page, mark);
	assert_non_null(begin);
	begin += strlen(mark);
	end = strstr(begin, "</script>");
	assert_non_null(end);
	data = json_loadb(begin, (size_t)(end - begin), 0, NULL);
	assert_non_null(data);
	return data;
}

static void names_are_only_names(void **state)
{
	int status;
	char *page;

	(void)state;
	make();
	page = page_of(&status);
	assert_int_equal(status, 0);
	assert_int_equal(count(page, "</script"), 3);
	assert_int_equal(count(page, "<script"), 3);
	assert_int_equal(count(page, "<!--"), 0);
	assert_int_equal(count(page, "\x01"), 0);
	assert_true(count(page, "&lt;/script&gt;&lt;script&gt;alert(1)") > 10);
	assert_true(count(page, "&quot;&#39;&amp;&#xfffd; \xe6\xbc\xa2") > 10);
	free(page);
}

static void data_are_those_of_the_result(void **state)
{
	json_t *result, *data, *ports;
	int status;
	char *page;

	(void)state;
	make();
	page = page_of(&status);
	result = data_of(page, "result");
	data = data_of(page, "data");
	assert_string_equal(json_string_value(json_object_get(result, "scenario")), EVIL);
	assert_string_equal(json_string_value(json_object_get(result, "digest")),
			    "0000000000abcdef");
	assert_true(json_is_null(json_object_get(data, "series")));
	ports = json_object_get(data, "ports");
	assert_string_equal(json_string_value(json_array_get(json_object_get(ports, "node"), 0)),
			    EVIL);
	assert_int_equal(
		json_integer_value(json_array_get(json_object_get(ports, "queue_max_bytes"), 1)),
		99);
	json_decref(result);
	json_decref(data);
	free(page);
}

static void what_went_wrong_is_told(void **state)
{
	int status;
	char *page;

	(void)state;
	make();
	page = page_of(&status);
	assert_int_equal(count(page, "class=\"verdict bad\""), 1);
	assert_int_equal(count(page, "1 of 2 flows did not complete, and 1 program rank"), 1);
	assert_int_equal(count(page, "failed (3)"), 1);
	free(page);
	m.result.partial = true;
	page = page_of(&status);
	assert_int_equal(count(page, "Cut short."), 1);
	free(page);
	m.result.partial = false;
	m.result.flow_sums = (struct traffic_sums){.posted = 2, .completed = 2};
	m.program.failed = 0;
	page = page_of(&status);
	assert_int_equal(count(page, "class=\"verdict good\""), 1);
	free(page);
	m.result.drops.buffer = 5;
	page = page_of(&status);
	assert_int_equal(count(page, "class=\"verdict note\""), 1);
	assert_int_equal(count(page, "5 packets: 5 found no room in a switch"), 1);
	free(page);
	m.result.flow_sums.mismatch_bytes = 1;
	page = page_of(&status);
	assert_int_equal(count(page, "Wrong data."), 1);
	free(page);
}

static void expectations_are_in_the_verdict(void **state)
{
	static char yes[] = ".a is 1", no[] = ".a is 2 <b>";
	struct result_expect expects[] = {{".a == 1", true, false, yes},
					  {".a < 2 & \"c\"", false, false, no}};
	int status;
	char *page;

	(void)state;
	make();
	m.result.flow_sums = (struct traffic_sums){.posted = 2, .completed = 2};
	m.program.failed = 0;
	m.result.expects = expects;
	m.result.expect_count = 2;
	page = page_of(&status);
	assert_int_equal(count(page, "class=\"verdict bad\""), 1);
	assert_int_equal(count(page, "1 expectation did not hold"), 1);
	assert_int_equal(count(page, "<code>.a &lt; 2 &amp; &quot;c&quot;</code>"), 1);
	assert_int_equal(
		count(page, "<td class=\"text bad\">no</td><td class=\"text\">.a is 2 &lt;b&gt;"),
		1);
	free(page);
	expects[1].held = true;
	page = page_of(&status);
	assert_int_equal(count(page, "class=\"verdict good\""), 1);
	free(page);
}

static void numbers_are_grouped(void **state)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	(void)state;
	html_put(file, "%n %n %n 100%%", (uint64_t)999, (uint64_t)1234, (uint64_t)12345678);
	fclose(file);
	assert_string_equal(text, "999 1234 12&#8239;345&#8239;678 100%");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_only_names),
		cmocka_unit_test(data_are_those_of_the_result),
		cmocka_unit_test(what_went_wrong_is_told),
		cmocka_unit_test(expectations_are_in_the_verdict),
		cmocka_unit_test(numbers_are_grouped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
