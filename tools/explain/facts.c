/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/explain.h"

#include "sim/switch.h"
#include "tools/result/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void explain_time(ps_t at)
{
	printf("%llu.%06llu us", (unsigned long long)(at / PS_US),
	       (unsigned long long)(at % PS_US));
}

/* A sentence holds a few of them. */
static char *next_text(void)
{
	enum { TEXTS = 8 };
	static char texts[TEXTS][OUTPUT_TEXT_MAX];
	static unsigned last;

	return texts[last++ % TEXTS];
}

const char *explain_length(ps_t time)
{
	return output_time(time, next_text());
}

/* ---- pauses ---- */

static int add_xoff(struct explain *explain, const struct event *event)
{
	const struct explain_port *out = &explain->ports[event->word];
	const uint32_t far = explain->events->ports[event->word].far;
	struct explain_xoff xoff = {.at = event->at,
				    .until = PS_NEVER,
				    .port = event->port,
				    .priority = event->priority,
				    .held = event->held,
				    .limit = event->limit,
				    .way_out = event->word,
				    .queue_bytes = event->queue_bytes,
				    .cause = -1,
				    .depth = 1};

	if (explain->xoff_count == explain->xoff_room) {
		const uint64_t room = explain->xoff_room ? 2 * explain->xoff_room : 64;
		struct explain_xoff *xoffs = realloc(explain->xoffs, room * sizeof(*xoffs));

		if (!xoffs)
			return -ENOMEM;
		explain->xoffs = xoffs;
		explain->xoff_room = room;
	}
	if (!explain->events->ports[event->port].is_host && out->shut >> event->way_priority & 1) {
		xoff.cause = explain->ports[far].xoff[event->way_priority];
		xoff.is_stormed = explain->ports[far].xoffs == 0;
	}
	if (xoff.cause >= 0)
		xoff.depth += explain->xoffs[xoff.cause].depth;
	else
		xoff.depth += xoff.is_stormed;
	explain->ports[event->port].xoff[event->priority] = (int64_t)explain->xoff_count;
	explain->xoffs[explain->xoff_count++] = xoff;
	explain->ports[event->port].xoffs++;
	return 0;
}

/* ---- all events ---- */

static void add_data(struct explain *explain, const struct event *event)
{
	struct explain_port *port = &explain->ports[event->port];

	if (event->queue_bytes + event->bytes > port->queue_max[event->priority])
		port->queue_max[event->priority] = event->queue_bytes + event->bytes;
	port->retransmissions += event->retransmitted;
	if (event->marked && port->marks++ == 0) {
		port->first_mark_at = event->at;
		port->first_mark_queue = event->queue_bytes;
	}
	explain->cnps += event->opcode == WIRE_CNP && explain->events->ports[event->port].is_host;
	if (explain->account && account_is_there(explain->account))
		account_add(explain->account, event);
}

static void add_drop(struct explain *explain, const struct event *event)
{
	struct explain_port *port = &explain->ports[event->port];

	if (event->reason != SIM_LOSS_ROOM || port->drops++ > 0)
		return;
	port->first_drop_at = event->at;
	port->first_drop_priority = event->priority;
}

static int facts_on_event(struct events_listener *listener, const struct event *event)
{
	struct explain *explain = container_of(listener, struct explain, listener);
	struct explain_port *port = &explain->ports[event->port];
	const uint16_t mask = (uint16_t)(1u << event->priority);

	if (explain->account)
		account_find(explain->account);
	switch ((enum event_kind)event->kind) {
	case EVENT_DATA:
		add_data(explain, event);
		break;
	case EVENT_XOFF:
		return add_xoff(explain, event);
	case EVENT_XON:
		if (port->xoff[event->priority] >= 0)
			explain->xoffs[port->xoff[event->priority]].until = event->at;
		port->xoff[event->priority] = -1;
		break;
	case EVENT_SHUT:
		port->shut |= mask;
		port->shut_since[event->priority] = event->at;
		return explain->account ? stops_begin(&explain->stops, event->port, event->priority,
						      event->at)
					: 0;
	case EVENT_OPEN:
		port->shut &= (uint16_t)~mask;
		if (explain->account)
			stops_end(&explain->stops, event->port, event->priority, event->at);
		break;
	case EVENT_DROP:
		add_drop(explain, event);
		break;
	case EVENT_PAUSE:
		if (port->pauses++ == 0) {
			port->first_pause_at = event->at;
			port->first_pause_classes = event->classes;
		}
		break;
	case EVENT_RESUME:
	case EVENT_CREDIT:
	case EVENT_KINDS:
		break;
	}
	return 0;
}

/* ---- what no event tells ---- */

static bool is_nearer(const struct explain_near *old, uint64_t held, uint64_t limit)
{
	return limit > 0 && (old->limit == 0 || (u128)held * old->limit > (u128)old->held * limit);
}

static void look_at_buffers(struct explain *explain, ps_t at)
{
	const struct fabric *fabric = explain->events->fabric;

	for (uint32_t i = 0; i < fabric->switch_count; i++) {
		const struct sim_node *node = sim_switch_node(fabric->switches[i]);
		const struct sim_fc *fc = sim_switch_fc(fabric->switches[i]);

		if (fc && is_nearer(&explain->buffer, fc->used, fc->buffer_bytes))
			explain->buffer = (struct explain_near){
				fc->used, fc->buffer_bytes, at, node->name, NULL, 0};
		for (uint32_t p = 0; fc && fc->ops->limit && p < node->port_count; p++)
			for (uint8_t q = 0; q < fc->priority_count; q++) {
				const struct sim_class *class = sim_fc_class(fc, p, q);
				const uint64_t limit =
					class->ingress_bytes ? fc->ops->limit(fc, p, q) : 0;

				if (is_nearer(&explain->pause, class->ingress_bytes, limit))
					explain->pause = (struct explain_near){
						class->ingress_bytes,	   limit, at, node->name,
						node->ports[p].peer->name, q};
			}
	}
}

static int facts_on_window(struct events_listener *listener, ps_t at)
{
	struct explain *explain = container_of(listener, struct explain, listener);

	if (explain->account) {
		account_find(explain->account);
		account_keep(explain->account);
	}
	look_at_buffers(explain, at);
	return insides_look(&explain->insides,
			    explain->account ? account_flow_of(explain->account) : NULL);
}

int explain_start(struct explain *explain, struct events *events, const struct subject *key)
{
	*explain = (struct explain){.events = events};
	explain->ports = calloc((size_t)events->port_count + 1, sizeof(*explain->ports));
	if (!explain->ports)
		return -ENOMEM;
	for (uint32_t i = 0; i < events->port_count; i++)
		for (uint8_t q = 0; q < events->priority_count; q++)
			explain->ports[i].xoff[q] = -1;
	if (key) {
		explain->account = account_create(events, &explain->stops, *key);
		if (!explain->account ||
		    stops_init(&explain->stops, events->port_count, events->priority_count))
			return -ENOMEM;
		account_find(explain->account);
	}
	if (insides_init(&explain->insides, events) != 0 ||
	    spells_start(&explain->spells, events) != 0)
		return -ENOMEM;
	explain->insides.asks_before = key && key->is_request;
	explain->listener =
		(struct events_listener){.on_event = facts_on_event, .on_window = facts_on_window};
	events_listen(events, &explain->listener);
	return 0;
}

void explain_fini(struct explain *explain)
{
	account_destroy(explain->account);
	stops_fini(&explain->stops);
	insides_fini(&explain->insides);
	spells_fini(&explain->spells);
	free(explain->ports);
	free(explain->xoffs);
	*explain = (struct explain){.events = NULL};
}
