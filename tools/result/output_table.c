/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/output.h"

#include "util/text.h"

#include <inttypes.h>
#include <string.h>

static const struct output_unit times[] = {
	{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}};
static const struct output_unit rates[] = {
	{"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}};
static const struct output_unit sizes[] = {
	{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
enum { UNITS = 5 };

static struct output_unit unit_of(const struct output_unit *units, double value)
{
	size_t i = UNITS - 1;

	while (i > 0 && value < units[i].size)
		i--;
	return units[i];
}

static bool ends_in(const char *key, const char *end)
{
	const size_t length = strlen(key), more = strlen(end);

	return length >= more && strcmp(key + length - more, end) == 0;
}

struct output_unit output_unit(const char *key, double value)
{
	if (ends_in(key, "_ps"))
		return unit_of(times, value);
	if (ends_in(key, "_bps"))
		return unit_of(rates, value);
	if (ends_in(key, "bytes"))
		return unit_of(sizes, value);
	return (struct output_unit){"", 1};
}

/* Three digits or more, in the largest unit that is not larger. */
static const char *scaled(double value, const struct output_unit *units,
			  char ret_text[OUTPUT_TEXT_MAX])
{
	const struct output_unit unit = unit_of(units, value);

	value /= unit.size;
	snprintf(ret_text, OUTPUT_TEXT_MAX, "%.*f %s",
		 unit.size == 1 || value >= 100 ? 0
		 : value >= 10			? 1
						: 2,
		 value, unit.name);
	return ret_text;
}

const char *output_time(ps_t time, char ret_text[OUTPUT_TEXT_MAX])
{
	return scaled((double)time, times, ret_text);
}

const char *output_rate(uint64_t bps, char ret_text[OUTPUT_TEXT_MAX])
{
	return scaled((double)bps, rates, ret_text);
}

const char *output_bytes(uint64_t bytes, char ret_text[OUTPUT_TEXT_MAX])
{
	return scaled((double)bytes, sizes, ret_text);
}

/* In nine places. */
static const char *slowdown(const struct result_class *class, double value,
			    char ret_text[OUTPUT_TEXT_MAX])
{
	if (class->slowdown_count == 0)
		snprintf(ret_text, OUTPUT_TEXT_MAX, "%11s", "–");
	else
		snprintf(ret_text, OUTPUT_TEXT_MAX, "%9.2f", value);
	return ret_text;
}

/* Virtual time is up to the last arrival; what waits has waited longer. */
static void print_end(const struct result *result, FILE *file)
{
	const ps_t until = result->scenario->until;
	char last[OUTPUT_TEXT_MAX], end[OUTPUT_TEXT_MAX];

	if (result->flow_sums.unfinished > 0 && until != PS_NEVER && !result->partial)
		fprintf(file,
			"the last arrival was at %s, the end of the run at %s: %" PRIu64
			" of %" PRIu64 " flows are unfinished\n",
			output_time(result->time, last), output_time(until, end),
			result->flow_sums.unfinished, result->flow_sums.posted);
	fputc('\n', file);
}

static void print_classes(const struct result *result, FILE *file)
{
	char mean[OUTPUT_TEXT_MAX], p50[OUTPUT_TEXT_MAX], p99[OUTPUT_TEXT_MAX];
	char rate[OUTPUT_TEXT_MAX], each[OUTPUT_TEXT_MAX];
	char slow[OUTPUT_TEXT_MAX], slow99[OUTPUT_TEXT_MAX];

	if (result->class_count == 0)
		return;
	fprintf(file, "%-16s %9s %9s %10s %10s %10s %9s %9s %11s %11s\n", "class", "flows", "ok",
		"mean", "p50", "p99", "slowdown", "p99", "goodput", "of a flow");
	for (uint32_t i = 0; i < result->class_count; i++) {
		const struct result_class *class = &result->classes[i];

		fprintf(file, "%-16s %9" PRIu64 " %9" PRIu64, class->name, class->posted,
			class->count);
		if (class->count == 0) {
			/* A dash is three bytes, and printf() counts those. */
			fprintf(file, " %12s %12s %12s %11s %11s %13s %13s\n", "–", "–", "–", "–",
				"–", "–", "–");
			continue;
		}
		fprintf(file, " %10s %10s %10s %s %s %11s %11s\n",
			output_time(class->times.mean, mean), output_time(class->times.p50, p50),
			output_time(class->times.p99, p99),
			slowdown(class, class->slowdown_mean, slow),
			slowdown(class, class->slowdown_p99, slow99),
			output_rate(class->goodput_bps, rate), output_rate(class->flow_bps, each));
	}
	fputc('\n', file);
}

static void print_requests(const struct result_requests *sums, FILE *file)
{
	const uint64_t failed = sums->posted - sums->count - sums->unfinished;
	char mean[OUTPUT_TEXT_MAX], p99[OUTPUT_TEXT_MAX];

	fprintf(file, "; %" PRIu64 " request%s", sums->posted, sums->posted == 1 ? "" : "s");
	if (failed > 0)
		fprintf(file, ", %" PRIu64 " failed", failed);
	if (sums->unfinished > 0)
		fprintf(file, ", %" PRIu64 " unfinished", sums->unfinished);
	if (sums->left_out > 0)
		fprintf(file, ", and %" PRIu64 " more of which nothing is kept", sums->left_out);
	if (sums->count > 0)
		fprintf(file, ", %s in the mean, p99 %s", output_time(sums->times.mean, mean),
			output_time(sums->times.p99, p99));
	fputc('\n', file);
}

static void print_programs(const struct result *result, FILE *file)
{
	for (uint32_t i = 0; i < result->program_count; i++) {
		const struct result_program *program = &result->programs[i];
		const uint32_t failed = program->failed, open = program->unfinished;

		fprintf(file, "program %-16s %u rank%s: ", program->name, program->rank_count,
			program->rank_count == 1 ? "" : "s");
		if (failed == 0 && open == 0)
			fputs("all ended well", file);
		else
			fprintf(file, "%u ended well, %u failed, %u unfinished%s",
				program->rank_count - failed - open, failed, open,
				open > 0 && result->cut ? " at the end of the run" : "");
		print_requests(&program->requests, file);
	}
	if (result->program_count > 0)
		fputc('\n', file);
}

/* Ports that are paused at the end: for ever, where nothing is under way any more that could let go
 * of them. */
static void print_stuck(const struct result *result, FILE *file)
{
	enum { SHOWN = 3 };
	uint64_t shown = 0;
	char text[OUTPUT_TEXT_MAX];

	for (uint64_t i = 0; i < result->port_count && !result->partial && shown < SHOWN; i++) {
		const struct result_port *port = &result->ports[i];

		if (port->paused_since == PS_NEVER)
			continue;
		fprintf(file, "%s     %s towards %s, priority %u: paused since %s%s\n",
			result->cut ? "still" : "stuck", port->node, port->peer, port->priority,
			output_time(port->paused_since, text),
			result->cut ? ", and at the end of the run" : " for ever");
		shown++;
	}
	if (shown > 0 && result->pfc.paused_at_end > shown)
		fprintf(file, "          and %" PRIu64 " more: paused_since_ps in ports.csv\n",
			result->pfc.paused_at_end - shown);
}

static void print_fabric(const struct result *result, FILE *file)
{
	char text[OUTPUT_TEXT_MAX];

	fprintf(file, "pauses    %" PRIu64 " sent, %s paused in all\n", result->pfc.pause_sent,
		output_time(result->pfc.paused, text));
	print_stuck(result, file);
	if (result->pfc.storms > 0)
		fprintf(file, "storms    %" PRIu64 " found by watchdogs, %" PRIu64 " over\n",
			result->pfc.storms, result->pfc.storms_over);
	fprintf(file, "marks     %" PRIu64 " packets, %" PRIu64 " CNPs sent, %" PRIu64 " handled\n",
		result->marked, result->cnp_sent, result->cnp_handled);
	fprintf(file,
		"drops     buffer %" PRIu64 ", fault %" PRIu64 ", no route %" PRIu64
		", icrc %" PRIu64 ", ttl %" PRIu64 ", mtu %" PRIu64 ", watchdog %" PRIu64,
		result->drops.buffer, result->drops.fault, result->drops.no_route,
		result->drops.icrc, result->drops.ttl, result->drops.mtu, result->drops.watchdog);
	if (result->drops.unknown > 0)
		fprintf(file, ", unknown %" PRIu64, result->drops.unknown);
	fputc('\n', file);
	if (result->floods.packets > 0)
		fprintf(file,
			"floods    %" PRIu64 " packets, %" PRIu64 " more copies, %" PRIu64
			" discarded by others\n",
			result->floods.packets, result->floods.copies, result->floods.discarded);
	if (result->multicast.packets > 0)
		fprintf(file,
			"multicast %" PRIu64 " packets at switches, %" PRIu64
			" more copies, %" PRIu64 " discarded by hosts of no such group\n",
			result->multicast.packets, result->multicast.copies,
			result->multicast.discarded);
	fprintf(file, "resent    %" PRIu64 " packets\n", result->packets_retransmitted);
	fprintf(file, "queue     %s at most\n", output_bytes(result->queue_max_bytes, text));
}

void output_line(const char *text, FILE *file)
{
	char shown[UTIL_TEXT_SHOWN_MAX];

	while (*text) {
		text += util_text_show(text, shown);
		fputs(shown, file);
	}
}

static void print_expects(const struct result *result, FILE *file)
{
	for (uint32_t i = 0; i < result->expect_count; i++) {
		const struct result_expect *expect = &result->expects[i];

		fputs(expect->held	? "holds     "
		      : result->partial ? "open      "
					: "FAILED    ",
		      file);
		output_line(expect->text, file);
		fputs(": ", file);
		output_line(expect->found, file);
		fputc('\n', file);
	}
}

void output_table(const struct result *result, FILE *file)
{
	const struct scenario *scenario = result->scenario;
	const struct fabric *fabric = result->fabric;
	const uint32_t hosts = fabric->table.machine_count, switches = fabric->switch_count,
		       links = scenario->topology.link_count;
	char text[OUTPUT_TEXT_MAX], nics[48] = "";

	if (fabric->host_count > hosts)
		snprintf(nics, sizeof(nics), " with %u adapters", fabric->host_count);
	fprintf(file, "%s: %u host%s%s, %u switch%s, %u link%s, seed %" PRIu64 "%s\n",
		scenario->name, hosts, hosts == 1 ? "" : "s", nics, switches,
		switches == 1 ? "" : "es", links, links == 1 ? "" : "s", scenario->seed,
		result->partial ? "; ended early, partial" : "");
	fprintf(file, "%s of virtual time, %" PRIu64 " packet hops in %.2f s\n",
		output_time(result->time, text), result->packet_hops, result->wall_s);
	print_end(result, file);
	print_classes(result, file);
	print_programs(result, file);
	print_fabric(result, file);
	print_expects(result, file);
	fputc('\n', file);
}
