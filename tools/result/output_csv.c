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

static void output_csv_put_lane(const struct result_machine *machine,
				const struct result_lane *lane, FILE *file)
{
	const struct bus_way_stats *stats = &lane->stats;
	ps_t tag_wait = 0;

	for (uint32_t i = 0; i < machine->tag_count; i++)
		if (machine->tags[i].part == lane->from)
			tag_wait = machine->tags[i].wait;
	text(machine->name, file);
	comma_text(lane->from, file);
	comma_text(lane->to, file);
	fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, stats->bursts, stats->bytes,
		stats->wire_bytes, stats->busy);
	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++)
		fprintf(file, ",%" PRIu64, stats->starved[kind]);
	fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", tag_wait, stats->replays,
		stats->replayed_bytes);
}

void output_engines(const struct result *result, FILE *file)
{
	fputs("machine,gpu,engine,copies,bytes,busy_ps\n", file);
	for (uint32_t i = 0; i < result->machine_count; i++) {
		const struct result_machine *machine = &result->machines[i];

		for (uint32_t k = 0; k < machine->gpu_count * GPU_ENGINES; k++) {
			const struct result_gpu *gpu = &machine->gpus[k / GPU_ENGINES];
			const struct copy_stats *stats = &gpu->engines[k % GPU_ENGINES];

			text(machine->name, file);
			comma_text(gpu->part, file);
			comma_text(gpu_engine_names[k % GPU_ENGINES], file);
			fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", stats->copies,
				stats->bytes, stats->busy);
		}
	}
}

void output_lanes(const struct result *result, FILE *file)
{
	fputs("machine,from,to,bursts,bytes,wire_bytes,busy_ps,starved_posted_ps,"
	      "starved_non_posted_ps,starved_completion_ps,tag_wait_ps,replays,"
	      "replayed_bytes\n",
	      file);
	for (uint32_t i = 0; i < result->machine_count; i++)
		for (uint32_t k = 0; k < result->machines[i].lane_count; k++)
			output_csv_put_lane(&result->machines[i], &result->machines[i].lanes[k],
					    file);
}
