/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/parts.h"

#include "tools/report/html.h"

#include <errno.h>
#include <stdlib.h>

enum { PORTS_SHOWN = 10, FLOWS_SHOWN = 300 };

/* ---- ports ---- */

static int by_queue(const void *a, const void *b)
{
	const struct result_port *x = *(const struct result_port *const *)a,
				 *y = *(const struct result_port *const *)b;

	if (x->queue_max != y->queue_max)
		return x->queue_max > y->queue_max ? -1 : 1;
	return x < y ? -1 : x > y; /* they are in order of node, link, priority */
}

static int by_pause(const void *a, const void *b)
{
	const struct result_port *x = *(const struct result_port *const *)a,
				 *y = *(const struct result_port *const *)b;

	if (x->paused != y->paused)
		return x->paused > y->paused ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void put_port(const struct result_port *port, ps_t time, FILE *file)
{
	html_put(file,
		 "<tr><td class=\"text\">%s</td><td class=\"text\">%s</td><td>%n</td><td>%b</td>"
		 "<td>%n</td><td>%n</td><td>%t</td>",
		 port->node, port->peer, (uint64_t)port->priority, port->queue_max, port->marked,
		 port->dropped, port->paused);
	fprintf(file, "<td>%.1f&#8239;%%</td>",
		time ? 100.0 * (double)port->paused / (double)time : 0.0);
	html_put(file, "<td>%b</td></tr>\n", port->sent_bytes);
}

static void put_ports(const struct report *report, const char *caption,
		      const struct result_port **ports, uint64_t count, FILE *file)
{
	html_put(file,
		 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table>"
		 "<caption>%s</caption>",
		 caption, caption);
	fputs("<thead><tr><th scope=\"col\" class=\"text\">at</th>"
	      "<th scope=\"col\" class=\"text\">towards</th><th scope=\"col\">priority</th>"
	      "<th scope=\"col\">longest queue</th><th scope=\"col\">marked</th>"
	      "<th scope=\"col\">dropped</th><th scope=\"col\">paused</th>"
	      "<th scope=\"col\">of the run</th><th scope=\"col\">sent</th></tr></thead><tbody>\n",
	      file);
	for (uint64_t i = 0; i < count; i++)
		put_port(ports[i], report->result->time, file);
	fputs("</tbody></table></div>\n", file);
}

int report_ports(const struct report *report, FILE *file)
{
	const struct result *result = report->result;
	const struct result_port **ports = calloc(result->port_count + 1, sizeof(*ports));
	uint64_t queues = 0, pauses = 0;

	if (!ports)
		return -ENOMEM;
	for (uint64_t i = 0; i < result->port_count; i++) {
		ports[i] = &result->ports[i];
		queues += result->ports[i].queue_max > 0;
		pauses += result->ports[i].paused > 0;
	}
	if (queues || pauses)
		fputs("<section aria-labelledby=\"ports\"><h2 id=\"ports\">Busiest ports</h2>\n",
		      file);
	if (queues) {
		qsort(ports, result->port_count, sizeof(*ports), by_queue);
		put_ports(report, "Where queues grew longest", ports,
			  queues < PORTS_SHOWN ? queues : PORTS_SHOWN, file);
	}
	if (pauses) {
		qsort(ports, result->port_count, sizeof(*ports), by_pause);
		put_ports(report, "Who was kept longest from sending", ports,
			  pauses < PORTS_SHOWN ? pauses : PORTS_SHOWN, file);
	}
	if (queues || pauses)
		fputs("</section>\n", file);
	free(ports);
	return 0;
}

/* ---- flows ---- */

/* Those that failed, then the slowest compared with an idle fabric. */
static int by_woe(const void *a, const void *b)
{
	const struct result_flow *x = *(const struct result_flow *const *)a,
				 *y = *(const struct result_flow *const *)b;

	if (x->ok != y->ok)
		return x->ok ? 1 : -1;
	if (x->slowdown > y->slowdown || x->slowdown < y->slowdown)
		return x->slowdown > y->slowdown ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

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

static void put_flow(const struct result_flow *flow, FILE *file)
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

static void put_flows_head(uint64_t shown, uint64_t count, FILE *file)
{
	static const struct {
		const char *name, *class;
	} columns[] = {{"flow", ""},	 {"class", "text"},  {"from", "text"},	{"to", "text"},
		       {"bytes", ""},	 {"starts at", ""},  {"FCT", ""},	{"alone", ""},
		       {"slowdown", ""}, {"sent again", ""}, {"status", "text"}};

	fputs("<section aria-labelledby=\"flows\"><h2 id=\"flows\">Flows</h2>\n<p class=\"hint\">",
	      file);
	if (shown < count)
		html_put(file,
			 "The %n flows of %n that fared worst; all are in <code>flows.csv</code>. ",
			 shown, count);
	else
		html_put(file, "Those that fared worst first. ");
	fputs("“Alone” is the time on an idle fabric; slowdown is how many times longer it took."
	      "</p>\n<div class=\"scroll tall\" tabindex=\"0\" role=\"region\" "
	      "aria-label=\"Flows\">"
	      "<table class=\"sortable\"><thead><tr>",
	      file);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		html_put(file, "<th scope=\"col\" class=\"%s\">%s</th>", columns[i].class,
			 columns[i].name);
	fputs("</tr></thead><tbody>\n", file);
}

int report_flows(const struct report *report, FILE *file)
{
	const struct result *result = report->result;
	const uint64_t shown = result->flow_count < FLOWS_SHOWN ? result->flow_count : FLOWS_SHOWN;
	const struct result_flow **flows;

	if (result->flow_count == 0)
		return 0;
	flows = calloc(result->flow_count, sizeof(*flows));
	if (!flows)
		return -ENOMEM;
	for (uint64_t i = 0; i < result->flow_count; i++)
		flows[i] = &result->flows[i];
	qsort(flows, result->flow_count, sizeof(*flows), by_woe);
	put_flows_head(shown, result->flow_count, file);
	for (uint64_t i = 0; i < shown; i++)
		put_flow(flows[i], file);
	fputs("</tbody></table></div></section>\n", file);
	free(flows);
	return 0;
}
