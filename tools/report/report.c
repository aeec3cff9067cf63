/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/report.h"

#include "tools/report/html.h"
#include "tools/report/parts.h"
#include "tools/result/output.h"

#include <errno.h>
#include <stdlib.h>

/* Made of files at build time. */
static const unsigned char style[] = {
#include "report_style.inc"
};
static const unsigned char script[] = {
#include "report_script.inc"
};
static const unsigned char licence[] = {
#include "report_licence.inc"
};
static const unsigned char zoom_licence[] = {
#include "report_zoom_licence.inc"
};

static void put_bytes(const unsigned char *bytes, size_t count, FILE *file)
{
	fwrite(bytes, 1, count, file);
}

/* Nothing may be loaded, from anywhere. */
static const char policy[] = "default-src 'none'; style-src 'unsafe-inline'; script-src "
			     "'unsafe-inline'; img-src data:";

void report_head(const char *title, const char *more_policy, FILE *file)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", file);
	html_put(file, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s%s\">\n", policy,
		 more_policy);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n",
	      file);
	html_put(file, "<title>%s – Verbena report</title>\n<style>\n", title);
	put_bytes(style, sizeof(style), file);
	fputs("</style>\n</head>\n", file);
}

static void put_title(const struct result *result, FILE *file)
{
	char digest[17];

	snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)result->digest);
	html_put(file,
		 "<header>\n<p class=\"brand\">Verbena <span>simulated RDMA fabric</span></p>\n"
		 "<h1>%s</h1>\n<ul class=\"facts\">\n",
		 result->scenario->name);
	html_put(file, "<li>seed <b>%n</b></li>\n", result->scenario->seed);
	html_put(file, "<li>digest <b><code>%s</code></b></li>\n", digest);
	html_put(file, "<li>version <b>%s</b></li>\n", result->version);
	if (result->scenario->file)
		html_put(file, "<li>scenario <b>%s</b></li>\n", result->scenario->file);
	fputs("</ul>\n</header>\n<nav id=\"ways\" class=\"ways\" aria-label=\"Parts of the "
	      "page\"></nav>\n",
	      file);
}

static void report_put_topology(FILE *file)
{
	fputs("<section aria-labelledby=\"topology\"><h2 id=\"topology\">Topology</h2>\n"
	      "<p class=\"hint\">Each half of a link is coloured by the load of what leaves there, "
	      "and dashed where it was paused; circles are queues that wait there. Hosts and "
	      "switches are coloured by the largest share of the time that one of their ports had "
	      "to stand still. All colours are of one scale of shares, the same at every moment. "
	      "Move the slider to see one; point at something, or focus the drawing and use the "
	      "arrow keys.</p>\n"
	      "<div id=\"slider\" class=\"controls\"></div>\n"
	      "<div id=\"drawing\" class=\"drawing\"><noscript>The drawing needs "
	      "scripts.</noscript></div>\n<div id=\"drawing-legend\" class=\"legend\"></div>\n"
	      "<p id=\"drawing-text\" class=\"detail\" aria-live=\"polite\"></p>\n</section>\n",
	      file);
}

static void put_inside(const struct report *report, FILE *file)
{
	if (report->result->machine_count == 0)
		return;
	fputs("<section aria-labelledby=\"inside-head\"><h2 id=\"inside-head\">Inside of a "
	      "machine</h2>\n"
	      "<p class=\"hint\">Its sockets stand on top, and below each what hangs on it. Each "
	      "half of a lane is coloured by the share of the time that it was busy with what "
	      "leaves "
	      "there, on the scale of the topology and at the moment of its slider. The machine "
	      "with "
	      "the busiest lane is shown first; point at a lane, or focus the drawing and use the "
	      "arrow keys.</p>\n"
	      "<div id=\"inside\"><noscript>The drawing needs scripts.</noscript></div>\n"
	      "</section>\n",
	      file);
}

static void put_pauses(const struct report *report, FILE *file)
{
	if (!report->pauses || report->pauses->pause_count == 0)
		return;
	fputs("<section aria-labelledby=\"pauses\"><h2 id=\"pauses\">Who paused whom</h2>\n"
	      "<p class=\"hint\">Where it began stands first; below each are the pauses that it "
	      "led to. A buffer has its neighbour pause when what came from there and is still "
	      "held passes a threshold.</p>\n"
	      "<div id=\"pause-tree\" class=\"tall\" tabindex=\"0\" role=\"region\" "
	      "aria-label=\"Tree of pauses\"><noscript>The tree needs scripts.</noscript></div>\n"
	      "</section>\n",
	      file);
}

static void put_ladder(const struct report *report, FILE *file)
{
	if (report->packets && report->packets->flow_count > 0)
		fputs("<section aria-labelledby=\"packets\"><h2 id=\"packets\">Packets of a "
		      "flow</h2>\n"
		      "<p class=\"hint\">Each arrow is a packet on a link, from the start of its "
		      "first bit to the arrival of its last; time goes down. Point at one, or "
		      "focus the ladder and use the arrow keys; a click or Enter opens its "
		      "headers.</p>\n"
		      "<div id=\"ladder\"><noscript>The ladder needs scripts.</noscript></div>\n"
		      "</section>\n",
		      file);
	else if (report->result->flow_count > 0) {
		fputs("<p class=\"hint\">To see the packets of flows: <code>verbena report ", file);
		report_run(report, file);
		fputs("</code>, or of some, <code>verbena report ", file);
		report_run(report, file);
		fputs(" --flows 3,17</code>.</p>\n", file);
	}
}

static void put_charts(const struct report *report, FILE *file)
{
	fputs("<section aria-labelledby=\"time\" id=\"over-time\"><h2 id=\"time\">Over time</h2>\n",
	      file);
	if (report->sampler && report->sampler->point_count > 1)
		fputs("<p class=\"hint\">Drag across a chart to zoom in, double-click to see all "
		      "again.</p>\n",
		      file);
	else
		fputs("<p class=\"hint\">Nothing was recorded over time.</p>\n", file);
	fputs("<div id=\"charts\" class=\"charts\"><noscript>Charts need "
	      "scripts.</noscript></div>\n"
	      "</section>\n",
	      file);
}

static int put_result(const struct result *result, FILE *file)
{
	char *text = NULL;
	size_t length;
	FILE *memory = open_memstream(&text, &length);
	int ret;

	if (!memory)
		return -ENOMEM;
	ret = output_json(result, memory);
	if (fclose(memory) != 0 && !ret)
		ret = -ENOMEM;
	if (!ret)
		html_json(text, file);
	free(text);
	return ret;
}

static void report_put_words(FILE *file)
{
	static const struct {
		const char *word, *meaning;
	} words[] = {
		{"RDMA",
		 "a network adapter reads and writes the memory of another machine by itself."},
		{"flow", "one message from one host to another, sent by RDMA WRITE."},
		{"FCT",
		 "flow completion time: from the start of a flow to the acknowledgement of its "
		 "last packet."},
		{"slowdown",
		 "FCT divided by what the same flow takes alone on an idle fabric; 1 is perfect."},
		{"PFC",
		 "priority flow control: a receiver whose buffer fills up tells its neighbour to "
		 "stop sending (pause), so that no packet is lost. The neighbour’s buffer may fill "
		 "up in turn."},
		{"ECN",
		 "explicit congestion notification: a switch marks packets while its queue is "
		 "long."},
		{"CNP", "congestion notification packet: the receiver of marked packets asks the "
			"sender to slow down."},
		{"digest",
		 "a hash of everything that happened. The same scenario, seed and version give the "
		 "same digest on every machine."},
	};

	fputs("<details class=\"words\"><summary>Words used here</summary><dl>\n", file);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		html_put(file, "<dt>%s</dt><dd>%s</dd>\n", words[i].word, words[i].meaning);
	fputs("</dl></details>\n", file);
}

static void put_keys(FILE *file)
{
	static const struct {
		const char *key, *does;
	} keys[] = {
		{"Tab", "from one control to the next: slider, tree, search, tables, drawing."},
		{"t", "to the slider of the moment; arrows move it."},
		{", .", "one moment back or on, from anywhere."},
		{"w", "the whole run again."},
		{"/", "to the search among the flows; Escape leaves it."},
		{"f", "to the search for a node of the drawing."},
		{"arrows",
		 "in the drawing: from node to node; Escape: none; Enter opens a group; + - 0 "
		 "zoom a large one."},
		{"Enter",
		 "on the head of a column: sort by it; on a line of the tree: fold it; on a "
		 "packet of the ladder: its headers, which Escape closes."},
		{"d", "light or dark."},
		{"?", "this list over the page, which stays where it is; again, or Escape: away."},
	};

	fputs("<details class=\"words\" id=\"keys\"><summary id=\"keys-head\">Keys</summary><dl>\n",
	      file);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		html_put(file, "<dt>%s</dt><dd>%s</dd>\n", keys[i].key, keys[i].does);
	fputs("</dl></details>\n", file);
}

static void put_foot(const struct result *result, FILE *file)
{
	fputs("<footer>\n", file);
	report_put_words(file);
	put_keys(file);
	if (result->scenario->file) {
		fprintf(file, "<p>To get the same again: <code>verbena run --seed %llu ",
			(unsigned long long)result->scenario->seed);
		html_put(file, "%s%s</code></p>\n", result->scenario->file,
			 result->scenario->settings);
	}
	fputs("<details class=\"words\"><summary>Licence of the charts (uPlot)</summary><pre>",
	      file);
	put_bytes(licence, sizeof(licence), file);
	fputs("</pre></details>\n<details class=\"words\"><summary>Licence of the zoom "
	      "(Panzoom)</summary><pre>",
	      file);
	put_bytes(zoom_licence, sizeof(zoom_licence), file);
	fputs("</pre></details>\n</footer>\n", file);
}

static int put_body(const struct report *report, const struct report_rows *rows, FILE *file)
{
	int ret;

	fputs("<body>\n", file);
	put_title(report->result, file);
	fputs("<main>\n", file);
	report_verdict(report, file);
	report_story(report, rows, file);
	report_cure(report, file);
	report_figures(report, file);
	report_expects(report, file);
	report_put_topology(file);
	put_inside(report, file);
	put_pauses(report, file);
	put_charts(report, file);
	if (report->result->class_count)
		fputs("<section aria-labelledby=\"fct\"><h2 id=\"fct\">Flow completion</h2>\n",
		      file);
	report_classes(report, file);
	if (report->result->class_count)
		fputs("<div id=\"fct-charts\" class=\"charts\"></div>\n"
		      "<div id=\"slowdown-by-size\"></div>\n</section>\n",
		      file);
	report_programs(report, file);
	ret = report_ports(report, file);
	report_flows(rows, file);
	put_ladder(report, file);
	fputs("</main>\n", file);
	put_foot(report->result, file);
	return ret;
}

int report_write(const struct report *report, FILE *file)
{
	struct report_rows rows;
	int ret = report_rows_make(report->result, &rows), body;

	report_head(report->result->scenario->name, "", file);
	body = put_body(report, &rows, file);
	ret = ret ? ret : body;
	fputs("<script type=\"application/json\" id=\"result\">", file);
	ret = ret ? ret : put_result(report->result, file);
	fputs("</script>\n<script type=\"application/json\" id=\"data\">", file);
	ret = ret ? ret : report_data(report, &rows, file);
	fputs("</script>\n<script>\n", file);
	put_bytes(script, sizeof(script), file);
	fputs("</script>\n</body>\n</html>\n", file);
	report_rows_free(&rows);
	return ret ? ret : ferror(file) ? -EIO : 0;
}
