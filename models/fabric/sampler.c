/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/fabric/sampler.h"

#include "sim/fault.h"
#include "sim/port.h"
#include "sim/switch.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

enum {
	POINTS_MAX = 1000,
	POINTS_MIN = 100,     /* of the largest fabrics */
	PORTS_A_DELAY = 2048, /* larger fabrics have a point after several delays */
	WAYS_MAX = 4096,      /* of machines */
	QUEUES_MAX = 3 << 18, /* points times ports of switches: 3 MiB, and 12 to 24 of traces */
};
#define INTERVAL_MIN (100 * PS_NS)
#define PAUSED_MAX (((uint64_t)1 << 59) - 1) /* six days */

/* Little more than a cache line, one of the port's and one of its gate's are all that an idle port
 * costs. */
struct sampler_port {
	const struct sim_port *port;
	const struct sim_fc *fc;
	uint64_t sent_packets, controls_received;
	ps_t paused; /* without the pauses at hand */
	uint64_t pause_sent, dropped;
	uint32_t queue_max; /* of one priority, ever */
	uint32_t queue_bytes, marked;
	bool was_paused;
};

static void add_ports(struct sampler *sampler, const struct sim_node *node, const struct sim_fc *fc)
{
	for (uint32_t i = 0; fc && i < node->port_count; i++)
		sampler->ports[sampler->port_count++] =
			(struct sampler_port){.port = &node->ports[i], .fc = fc};
}

static uint32_t sampler_count_ports(const struct fabric *fabric)
{
	uint32_t count = fabric->host_count;

	for (uint32_t i = 0; i < fabric->switch_count; i++)
		count += sim_switch_node(fabric->switches[i])->port_count;
	return count;
}

static void list_ports(struct sampler *sampler)
{
	struct fabric *fabric = sampler->fabric;

	for (uint32_t i = 0; i < fabric->switch_count; i++)
		add_ports(sampler, sim_switch_node(fabric->switches[i]),
			  sim_switch_fc(fabric->switches[i]));
	sampler->queue_count = sampler->port_count;
	for (uint32_t i = 0; i < fabric->host_count; i++)
		add_ports(sampler, &fabric->hosts[i].node, fabric->hosts[i].fc);
}

/* Counts them where there is no room yet. */
static uint32_t list_ways(const struct fabric *fabric, struct sampler_way *ways)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < fabric->table.machine_count; n++) {
		const struct host *host = fabric->table.hosts[n];
		const struct host_parts *parts = host->params.bus ? host->params.bus->parts : NULL;
		const uint32_t lanes = parts ? parts->lane_count : 0;

		if (count + 2 * lanes > WAYS_MAX)
			break;
		for (uint32_t i = 0; ways && i < lanes; i++) {
			const uint32_t a = parts->lanes[i].a, b = parts->lanes[i].b;
			const bool is_nvlink = parts->lanes[i].link.kind == BUS_NVLINK;

			ways[count + 2 * i] = (struct sampler_way){host->dma->bus, a, b, is_nvlink};
			ways[count + 2 * i + 1] =
				(struct sampler_way){host->dma->bus, b, a, is_nvlink};
		}
		count += 2 * lanes;
	}
	return count;
}

static uint32_t points_for(uint32_t ports)
{
	const uint32_t max = QUEUES_MAX / (ports + 1);

	return max < POINTS_MIN ? POINTS_MIN : max > POINTS_MAX ? POINTS_MAX : max;
}

/* ---- reading ---- */

/* @used: the priorities that anybody has ever sent with. The others are not worth a cache line. */
static void look_at_classes(struct sampler_port *seen, uint32_t used, uint32_t *ret_peak)
{
	uint32_t record = 0;

	seen->queue_bytes = 0;
	seen->marked = 0;
	for (; used; used &= used - 1) {
		const struct sim_class *class =
			sim_fc_class(seen->fc, seen->port->index, (uint32_t)__builtin_ctz(used));

		seen->queue_bytes += class->queue_bytes;
		seen->marked += class->marked;
		if (class->queue_max > record)
			record = class->queue_max;
	}
	*ret_peak = seen->queue_bytes;
	if (record > seen->queue_max && record > *ret_peak)
		*ret_peak = record;
	seen->queue_max = record;
}

/* The queue's peak since the last look. @all: even where nothing seems to have changed. */
static uint32_t look_at_port(struct sampler_port *seen, uint32_t used, bool all)
{
	const struct sim_port *port = seen->port;
	const struct sim_gate *gate = sim_fc_gate(seen->fc, port->index);
	const uint32_t priorities = seen->fc->priority_count;
	uint32_t peak = 0;

	if (!all && seen->sent_packets == port->sent_packets && port->waiting == 0 &&
	    port->paused == 0 && !seen->was_paused &&
	    seen->controls_received == gate->controls_received)
		return 0;
	seen->sent_packets = port->sent_packets;
	seen->controls_received = gate->controls_received; /* a short pause of who sends nothing */
	seen->was_paused = port->paused != 0;
	look_at_classes(seen, used, &peak);
	seen->paused = 0;
	for (uint32_t p = 0; p < priorities; p++)
		seen->paused += sim_fc_lane(seen->fc, port->index, p)->paused_time;
	/* Both come from frames that were sent. */
	seen->pause_sent = seen->fc->ops->heads ? 0 : gate->controls_sent;
	seen->dropped = port->fault ? port->fault->lost + port->fault->refused : 0;
	return peak;
}

/* Of the pauses that last at @at: how long they have. */
static void add_pauses(const struct sampler_port *seen, struct sampler_point *point,
		       struct sampler_trace *trace)
{
	ps_t all = seen->paused;

	trace->queues_paused = (unsigned)__builtin_popcount(seen->port->paused) & 31;
	for (uint32_t paused = seen->port->paused; paused; paused &= paused - 1) {
		const ps_t since =
			sim_fc_lane(seen->fc, seen->port->index, (uint32_t)__builtin_ctz(paused))
				->paused_since;

		if (point->at > since)
			all += point->at - since;
	}
	trace->paused = all & PAUSED_MAX;
	point->queues_paused += trace->queues_paused;
	point->paused += all;
}

static void look_at_ports(struct sampler *sampler, struct sampler_point *point, uint32_t *queues,
			  struct sampler_trace *traces, bool all)
{
	uint32_t used = 0;

	for (uint32_t p = 0; p < sim_priority_count(sampler->fabric->sim); p++)
		used |= (uint32_t)(point->sent_bytes[p] > 0) << p;
	for (uint32_t i = 0; i < sampler->port_count; i++) {
		struct sampler_port *seen = &sampler->ports[i];
		const uint32_t peak = look_at_port(seen, used, all);

		if (i < sampler->queue_count)
			queues[i] = peak;
		point->queue_bytes += seen->queue_bytes;
		point->marked += seen->marked;
		traces[i].sent_bytes = seen->port->sent_bytes;
		add_pauses(seen, point, &traces[i]);
		point->pause_sent += seen->pause_sent;
		point->dropped += seen->dropped;
	}
}

static void look_at_nodes(const struct fabric *fabric, struct sampler_point *point)
{
	for (uint32_t i = 0; i < fabric->host_count; i++) {
		const struct host *host = &fabric->hosts[i];
		const struct hca_counters *c = hca_device_counters(host->hca);

		for (uint32_t p = 0; p < sim_priority_count(fabric->sim); p++)
			point->sent_bytes[p] += host->stats.sent[p].bytes;
		point->placed_bytes += host->placed_bytes;
		point->cnp_sent += c->np_cnp_sent;
		point->retransmitted += c->packets_retransmitted;
	}
	for (uint32_t i = 0; i < fabric->switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(fabric->switches[i]);

		if (fc)
			point->dropped += fc->dropped_buffer + fc->dropped_headroom;
	}
}

static void look_at_ways(const struct sampler *sampler, ps_t at, ps_t *busy)
{
	for (uint32_t i = 0; i < sampler->way_count; i++) {
		const struct sampler_way *way = &sampler->ways[i];

		busy[i] = bus_busy_at(way->bus, way->from, way->to, way->is_nvlink, at);
	}
}

/* ---- points ---- */

static uint32_t *sampler_queues_of(const struct sampler *sampler, uint32_t point)
{
	return &sampler->queues[(size_t)point * sampler->queue_count];
}

static struct sampler_trace *traces_of(const struct sampler *sampler, uint32_t point)
{
	return &sampler->traces[(size_t)point * sampler->port_count];
}

static ps_t *busy_of(const struct sampler *sampler, uint32_t point)
{
	return &sampler->busy[(size_t)point * sampler->way_count];
}

/* The later of two points of one instant has the totals, both have the peaks. */
static void sampler_join(struct sampler *sampler, uint32_t to, uint32_t from)
{
	uint32_t *a = sampler_queues_of(sampler, to);
	const uint32_t *b = sampler_queues_of(sampler, from);

	sampler->points[to] = sampler->points[from];
	memcpy(traces_of(sampler, to), traces_of(sampler, from),
	       sampler->port_count * sizeof(struct sampler_trace));
	memcpy(busy_of(sampler, to), busy_of(sampler, from), sampler->way_count * sizeof(ps_t));
	for (uint32_t i = 0; i < sampler->queue_count; i++)
		a[i] = b[i] > a[i] ? b[i] : a[i];
}

/* Nothing happens in between, but pauses last. */
static void move_point(struct sampler *sampler, uint32_t number, ps_t at)
{
	struct sampler_point *point = &sampler->points[number];
	struct sampler_trace *traces = traces_of(sampler, number);
	const ps_t more = at - point->at;

	point->paused += more * point->queues_paused;
	point->at = at;
	for (uint32_t i = 0; more && point->queues_paused && i < sampler->port_count; i++)
		traces[i].paused = (traces[i].paused + more * traces[i].queues_paused) & PAUSED_MAX;
}

static ps_t round_up(ps_t at, ps_t interval)
{
	return (at + interval - 1) / interval * interval;
}

/* Every point moves to the end of its new interval. Between it and there nothing has happened, or
 * there is another point, which it joins. */
static void coarsen(struct sampler *sampler)
{
	const ps_t interval = sampler->interval *= 2;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < sampler->point_count; i++) {
		const ps_t at = round_up(sampler->points[i].at, interval);

		move_point(sampler, i, at);
		if (kept > 0 && sampler->points[kept - 1].at == at) {
			sampler_join(sampler, kept - 1, i);
			continue;
		}
		sampler->points[kept] = sampler->points[i];
		memmove(sampler_queues_of(sampler, kept), sampler_queues_of(sampler, i),
			sampler->queue_count * sizeof(uint32_t));
		memmove(traces_of(sampler, kept), traces_of(sampler, i),
			sampler->port_count * sizeof(struct sampler_trace));
		memmove(busy_of(sampler, kept), busy_of(sampler, i),
			sampler->way_count * sizeof(ps_t));
		kept++;
	}
	sampler->point_count = kept;
}

/* There is room: point_max is more than coarsen() leaves. A point that coarsen() has moved here
 * knew less. */
static void add_point(struct sampler *sampler, ps_t at, bool all)
{
	const uint32_t number = sampler->point_count++;
	struct sampler_point *point = &sampler->points[number];

	*point = (struct sampler_point){.at = at};
	look_at_nodes(sampler->fabric, point);
	look_at_ports(sampler, point, sampler_queues_of(sampler, number),
		      traces_of(sampler, number), all);
	/* Behind the last arrival, where the last point is, lanes may still be busy. */
	look_at_ways(sampler, all ? PS_NEVER : at, busy_of(sampler, number));
	for (; sampler->point_count > 1 && sampler->points[sampler->point_count - 2].at >= at;
	     sampler->point_count--)
		sampler_join(sampler, sampler->point_count - 2, sampler->point_count - 1);
}

/* That which is due, and, where nothing happens for long, the last one before @next. */
static void add_points(struct sampler *sampler, ps_t next)
{
	ps_t last;

	while (sampler->point_count + 2 >= sampler->point_max)
		coarsen(sampler);
	sampler->due = round_up(sampler->due, sampler->interval);
	if (next < sampler->due)
		return;
	add_point(sampler, sampler->due, false);
	last = next / sampler->interval * sampler->interval;
	if (last > sampler->due)
		add_point(sampler, last, false);
	sampler->due = last + sampler->interval;
}

static int sampler_between(struct fabric_watcher *watcher, struct fabric *fabric)
{
	struct sampler *sampler = container_of(watcher, struct sampler, watcher);
	const ps_t next = sim_next_at(fabric->sim);

	if (next == PS_NEVER)
		return 0;
	if (next >= sampler->due)
		add_points(sampler, next);
	sim_cut(fabric->sim, sampler->due);
	return 0;
}

int sampler_start(struct sampler *sampler, struct fabric *fabric)
{
	const uint32_t ports = sampler_count_ports(fabric);
	const ps_t delay = sim_delay_min(fabric->sim);

	*sampler = (struct sampler){.watcher = {.between = sampler_between},
				    .fabric = fabric,
				    .interval = (delay < INTERVAL_MIN ? INTERVAL_MIN : delay) *
						(1 + ports / PORTS_A_DELAY)};
	sampler->ports = util_calloc((size_t)ports + 1, sizeof(*sampler->ports));
	if (!sampler->ports)
		return -ENOMEM;
	list_ports(sampler);
	sampler->way_count = list_ways(fabric, NULL);
	sampler->ways = util_calloc((size_t)sampler->way_count + 1, sizeof(*sampler->ways));
	if (!sampler->ways)
		return -ENOMEM;
	list_ways(fabric, sampler->ways);
	sampler->point_max = points_for(sampler->queue_count + sampler->way_count);
	sampler->points = util_calloc(sampler->point_max, sizeof(*sampler->points));
	sampler->queues = util_calloc((size_t)sampler->point_max * (sampler->queue_count + 1),
				      sizeof(*sampler->queues));
	sampler->traces = util_calloc((size_t)sampler->point_max * (sampler->port_count + 1),
				      sizeof(*sampler->traces));
	sampler->busy = util_calloc((size_t)sampler->point_max * (sampler->way_count + 1),
				    sizeof(*sampler->busy));
	if (!sampler->points || !sampler->queues || !sampler->traces || !sampler->busy)
		return -ENOMEM;
	add_point(sampler, 0, true);
	sampler->due = sampler->interval;
	sim_cut(fabric->sim, sampler->due);
	fabric_watch(fabric, &sampler->watcher);
	return 0;
}

void sampler_end(struct sampler *sampler, ps_t at)
{
	if (sampler->traces)
		add_point(sampler, at, true);
}

void sampler_fini(struct sampler *sampler)
{
	util_free(sampler->ports);
	util_free(sampler->points);
	util_free(sampler->queues);
	util_free(sampler->traces);
	util_free(sampler->ways);
	util_free(sampler->busy);
	*sampler = (struct sampler){.fabric = NULL};
}

/* ---- the busiest ---- */

static bool busier(const struct sampler_queue *a, const struct sampler_queue *b)
{
	const int order = strcmp(a->node, b->node);

	if (a->bytes_max != b->bytes_max)
		return a->bytes_max > b->bytes_max;
	return order ? order < 0 : strcmp(a->link, b->link) < 0;
}

uint32_t sampler_busiest(const struct sampler *sampler, struct sampler_queue *ret_queues,
			 uint32_t max)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sampler->queue_count && max > 0; i++) {
		const struct sampler_port *seen = &sampler->ports[i];
		struct sampler_queue queue = {seen->fc->node->name, seen->port->link_name,
					      seen->port->peer->name, i, 0};
		uint32_t at;

		for (uint32_t k = 0; k < sampler->point_count; k++)
			if (sampler_queues_of(sampler, k)[i] > queue.bytes_max)
				queue.bytes_max = sampler_queues_of(sampler, k)[i];
		if (queue.bytes_max == 0 || (count == max && !busier(&queue, &ret_queues[max - 1])))
			continue;
		at = count < max ? count++ : max - 1;
		for (; at > 0 && busier(&queue, &ret_queues[at - 1]); at--)
			ret_queues[at] = ret_queues[at - 1];
		ret_queues[at] = queue;
	}
	return count;
}

void sampler_name(const struct sampler *sampler, uint32_t number, const char **ret_node,
		  const char **ret_link)
{
	*ret_node = sampler->ports[number].fc->node->name;
	*ret_link = sampler->ports[number].port->link_name;
}
