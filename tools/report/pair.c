/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/report.h"

#include "tools/report/html.h"
#include "tools/report/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char script[] = {
#include "report_pair.inc"
};

/* ---- what differs ---- */

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

static void report_pair_put_row(const char *label, const char *format, uint64_t a, uint64_t b,
				FILE *file)
{
	html_put(file, "<tr class=\"%s\"><th scope=\"row\">%s</th>", a == b ? "same" : "other",
		 label);
	report_pair_put_cell(format, a, file);
	report_pair_put_cell(format, b, file);
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

static void report_pair_put_class(const struct result_class *a, const struct result_class *b,
				  FILE *file)
{
	const struct {
		const char *what, *format;
		uint64_t a, b;
	} rows[] = {
		{"FCT mean", "%t", a->mean, b->mean},
		{"FCT p99", "%t", a->p99, b->p99},
		{"goodput", "%r", a->goodput_bps, b->goodput_bps},
	};
	char label[256];

	snprintf(label, sizeof(label), "%.200s: flows completed", a->name);
	report_pair_put_row(label, "%n", a->count, b->count, file);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const bool is_same = !a->count == !b->count && rows[i].a == rows[i].b;

		snprintf(label, sizeof(label), "%.200s: %s", a->name, rows[i].what);
		html_put(file, "<tr class=\"%s\"><th scope=\"row\">%s</th>",
			 is_same ? "same" : "other", label);
		put_cell_of(rows[i].format, a->count, rows[i].a, file);
		put_cell_of(rows[i].format, b->count, rows[i].b, file);
		fputs("</tr>\n", file);
	}
}

static void put_table(const struct report *pair, const char *const *names, FILE *file)
{
	const struct result *a = pair[0].result, *b = pair[1].result;

	html_put(file,
		 "<section aria-labelledby=\"both\"><h2 id=\"both\">Side by side</h2>\n"
		 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Both runs\">"
		 "<table><thead><tr><th scope=\"col\"></th><th scope=\"col\">%s</th>"
		 "<th scope=\"col\">%s</th></tr></thead><tbody>\n",
		 names[0], names[1]);
	report_pair_put_row("Flows posted", "%n", a->flow_sums.posted, b->flow_sums.posted, file);
	report_pair_put_row("Flows completed", "%n", a->flow_sums.completed, b->flow_sums.completed,
			    file);
	report_pair_put_row("Packets lost", "%n", report_lost(a), report_lost(b), file);
	report_pair_put_row("Packets sent again", "%n", report_retransmitted(&pair[0]),
			    report_retransmitted(&pair[1]), file);
	report_pair_put_row("Pause frames", "%n", a->pfc.pause_sent, b->pfc.pause_sent, file);
	report_pair_put_row("Paused time", "%t", a->pfc.paused, b->pfc.paused, file);
	report_pair_put_row("ECN marks", "%n", a->marked, b->marked, file);
	report_pair_put_row("CNPs", "%n", a->cnp_sent, b->cnp_sent, file);
	report_pair_put_row("Longest queue", "%b", a->queue_max_bytes, b->queue_max_bytes, file);
	report_pair_put_row("Virtual time", "%t", a->time, b->time, file);
	for (uint32_t i = 0; i < a->class_count; i++) {
		const struct result_class *other = report_pair_class_of(b, a->classes[i].name);

		if (other)
			report_pair_put_class(&a->classes[i], other, file);
	}
	fputs("</tbody></table></div>\n</section>\n", file);
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

	snprintf(title, sizeof(title), "%.255s and %.255s", pair[0].result->scenario->name,
		 pair[1].result->scenario->name);
	/* The two pages are frames made of text that is in this one. */
	report_head(title, "; frame-src blob:", file);
	fputs("<body class=\"pair\">\n<header>\n<p class=\"brand\">Verbena <span>simulated RDMA "
	      "fabric</span></p>\n",
	      file);
	html_put(file, "<h1>%s and %s</h1>\n</header>\n<main>\n", names[0], names[1]);
	put_table(pair, names, file);
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
