/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/series_flows.h"

#include "util/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- which flows ---- */

static bool series_flows_refuse(struct bad_text *ret_why, const char *found, size_t length,
				uint64_t count)
{
	struct bad_text quoted;

	bad_text(ret_why,
		 "found %s, expected \"all\" or numbers such as 3,7,10-20, of %" PRIu64
		 " flows that are listed, at most %d of them",
		 bad_quote(&quoted, found, length), count, SERIES_FLOWS_MAX);
	return false;
}

static bool add_range(struct series_flows *series, uint64_t first, uint64_t last)
{
	if (series->flow_count > 0 && first <= series->flows[series->flow_count - 1].number)
		return false;
	if (last < first || last - first >= SERIES_FLOWS_MAX - series->flow_count)
		return false;
	for (uint64_t i = first; i <= last; i++)
		series->flows[series->flow_count++].number = i;
	return true;
}

/* "7" or "10-20", above all before it. */
static bool series_flows_take(struct series_flows *series, const char *text, size_t length,
			      uint64_t count)
{
	const char *dash = memchr(text, '-', length);
	const size_t head = dash ? (size_t)(dash - text) : length;
	uint64_t first, last;

	if (util_count_parse(text, head, &first) != UTIL_QUANTITY_OK)
		return false;
	last = first;
	if (dash && util_count_parse(dash + 1, length - head - 1, &last) != UTIL_QUANTITY_OK)
		return false;
	return last < count && add_range(series, first, last);
}

bool series_flows_check(struct series_flows *series, const char *text,
			const struct scenario *scenario, struct bad_text *ret_why)
{
	*series = (struct series_flows){.flows = calloc(SERIES_FLOWS_MAX, sizeof(*series->flows))};
	if (!series->flows) {
		bad_text(ret_why, "no memory");
		return false;
	}
	if (scenario->nic.qp_per_pair && scenario->stream_count > 0) {
		bad_text(ret_why,
			 "found nic.qp: per-pair and traffic that is streamed, expected one of "
			 "them: flows of both would share queue pairs");
		return false;
	}
	if (strcmp(text, "all") == 0)
		return (scenario->flow_count > 0 &&
			add_range(series, 0, scenario->flow_count - 1)) ||
		       series_flows_refuse(ret_why, text, strlen(text), scenario->flow_count);
	for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!series_flows_take(series, at, strcspn(at, ","), scenario->flow_count))
			return series_flows_refuse(ret_why, at, strcspn(at, ","),
						   scenario->flow_count);
	return true;
}

/* ---- rows ---- */

static void series_flows_put_row(const struct series_flows *series, const struct series_flow *sums,
				 ps_t at)
{
	const struct events *events = series->events;
	const struct traffic_flow *flow = &events->scenario->flows[sums->number];
	struct host *const *hosts = events->fabric->table.hosts;

	fprintf(series->out.file,
		"%" PRIu64 ",%" PRIu64 ",%s,%s,%s,%u,%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%" PRIu64
		"\n",
		at, sums->number, events->scenario->classes[flow->class_index],
		hosts[flow->src]->node.name, hosts[flow->dst]->node.name, flow->priority,
		sums->sent_bytes,
		(uint64_t)((u128)sums->sent_bytes * 8 * PS_S / (at - series->last)),
		sums->sent_packets, sums->resent_packets, sums->marked_packets,
		sums->arrived_bytes);
}

static void series_flows_put_rows(struct series_flows *series, ps_t at)
{
	for (uint64_t i = 0; series->active_count > 0 && i < series->flow_count; i++) {
		struct series_flow *sums = &series->flows[i];

		if (!sums->active)
			continue;
		series_flows_put_row(series, sums, at);
		*sums = (struct series_flow){.number = sums->number};
		series->active_count--;
	}
	series->last = at;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct series_flow *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void series_flows_add(struct series_flow *sums, const struct events *events,
			     const struct event *event)
{
	const struct events_port *port = &events->ports[event->port];

	if (port->is_host) {
		sums->sent_bytes += event->bytes;
		sums->sent_packets++;
		sums->resent_packets += event->retransmitted;
	}
	if (events->ports[port->far].is_host)
		sums->arrived_bytes += event->bytes;
	sums->marked_packets += event->marked;
}

static int series_flows_on_event(struct events_listener *listener, const struct event *event)
{
	struct series_flows *series = container_of(listener, struct series_flows, listener);
	struct series_flow wanted = {.number = 0}, *sums;
	const struct traffic_flow *flow =
		event->kind == EVENT_DATA ? events_flow(series->events, event, &wanted.number)
					  : NULL;

	/* What goes back to the source is no part of it. */
	if (!flow || event->is_stray || event->dst != flow->dst)
		return 0;
	sums = bsearch(&wanted, series->flows, series->flow_count, sizeof(*sums), compare_numbers);
	if (!sums)
		return 0;
	if (event->at >= series->due) {
		series_flows_put_rows(series, series->due);
		series->last = event->at / series->interval * series->interval;
		series->due = series->last + series->interval;
	}
	series->active_count += !sums->active;
	sums->active = true;
	series_flows_add(sums, series->events, event);
	part_note(&series->out);
	return ferror(series->out.file) ? -EIO : 0;
}

/* ---- the file ---- */

int series_flows_open(struct series_flows *series, const struct folder *folder, ps_t interval)
{
	series->interval = series->due = interval;
	series->folder = folder;
	return folder_begin(folder, "series_flows.csv", &series->out);
}

void series_flows_start(struct series_flows *series, struct events *events)
{
	fputs("time_ps,id,class,src,dst,priority,sent_bytes,rate_bps,sent_packets,resent_packets,"
	      "marked_packets,arrived_bytes\n",
	      series->out.file);
	series->events = events;
	series->listener = (struct events_listener){.on_event = series_flows_on_event};
	events_listen(events, &series->listener);
}

int series_flows_close(struct series_flows *series, ps_t at)
{
	if (series->out.file && series->active_count > 0)
		series_flows_put_rows(series,
				      at < series->due && at > series->last ? at : series->due);
	part_note(&series->out);
	return folder_end(series->folder, &series->out, true);
}

void series_flows_fini(struct series_flows *series)
{
	part_close(&series->out, false);
	free(series->flows);
	*series = (struct series_flows){.interval = 0};
}
