/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/events.h"

#include "sim/switch.h"
#include "sim/tap.h"
#include "tools/observe/frame_copy.h"
#include "tools/observe/host_index.h"
#include "util/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct record {
	struct event event;
	uint32_t order; /* at its port */
	uint32_t frame; /* 1 + its place in the port's copies; 0: not kept */
};

/* Written by the thread that runs the node. */
struct port_source {
	struct sim_tap tap;
	const struct host *host; /* NULL: a switch */
	const struct sim_fc *fc;
	uint32_t place;
	struct record *records;
	uint32_t count, room;
	uint32_t marked[SIM_PRIORITIES_MAX]; /* so far */
	uint64_t retransmitted;
	struct events_source *source;
	struct frame_copies frames;    /* of this window */
	bool no_memory, hides_numbers; /* of frames that have waited */
};

struct node_source {
	struct sim_fc_listener listener;
	struct port_source *ports; /* of the node, by index */
};

struct flow_key { /* one end of a flow, for the search */
	uint32_t host, qpn;
	uint64_t flow;
};

struct events_source {
	struct fabric_watcher watcher;
	struct sim_loss_listener loss_listener;
	struct events *events;
	struct events_listener *listeners;
	struct port_source *ports;
	struct node_source *nodes;
	struct host_index hosts;
	struct flow_key *keys;
	uint64_t key_count;
	struct events_end kept[EVENTS_KEPT_MAX]; /* whose frames are wanted */
	uint32_t kept_count;
	const struct record **sorted;
	size_t sorted_room;
	const struct record *current; /* in on_event() */
	bool any;		      /* in this window; written by all threads */
};

/* ---- in the window ---- */

static struct event *events_add(struct port_source *source, enum event_kind kind, uint8_t priority,
				ps_t at)
{
	struct record *record;

	__atomic_store_n(&source->source->any, true, __ATOMIC_RELAXED);
	if (source->count == source->room) {
		const uint32_t room = source->room ? 2 * source->room : 16;

		record = realloc(source->records, room * sizeof(*record));
		if (!record) {
			source->no_memory = true;
			return NULL;
		}
		source->records = record;
		source->room = room;
	}
	record = &source->records[source->count];
	*record = (struct record){.order = source->count++};
	record->event.at = at;
	record->event.port = source->place;
	record->event.kind = (uint8_t)kind;
	record->event.priority = priority;
	return &record->event;
}

static void add_control(struct port_source *source, const struct sim_pkt *pkt, ps_t at)
{
	const struct sim_control_body body = sim_control_read(pkt);
	const enum event_kind kind = body.kind != SIM_CONTROL_PFC ? EVENT_CREDIT
				     : body.value > 0		  ? EVENT_PAUSE
								  : EVENT_RESUME;
	const uint16_t classes =
		(uint16_t)(kind == EVENT_CREDIT ? 1u << body.classes : body.classes);
	struct event *event =
		events_add(source, kind, classes ? (uint8_t)__builtin_ctz(classes) : 0, at);

	if (!event)
		return;
	event->classes = classes;
	event->bytes = pkt->bytes;
	event->quanta = kind == EVENT_CREDIT ? 0 : (uint16_t)body.value;
}

static bool is_kept(const struct events_source *source, const struct event *event)
{
	for (uint32_t i = 0; i < source->kept_count; i++)
		if (source->kept[i].host == event->dst && source->kept[i].qpn == event->qpn)
			return true;
	return false;
}

/* What it says of a data frame, and where that goes. */
static void put_packet(const struct events_source *source, const struct sim_pkt *pkt,
		       struct event *event)
{
	struct wire_pkt body;

	packet_unpack(pkt, &body);
	event->opcode = body.opcode;
	event->ecn = pkt->ecn;
	event->bytes = pkt->bytes;
	event->psn = body.psn;
	event->qpn = body.dest_qpn;
	event->word = body.word;
	event->dst = host_index_find(&source->hosts, pkt->dst);
}

/* A frame that starts as it arrives has not waited, where nobody counts credits. */
static bool knows_number(const struct port_source *source, const struct sim_pkt *pkt, ps_t start)
{
	return !source->hides_numbers || (pkt->at == start && !source->fc->ops->all);
}

/* Only where switches forget hosts is there anything to be seen. */
static bool is_stray(const struct events *events, const struct sim_port *port,
		     const struct sim_pkt *pkt, uint32_t dst)
{
	if (events->scenario->forget_count == 0 || dst == HOST_INDEX_MCAST)
		return false;
	return port->peer->ops == &sim_switch_ops
		       ? pkt->tag & SIM_TAG_FLOODED
		       : port->peer != &events->fabric->table.hosts[dst]->node;
}

static void events_on_start(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
			    const struct sim_pkt *pkt, ps_t start)
{
	struct port_source *source = container_of(tap, struct port_source, tap);
	const uint8_t priority = sim_pkt_priority(pkt, source->fc->priority_count);
	const struct sim_class *class = sim_fc_class(source->fc, port->index, priority);
	struct event *event;

	(void)th;
	if (pkt->frame == SIM_CONTROL) {
		add_control(source, pkt, start);
		return;
	}
	event = events_add(source, EVENT_DATA, priority, start);
	if (!event)
		return;
	put_packet(source->source, pkt, event);
	event->is_stray = is_stray(source->source->events, port, pkt, event->dst);
	event->queue_bytes = class->queue_bytes;
	if (is_kept(source->source, event)) {
		frame_copies_add(&source->frames, pkt, start);
		container_of(event, struct record, event)->frame = (uint32_t)source->frames.count;
	}
	event->number = (uint16_t)(port->sent_packets - 1);
	event->marked = class->marked != source->marked[priority];
	source->marked[priority] = class->marked;
	if (!source->host) {
		event->held = knows_number(source, pkt, start) ? pkt->number : EVENT_HELD_UNKNOWN;
		event->limit = source->place - port->index + pkt->port;
	} else {
		const uint64_t retransmitted =
			hca_device_counters(source->host->hca)->packets_retransmitted;

		event->retransmitted = retransmitted != source->retransmitted;
		source->retransmitted = retransmitted;
	}
}

static void on_loss(struct sim_loss_listener *listener, const struct sim_node *node, uint32_t port,
		    const struct sim_pkt *pkt, uint32_t why, ps_t at)
{
	struct events_source *source = container_of(listener, struct events_source, loss_listener);
	struct port_source *at_port = &source->nodes[node->index].ports[port];
	const uint8_t priority = sim_pkt_priority(pkt, at_port->fc->priority_count);
	struct event *event = events_add(at_port, EVENT_DROP, priority, at);

	if (!event)
		return;
	event->reason = (uint16_t)why;
	if (pkt->frame == SIM_CONTROL) {
		const struct sim_control_body body = sim_control_read(pkt);

		event->bytes = pkt->bytes;
		event->classes = (uint16_t)(body.kind == SIM_CONTROL_PFC ? body.classes
									 : 1u << body.classes);
		return;
	}
	put_packet(source, pkt, event);
}

/* Whether what has come to @node by @port as one of @priority may be in the queue of @way_priority
 * at the port @way. */
static bool waits_in(struct sim_node *node, uint32_t port, uint8_t priority, uint32_t way,
		     uint8_t way_priority)
{
	const struct sim_switch *sw = sim_switch_rewriting(node);

	return sw ? sim_switch_holds(sw, node->ports[port].link_name, priority,
				     node->ports[way].link_name, way_priority)
		  : way_priority == priority;
}

static void on_limit(struct sim_fc_listener *listener, const struct sim_fc *fc, uint32_t port,
		     uint8_t priority, bool paused, uint64_t held_bytes, uint64_t limit_bytes,
		     ps_t at)
{
	struct node_source *node = container_of(listener, struct node_source, listener);
	struct event *event =
		events_add(&node->ports[port], paused ? EVENT_XOFF : EVENT_XON, priority, at);

	if (!event)
		return;
	event->held = held_bytes;
	event->limit = limit_bytes;
	event->word = node->ports->place;
	event->way_priority = priority;
	for (uint32_t i = 0; i < fc->node->port_count; i++)
		for (uint8_t q = 0; q < fc->priority_count; q++) {
			const uint32_t queue_bytes = sim_fc_class(fc, i, q)->queue_bytes;

			if (queue_bytes <= event->queue_bytes ||
			    !waits_in(fc->node, port, priority, i, q))
				continue;
			event->word = node->ports[i].place;
			event->queue_bytes = queue_bytes;
			event->way_priority = q;
		}
}

static void events_on_gate(struct sim_fc_listener *listener, const struct sim_fc *fc, uint32_t port,
			   uint8_t priority, bool paused, ps_t at)
{
	struct node_source *node = container_of(listener, struct node_source, listener);

	(void)fc;
	events_add(&node->ports[port], paused ? EVENT_SHUT : EVENT_OPEN, priority, at);
}

/* ---- between windows ---- */

static int events_compare_records(const void *a, const void *b)
{
	const struct record *x = *(const struct record *const *)a;
	const struct record *y = *(const struct record *const *)b;

	if (x->event.at != y->event.at)
		return x->event.at < y->event.at ? -1 : 1;
	if (x->event.port != y->event.port)
		return x->event.port < y->event.port ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* All of the window into one order; their number, or -ENOMEM. */
static int64_t sort_window(struct events_source *source)
{
	const uint32_t port_count = source->events->port_count;
	size_t count = 0, at = 0;

	for (uint32_t i = 0; i < port_count; i++) {
		if (source->ports[i].no_memory || source->ports[i].frames.no_memory)
			return -ENOMEM;
		count += source->ports[i].count;
	}
	if (count > source->sorted_room) {
		const struct record **sorted =
			realloc((void *)source->sorted, 2 * count * sizeof(*sorted));

		if (!sorted)
			return -ENOMEM;
		source->sorted = sorted;
		source->sorted_room = 2 * count;
	}
	for (uint32_t i = 0; i < port_count; i++)
		for (uint32_t k = 0; k < source->ports[i].count; k++)
			source->sorted[at++] = &source->ports[i].records[k];
	if (count > 1)
		qsort((void *)source->sorted, count, sizeof(*source->sorted),
		      events_compare_records);
	return (int64_t)count;
}

static int hand_out(struct events_source *source, ps_t now)
{
	const bool any = __atomic_exchange_n(&source->any, false, __ATOMIC_RELAXED);
	const int64_t count = any ? sort_window(source) : 0;
	int ret = count < 0 ? (int)count : 0;

	if (!ret && source->events->requests)
		ret = request_log_settle(source->events->requests);
	for (struct events_listener *l = source->listeners; l && !ret; l = l->next) {
		for (int64_t i = 0; i < count && !ret; i++) {
			source->current = source->sorted[i];
			ret = l->on_event(l, &source->current->event);
		}
		source->current = NULL;
		if (!ret && l->on_window)
			ret = l->on_window(l, now);
	}
	for (uint32_t i = 0; any && i < source->events->port_count; i++) {
		source->ports[i].count = 0;
		frame_copies_clear(&source->ports[i].frames);
	}
	return ret;
}

static int events_between(struct fabric_watcher *watcher, struct fabric *fabric)
{
	struct events_source *source = container_of(watcher, struct events_source, watcher);

	return hand_out(source, sim_now(fabric->sim));
}

int events_end(struct events *events)
{
	return hand_out(events->source, sim_now(events->fabric->sim));
}

void events_listen(struct events *events, struct events_listener *listener)
{
	struct events_listener **end = &events->source->listeners;

	while (*end)
		end = &(*end)->next;
	listener->next = NULL;
	*end = listener;
}

/* ---- flows ---- */

static int events_compare_keys(const void *a, const void *b)
{
	const struct flow_key *x = a, *y = b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return x->qpn < y->qpn ? -1 : x->qpn > y->qpn;
}

static int index_flows(struct events_source *source, const struct scenario *scenario)
{
	source->keys = calloc(2 * scenario->flow_count + 1, sizeof(*source->keys));
	if (!source->keys)
		return -ENOMEM;
	for (uint64_t i = 0; i < scenario->flow_count; i++) {
		const struct traffic_flow *flow = &scenario->flows[i];

		source->keys[source->key_count++] = (struct flow_key){flow->dst, flow->sink_qpn, i};
		source->keys[source->key_count++] =
			(struct flow_key){flow->src, flow->source_qpn, i};
	}
	qsort(source->keys, source->key_count, sizeof(*source->keys), events_compare_keys);
	return 0;
}

const struct traffic_flow *events_flow(const struct events *events, const struct event *event,
				       uint64_t *ret_number)
{
	const struct events_source *source = events->source;
	const struct flow_key wanted = {event->dst, event->qpn, 0};
	const struct flow_key *key = bsearch(&wanted, source->keys, source->key_count,
					     sizeof(*source->keys), events_compare_keys);
	const struct traffic_flow *flow =
		event->dst == HOST_INDEX_MCAST ? NULL
		: key ? traffic_at_work(&events->scenario->flows[key->flow], event->psn)
		      : traffic_streamed_at(events->traffic, event->dst, event->qpn, event->psn);

	if (flow)
		*ret_number =
			flow->streamed ? flow->id : (uint64_t)(flow - events->scenario->flows);
	return flow;
}

const struct request *events_request(const struct events *events, const struct event *event,
				     uint64_t *ret_number)
{
	const struct wire_op *op = &wire_ops[event->opcode];

	if (!events->requests || (!op->request && !op->response))
		return NULL;
	return request_log_find(events->requests, event->dst, event->qpn, op->response, event->psn,
				event->at, ret_number);
}

/* ---- bytes ---- */

void events_keep_frames(struct events *events, const struct events_end *ends, uint32_t count)
{
	CHECK(count <= EVENTS_KEPT_MAX);
	memcpy(events->source->kept, ends, count * sizeof(*ends));
	events->source->kept_count = count;
}

size_t events_frame(const struct events *events, const struct event *event, uint8_t *buf,
		    size_t room)
{
	const struct record *record = events->source->current;
	const struct frame_copies *frames = &events->source->ports[event->port].frames;

	CHECK(record && &record->event == event);
	return record->frame ? frame_copy_bytes(frames, &frames->copies[record->frame - 1],
						host_index_receiver(events->fabric, event->dst),
						buf, room)
			     : 0;
}

/* ---- the fabric ---- */

/* Whose ports begin where, and what controls them; by node->index. */
struct layout {
	uint32_t *first;
	struct sim_fc **fcs;
	const struct host **hosts;
};

static int make_layout(struct layout *layout, struct events *events)
{
	const struct fabric *fabric = events->fabric;
	const uint32_t count = sim_node_count(fabric->sim);

	layout->first = calloc((size_t)count + 1, sizeof(*layout->first));
	layout->fcs = calloc((size_t)count + 1, sizeof(*layout->fcs));
	layout->hosts = calloc((size_t)count + 1, sizeof(*layout->hosts));
	if (!layout->first || !layout->fcs || !layout->hosts)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct sim_node *node = sim_node_at(fabric->sim, i);

		layout->first[node->index] = events->port_count;
		events->port_count += node->port_count;
	}
	for (uint32_t i = 0; i < fabric->host_count; i++) {
		layout->fcs[fabric->hosts[i].node.index] = fabric->hosts[i].fc;
		layout->hosts[fabric->hosts[i].node.index] = &fabric->hosts[i];
	}
	for (uint32_t i = 0; i < fabric->switch_count; i++)
		layout->fcs[sim_switch_node(fabric->switches[i])->index] =
			sim_switch_fc(fabric->switches[i]);
	return 0;
}

static void attach_node(struct events *events, const struct layout *layout, struct sim_node *node,
			bool with_frames)
{
	static const struct sim_fc_listener listener = {on_limit, events_on_gate};
	struct events_source *source = events->source;
	struct sim_fc *fc = layout->fcs[node->index];
	const uint32_t first = layout->first[node->index];

	source->nodes[node->index] =
		(struct node_source){.listener = listener, .ports = &source->ports[first]};
	fc->listener = &source->nodes[node->index].listener;
	for (uint32_t p = 0; p < node->port_count; p++) {
		struct sim_port *port = &node->ports[p];

		events->ports[first + p] = (struct events_port){
			.node = node->name,
			.link = port->link_name,
			.peer = port->peer->name,
			.is_host = layout->hosts[node->index] != NULL,
			.rate_bps = port->rate_bps,
			.delay = port->delay,
			.classes = sim_fc_class(fc, p, 0),
			.far = layout->first[port->peer->index] + port->peer_port,
		};
		source->ports[first + p] =
			(struct port_source){.tap = {.on_start = events_on_start},
					     .host = layout->hosts[node->index],
					     .fc = fc,
					     .place = first + p,
					     .hides_numbers = sim_switch_hides_numbers(node),
					     .source = source};
		if (with_frames)
			sim_tap_attach(&source->ports[first + p].tap, port);
	}
}

static int attach_all(struct events *events, const struct layout *layout, bool with_frames)
{
	struct events_source *source = events->source;
	const uint32_t count = sim_node_count(events->fabric->sim);

	events->ports = calloc((size_t)events->port_count + 1, sizeof(*events->ports));
	source->ports = calloc((size_t)events->port_count + 1, sizeof(*source->ports));
	source->nodes = calloc((size_t)count + 1, sizeof(*source->nodes));
	if (!events->ports || !source->ports || !source->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		if (layout->fcs[sim_node_at(events->fabric->sim, i)->index])
			attach_node(events, layout, sim_node_at(events->fabric->sim, i),
				    with_frames);
	source->watcher.between = events_between;
	source->loss_listener.on_loss = on_loss;
	sim_hear_losses(events->fabric->sim, &source->loss_listener);
	for (uint32_t i = 0; with_frames && i < events->fabric->host_count; i++)
		host_tell_losses(&events->fabric->hosts[i]);
	fabric_watch(events->fabric, &source->watcher);
	return 0;
}

static int observe_events_attach(struct events *events, const struct scenario *scenario,
				 struct fabric *fabric, bool with_frames)
{
	struct layout layout = {.first = NULL};
	int ret;

	*events = (struct events){.fabric = fabric,
				  .scenario = scenario,
				  .priority_count = sim_priority_count(fabric->sim)};
	events->source = calloc(1, sizeof(*events->source));
	if (!events->source)
		return -ENOMEM;
	events->source->events = events;
	ret = with_frames ? index_flows(events->source, scenario) : 0;
	if (!ret)
		ret = host_index_init(&events->source->hosts, fabric);
	ret = ret ? ret : make_layout(&layout, events);
	ret = ret ? ret : attach_all(events, &layout, with_frames);
	free(layout.first);
	free(layout.fcs);
	free((void *)layout.hosts);
	return ret;
}

int events_attach(struct events *events, const struct scenario *scenario, struct fabric *fabric,
		  const struct traffic *traffic)
{
	const int ret = observe_events_attach(events, scenario, fabric, true);

	events->traffic = traffic;
	return ret;
}

int events_attach_pauses(struct events *events, const struct scenario *scenario,
			 struct fabric *fabric)
{
	return observe_events_attach(events, scenario, fabric, false);
}

void events_fini(struct events *events)
{
	struct events_source *source = events->source;

	if (!source)
		return;
	for (uint32_t i = 0; source->ports && i < events->port_count; i++) {
		free(source->ports[i].records);
		frame_copies_fini(&source->ports[i].frames);
	}
	free(source->ports);
	free(source->nodes);
	host_index_fini(&source->hosts);
	free(source->keys);
	free((void *)source->sorted);
	free(source);
	free(events->ports);
	*events = (struct events){.fabric = NULL};
}
