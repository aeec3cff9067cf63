/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/parts.h"

#include "tools/program.h"
#include "tools/report/html.h"

static void put_label(const char *label, const char *explanation, FILE *file)
{
	html_put(file, "<div><dt title=\"%s\">%s</dt><dd>", explanation, label);
}

/* @format: one of html_put()'s; what cannot be here is a dash and not 0. */
static void put_figure(const char *label, const char *explanation, const char *format, bool can_be,
		       uint64_t value, FILE *file)
{
	put_label(label, explanation, file);
	if (can_be || value)
		html_put(file, format, value);
	else
		fputs("–", file);
	fputs("</dd></div>\n", file);
}

static bool figures_has_switch(const struct topology *topology)
{
	for (uint32_t i = 0; i < topology->node_count; i++)
		if (topology->nodes[i].is_switch)
			return true;
	return false;
}

static void put_parts(const char *label, const char *explanation, const char *format, bool can_be,
		      uint64_t value, uint64_t other, FILE *file)
{
	put_label(label, explanation, file);
	if (can_be || value || other)
		html_put(file, format, value, other);
	else
		fputs("–", file);
	fputs("</dd></div>\n", file);
}

void report_figures(const struct report *report, FILE *file)
{
	const struct result *result = report->result;
	const struct traffic_sums *sums = &result->flow_sums;
	const struct scenario_switch *switches = &result->scenario->switches;
	const bool ecn = switches->ecn.enabled;

	fputs("<dl class=\"figures\">\n", file);
	put_parts("Flows completed", "Messages whose sender saw them acknowledged in full.",
		  "%n <small>of %n</small>", sums->posted > 0, sums->completed, sums->posted, file);
	put_figure("Packets lost", "For whatever reason: full buffers, faults, no route.", "%n",
		   true, report_lost(result), file);
	put_figure("Sent again", "Packets that were transmitted more than once.", "%n", true,
		   report_retransmitted(report), file);
	put_figure("Pause frames", "PFC: a switch or host told its neighbour to stop sending.",
		   "%n", switches->fc == SCENARIO_FC_PFC, result->pfc.pause_sent, file);
	put_figure("Paused time", "Of all priorities of all ports together.", "%t",
		   switches->fc != SCENARIO_FC_NONE, result->pfc.paused, file);
	put_figure("ECN marks", "Packets that a switch marked because its queue was long.", "%n",
		   ecn, result->marked, file);
	put_parts("CNPs", "Congestion notifications from receivers to senders.",
		  "%n <small>%n obeyed</small>", ecn, result->cnp_sent, result->cnp_handled, file);
	put_figure("Longest queue", "Of one priority at one port of a switch.", "%b",
		   figures_has_switch(&result->scenario->topology), result->queue_max_bytes, file);
	put_figure("Virtual time", "From the begin of the run to the last thing that happened.",
		   "%t", true, result->time, file);
	put_figure("Packet hops", "Frames that crossed a link.", "%n", true, result->packet_hops,
		   file);
	fputs("</dl>\n", file);
}

static void figures_put_class(const struct result_class *class, FILE *file)
{
	html_put(file, "<tr><th scope=\"row\">%s</th><td>%n</td><td>%n</td>", class->name,
		 class->posted, class->count);
	if (class->count == 0) {
		fputs("<td>–</td><td>–</td><td>–</td><td>–</td><td>–</td><td>–</td><td>–</td>"
		      "<td>–</td></tr>\n",
		      file);
		return;
	}
	html_put(file, "<td>%t</td><td>%t</td><td>%t</td><td>%t</td>", class->times.mean,
		 class->times.p50, class->times.p99, class->times.p999);
	if (class->slowdown_count == 0)
		fputs("<td>–</td><td>–</td>", file);
	else
		fprintf(file, "<td>%.2f</td><td>%.2f</td>", class->slowdown_mean,
			class->slowdown_p99);
	html_put(file, "<td>%r</td><td>%r</td></tr>\n", class->goodput_bps, class->flow_bps);
}

void report_classes(const struct report *report, FILE *file)
{
	if (report->result->class_count == 0)
		return;
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Classes of "
	      "traffic\">"
	      "<table><caption>Flow completion time (FCT) of flows that completed, by class of "
	      "traffic</caption><thead><tr><th scope=\"col\">class</th><th scope=\"col\">flows</th>"
	      "<th scope=\"col\">completed</th><th scope=\"col\">FCT mean</th>"
	      "<th scope=\"col\">median</th><th scope=\"col\">p99</th><th scope=\"col\">p99.9</th>"
	      "<th scope=\"col\">slowdown mean</th><th scope=\"col\">slowdown p99</th>"
	      "<th scope=\"col\">goodput of all</th><th scope=\"col\">of a "
	      "flow</th></tr></thead><tbody>\n",
	      file);
	for (uint32_t i = 0; i < report->result->class_count; i++)
		figures_put_class(&report->result->classes[i], file);
	fputs("</tbody></table></div>\n", file);
}

static void put_rank(uint32_t number, const struct result_rank *rank, FILE *file)
{
	const struct program_result *result = rank->result;
	const bool bad = !result->ended || result->result != 0;

	html_put(file, "<tr><td>%n</td><td class=\"text\">%s</td>", (uint64_t)number, rank->host);
	if (!result->ended)
		fputs("<td class=\"text bad\">never ended</td><td>–</td>", file);
	else if (bad)
		fprintf(file, "<td class=\"text bad\">failed (%d)</td>", result->result);
	else
		fputs("<td class=\"text good\">ok</td>", file);
	if (result->ended)
		html_put(file, "<td>%t</td>", result->end_at);
	html_put(file, "<td>%n</td><td>%n</td></tr>\n", result->completions,
		 result->completions_failed);
}

static void put_program(const struct result_program *program, FILE *file)
{
	const uint32_t bad = program->failed + program->unfinished;

	html_put(file, "<details%s><summary><b>%s</b> ", bad ? " open" : "", program->name);
	html_put(file, "<span class=\"%s\">%n of %n ranks ended well</span></summary>\n",
		 bad ? "bad" : "good", (uint64_t)(program->rank_count - bad),
		 (uint64_t)program->rank_count);
	html_put(file,
		 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Ranks of %s\">",
		 program->name);
	fputs("<table><thead><tr><th scope=\"col\">rank</th><th scope=\"col\" "
	      "class=\"text\">host</th>"
	      "<th scope=\"col\" class=\"text\">result</th><th scope=\"col\">ended at</th>"
	      "<th scope=\"col\">completions</th><th scope=\"col\">of them in "
	      "error</th></tr></thead>"
	      "<tbody>\n",
	      file);
	for (uint32_t i = 0; i < program->rank_count; i++)
		put_rank(i, &program->ranks[i], file);
	fputs("</tbody></table></div></details>\n", file);
}

void report_programs(const struct report *report, FILE *file)
{
	const struct result *result = report->result;

	if (result->program_count == 0)
		return;
	fputs("<section aria-labelledby=\"programs\"><h2 id=\"programs\">Programs</h2>\n"
	      "<p class=\"hint\">Ordinary programs of the RDMA verbs API, run on hosts of the "
	      "fabric. A completion is what the adapter reports about a piece of work.</p>\n",
	      file);
	for (uint32_t i = 0; i < result->program_count; i++)
		put_program(&result->programs[i], file);
	fputs("</section>\n", file);
}

void report_expects(const struct report *report, FILE *file)
{
	const struct result *result = report->result;

	if (result->expect_count == 0)
		return;
	fputs("<section aria-labelledby=\"expects\"><h2 id=\"expects\">Expectations</h2>\n"
	      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Expectations\">"
	      "<table class=\"wrap\"><thead><tr><th scope=\"col\" class=\"text\">expected</th>"
	      "<th scope=\"col\" class=\"text\">held</th><th scope=\"col\" "
	      "class=\"text\">found</th>"
	      "</tr></thead><tbody>\n",
	      file);
	for (uint32_t i = 0; i < result->expect_count; i++) {
		const struct result_expect *expect = &result->expects[i];

		html_put(file,
			 "<tr><td class=\"text\"><code>%s</code></td><td class=\"text %s\">%s</td>"
			 "<td class=\"text\">%s</td></tr>\n",
			 expect->text,
			 expect->held	   ? "good"
			 : result->partial ? ""
					   : "bad",
			 expect->held	   ? "yes"
			 : result->partial ? "open"
					   : "no",
			 expect->found);
	}
	fputs("</tbody></table></div></section>\n", file);
}
