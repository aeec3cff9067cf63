/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/perfetto.h"

#include "models/input/bad.h"
#include "tools/command.h"
#include "tools/observe/host_index.h"
#include "tools/result/failures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL PS_US /* of lanes */

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
static FILE *begin_in(struct perfetto *p, const char *phase, uint32_t process, uint32_t thread,
		      ps_t at)
{
	fprintf(p->out.file, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRIu64 ".%06" PRIu64,
		p->has_begun ? ",\n" : "", phase, process, thread, at / PS_US, at % PS_US);
	p->has_begun = true;
	return p->out.file;
}

static FILE *perfetto_begin(struct perfetto *p, const char *phase, uint32_t process, ps_t at)
{
	return begin_in(p, phase, process, 0, at);
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
	fprintf(file, ",\"priority\":%u", event->priority);
	if (event->kind == EVENT_DROP)
		put_name("reason", events_reason(event), file);
	fputs("}}", file);
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
	snprintf(name, sizeof(name), "queue to %s (%s)", port->peer, port->link);
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

/* ---- lanes and engines of machines ---- */

static uint32_t process_of(const struct perfetto *p, const char *node)
{
	for (uint32_t i = 0; i < p->events->port_count; i++)
		if (strcmp(p->events->ports[i].node, node) == 0)
			return p->process[i];
	return 0;
}

static void put_share(struct perfetto *p, const struct machine_seen *machine, const char *name,
		      uint32_t tenths)
{
	FILE *file = perfetto_begin(p, "C", process_of(p, machine->name), p->lanes.at);

	put_name("name", name, file);
	fprintf(file, ",\"args\":{\"percent\":%u.%u}}", tenths / 10, tenths % 10);
}

static const char *way_title(const struct scenario_machine *is, uint32_t way,
			     struct bad_text *ret_text)
{
	return bad_text(ret_text, "busy %s > %s%s", is->parts[machine_way_from(is, way)].name,
			is->parts[machine_way_to(is, way)].name, machine_way_mark(is, way));
}

static const char *engine_title(const struct scenario_machine *is, uint32_t number,
				struct bad_text *ret_text)
{
	return bad_text(ret_text, "busy %s %s", is->parts[is->gpu_parts[number / GPU_ENGINES]].name,
			gpu_engine_names[number % GPU_ENGINES]);
}

/* Which share of @all it was busy; true: that is another one than before. */
static bool share_changed(struct perfetto_lane *seen, ps_t busy, u128 all)
{
	const uint32_t tenths = (uint32_t)((u128)(busy - seen->busy) * 1000 / all);
	const bool is_other = tenths != seen->tenths;

	seen->busy = busy;
	seen->tenths = tenths;
	return is_other;
}

/* Of the time up to @at, of each lane and each engine. */
static void put_lanes(struct perfetto *p, ps_t at)
{
	struct perfetto_lanes *lanes = &p->lanes;
	struct perfetto_lane *seen = lanes->seen;
	const u128 time = at - lanes->at;
	struct bad_text name;

	for (uint32_t i = 0; i < lanes->machines.count; i++) {
		const struct machine_seen *machine = &lanes->machines.all[i];
		const struct scenario_machine *is = machine->is;

		for (uint32_t way = 0; way < machine_ways(is); way++, seen++)
			if (share_changed(seen, machine_way_stats(machine, way, at).busy,
					  machine_way_links(is, way) * time))
				put_share(p, machine, way_title(is, way, &name), seen->tenths);
		for (uint32_t k = 0; k < is->gpu_count * GPU_ENGINES; k++, seen++)
			if (share_changed(seen,
					  gpu_engine_stats(&machine->gpus->gpus[k / GPU_ENGINES],
							   (enum gpu_engine)(k % GPU_ENGINES), at)
						  .busy,
					  time))
				put_share(p, machine, engine_title(is, k, &name), seen->tenths);
	}
	lanes->at = at;
}

static int perfetto_on_window(struct events_listener *listener, ps_t now)
{
	struct perfetto *p = container_of(listener, struct perfetto, listener);
	struct sim *sim = p->events->fabric->sim;
	const ps_t next = sim_next_at(sim);

	(void)now;
	if (p->lanes.machines.count == 0 || next == PS_NEVER)
		return 0;
	if (next >= p->lanes.due) {
		put_lanes(p, p->lanes.due);
		p->lanes.due = (next / INTERVAL + 1) * INTERVAL;
	}
	sim_cut(sim, p->lanes.due);
	named_note(&p->out);
	return ferror(p->out.file) ? -EIO : 0;
}

static int start_lanes(struct perfetto *p)
{
	struct perfetto_lanes *lanes = &p->lanes;
	size_t ways = 0;

	if (machines_init(&lanes->machines, p->events->scenario, p->events->fabric) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < lanes->machines.count; i++)
		ways += machine_ways(lanes->machines.all[i].is) +
			GPU_ENGINES * lanes->machines.all[i].is->gpu_count;
	lanes->seen = calloc(ways + 1, sizeof(*lanes->seen));
	lanes->due = INTERVAL;
	if (lanes->machines.count > 0)
		sim_cut(p->events->fabric->sim, lanes->due);
	return lanes->seen ? 0 : -ENOMEM;
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
	perfetto->listener = (struct events_listener){.on_event = perfetto_on_event,
						      .on_window = perfetto_on_window};
	events_listen(events, &perfetto->listener);
	return start_lanes(perfetto);
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

/* A rank is a thread of its host, by number from 1 over all programs. */
static uint32_t thread_of_rank(const struct scenario *scenario, uint32_t program, uint32_t rank)
{
	uint32_t thread = 1 + rank;

	for (uint32_t i = 0; i < program; i++)
		thread += scenario->programs[i].host_count;
	return thread;
}

static void put_ranks(struct perfetto *p)
{
	const struct scenario *scenario = p->events->scenario;
	struct host *const *hosts = p->events->fabric->table.hosts;

	for (uint32_t i = 0; i < scenario->program_count; i++)
		for (uint32_t rank = 0; rank < scenario->programs[i].host_count; rank++) {
			const char *host = hosts[scenario->programs[i].hosts[rank]]->node.name;
			struct bad_text name;
			FILE *file = begin_in(p, "M", process_of(p, host),
					      thread_of_rank(scenario, i, rank), 0);

			put_name("name", "thread_name", file);
			fputs(",\"args\":{\"name\":", file);
			put_string(bad_text(&name, "%s rank %u", scenario->programs[i].name, rank),
				   file);
			fputs("}}", file);
		}
}

/* A queue pair is a track of its rank, on which a work request is a span from its post to its end.
 */
static void perfetto_put_request(struct perfetto *p, const struct request *request, uint64_t number)
{
	const struct scenario *scenario = p->events->scenario;
	struct host *const *hosts = p->events->fabric->table.hosts;
	const uint32_t process = process_of(p, hosts[request->src]->node.name);
	const uint32_t thread = thread_of_rank(scenario, request->program, request->rank);
	const bool has_ended = request->state == REQUEST_ENDED;
	const ps_t last = request->posted_at > p->last ? request->posted_at : p->last;
	char name[160];

	snprintf(name, sizeof(name), "%s.%u QP 0x%06x", scenario->programs[request->program].name,
		 request->rank, request->qpn);
	for (int end = 0; end < 2; end++) {
		FILE *file =
			begin_in(p, end ? "e" : "b", process, thread,
				 end ? (has_ended ? request->end_at : last) : request->posted_at);

		put_name("name", name, file);
		fprintf(file, ",\"cat\":\"request\",\"id\":\"wr%" PRIu64 "\"", number);
		if (end)
			fprintf(file,
				",\"args\":{\"wr\":%" PRIu64 ",\"opcode\":\"%s\",\"to\":\"%s\","
				"\"bytes\":%u,\"sent_again\":%" PRIu64 ",\"status\":\"%s\"}",
				number, request_opcode_name(request->opcode),
				host_index_name(p->events->fabric, request->dst), request->bytes,
				request->packets_retransmitted,
				has_ended			 ? failures_name(request->status)
				: request->state == REQUEST_GONE ? "gone"
								 : "unfinished");
		fputc('}', file);
	}
}

static void put_requests(struct perfetto *p)
{
	const struct request_log *log = p->events->requests;
	const uint64_t count = log ? request_log_count(log) : 0;

	put_ranks(p);
	for (uint64_t i = 0; i < count; i++)
		perfetto_put_request(p, request_log_at(log, i), i);
}

int perfetto_close(struct perfetto *perfetto, const struct flow_log *log)
{
	FILE *file = perfetto->out.file;
	int error = 0;

	if (!file)
		return COMMAND_DONE;
	if (perfetto->shut && perfetto->lanes.machines.count > 0) {
		put_lanes(perfetto, perfetto->lanes.due);
		put_lanes(perfetto, perfetto->lanes.due + INTERVAL); /* none is busy any more */
	}
	for (uint64_t i = 0; perfetto->shut && i < perfetto->events->scenario->flow_count; i++)
		perfetto_put_flow(perfetto, &perfetto->events->scenario->flows[i], i);
	if (perfetto->shut)
		put_requests(perfetto);
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
	free(perfetto->lanes.seen);
	machines_fini(&perfetto->lanes.machines);
	*perfetto = (struct perfetto){.events = NULL};
}
