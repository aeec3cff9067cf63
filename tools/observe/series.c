/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/series.h"

#include "sim/switch.h"
#include "sim/tap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct totals { /* since the begin of the run */
	uint64_t sent_bytes, paused, pause_sent, pause_received, marked, dropped;
};

struct series_port {
	struct sim_tap tap;
	const struct sim_port *port;
	const struct sim_node *node;
	const struct sim_fc *fc;
	const struct host *host; /* NULL: a switch */
	uint32_t number;
	/* The last frame that started, by the thread that runs the node; @bytes 0: of no priority.
	 */
	ps_t start;
	uint32_t bytes;
	uint8_t priority;
	struct totals seen[SIM_PRIORITIES_MAX];
};

/* ---- rows ---- */

static void series_on_start(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
			    const struct sim_pkt *pkt, ps_t start)
{
	struct series_port *p = container_of(tap, struct series_port, tap);

	(void)th;
	(void)port;
	p->start = start;
	p->bytes = pkt->frame == SIM_DATA ? pkt->bytes : 0;
	p->priority = sim_pkt_priority(pkt, p->fc->priority_count);
}

/* A frame is counted as it starts: how many of its bytes have not left at @at. */
static uint32_t on_the_way(const struct series_port *p, uint8_t priority, ps_t at)
{
	const ps_t end = p->port->free_at;
	/* Where a run is cut it may have started since the last arrival. */
	const ps_t from = p->start > at ? p->start : at;

	if (p->bytes == 0 || p->priority != priority || end <= at)
		return 0;
	return (uint32_t)((u128)p->bytes * (end - from) / (end - p->start));
}

static struct totals totals_of(const struct series_port *p, uint8_t priority, ps_t at)
{
	const struct sim_class *class = sim_fc_class(p->fc, p->number, priority);
	const struct sim_lane *lane = sim_fc_lane(p->fc, p->number, priority);

	return (struct totals){
		.sent_bytes = (p->host ? p->host->stats.sent[priority].bytes : class->sent_bytes) -
			      on_the_way(p, priority, at),
		.paused = sim_fc_paused_time(p->fc, p->number, priority, at),
		.pause_sent = lane->pauses_sent,
		.pause_received = lane->pauses_received,
		.marked = class->marked,
		.dropped = class->dropped,
	};
}

static void series_put_row(struct series *series, struct series_port *p, uint8_t priority, ps_t at)
{
	const struct totals now = totals_of(p, priority, at), *seen = &p->seen[priority];
	const uint32_t queue_bytes = sim_fc_class(p->fc, p->number, priority)->queue_bytes;
	const uint64_t sent = now.sent_bytes - seen->sent_bytes;
	const uint64_t changes[] = {now.paused - seen->paused, now.pause_sent - seen->pause_sent,
				    now.pause_received - seen->pause_received,
				    now.marked - seen->marked, now.dropped - seen->dropped};
	bool is_something = sent || queue_bytes;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		is_something = is_something || changes[i];
	p->seen[priority] = now;
	if (!is_something)
		return;
	fprintf(series->out.file, "%" PRIu64 ",%s,%s,%u,%" PRIu64 ",%" PRIu64 ",%u", at,
		p->node->name, p->port->link_name, priority, sent,
		(uint64_t)((u128)sent * 8 * PS_S / (at - series->last)), queue_bytes);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		fprintf(series->out.file, ",%" PRIu64, changes[i]);
	fputc('\n', series->out.file);
}

static void series_put_rows(struct series *series, ps_t at)
{
	if (at <= series->last)
		return;
	for (uint32_t i = 0; i < series->port_count; i++)
		for (uint8_t q = 0; q < series->ports[i].fc->priority_count; q++)
			series_put_row(series, &series->ports[i], q, at);
	if (series->lanes.out.file)
		series_lanes_put(&series->lanes, series->last, at);
	series_engines_put(&series->engines, series->last, at);
	series->last = at;
}

/* Whether a frame is longer on the wire than up to @at. */
static bool is_sending(const struct series *series, ps_t at)
{
	for (uint32_t i = 0; i < series->port_count; i++)
		if (series->ports[i].bytes > 0 && series->ports[i].port->free_at > at)
			return true;
	return series_lanes_are_busy(&series->lanes, at) ||
	       series_engines_are_busy(&series->engines, at);
}

static int series_between(struct fabric_watcher *watcher, struct fabric *fabric)
{
	struct series *series = container_of(watcher, struct series, watcher);
	const ps_t next = sim_next_at(fabric->sim);

	if (next == PS_NEVER)
		return 0;
	if (next >= series->due) {
		series_put_rows(series, series->due);
		/* What is on the wire goes on. */
		while (series->due + series->interval <= next && is_sending(series, series->due)) {
			series->due += series->interval;
			series_put_rows(series, series->due);
		}
		/* Until then nothing happens, of which there are no rows. */
		series->last = next / series->interval * series->interval;
		series->due = series->last + series->interval;
		part_note(&series->out);
	}
	sim_cut(fabric->sim, series->due);
	return ferror(series->out.file) ||
			       (series->lanes.out.file && ferror(series->lanes.out.file))
		       ? -EIO
		       : 0;
}

/* ---- the file ---- */

int series_open(struct series *series, const struct folder *folder, const struct scenario *scenario,
		ps_t interval)
{
	int ret;

	*series = (struct series){.interval = interval, .due = interval};
	series->folder = folder;
	ret = folder_begin(folder, "series.csv", &series->out);
	ret = ret ? ret : series_lanes_open(&series->lanes, folder, scenario);
	return ret ? ret : series_engines_open(&series->engines, folder, scenario);
}

int series_start(struct series *series, const struct scenario *scenario, struct fabric *fabric)
{
	const uint32_t nodes = sim_node_count(fabric->sim);
	const struct sim_fc **fcs = calloc((size_t)nodes + 1, sizeof(*fcs));
	const struct host **hosts = calloc((size_t)nodes + 1, sizeof(*hosts));
	uint32_t count = 0;
	bool is_good;

	for (uint32_t i = 0; i < nodes; i++)
		count += sim_node_at(fabric->sim, i)->port_count;
	series->fabric = fabric;
	series->ports = calloc((size_t)count + 1, sizeof(*series->ports));
	for (uint32_t i = 0; hosts && fcs && i < fabric->host_count; i++) {
		hosts[fabric->hosts[i].node.index] = &fabric->hosts[i];
		fcs[fabric->hosts[i].node.index] = fabric->hosts[i].fc;
	}
	for (uint32_t i = 0; fcs && i < fabric->switch_count; i++)
		fcs[sim_switch_node(fabric->switches[i])->index] =
			sim_switch_fc(fabric->switches[i]);
	for (uint32_t i = 0; hosts && fcs && series->ports && i < nodes; i++) {
		const struct sim_node *node = sim_node_at(fabric->sim, i);

		for (uint32_t p = 0; p < node->port_count && fcs[node->index]; p++)
			series->ports[series->port_count++] =
				(struct series_port){.port = &node->ports[p],
						     .node = node,
						     .fc = fcs[node->index],
						     .host = hosts[node->index],
						     .number = p};
	}
	is_good = hosts && fcs && series->ports;
	free((void *)fcs);
	free((void *)hosts);
	if (!is_good || series_lanes_start(&series->lanes, scenario, fabric) != 0 ||
	    series_engines_start(&series->engines, scenario, fabric) != 0)
		return -ENOMEM;
	fputs("time_ps,node,link,priority,sent_bytes,rate_bps,queue_bytes,paused_ps,pause_sent,"
	      "pause_received,marked,dropped\n",
	      series->out.file);
	for (uint32_t i = 0; i < series->port_count; i++) {
		series->ports[i].tap.on_start = series_on_start;
		sim_tap_attach(&series->ports[i].tap,
			       (struct sim_port *)(uintptr_t)series->ports[i].port);
	}
	series->watcher.between = series_between;
	sim_cut(fabric->sim, series->due);
	fabric_watch(fabric, &series->watcher);
	return 0;
}

int series_close(struct series *series, ps_t at)
{
	const int of_lanes = series_lanes_close(&series->lanes, series->last, at);
	const int of_engines = series_engines_close(&series->engines, series->last, at);
	int ret;

	if (series->out.file)
		series_put_rows(series, at);
	part_note(&series->out);
	ret = folder_end(series->folder, &series->out, true);
	ret = ret ? ret : of_lanes;
	return ret ? ret : of_engines;
}

void series_fini(struct series *series)
{
	part_close(&series->out, false);
	series_lanes_fini(&series->lanes);
	series_engines_fini(&series->engines);
	free(series->ports);
	*series = (struct series){.interval = 0};
}
