/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/parts.h"

#include "tools/report/html.h"

#include <errno.h>
#include <stdlib.h>

enum { PORTS_SHOWN = 10 };

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

static void tables_put_port(const struct result_port *port, ps_t time, FILE *file)
{
	html_put(file, "<tr><td class=\"text\">%s</td><td class=\"text\">%s</td><td>%n</td>",
		 port->node, port->peer, (uint64_t)port->priority);
	if (port->is_host) /* it keeps no queue and marks nothing */
		fputs("<td>–</td><td>–</td>", file);
	else
		html_put(file, "<td>%b</td><td>%n</td>", port->queue_max, port->marked);
	html_put(file, "<td>%n</td><td>%t</td>", port->dropped, port->paused);
	if (time)
		fprintf(file, "<td>%.1f&#8239;%%</td>",
			100.0 * (double)port->paused / (double)time);
	else
		fputs("<td>–</td>", file);
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
		tables_put_port(ports[i], report->result->time, file);
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
