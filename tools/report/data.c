/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/report/parts.h"

#include "tools/report/columns.h"
#include "tools/report/html.h"

#include <errno.h>
#include <stdlib.h>

enum { QUEUES_SHOWN = 6, CDF_POINTS = 256 };

/* ---- the topology ---- */

static json_t *nodes_of(const struct topology *topology)
{
	json_t *names = json_array(), *switches = json_array();

	for (uint32_t i = 0; i < topology->node_count; i++) {
		names = column_add(names, json_string(topology->nodes[i].name));
		switches = column_add_number(switches, topology->nodes[i].is_switch);
	}
	return json_pack("{s:o,s:o}", "name", names, "switch", switches);
}

static json_t *links_of(const struct topology *topology)
{
	json_t *names = json_array(), *a = json_array(), *b = json_array();
	json_t *rates = json_array(), *delays = json_array();

	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];

		names = column_add(names, json_string(link->name));
		a = column_add_number(a, link->a);
		b = column_add_number(b, link->b);
		rates = column_add_number(rates, link->rate_bps);
		delays = column_add_number(delays, link->delay);
	}
	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "name", names, "a", a, "b", b, "rate_bps", rates,
			 "delay_ps", delays);
}

/* Of each port, all priorities together. */
static json_t *ports_of(const struct result *result)
{
	json_t *nodes = json_array(), *links = json_array(), *sent = json_array();
	json_t *queue = json_array(), *paused = json_array(), *marked = json_array();
	json_t *lost = json_array(), *pauses = json_array();

	for (uint64_t i = 0; i < result->link_count; i++) {
		const struct result_link *link = &result->links[i];
		const struct result_port *port = &result->ports[i * result->priority_count];
		uint64_t queue_max = 0, marks = 0, drops = link->lost + link->refused;
		ps_t longest = 0;

		for (uint32_t p = 0; p < result->priority_count; p++) {
			queue_max = port[p].queue_max > queue_max ? port[p].queue_max : queue_max;
			longest = port[p].paused > longest ? port[p].paused : longest;
			marks += port[p].marked;
			drops += port[p].dropped;
		}
		nodes = column_add(nodes, json_string(link->node));
		links = column_add(links, json_string(link->link));
		sent = column_add_number(sent, link->sent_bytes);
		queue = column_add_number(queue, queue_max);
		paused = column_add_number(paused, longest);
		marked = column_add_number(marked, marks);
		lost = column_add_number(lost, drops);
		pauses = column_add_number(pauses, link->pause_sent);
	}
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "node", nodes, "link", links,
			 "sent_bytes", sent, "queue_max_bytes", queue, "paused_ps", paused,
			 "marked", marked, "lost", lost, "pause_sent", pauses);
}

/* ---- over time ---- */

static json_t *data_queues_of(const struct sampler *sampler)
{
	struct sampler_queue queues[QUEUES_SHOWN];
	const uint32_t count = sampler_busiest(sampler, queues, QUEUES_SHOWN);
	json_t *all = json_array();

	for (uint32_t i = 0; i < count; i++) {
		json_t *bytes = json_array();

		for (uint32_t k = 0; k < sampler->point_count; k++)
			bytes = column_add_number(bytes,
						  sampler->queues[(size_t)k * sampler->queue_count +
								  queues[i].number]);
		all = column_add(all, json_pack("{s:s,s:s,s:o}", "node", queues[i].node, "peer",
						queues[i].peer, "bytes", bytes));
	}
	return all;
}

/* By priority, where any host sent anything with it. */
static json_t *sent_of(const struct sampler *sampler)
{
	const struct sampler_point *last = &sampler->points[sampler->point_count - 1];
	json_t *all = json_object();

	for (uint32_t p = 0; p < SIM_PRIORITIES_MAX; p++) {
		char name[4];
		json_t *bytes = json_array();

		snprintf(name, sizeof(name), "%u", p);
		for (uint32_t k = 0; k < sampler->point_count; k++)
			bytes = column_add_number(bytes, sampler->points[k].sent_bytes[p]);
		if (last->sent_bytes[p] == 0)
			json_decref(bytes);
		else if (json_object_set_new(all, name, bytes) != 0)
			goto err;
	}
	return all;
err:
	json_decref(all);
	return NULL;
}

/* How many flows of a class are under way at each point. */
static json_t *active_of(const struct report *report, uint32_t class_index)
{
	const struct result *result = report->result;
	const struct sampler *sampler = report->sampler;
	const uint32_t count = sampler->point_count;
	int64_t *change = calloc((size_t)count + 1, sizeof(*change)), now = 0;
	json_t *column = change ? json_array() : NULL;

	for (uint64_t i = 0; change && i < result->flow_count; i++) {
		const struct result_flow *flow = &result->flows[i];
		const ps_t ends[2] = {flow->start_at, flow->end_at};

		if (flow->class_name != result->classes[class_index].name)
			continue;
		for (int end = 0; end < 2; end++) { /* the first point that is not before it */
			uint32_t low = 0, high = count;

			while (low < high) {
				const uint32_t middle = low + (high - low) / 2;

				if (sampler->points[middle].at < ends[end])
					low = middle + 1;
				else
					high = middle;
			}
			change[low] += end ? -1 : 1;
		}
	}
	for (uint32_t k = 0; change && k < count; k++) {
		now += change[k];
		column = column_add_number(column, (uint64_t)now);
	}
	free(change);
	return column;
}

static json_t *actives_of(const struct report *report)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < report->result->class_count; i++)
		all = column_add(all,
				 json_pack("{s:s,s:o}", "class", report->result->classes[i].name,
					   "flows", active_of(report, i)));
	return all;
}

static json_t *series_of(const struct report *report)
{
	const struct sampler *sampler = report->sampler;
	json_t *at = json_array(), *placed = json_array(), *marked = json_array();
	json_t *cnps = json_array(), *dropped = json_array(), *paused = json_array();
	json_t *pauses = json_array(), *retransmitted = json_array(), *queued = json_array();

	for (uint32_t i = 0; i < sampler->point_count; i++) {
		const struct sampler_point *point = &sampler->points[i];

		at = column_add_number(at, point->at);
		placed = column_add_number(placed, point->placed_bytes);
		marked = column_add_number(marked, point->marked);
		cnps = column_add_number(cnps, point->cnp_sent);
		dropped = column_add_number(dropped, point->dropped);
		paused = column_add_number(paused, point->paused);
		pauses = column_add_number(pauses, point->pause_sent);
		retransmitted = column_add_number(retransmitted, point->retransmitted);
		queued = column_add_number(queued, point->queue_bytes);
	}
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "at_ps", at,
			 "placed_bytes", placed, "marked", marked, "cnp_sent", cnps, "dropped",
			 dropped, "paused_ps", paused, "pause_sent", pauses, "retransmitted",
			 retransmitted, "queue_bytes", queued, "queues", data_queues_of(sampler),
			 "sent_bytes", sent_of(sampler), "active", actives_of(report));
}

/* ---- flow completion times ---- */

static int data_compare_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of the sorted times at most CDF_POINTS, the first and the last among them, and for each how many
 * are not above it. */
static json_t *cdf_of(const char *name, const uint64_t *sorted, uint64_t count)
{
	const uint64_t points = count < CDF_POINTS ? count : CDF_POINTS;
	json_t *times = json_array(), *ranks = json_array();

	for (uint64_t i = 0; i < points; i++) {
		const uint64_t rank = points > 1 ? i * (count - 1) / (points - 1) : 0;

		times = column_add_number(times, sorted[rank]);
		ranks = column_add_number(ranks, rank + 1);
	}
	return json_pack("{s:s,s:I,s:o,s:o}", "class", name, "count", (json_int_t)count, "fct_ps",
			 times, "rank", ranks);
}

static json_t *cdfs_of(const struct result *result)
{
	uint64_t *times = calloc(result->flow_count + 1, sizeof(*times));
	json_t *all = times ? json_array() : NULL;

	for (uint32_t i = 0; times && i < result->class_count; i++) {
		uint64_t count = 0;

		for (uint64_t k = 0; k < result->flow_count; k++)
			if (result->flows[k].ok &&
			    result->flows[k].class_name == result->classes[i].name)
				times[count++] = result->flows[k].fct;
		qsort(times, count, sizeof(*times), data_compare_u64);
		all = column_add(all, cdf_of(result->classes[i].name, times, count));
	}
	free(times);
	return all;
}

int report_data(const struct report *report, const struct report_rows *rows, FILE *file)
{
	const struct result *result = report->result;
	const bool is_series = report->sampler && report->sampler->point_count > 1;
	json_t *data = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "time_ps",
				 json_integer((json_int_t)result->time), "nodes",
				 nodes_of(&result->scenario->topology), "links",
				 links_of(&result->scenario->topology), "ports", ports_of(result),
				 "series", is_series ? series_of(report) : json_null(), "cdf",
				 cdfs_of(result), "frames",
				 is_series ? report_frames(report) : json_null(), "pauses",
				 report_pauses(report), "flows", report_flow_data(result, rows),
				 "slowdowns", report_slowdowns(result, rows), "packets",
				 report_packets(report), "machines", report_insides(report));
	char *text = data ? json_dumps(data, JSON_COMPACT) : NULL;

	json_decref(data);
	if (!text)
		return -ENOMEM;
	html_json(text, file);
	free(text);
	return 0;
}
