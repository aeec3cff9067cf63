/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/report.h"

#include "tools/report/html.h"
#include "tools/report/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char script[] = {
#include "report_pair.inc"
};

/* ---- what differs ---- */

/* Rows go where those of their kind are. */
struct pair_rows {
	FILE *other, *same;
	uint64_t same_count;
};

/* A row begins; where it goes on. */
static FILE *begin_row(struct pair_rows *rows, bool is_same, const char *class, const char *what)
{
	FILE *file = is_same ? rows->same : rows->other;

	rows->same_count += is_same;
	html_put(file, "<tr class=\"%s\"><th scope=\"row\">%s%s%s</th>", is_same ? "same" : "other",
		 class ? class : "", class ? ": " : "", what);
	return file;
}

static void report_pair_put_cell(const char *format, uint64_t value, FILE *file)
{
	fprintf(file, "<td data-value=\"%" PRIu64 "\">", value);
	html_put(file, format, value);
	fputs("</td>", file);
}

/* Over nothing, where @count is 0. */
static void put_cell_of(const char *format, uint64_t count, uint64_t value, FILE *file)
{
	if (count)
		report_pair_put_cell(format, value, file);
	else
		fputs("<td>–</td>", file);
}

static void report_pair_put_row(const char *class, const char *label, const char *format,
				const uint64_t values[2], struct pair_rows *rows)
{
	FILE *file = begin_row(rows, values[0] == values[1], class, label);

	report_pair_put_cell(format, values[0], file);
	report_pair_put_cell(format, values[1], file);
	fputs("</tr>\n", file);
}

static const struct result_class *report_pair_class_of(const struct result *result,
						       const char *name)
{
	for (uint32_t i = 0; i < result->class_count; i++)
		if (strcmp(result->classes[i].name, name) == 0)
			return &result->classes[i];
	return NULL;
}

static void put_slowdown(const struct result_class *const both[2], const char *what, size_t offset,
			 struct pair_rows *rows)
{
	uint64_t micro[2];
	FILE *file;

	for (int i = 0; i < 2; i++) {
		const double *value =
			(const double *)(const void *)((const char *)both[i] + offset);

		micro[i] = both[i]->slowdown_count > 0 ? (uint64_t)(*value * 1e6 + 0.5) : 0;
	}
	file = begin_row(rows, micro[0] == micro[1], both[0]->name, what);
	for (int i = 0; i < 2; i++)
		if (micro[i])
			fprintf(file, "<td data-value=\"%" PRIu64 "\">%.2f</td>", micro[i],
				(double)micro[i] / 1e6);
		else
			fputs("<td>–</td>", file);
	fputs("</tr>\n", file);
}

static void report_pair_put_class(const struct result_class *const both[2], struct pair_rows *rows)
{
	const struct result_class *a = both[0], *b = both[1];
	const struct {
		const char *what, *format;
		uint64_t a, b;
	} known[] = {
		{"FCT mean", "%t", a->times.mean, b->times.mean},
		{"FCT p99", "%t", a->times.p99, b->times.p99},
		{"goodput", "%r", a->goodput_bps, b->goodput_bps},
		{"goodput of a flow", "%r", a->flow_bps, b->flow_bps},
	};

	report_pair_put_row(a->name, "flows completed", "%n",
			    (const uint64_t[]){a->count, b->count}, rows);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const bool is_same = !a->count == !b->count && known[i].a == known[i].b;
		FILE *file = begin_row(rows, is_same, a->name, known[i].what);

		put_cell_of(known[i].format, a->count, known[i].a, file);
		put_cell_of(known[i].format, b->count, known[i].b, file);
		fputs("</tr>\n", file);
	}
	put_slowdown(both, "slowdown mean", offsetof(struct result_class, slowdown_mean), rows);
	put_slowdown(both, "slowdown p99", offsetof(struct result_class, slowdown_p99), rows);
}

static void put_expects(const struct result *a, const struct result *b, struct pair_rows *rows)
{
	const struct result *both[] = {a, b};
	uint64_t held[2] = {0, 0};
	FILE *file;

	for (int i = 0; i < 2; i++)
		for (uint32_t k = 0; k < both[i]->expect_count; k++)
			held[i] += both[i]->expects[k].held;
	file = begin_row(rows, held[0] == held[1] && a->expect_count == b->expect_count, NULL,
			 "Expectations held");
	for (int i = 0; i < 2; i++)
		if (both[i]->expect_count > 0) {
			fprintf(file, "<td data-value=\"%" PRIu64 "\">", held[i]);
			html_put(file, "%n of %n</td>", held[i], (uint64_t)both[i]->expect_count);
		} else {
			fputs("<td>–</td>", file);
		}
	fputs("</tr>\n", file);
}

static void put_rows(const struct report *pair, struct pair_rows *rows)
{
	const struct result *a = pair[0].result, *b = pair[1].result;
	const struct {
		const char *what, *format;
		uint64_t values[2];
	} sums[] = {
		{"Flows posted", "%n", {a->flow_sums.posted, b->flow_sums.posted}},
		{"Flows completed", "%n", {a->flow_sums.completed, b->flow_sums.completed}},
		{"Packets lost", "%n", {report_lost(a), report_lost(b)}},
		{"Packets sent again",
		 "%n",
		 {report_retransmitted(&pair[0]), report_retransmitted(&pair[1])}},
		{"Pause frames", "%n", {a->pfc.pause_sent, b->pfc.pause_sent}},
		{"Paused time", "%t", {a->pfc.paused, b->pfc.paused}},
		{"ECN marks", "%n", {a->marked, b->marked}},
		{"CNPs", "%n", {a->cnp_sent, b->cnp_sent}},
		{"Longest queue", "%b", {a->queue_max_bytes, b->queue_max_bytes}},
		{"Virtual time", "%t", {a->time, b->time}},
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		report_pair_put_row(NULL, sums[i].what, sums[i].format, sums[i].values, rows);
	put_expects(a, b, rows);
	for (uint32_t i = 0; i < a->class_count; i++) {
		const struct result_class *other = report_pair_class_of(b, a->classes[i].name);

		if (other)
			report_pair_put_class(
				(const struct result_class *[]){&a->classes[i], other}, rows);
	}
}

static void put_pair_head(const char *const *names, const char *what, FILE *file)
{
	html_put(file,
		 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
		 "<table><thead><tr><th scope=\"col\"></th><th scope=\"col\">%s</th>"
		 "<th scope=\"col\">%s</th></tr></thead><tbody>\n",
		 what, names[0], names[1]);
}

/* What is the same waits for a click. -ENOMEM. */
static int put_table(const struct report *pair, const char *const *names, FILE *file)
{
	struct pair_rows rows = {.other = file};
	char *same = NULL;
	size_t length;

	rows.same = open_memstream(&same, &length);
	if (!rows.same)
		return -ENOMEM;
	fputs("<section aria-labelledby=\"both\"><h2 id=\"both\">Side by side</h2>\n", file);
	put_pair_head(names, "What differs", file);
	put_rows(pair, &rows);
	fputs("</tbody></table></div>\n", file);
	if (fclose(rows.same) != 0) {
		free(same);
		return -ENOMEM;
	}
	if (rows.same_count > 0) {
		html_put(file, "<details><summary>%n more %s the same in both</summary>\n",
			 rows.same_count, rows.same_count == 1 ? "is" : "are");
		put_pair_head(names, "What is the same", file);
		fwrite(same, 1, length, file);
		fputs("</tbody></table></div>\n</details>\n", file);
	}
	fputs("</section>\n", file);
	free(same);
	return 0;
}

/* ---- what is set otherwise ---- */

/* The value of the key of @line in @said, a line of another scenario: up to its end. NULL: none. */
static const char *value_in(const char *said, const char *line)
{
	const size_t length = strcspn(line, "\t") + 1;

	for (; said && *said; said = strchr(said, '\n') + 1)
		if (strncmp(said, line, length) == 0)
			return said + length;
	return NULL;
}

static void put_setting(const char *value, FILE *file)
{
	char text[ADVICE_WORDS_MAX];
	const size_t length = value ? strcspn(value, "\n") : 0;

	if (!value) {
		fputs("<td>–</td>", file);
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)length, value);
	html_put(file, "<td>%s%s</td>", text, length < sizeof(text) ? "" : " ...");
}

/* Neither what the scenario is called nor what it expects. */
static bool is_setting(const char *line)
{
	return strncmp(line, "name\t", 5) != 0 && strncmp(line, "expect.", 7) != 0 &&
	       strncmp(line, "expect\t", 7) != 0;
}

/* Of @from, those that @other has otherwise, or @missing alone: not at all. Their number. */
static uint32_t put_settings_of(const char *from, const char *other, bool missing, FILE *file)
{
	uint32_t count = 0;

	for (const char *line = from; line && *line; line = strchr(line, '\n') + 1) {
		const char *own = strchr(line, '\t') + 1, *value = value_in(other, line);
		const size_t length = strcspn(own, "\n") + 1;

		if (!is_setting(line) ||
		    (missing ? value != NULL : value && strncmp(own, value, length) == 0))
			continue;
		fputs("<tr><th scope=\"row\"><code>", file);
		for (const char *c = line; *c != '\t'; c++)
			html_text((const char[]){*c, '\0'}, file);
		fputs("</code></th>", file);
		put_setting(missing ? value : own, file);
		put_setting(missing ? own : value, file);
		fputs("</tr>\n", file);
		count++;
	}
	return count;
}

static void put_pair_settings(const struct report *pair, const char *const *names, FILE *file)
{
	const struct scenario *a = pair[0].result->scenario, *b = pair[1].result->scenario;
	uint32_t count;

	fputs("<section aria-labelledby=\"settings\"><h2 id=\"settings\">Settings that "
	      "differ</h2>\n<p class=\"hint\">Keys of the scenario; – is the default.</p>\n",
	      file);
	put_pair_head(names, "Settings that differ", file);
	count = put_settings_of(a->said, b->said, false, file);
	count += put_settings_of(b->said, a->said, true, file);
	if (a->seed != b->seed) {
		html_put(file, "<tr><th scope=\"row\">seed of the run</th>");
		fprintf(file, "<td>%" PRIu64 "</td><td>%" PRIu64 "</td></tr>\n", a->seed, b->seed);
		count++;
	}
	fputs("</tbody></table></div>\n", file);
	if (count == 0)
		fputs("<p>None.</p>\n", file);
	fputs("</section>\n", file);
}

/* ---- both pages ---- */

static int put_page(const struct report *report, unsigned number, FILE *file)
{
	char *text = NULL, *quoted;
	size_t length;
	FILE *memory = open_memstream(&text, &length);
	json_t *page;
	int ret;

	if (!memory)
		return -ENOMEM;
	ret = report_write(report, memory);
	if (fclose(memory) != 0 && !ret)
		ret = -ENOMEM;
	page = ret ? NULL : json_stringn(text, length);
	quoted = json_dumps(page, JSON_ENCODE_ANY);
	fprintf(file, "<script type=\"application/json\" id=\"page-%u\">", number);
	if (quoted)
		html_json(quoted, file);
	fputs("</script>\n", file);
	json_decref(page);
	free(quoted);
	free(text);
	return ret ? ret : quoted ? 0 : -ENOMEM;
}

int report_write_pair(const struct report pair[2], const char *const names[2], FILE *file)
{
	char title[544];
	int ret = 0;

	snprintf(title, sizeof(title), "%.255s and %.255s", names[0], names[1]);
	/* The two pages are frames made of text that is in this one. */
	report_head(title, "; frame-src blob:", file);
	fputs("<body class=\"pair\">\n<header>\n<p class=\"brand\">Verbena <span>simulated RDMA "
	      "fabric</span></p>\n",
	      file);
	html_put(file, "<h1>%s and %s</h1>\n</header>\n<main>\n", names[0], names[1]);
	put_pair_settings(pair, names, file);
	ret = put_table(pair, names, file);
	fputs("<div class=\"pages\">\n", file);
	for (unsigned i = 0; i < 2; i++)
		html_put(file,
			 "<iframe title=\"%s\" data-page=\"page-%n\"><p>The pages need "
			 "scripts.</p></iframe>\n",
			 names[i], (uint64_t)i);
	fputs("</div>\n</main>\n", file);
	for (unsigned i = 0; i < 2 && !ret; i++)
		ret = put_page(&pair[i], i, file);
	fputs("<script>\n", file);
	fwrite(script, 1, sizeof(script), file);
	fputs("</script>\n</body>\n</html>\n", file);
	return ret ? ret : ferror(file) ? -EIO : 0;
}
