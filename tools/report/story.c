/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/parts.h"

#include "tools/observe/host_index.h"
#include "tools/report/html.h"
#include "tools/result/failures.h"

#include <string.h>

uint64_t report_lost(const struct result *result)
{
	return result->drops.buffer + result->drops.fault + result->drops.no_route +
	       result->drops.icrc + result->drops.ttl + result->drops.mtu + result->drops.watchdog +
	       result->drops.unknown;
}

uint64_t report_retransmitted(const struct report *report)
{
	const struct sampler *sampler = report->sampler;

	if (!sampler || sampler->point_count == 0)
		return report->result->flow_sums.packets_retransmitted;
	return sampler->points[sampler->point_count - 1].retransmitted;
}

bool report_has_programs_failed(const struct result *result)
{
	for (uint32_t i = 0; i < result->program_count; i++)
		if (result->programs[i].failed || result->programs[i].unfinished)
			return true;
	return false;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* "3 flows", with the number as people read it. */
static void put_count(uint64_t count, const char *what, FILE *file)
{
	html_put(file, "%n %s%s", count, what, plural(count));
}

/* ---- the verdict ---- */

/* "3 work requests failed (1 rem_access_err, 2 wr_flush_err)". */
static void put_failures(const struct failures *failures, FILE *file)
{
	const char *comma = " (";

	put_count(failures->count, "work request", file);
	fputs(" failed", file);
	for (int status = 0; status < FAILURES_STATUSES; status++)
		if (failures->of[status] > 0) {
			html_put(file, "%s%n %s", comma, failures->of[status],
				 failures_name((enum hca_wc_status)status));
			comma = ", ";
		}
	fputs(")", file);
}

static void put_unfinished(const struct report *report, const struct failures *failures, FILE *file)
{
	const struct result *result = report->result;
	const struct traffic_sums *sums = &result->flow_sums;
	uint64_t ranks = 0;

	for (uint32_t i = 0; i < result->program_count; i++)
		ranks += result->programs[i].failed + result->programs[i].unfinished;
	if (sums->failed)
		html_put(file, "%n of %n flows did not complete", sums->failed, sums->posted);
	if (sums->failed && ranks)
		fputs(", and ", file);
	if (ranks) {
		put_count(ranks, "program rank", file);
		fputs(" failed or never ended", file);
	}
	if (failures->count && (sums->failed || ranks))
		fputs(", and ", file);
	if (failures->count)
		put_failures(failures, file);
}

static uint64_t count_unmet(const struct result *result)
{
	uint64_t unmet = 0;

	for (uint32_t i = 0; i < result->expect_count; i++)
		unmet += !result->expects[i].held;
	return unmet;
}

void report_verdict(const struct report *report, FILE *file)
{
	const struct result *result = report->result;
	const uint64_t lost = report_lost(result);
	const struct failures failures = failures_of(result);
	const bool failed = result->flow_sums.failed || report_has_programs_failed(result) ||
			    failures.count > 0;
	const bool wrong = result->flow_sums.mismatch_bytes != 0;
	const uint64_t unmet = result->partial ? 0 : count_unmet(result);
	const char *kind = result->partial || failed || wrong || unmet ? "bad"
			   : lost				       ? "note"
								       : "good";

	html_put(file,
		 "<p class=\"verdict %s\" role=\"status\"><span aria-hidden=\"true\">%s</span> ",
		 kind, *kind == 'g' ? "✓" : "!");
	if (result->partial)
		fputs("<strong>Cut short.</strong> The run was ended before it was done; what had "
		      "been measured is shown. ",
		      file);
	if (wrong)
		html_put(file,
			 "<strong>Wrong data.</strong> %n bytes that arrived are not those that "
			 "were sent. ",
			 result->flow_sums.mismatch_bytes);
	if (unmet) {
		fputs("<strong>Not as expected:</strong> ", file);
		put_count(unmet, "expectation", file);
		fputs(" did not hold. ", file);
	}
	if (failed) {
		fputs("<strong>Not everything completed:</strong> ", file);
		put_unfinished(report, &failures, file);
		if (result->cut && !result->partial && result->scenario->until != PS_NEVER)
			html_put(file,
				 " when the scenario’s time was over, at %t; the last arrival "
				 "was at %t.",
				 result->scenario->until, result->time);
		else
			fputs(!result->cut && result->pfc.paused_at_end
				      ? ". Ports are paused, and nothing will let them go on."
				      : ".",
			      file);
	} else if (!result->partial && !wrong) {
		fputs("<strong>Everything completed</strong>", file);
		fputs(lost ? ", although packets were lost on the way: they were sent again."
			   : ", and no packet was lost.",
		      file);
	}
	fputs("</p>\n", file);
}

/* ---- what ran ---- */

static void story_put_topology(const struct topology *topology, FILE *file)
{
	uint64_t switches = 0, slowest = UINT64_MAX, fastest = 0;

	for (uint32_t i = 0; i < topology->node_count; i++)
		switches += topology->nodes[i].is_switch;
	for (uint32_t i = 0; i < topology->link_count; i++) {
		const uint64_t rate = topology->links[i].rate_bps;

		slowest = rate < slowest ? rate : slowest;
		fastest = rate > fastest ? rate : fastest;
	}
	put_count(topology->node_count - switches, "host", file);
	fputs(" and ", file);
	html_put(file, "%n switch%s", switches, switches == 1 ? "" : "es");
	fputs(" joined by ", file);
	put_count(topology->link_count, "link", file);
	if (fastest && slowest == fastest)
		html_put(file, " of %r", fastest);
	else if (fastest)
		html_put(file, " of %r to %r", slowest, fastest);
	fputs(". ", file);
}

static void put_traffic(const struct result *result, FILE *file)
{
	for (uint32_t i = 0; i < result->class_count; i++) {
		fputs(i == 0 ? "" : i + 1 < result->class_count ? ", " : " and ", file);
		put_count(result->classes[i].posted, "flow", file);
		html_put(file, " of <b>%s</b>", result->classes[i].name);
	}
	if (result->class_count)
		html_put(file, " carried %b. ", result->flow_sums.bytes_posted);
	for (uint32_t i = 0; i < result->program_count; i++) {
		const struct result_program *program = &result->programs[i];

		html_put(file, "The program <b>%s</b> ran on ", program->name);
		put_count(program->rank_count, "rank", file);
		fputs(". ", file);
	}
	if (result->class_count == 0 && result->program_count == 0)
		fputs("Nothing was to be sent.", file);
}

static void what_ran(const struct report *report, FILE *file)
{
	story_put_topology(&report->result->scenario->topology, file);
	put_traffic(report->result, file);
}

/* ---- did it finish ---- */

/* Of each status the first; those that were flushed behind another come last. */
static void put_failed_requests(const struct result *result, FILE *file)
{
	const struct failures failures = failures_of(result);
	struct host *const *hosts;

	if (failures.count == 0)
		return;
	hosts = result->fabric->table.hosts;
	put_failures(&failures, file);
	fputs(": ", file);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < FAILURES_STATUSES; i++) {
			const enum hca_wc_status status = (enum hca_wc_status)i;
			const struct request *request;

			if (failures.of[i] == 0 || (status == HCA_WC_WR_FLUSH_ERR) != (pass == 1))
				continue;
			request = request_log_at(result->requests, failures.first[i]);
			html_put(file, "wr%n of <b>%s</b>, rank %n, <b>%s</b> to <b>%s</b>: %s. ",
				 failures.first[i], result->programs[request->program].name,
				 (uint64_t)request->rank, hosts[request->src]->node.name,
				 host_index_name(result->fabric, request->dst),
				 failures_words(status));
		}
	fputs("What became of one: <code>verbena explain RUN wrN --why slow</code>. ", file);
}

static void did_it_finish(const struct report *report, FILE *file)
{
	const struct result *result = report->result;
	const struct traffic_sums *sums = &result->flow_sums;

	if (sums->posted) {
		html_put(file,
			 sums->failed ? "%n of %n flows completed. " : "All of %n flows did. ",
			 sums->failed ? sums->completed : sums->posted, sums->posted);
	}
	if (result->program_count && !report_has_programs_failed(result))
		fputs("Every rank of every program ended well. ", file);
	else if (result->program_count)
		fputs("Not every rank of the programs did: see below. ", file);
	put_failed_requests(result, file);
	html_put(file, "The run covers %t of virtual time", result->time);
	html_put(file, "; computing it took %t.", (uint64_t)(result->wall_s * 1e12));
}

/* ---- was anything lost ---- */

static void put_reason(uint64_t count, const char *reason, bool *first, FILE *file)
{
	if (count == 0)
		return;
	html_put(file, "%s%n %s", *first ? "" : ", ", count, reason);
	*first = false;
}

static void was_anything_lost(const struct report *report, FILE *file)
{
	const struct result *result = report->result;
	const uint64_t lost = report_lost(result), retransmitted = report_retransmitted(report);
	bool first = true;

	if (lost == 0) {
		fputs("No packet. ", file);
	} else {
		put_count(lost, "packet", file);
		fputs(": ", file);
		put_reason(result->drops.buffer, "found no room in a switch", &first, file);
		put_reason(result->drops.fault, "by faults of the scenario", &first, file);
		put_reason(result->drops.icrc, "corrupted on a link", &first, file);
		put_reason(result->drops.no_route, "had no route", &first, file);
		put_reason(result->drops.ttl, "went in circles", &first, file);
		put_reason(result->drops.mtu, "too large", &first, file);
		put_reason(result->drops.watchdog, "discarded by a watchdog", &first, file);
		put_reason(result->drops.unknown, "for hosts that a switch had forgotten", &first,
			   file);
		fputs(". ", file);
	}
	if (retransmitted) {
		put_count(retransmitted, "retransmission", file);
		fputs(": each time a packet was sent again counts.", file);
	} else {
		fputs("Nothing had to be sent twice.", file);
	}
}

/* ---- who was paused ---- */

static const struct result_port *most_paused(const struct result *result)
{
	const struct result_port *most = NULL;

	for (uint64_t i = 0; i < result->port_count; i++)
		if (result->ports[i].paused > (most ? most->paused : 0))
			most = &result->ports[i];
	return most;
}

static void put_first(const struct report *report, FILE *file)
{
	const struct pause_tree *tree = report->pauses;
	const struct events_port *port;

	if (!tree || tree->place_count == 0)
		return;
	port = &tree->events->ports[tree->places[0].port];
	html_put(file, " The first was <b>%s</b>, which paused <b>%s</b> at %t.", port->node,
		 port->peer, tree->places[0].first_at);
}

static void put_stuck(const struct result *result, FILE *file)
{
	const struct result_port *first = NULL;

	for (uint64_t i = 0; i < result->port_count && !first; i++)
		if (result->ports[i].paused_since != PS_NEVER)
			first = &result->ports[i];
	if (!first || result->partial)
		return;
	html_put(file, " <strong>%s</strong> since %t: <b>%s</b> towards <b>%s</b>, priority %n, ",
		 result->cut ? "Still paused" : "Stuck", first->paused_since, first->node,
		 first->peer, (uint64_t)first->priority);
	fputs(result->cut ? "had not been told to go on at the end of the run"
			  : "was never told to go on",
	      file);
	if (result->pfc.paused_at_end > 1)
		html_put(file, ", and %n more", result->pfc.paused_at_end - 1);
	fputs(".", file);
}

static void count_paused(const struct result *result, uint64_t *ret_hosts, uint64_t *ret_switches)
{
	const char *last = "";

	*ret_hosts = *ret_switches = 0;
	for (uint64_t i = 0; i < result->port_count; i++) {
		const struct result_port *port = &result->ports[i];

		if (port->paused == 0 || strcmp(port->node, last) == 0)
			continue; /* rows are in order of node */
		last = port->node;
		++*(port->is_host ? ret_hosts : ret_switches);
	}
}

static void who_was_paused(const struct report *report, FILE *file)
{
	const struct result *result = report->result;
	const struct result_port *most = most_paused(result);
	uint64_t hosts, switches;

	if (!most) {
		fputs("Nobody: no port was ever told to stop sending.", file);
		return;
	}
	count_paused(result, &hosts, &switches);
	if (hosts)
		put_count(hosts, "host", file);
	fputs(hosts && switches ? " and " : "", file);
	if (switches)
		html_put(file, "%n switch%s", switches, switches == 1 ? "" : "es");
	fputs(" had to stop sending at times", file);
	if (result->pfc.pause_sent) {
		fputs(", told by ", file);
		put_count(result->pfc.pause_sent, "pause frame", file);
	}
	html_put(file, ". Longest: <b>%s</b> towards <b>%s</b>, %t in all", most->node, most->peer,
		 most->paused);
	if (result->time)
		fprintf(file, " (%.3g&#8239;%% of the run)",
			100.0 * (double)most->paused / (double)result->time);
	html_put(file, ", priority %n.", (uint64_t)most->priority);
	put_first(report, file);
	put_stuck(result, file);
}

/* ---- where queues grew ---- */

/* When that port held most, as far as the record over time tells. */
static void put_peak(const struct sampler *sampler, const struct result_port *most, FILE *file)
{
	const char *node, *link;
	uint32_t peak = 0, number = 0;

	for (; sampler && number < sampler->queue_count; number++) {
		sampler_name(sampler, number, &node, &link);
		if (strcmp(node, most->node) == 0 && strcmp(link, most->link) == 0)
			break;
	}
	if (!sampler || number == sampler->queue_count)
		return;
	for (uint32_t k = 1; k < sampler->point_count; k++)
		if (sampler->queues[(size_t)k * sampler->queue_count + number] >
		    sampler->queues[(size_t)peak * sampler->queue_count + number])
			peak = k;
	if (peak > 0)
		html_put(file, " That was between %t and %t.", sampler->points[peak - 1].at,
			 sampler->points[peak].at);
}

static void where_queues_grew(const struct report *report, FILE *file)
{
	const struct result *result = report->result;
	const struct result_port *most = NULL;

	for (uint64_t i = 0; i < result->port_count; i++)
		if (result->ports[i].queue_max > (most ? most->queue_max : 0))
			most = &result->ports[i];
	if (!most) {
		fputs("Nowhere: every frame found its port free.", file);
		return;
	}
	html_put(file,
		 "The longest queue stood at <b>%s</b> towards <b>%s</b>: %b of priority %n at its "
		 "worst, %t of sending at the port’s %r.",
		 most->node, most->peer, most->queue_max, (uint64_t)most->priority,
		 (uint64_t)((double)most->queue_max * 8e12 / (double)most->rate_bps),
		 most->rate_bps);
	put_peak(report->sampler, most, file);
}

static void how_did_senders_react(const struct report *report, FILE *file)
{
	const struct result *result = report->result;
	const struct result_port *most = result->ports;

	if (result->marked == 0) {
		fputs("They were not asked to: no packet was marked.", file);
		return;
	}
	fputs("Switches marked ", file);
	put_count(result->marked, "packet", file);
	for (uint64_t i = 0; i < result->port_count; i++)
		if (result->ports[i].marked > most->marked)
			most = &result->ports[i];
	html_put(file, " as congested (ECN), most of them, %n, at <b>%s</b> towards <b>%s</b>",
		 most->marked, most->node, most->peer);
	fputs(". Receivers told the senders with ", file);
	put_count(result->cnp_sent, "notification", file);
	html_put(file, " (CNP), of which %n led to a lower rate.", result->cnp_handled);
}

static void put_part(const char *question, FILE *file)
{
	html_put(file, "<div><dt>%s</dt><dd>", question);
}

/* The command that says where the time of a flow went. */
static void put_question(const struct report *report, uint64_t flow, FILE *file)
{
	fputs("<code>verbena explain ", file);
	report_run(report, file);
	fprintf(file, " %llu --why slow</code>. ", (unsigned long long)flow);
}

/* Of the flows that completed the one with the largest slowdown: those that did not stand before
 * it. */
static void put_slowest(const struct report *report, const struct report_rows *rows, FILE *file)
{
	const struct result_flow *slowest = NULL;

	for (uint64_t i = 0; i < rows->count && !slowest; i++)
		if (rows->rows[i].ok)
			slowest = &rows->rows[i];
	if (rows->count == 0)
		return;
	put_part("Who suffered most?", file);
	if (!rows->rows[0].ok) {
		html_put(file,
			 "Those that did not complete, such as flow %n of <b>%s</b>, <b>%s</b> to "
			 "<b>%s</b>: ",
			 rows->rows[0].id, rows->rows[0].class_name, rows->rows[0].src,
			 rows->rows[0].dst);
		put_question(report, rows->rows[0].id, file);
	}
	if (slowest) {
		html_put(file, "%s %n of <b>%s</b>, <b>%s</b> to <b>%s</b>: %t for %b, ",
			 rows->rows[0].ok ? "Flow" : "Of the others flow", slowest->id,
			 slowest->class_name, slowest->src, slowest->dst, slowest->fct,
			 slowest->bytes);
		if (slowest->slowdown < 1.005)
			fputs("as long as it takes alone on an idle fabric. ", file);
		else
			fprintf(file, "%.3g times what it takes alone on an idle fabric. ",
				slowest->slowdown);
		if (slowest->slowdown >= 2) {
			fputs("Where its time went: ", file);
			put_question(report, slowest->id, file);
		}
	}
	fputs("</dd></div>\n", file);
}

void report_story(const struct report *report, const struct report_rows *rows, FILE *file)
{
	static const struct {
		const char *question;
		void (*answer)(const struct report *report, FILE *file);
	} parts[] = {
		{"What ran?", what_ran},
		{"Did it finish?", did_it_finish},
		{"Was anything lost?", was_anything_lost},
		{"Who was paused?", who_was_paused},
		{"Where did queues grow?", where_queues_grew},
		{"Did senders slow down?", how_did_senders_react},
	};

	fputs("<dl class=\"story\">\n", file);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		put_part(parts[i].question, file);
		parts[i].answer(report, file);
		fputs("</dd></div>\n", file);
	}
	put_slowest(report, rows, file);
	fputs("</dl>\n", file);
}
