/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/parts.h"

#include "tools/program.h"
#include "tools/report/html.h"

static void put_label(const char *label, const char *explanation, FILE *file)
{
	html_put(file, "<div><dt title=\"%s\">%s</dt><dd>", explanation, label);
}

static void put_figure(const char *label, const char *explanation, uint64_t value, FILE *file)
{
	put_label(label, explanation, file);
	html_put(file, "%n</dd></div>\n", value);
}

void report_figures(const struct report *report, FILE *file)
{
	const struct result *result = report->result;
	const struct traffic_sums *sums = &result->flow_sums;

	fputs("<dl class=\"figures\">\n", file);
	put_label("Flows completed", "Messages whose sender saw them acknowledged in full.", file);
	html_put(file, "%n <small>of %n</small></dd></div>\n", sums->completed, sums->posted);
	put_figure("Packets lost", "For whatever reason: full buffers, faults, no route.",
		   report_lost(result), file);
	put_figure("Sent again", "Packets that were transmitted more than once.",
		   report_retransmitted(report), file);
	put_figure("Pause frames", "PFC: a switch or host told its neighbour to stop sending.",
		   result->pfc.pause_sent, file);
	put_label("Paused time", "Of all priorities of all ports together.", file);
	html_put(file, "%t</dd></div>\n", result->pfc.paused);
	put_figure("ECN marks", "Packets that a switch marked because its queue was long.",
		   result->marked, file);
	put_label("CNPs", "Congestion notifications from receivers to senders.", file);
	html_put(file, "%n <small>%n obeyed</small></dd></div>\n", result->cnp_sent,
		 result->cnp_handled);
	put_label("Longest queue", "Of one priority at one port of a switch.", file);
	html_put(file, "%b</dd></div>\n", result->queue_max_bytes);
	put_label("Virtual time", "From the begin of the run to the last thing that happened.",
		  file);
	html_put(file, "%t</dd></div>\n", result->time);
	put_figure("Packet hops", "Frames that crossed a link.", result->packet_hops, file);
	fputs("</dl>\n", file);
}

static void figures_put_class(const struct result_class *class, FILE *file)
{
	html_put(file, "<tr><th scope=\"row\">%s</th><td>%n</td><td>%n</td>", class->name,
		 class->posted, class->count);
	if (class->count == 0) {
		fputs("<td>–</td><td>–</td><td>–</td><td>–</td><td>–</td><td>–</td><td>–</td></"
		      "tr>\n",
		      file);
		return;
	}
	html_put(file, "<td>%t</td><td>%t</td><td>%t</td><td>%t</td>", class->mean, class->p50,
		 class->p99, class->p999);
	if (class->slowdown_count == 0)
		fputs("<td>–</td><td>–</td>", file);
	else
		fprintf(file, "<td>%.2f</td><td>%.2f</td>", class->slowdown_mean,
			class->slowdown_p99);
	html_put(file, "<td>%r</td></tr>\n", class->goodput_bps);
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
	      "<th scope=\"col\">goodput</th></tr></thead><tbody>\n",
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
	      "<table><thead><tr><th scope=\"col\" class=\"text\">expected</th>"
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
