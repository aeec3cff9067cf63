/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/perfetto.h"

#include "tools/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

static void put_string(const char *text, FILE *file)
{
	fputc('"', file);
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			fprintf(file, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			fprintf(file, "\\u%04x", *text);
		else
			fputc(*text, file);
	fputc('"', file);
}

/* {"ph":"i","pid":3,"tid":0,"ts":1.500000 and the caller goes on. */
static FILE *perfetto_begin(struct perfetto *p, const char *phase, uint32_t process, ps_t at)
{
	fprintf(p->out.file, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":0,\"ts\":%" PRIu64 ".%06" PRIu64,
		p->has_begun ? ",\n" : "", phase, process, at / PS_US, at % PS_US);
	p->has_begun = true;
	return p->out.file;
}

static void put_name(const char *key, const char *text, FILE *file)
{
	fprintf(file, ",\"%s\":", key);
	put_string(text, file);
}

/* ---- events ---- */

static void put_instant(struct perfetto *p, const struct event *event, const char *what)
{
	const struct events_port *port = &p->events->ports[event->port];
	char name[160];
	FILE *file = perfetto_begin(p, "i", p->process[event->port], event->at);

	snprintf(name, sizeof(name), "%s", what);
	put_name("name", name, file);
	fputs(",\"s\":\"t\",\"cat\":\"link\",\"args\":{\"towards\":", file);
	put_string(port->peer, file);
	fprintf(file, ",\"priority\":%u}}", event->priority);
}

static void put_queue(struct perfetto *p, const struct event *event)
{
	const struct events_port *port = &p->events->ports[event->port];
	uint32_t *last = &p->queues[event->port * p->events->priority_count + event->priority];
	char name[160];
	FILE *file;

	if (port->is_host || *last == event->queue_bytes)
		return;
	*last = event->queue_bytes;
	file = perfetto_begin(p, "C", p->process[event->port], event->at);
	snprintf(name, sizeof(name), "queue %s", port->link);
	put_name("name", name, file);
	fprintf(file, ",\"args\":{\"priority %u\":%u}}", event->priority, event->queue_bytes);
}

static void put_span(struct perfetto *p, uint32_t port, uint8_t priority, bool is_begin, ps_t at)
{
	FILE *file = perfetto_begin(p, is_begin ? "b" : "e", p->process[port], at);
	char name[160];

	snprintf(name, sizeof(name), "paused %s priority %u", p->events->ports[port].link,
		 priority);
	put_name("name", name, file);
	fprintf(file, ",\"cat\":\"pause\",\"id\":\"p%u.%u\"}", port, priority);
	p->shut[port] = (uint16_t)(is_begin ? p->shut[port] | 1u << priority
					    : p->shut[port] & ~(1u << priority));
}

static int perfetto_on_event(struct events_listener *listener, const struct event *event)
{
	struct perfetto *p = container_of(listener, struct perfetto, listener);

	p->last = event->at;
	switch ((enum event_kind)event->kind) {
	case EVENT_DATA:
		put_queue(p, event);
		if (event->marked)
			put_instant(p, event, "ECN mark");
		if (event->retransmitted)
			put_instant(p, event, "sent again");
		break;
	case EVENT_PAUSE:
		put_instant(p, event, "PFC pause sent");
		break;
	case EVENT_RESUME:
		put_instant(p, event, "PFC resume sent");
		break;
	case EVENT_DROP:
		put_instant(p, event, "drop");
		break;
	case EVENT_SHUT:
	case EVENT_OPEN:
		put_span(p, event->port, event->priority, event->kind == EVENT_SHUT, event->at);
		break;
	case EVENT_CREDIT:
	case EVENT_XOFF:
	case EVENT_XON:
	case EVENT_KINDS:
		break;
	}
	named_note(&p->out);
	return ferror(p->out.file) ? -EIO : 0;
}

/* ---- the file ---- */

int perfetto_open(struct perfetto *perfetto, const char *path)
{
	*perfetto = (struct perfetto){.has_begun = false};
	return named_open(&perfetto->out, path);
}

int perfetto_start(struct perfetto *perfetto, struct events *events)
{
	const size_t count = (size_t)events->port_count + 1;
	uint32_t process = 0;

	perfetto->events = events;
	perfetto->process = calloc(count, sizeof(*perfetto->process));
	perfetto->queues = calloc(count * events->priority_count, sizeof(*perfetto->queues));
	perfetto->shut = calloc(count, sizeof(*perfetto->shut));
	if (!perfetto->process || !perfetto->queues || !perfetto->shut)
		return -ENOMEM;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", perfetto->out.file);
	for (uint32_t i = 0; i < events->port_count; i++) {
		const char *node = events->ports[i].node;

		if (i == 0 || strcmp(events->ports[i - 1].node, node) != 0) {
			FILE *file = perfetto_begin(perfetto, "M", ++process, 0);

			put_name("name", "process_name", file);
			fputs(",\"args\":{\"name\":", file);
			put_string(node, file);
			fputs("}}", file);
		}
		perfetto->process[i] = process;
	}
	perfetto->listener = (struct events_listener){.on_event = perfetto_on_event};
	events_listen(events, &perfetto->listener);
	return 0;
}

static uint32_t process_of(const struct perfetto *p, const char *node)
{
	for (uint32_t i = 0; i < p->events->port_count; i++)
		if (strcmp(p->events->ports[i].node, node) == 0)
			return p->process[i];
	return 0;
}

static void perfetto_put_flow(struct perfetto *p, const struct traffic_flow *flow, uint64_t number)
{
	const struct scenario *scenario = p->events->scenario;
	struct host *const *hosts = p->events->fabric->table.hosts;
	const uint32_t process = process_of(p, hosts[flow->src]->node.name);
	const bool has_ended = flow->status != TRAFFIC_PENDING;
	char name[160];

	if (!has_ended && flow->start_at > p->last)
		return;
	snprintf(name, sizeof(name), "%s %" PRIu64 ": %s > %s",
		 scenario->classes[flow->class_index], number, hosts[flow->src]->node.name,
		 hosts[flow->dst]->node.name);
	for (int end = 0; end < 2; end++) {
		FILE *file =
			perfetto_begin(p, end ? "e" : "b", process,
				       end ? (has_ended ? flow->end_at : p->last) : flow->start_at);

		put_name("name", name, file);
		fprintf(file, ",\"cat\":\"flow\",\"id\":\"f%" PRIu64 "\"", number);
		if (end)
			fprintf(file, ",\"args\":{\"bytes\":%" PRIu64 ",\"status\":\"%s\"}",
				flow->bytes,
				flow->status == TRAFFIC_OK ? "ok"
				: has_ended		   ? "failed"
				: traffic_is_lost(flow)	   ? "lost"
							   : "unfinished");
		fputc('}', file);
	}
}

static int perfetto_put_streamed(void *owner, uint64_t id, const struct flow_log_row *row)
{
	struct perfetto *p = owner;

	perfetto_put_flow(p, &row->flow, id);
	named_note(&p->out);
	return ferror(p->out.file) ? -EIO : 0;
}

int perfetto_close(struct perfetto *perfetto, const struct flow_log *log)
{
	FILE *file = perfetto->out.file;
	int error = 0;

	if (!file)
		return COMMAND_DONE;
	for (uint64_t i = 0; perfetto->shut && i < perfetto->events->scenario->flow_count; i++)
		perfetto_put_flow(perfetto, &perfetto->events->scenario->flows[i], i);
	if (perfetto->shut)
		error = -flow_log_rows(log, perfetto_put_streamed, perfetto);
	for (uint32_t i = 0; perfetto->shut && i < perfetto->events->port_count; i++)
		for (uint8_t q = 0; q < perfetto->events->priority_count; q++)
			if (perfetto->shut[i] >> q & 1)
				put_span(perfetto, i, q, false, perfetto->last);
	fputs("\n]}\n", file);
	named_note(&perfetto->out);
	return named_close(&perfetto->out, error);
}

void perfetto_fini(struct perfetto *perfetto)
{
	named_drop(&perfetto->out);
	free(perfetto->process);
	free(perfetto->queues);
	free(perfetto->shut);
	*perfetto = (struct perfetto){.events = NULL};
}
