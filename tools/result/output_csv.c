/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/output.h"

#include "tools/observe/flow_log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* RFC 4180. */
static void text(const char *value, FILE *file)
{
	if (!strpbrk(value, ",\"\r\n")) {
		fputs(value, file);
		return;
	}
	fputc('"', file);
	for (; *value; value++) {
		if (*value == '"')
			fputc('"', file);
		fputc(*value, file);
	}
	fputc('"', file);
}

static void comma_text(const char *value, FILE *file)
{
	fputc(',', file);
	text(value, file);
}

static void comma_time(ps_t value, FILE *file)
{
	fputc(',', file);
	if (value != PS_NEVER)
		fprintf(file, "%" PRIu64, value);
}

static void output_csv_put_flow(const struct result_flow *flow, FILE *file)
{
	fprintf(file, "%" PRIu64, flow->id);
	comma_text(flow->class_name, file);
	comma_text(flow->src, file);
	comma_text(flow->dst, file);
	fprintf(file, ",%u,%" PRIu64 ",%" PRIu64, flow->priority, flow->bytes, flow->start_at);
	comma_time(flow->end_at, file);
	comma_time(flow->fct, file);
	comma_time(flow->ideal, file);
	if (flow->ok && flow->slowdown > 0)
		fprintf(file, ",%.6f", flow->slowdown);
	else
		fputc(',', file);
	fprintf(file, ",%" PRIu64 ",%s\n", flow->packets_retransmitted, flow->status);
}

struct streamed {
	const struct result *result;
	FILE *file;
};

static int output_csv_put_streamed(void *owner, uint64_t id, const struct flow_log_row *row)
{
	const struct streamed *streamed = owner;
	const struct result_flow flow = result_row(streamed->result, &row->flow, id, row->ideal);

	output_csv_put_flow(&flow, streamed->file);
	return ferror(streamed->file) ? -EIO : 0;
}

int output_flows(const struct result *result, FILE *file)
{
	struct streamed streamed = {result, file};

	fputs("id,class,src,dst,priority,bytes,start_ps,end_ps,fct_ps,ideal_ps,slowdown,"
	      "packets_retransmitted,status\n",
	      file);
	for (uint64_t i = 0; i < result->flow_count; i++)
		output_csv_put_flow(&result->flows[i], file);
	return flow_log_rows(result->log, output_csv_put_streamed, &streamed);
}

void output_ports(const struct result *result, FILE *file)
{
	fputs("node,kind,link,peer,priority,rate_bps,sent_bytes,sent_packets,queue_bytes,"
	      "queue_max_bytes,ingress_bytes,headroom_bytes,marked,dropped,paused_ps,paused_since_"
	      "ps,"
	      "storms,storms_over,storm_dropped,"
	      "port_sent_bytes,port_sent_packets,pause_sent,pause_received,resume_sent,"
	      "resume_received,credit_sent,credit_received,fault_lost,fault_corrupted,"
	      "fault_refused,fault_duplicated,fault_reordered\n",
	      file);
	for (uint64_t i = 0; i < result->port_count; i++) {
		const struct result_port *port = &result->ports[i];
		const struct result_link *link = &result->links[i / result->priority_count];
		const uint64_t own[] = {
			port->rate_bps,	      port->sent_bytes,	  port->sent_packets,
			port->queue_bytes,    port->queue_max,	  port->ingress_bytes,
			port->headroom_bytes, port->marked,	  port->dropped,
			port->paused,	      port->paused_since, port->storms,
			port->storms_over,    port->storm_dropped};
		const uint64_t common[] = {
			link->sent_bytes,     link->sent_packets,    link->pause_sent,
			link->pause_received, link->resume_sent,     link->resume_received,
			link->credit_sent,    link->credit_received, link->lost,
			link->corrupted,      link->refused,	     link->duplicated,
			link->reordered};

		text(port->node, file);
		fputs(port->is_host ? ",host" : ",switch", file);
		comma_text(port->link, file);
		comma_text(port->peer, file);
		fprintf(file, ",%u", port->priority);
		for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
			comma_time(own[k], file);
		for (size_t k = 0; k < sizeof(common) / sizeof(common[0]); k++)
			comma_time(common[k], file);
		fputc('\n', file);
	}
}

/* One direction of a lane of the machine whose first adapter is @name. */
static void output_csv_put_lane(const struct scenario_machine *machine, const char *name,
				const struct bus *bus, const struct bus_lane_params *lane,
				bool back, FILE *file)
{
	const uint32_t from = back ? lane->b : lane->a, to = back ? lane->a : lane->b;
	const struct bus_way_stats stats = lane->link.kind == BUS_NVLINK
						   ? bus_nvlink_stats(bus, from, to)
						   : bus_way_stats(bus, from, to);
	const uint64_t numbers[] = {stats.bursts,
				    stats.bytes,
				    stats.wire_bytes,
				    stats.busy,
				    stats.starved[BUS_POSTED],
				    stats.starved[BUS_NON_POSTED],
				    stats.starved[BUS_COMPLETION],
				    bus_tag_wait(bus, from),
				    stats.replays,
				    stats.replayed_bytes};

	text(name, file);
	comma_text(machine->parts[from].name, file);
	comma_text(machine->parts[to].name, file);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		comma_time(numbers[i], file);
	fputc('\n', file);
}

/* The lanes of the machine whose first adapter that is. */
static void output_csv_put_machine(const struct result *result,
				   const struct scenario_machine *machine, uint32_t number,
				   FILE *file)
{
	const struct host *host = result->fabric->table.hosts[number];

	for (uint32_t i = 0; i < 2 * machine->lane_count; i++)
		output_csv_put_lane(machine, host->node.name, host->dma->bus,
				    &machine->lanes[i / 2], i % 2, file);
}

/* NULL: it has none. */
static const struct scenario_machine *output_csv_machine_of(const struct scenario *s, uint32_t host)
{
	for (uint32_t m = 0; m < s->machine_count; m++)
		for (uint32_t a = 0; a < s->machines[m].adapter_count; a++)
			if (s->machines[m].adapters[a].host == host)
				return &s->machines[m];
	return NULL;
}

void output_lanes(const struct result *result, FILE *file)
{
	fputs("machine,from,to,bursts,bytes,wire_bytes,busy_ps,starved_posted_ps,"
	      "starved_non_posted_ps,starved_completion_ps,tag_wait_ps,replays,"
	      "replayed_bytes\n",
	      file);
	for (uint32_t n = 0; n < result->fabric->table.machine_count; n++) {
		const struct scenario_machine *machine = output_csv_machine_of(result->scenario, n);

		if (machine)
			output_csv_put_machine(result, machine, n, file);
	}
}
