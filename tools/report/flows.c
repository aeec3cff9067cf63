/* SPDX-License-Identifier: BSD-2-Clause */

/* The flows, those that fared worst first: as a table, as data for the one that can be searched,
 * and their slowdown by size. */
#include "tools/report/parts.h"

#include "tools/observe/flow_log.h"
#include "tools/report/columns.h"
#include "tools/report/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROWS_MAX = 1 << 17, /* that are looked at */
	DATA_MAX = 20000,   /* that are in the page */
	FLOWS_SHOWN = 300,  /* without scripts */
	MICRO = 1000000,
};

/* ---- which ---- */

struct gather {
	const struct result *result;
	struct report_rows *rows;
};

static int add_streamed(void *owner, uint64_t id, const struct flow_log_row *row)
{
	const struct gather *gather = owner;
	struct report_rows *rows = gather->rows;

	rows->total++;
	if (rows->count < ROWS_MAX)
		rows->rows[rows->count++] = result_row(gather->result, &row->flow, id, row->ideal);
	return 0;
}

/* Those that failed, then the slowest compared with an idle fabric. */
static int by_woe(const void *a, const void *b)
{
	const struct result_flow *x = a, *y = b;

	if (x->ok != y->ok)
		return x->ok ? 1 : -1;
	if (x->slowdown > y->slowdown || x->slowdown < y->slowdown)
		return x->slowdown > y->slowdown ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

int report_rows_make(const struct result *result, struct report_rows *ret_rows)
{
	const uint64_t listed = result->flow_count < ROWS_MAX ? result->flow_count : ROWS_MAX;
	struct gather gather = {result, ret_rows};
	int ret;

	*ret_rows = (struct report_rows){.count = listed, .total = result->flow_count};
	ret_rows->rows = calloc(result->log ? ROWS_MAX : listed + 1, sizeof(*ret_rows->rows));
	if (!ret_rows->rows)
		return -ENOMEM;
	if (listed > 0)
		memcpy(ret_rows->rows, result->flows, listed * sizeof(*ret_rows->rows));
	ret = flow_log_rows(result->log, add_streamed, &gather);
	qsort(ret_rows->rows, ret_rows->count, sizeof(*ret_rows->rows), by_woe);
	return ret;
}

void report_rows_free(struct report_rows *rows)
{
	free(rows->rows);
}

/* ---- the table ---- */

/* A cell that sorts by @value. */
static void put_time(ps_t value, FILE *file)
{
	if (value == PS_NEVER)
		fputs("<td data-v=\"-1\">–</td>", file);
	else {
		fprintf(file, "<td data-v=\"%llu\">", (unsigned long long)value);
		html_put(file, "%t</td>", value);
	}
}

static void report_flows_put_flow(const struct result_flow *flow, FILE *file)
{
	html_put(file,
		 "<tr><td>%n</td><td class=\"text\">%s</td><td class=\"text\">%s</td>"
		 "<td class=\"text\">%s</td>",
		 flow->id, flow->class_name, flow->src, flow->dst);
	fprintf(file, "<td data-v=\"%llu\">", (unsigned long long)flow->bytes);
	html_put(file, "%b</td>", flow->bytes);
	put_time(flow->start_at, file);
	put_time(flow->fct, file);
	put_time(flow->ideal, file);
	if (flow->ok && flow->slowdown > 0)
		fprintf(file, "<td>%.2f</td>", flow->slowdown);
	else
		fputs("<td data-v=\"-1\">–</td>", file);
	html_put(file, "<td>%n</td><td class=\"text %s\">%s</td></tr>\n",
		 flow->packets_retransmitted, flow->ok ? "good" : "bad", flow->status);
}

static void put_head(uint64_t shown, const struct report_rows *rows, FILE *file)
{
	static const struct {
		const char *name, *class;
	} columns[] = {{"flow", ""},	 {"class", "text"},  {"from", "text"},	{"to", "text"},
		       {"bytes", ""},	 {"starts at", ""},  {"FCT", ""},	{"alone", ""},
		       {"slowdown", ""}, {"sent again", ""}, {"status", "text"}};
	const uint64_t known = rows->count < DATA_MAX ? rows->count : DATA_MAX;

	fputs("<section aria-labelledby=\"flows\"><h2 id=\"flows\">Flows</h2>\n<p class=\"hint\">",
	      file);
	fputs("Those that fared worst first. “Alone” is the time on an idle fabric; slowdown is "
	      "how many times longer it took.",
	      file);
	if (known < rows->total)
		html_put(file,
			 " This page knows the %n of %n that fared worst%s; all are in "
			 "<code>flows.csv</code>.",
			 known, rows->total,
			 rows->count < rows->total ? " (of the first 131 072)" : "");
	fputs("</p>\n<div id=\"flow-search\" class=\"controls\"></div>\n", file);
	if (shown < known)
		html_put(file, "<noscript><p>Without scripts: the first %n.</p></noscript>", shown);
	fputs("<div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-label=\"Flows\">"
	      "<table id=\"flow-table\"><thead><tr>",
	      file);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		html_put(file, "<th scope=\"col\" class=\"%s\">%s</th>", columns[i].class,
			 columns[i].name);
	fputs("</tr></thead><tbody>\n", file);
}

void report_flows(const struct report_rows *rows, FILE *file)
{
	const uint64_t shown = rows->count < FLOWS_SHOWN ? rows->count : FLOWS_SHOWN;

	if (rows->count == 0)
		return;
	put_head(shown, rows, file);
	for (uint64_t i = 0; i < shown; i++)
		report_flows_put_flow(&rows->rows[i], file);
	fputs("</tbody></table></div></section>\n", file);
}

/* ---- the data of it ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct names { /* of hosts, sorted: once each, since flows name them often */
	const char **texts;
	size_t count;
};

static int names_make(struct names *names, const struct topology *topology)
{
	names->texts = calloc((size_t)topology->node_count + 1, sizeof(*names->texts));
	if (!names->texts)
		return -ENOMEM;
	for (uint32_t i = 0; i < topology->node_count; i++)
		if (!topology->nodes[i].is_switch)
			names->texts[names->count++] = topology->nodes[i].name;
	qsort((void *)names->texts, names->count, sizeof(*names->texts), compare_texts);
	return 0;
}

static uint64_t report_flows_place_of(const struct names *names, const char *name)
{
	const char **found = bsearch(&name, (const void *)names->texts, names->count,
				     sizeof(*names->texts), compare_texts);

	return found ? (uint64_t)(found - names->texts) : 0;
}

static json_t *texts_of(const struct names *names)
{
	json_t *texts = json_array();

	for (size_t i = 0; i < names->count; i++)
		texts = column_add(texts, json_string(names->texts[i]));
	return texts;
}

static json_t *classes_of(const struct result *result)
{
	json_t *texts = json_array();

	for (uint32_t i = 0; i < result->class_count; i++)
		texts = column_add(texts, json_string(result->classes[i].name));
	return texts;
}

static uint32_t report_flows_class_of(const struct result *result, const struct result_flow *flow)
{
	uint32_t i = 0;

	while (i + 1 < result->class_count && result->classes[i].name != flow->class_name)
		i++;
	return i;
}

static uint64_t micro_of(const struct result_flow *flow)
{
	return (uint64_t)(flow->slowdown * MICRO + 0.5);
}

/* -1: there is none. */
static json_t *column_add_time(json_t *column, ps_t time)
{
	return column_add(column, json_integer(time == PS_NEVER ? -1 : (json_int_t)time));
}

static json_t *columns_of(const struct result *result, const struct report_rows *rows,
			  const struct names *names)
{
	json_t *ids = json_array(), *classes = json_array(), *from = json_array();
	json_t *to = json_array(), *priorities = json_array(), *bytes = json_array();
	json_t *starts = json_array(), *fcts = json_array(), *ideals = json_array();
	json_t *slowdowns = json_array(), *retransmitted = json_array(), *statuses = json_array();

	for (uint64_t i = 0; i < rows->count && i < DATA_MAX; i++) {
		const struct result_flow *flow = &rows->rows[i];

		ids = column_add_number(ids, flow->id);
		classes = column_add_number(classes, report_flows_class_of(result, flow));
		from = column_add_number(from, report_flows_place_of(names, flow->src));
		to = column_add_number(to, report_flows_place_of(names, flow->dst));
		priorities = column_add_number(priorities, flow->priority);
		bytes = column_add_number(bytes, flow->bytes);
		starts = column_add_number(starts, flow->start_at);
		fcts = column_add_time(fcts, flow->fct);
		ideals = column_add_time(ideals, flow->ideal);
		slowdowns = column_add(slowdowns, flow->ok && flow->slowdown > 0
							  ? json_integer((json_int_t)micro_of(flow))
							  : json_integer(-1));
		retransmitted = column_add_number(retransmitted, flow->packets_retransmitted);
		statuses = column_add(statuses,
				      flow->ok ? json_integer(0) : json_string(flow->status));
	}
	return json_pack("{s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "total",
			 (json_int_t)rows->total, "hosts", texts_of(names), "classes",
			 classes_of(result), "id", ids, "class", classes, "src", from, "dst", to,
			 "priority", priorities, "bytes", bytes, "start_ps", starts, "fct_ps", fcts,
			 "ideal_ps", ideals, "slowdown_millionths", slowdowns,
			 "packets_retransmitted", retransmitted, "status", statuses);
}

json_t *report_flow_data(const struct result *result, const struct report_rows *rows)
{
	struct names names = {.texts = NULL};
	json_t *data = names_make(&names, &result->scenario->topology) == 0
			       ? columns_of(result, rows, &names)
			       : NULL;

	free((void *)names.texts);
	return data;
}

/* ---- slowdown by size ---- */

struct sample {
	uint64_t bytes, micro;
};

static int by_size(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->micro < y->micro ? -1 : x->micro > y->micro;
}

static int by_slowdown(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return x->micro < y->micro ? -1 : x->micro > y->micro;
}

/* The smallest that at least @per_cent of all are not above. */
static uint64_t report_flows_rank_of(const struct sample *sorted, uint64_t count, uint64_t per_cent)
{
	return sorted[(count * per_cent + 99) / 100 - 1].micro;
}

/* Bins are the powers of two: a size of 2^k to 2^(k+1) - 1 bytes is in bin k. */
static uint32_t bin_of(uint64_t bytes)
{
	return bytes ? 63 - (uint32_t)__builtin_clzll(bytes) : 0;
}

/* @samples in order of size. */
static json_t *bins_of(const char *name, struct sample *samples, uint64_t count)
{
	json_t *least = json_array(), *most = json_array(), *counts = json_array();
	json_t *p50 = json_array(), *p95 = json_array(), *p99 = json_array();

	for (uint64_t first = 0, next; first < count; first = next) {
		for (next = first + 1; next < count; next++)
			if (bin_of(samples[next].bytes) != bin_of(samples[first].bytes))
				break;
		least = column_add_number(least, samples[first].bytes);
		most = column_add_number(most, samples[next - 1].bytes);
		counts = column_add_number(counts, next - first);
		qsort(&samples[first], next - first, sizeof(*samples), by_slowdown);
		p50 = column_add_number(p50,
					report_flows_rank_of(&samples[first], next - first, 50));
		p95 = column_add_number(p95,
					report_flows_rank_of(&samples[first], next - first, 95));
		p99 = column_add_number(p99,
					report_flows_rank_of(&samples[first], next - first, 99));
	}
	return json_pack("{s:s?,s:o,s:o,s:o,s:o,s:o,s:o}", "class", name, "least_bytes", least,
			 "most_bytes", most, "count", counts, "p50_millionths", p50,
			 "p95_millionths", p95, "p99_millionths", p99);
}

/* Of all flows, and where there are several classes of each. */
json_t *report_slowdowns(const struct result *result, const struct report_rows *rows)
{
	struct sample *samples = calloc(rows->count + 1, sizeof(*samples));
	const uint32_t classes = result->class_count > 1 ? result->class_count : 0;
	json_t *all = samples ? json_array() : NULL;

	for (uint32_t c = 0; samples && c <= classes; c++) {
		const char *name = c ? result->classes[c - 1].name : NULL;
		uint64_t count = 0;

		for (uint64_t i = 0; i < rows->count; i++) {
			const struct result_flow *flow = &rows->rows[i];

			if (flow->ok && flow->slowdown > 0 && (!name || flow->class_name == name))
				samples[count++] = (struct sample){flow->bytes, micro_of(flow)};
		}
		qsort(samples, count, sizeof(*samples), by_size);
		all = column_add(all, bins_of(name, samples, count));
	}
	free(samples);
	return all;
}
