/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/output.h"

#include "gpu/device/managed.h"
#include "models/input/bad.h"
#include "tools/observe/machines.h"
#include "tools/program.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

/* jansson's integers have a sign. */
static json_t *whole(uint64_t value)
{
	CHECK(value <= INT64_MAX);
	return json_integer((json_int_t)value);
}

/* A value over nothing is null: any number would be one that nobody has measured. */
static json_t *whole_of(uint64_t count, uint64_t value)
{
	return count ? whole(value) : json_null();
}

static json_t *real_of(uint64_t count, double value)
{
	return count ? json_real(value) : json_null();
}

static json_t *flows_of(const struct result *result)
{
	const struct traffic_sums *sums = &result->flow_sums;

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "posted", whole(sums->posted),
			 "completed", whole(sums->completed), "failed", whole(sums->failed),
			 "unfinished", whole(sums->unfinished), "bytes_posted",
			 whole(sums->bytes_posted), "bytes_delivered", whole(sums->bytes_delivered),
			 "packets_retransmitted", whole(sums->packets_retransmitted));
}

static json_t *drops_of(const struct result *result)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "buffer", whole(result->drops.buffer),
			 "fault", whole(result->drops.fault), "no_route",
			 whole(result->drops.no_route), "icrc", whole(result->drops.icrc), "ttl",
			 whole(result->drops.ttl), "mtu", whole(result->drops.mtu), "watchdog",
			 whole(result->drops.watchdog), "unknown", whole(result->drops.unknown));
}

static json_t *output_json_class_of(const struct result_class *class)
{
	const uint64_t count = class->count, slowdowns = class->slowdown_count;

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "count", whole(count), "mean_ps",
			 whole_of(count, class->times.mean), "p50_ps",
			 whole_of(count, class->times.p50), "p99_ps",
			 whole_of(count, class->times.p99), "p999_ps",
			 whole_of(count, class->times.p999), "slowdown_mean",
			 real_of(slowdowns, class->slowdown_mean), "slowdown_p99",
			 real_of(slowdowns, class->slowdown_p99), "goodput_bps",
			 whole_of(count, class->goodput_bps));
}

static json_t *fct_of(const struct result *result)
{
	json_t *fct = json_object();

	for (uint32_t i = 0; fct && i < result->class_count; i++)
		if (json_object_set_new(fct, result->classes[i].name,
					output_json_class_of(&result->classes[i])) != 0) {
			json_decref(fct);
			return NULL;
		}
	return fct;
}

static json_t *output_json_rank_of(const struct result_rank *rank)
{
	const struct program_result *r = rank->result;

	return json_pack("{s:s,s:b,s:i,s:o,s:o,s:o}", "host", rank->host, "ended", (int)r->ended,
			 "result", r->result, "end_ps", r->ended ? whole(r->end_at) : json_null(),
			 "completions", whole(r->completions), "completions_failed",
			 whole(r->completions_failed));
}

static json_t *output_json_requests_of(const struct result_requests *sums)
{
	const uint64_t count = sums->count;

	return json_pack(
		"{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "posted", whole(sums->posted),
		"completed", whole(count), "failed", whole(sums->posted - count - sums->unfinished),
		"unfinished", whole(sums->unfinished), "left_out", whole(sums->left_out), "bytes",
		whole(sums->bytes), "mean_ps", whole_of(count, sums->times.mean), "p50_ps",
		whole_of(count, sums->times.p50), "p99_ps", whole_of(count, sums->times.p99),
		"p999_ps", whole_of(count, sums->times.p999), "packets_retransmitted",
		whole(sums->packets_retransmitted));
}

static json_t *output_json_program_of(const struct result_program *program)
{
	json_t *ranks = json_array();

	for (uint32_t i = 0; ranks && i < program->rank_count; i++)
		if (json_array_append_new(ranks, output_json_rank_of(&program->ranks[i])) != 0) {
			json_decref(ranks);
			return NULL;
		}
	return json_pack("{s:s,s:s,s:i,s:i,s:s,s:o,s:o}", "name", program->name, "run",
			 program->run, "failed", (int)program->failed, "unfinished",
			 (int)program->unfinished, "addresses",
			 program->fixed ? "fixed" : "anywhere", "requests",
			 output_json_requests_of(&program->requests), "ranks", ranks);
}

static json_t *programs_of(const struct result *result)
{
	json_t *programs = json_array();

	for (uint32_t i = 0; programs && i < result->program_count; i++)
		if (json_array_append_new(programs, output_json_program_of(&result->programs[i])) !=
		    0) {
			json_decref(programs);
			return NULL;
		}
	return programs;
}

static json_t *expects_of(const struct result *result)
{
	json_t *expects = json_array();

	for (uint32_t i = 0; expects && i < result->expect_count; i++) {
		const struct result_expect *expect = &result->expects[i];

		if (json_array_append_new(expects, json_pack("{s:s,s:b,s:s}", "text", expect->text,
							     "held", (int)expect->held, "found",
							     expect->found)) != 0) {
			json_decref(expects);
			return NULL;
		}
	}
	return expects;
}

/* ---- the inside of machines ---- */

static json_t *output_json_lane_of(const struct result_lane *lane)
{
	const struct bus_way_stats *stats = &lane->stats;

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "bursts", whole(stats->bursts),
			 "bytes", whole(stats->bytes), "wire_bytes", whole(stats->wire_bytes),
			 "busy_ps", whole(stats->busy), "starved_posted_ps",
			 whole(stats->starved[BUS_POSTED]), "starved_non_posted_ps",
			 whole(stats->starved[BUS_NON_POSTED]), "starved_completion_ps",
			 whole(stats->starved[BUS_COMPLETION]), "replays", whole(stats->replays),
			 "replayed_bytes", whole(stats->replayed_bytes));
}

static json_t *output_json_tags_of(const struct result_tags *tags)
{
	const uint64_t taken = tags->stats.taken;

	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "count", whole(tags->count), "taken",
			 whole(taken), "round_trip_ps",
			 whole_of(taken, taken ? tags->stats.held / taken : 0), "wait_ps",
			 whole(tags->wait), "dry_ps", whole(tags->stats.dry));
}

/* @value is the object's. NULL: no memory, as whatever is packed into another one. */
static json_t *object_add(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) == 0) /* it takes @value in any case */
		return object;
	json_decref(object);
	return NULL;
}

/* What a processor's touches of managed memory, and prefetches to it, came to. */
static json_t *output_json_managed_of(const struct gpu_managed_counts *counts)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "faults",
			 whole(counts->faults), "fault_ps", whole(counts->time), "moved_bytes",
			 whole(counts->moved), "populated_bytes", whole(counts->populated),
			 "duplicated_bytes", whole(counts->copied), "prefetched_bytes",
			 whole(counts->prefetched), "evicted_bytes", whole(counts->evicted),
			 "mapped_pages", whole(counts->mapped), "collapsed_pages",
			 whole(counts->collapsed), "throttled", whole(counts->throttled),
			 "pinned_pages", whole(counts->pinned));
}

/* Of each processor of the machine. */
static json_t *output_json_add_managed(const struct result_machine *machine, json_t *all)
{
	static const struct gpu_managed_counts none[GPU_MANAGED_OWNERS];
	const struct gpu_managed_counts *counts =
		machine->managed ? machine->managed->counts : none;
	const bool has_any = machine->managed || (machine->is_bare && machine->gpu_count > 0 &&
						  machine->gpu_count < GPU_MANAGED_OWNERS);
	json_t *managed = has_any ? json_object() : NULL;

	if (!has_any)
		return all;
	managed = object_add(managed, "cpu", output_json_managed_of(&counts[GPU_CPU]));
	for (uint32_t n = 0; n < machine->gpu_count; n++)
		managed = object_add(managed, machine->gpus[n].part,
				     output_json_managed_of(&counts[n + 1]));
	return object_add(all, "managed", managed);
}

/* ---- GPUs ---- */

static json_t *output_json_engine_of(const struct copy_stats *stats)
{
	return json_pack("{s:o,s:o,s:o}", "copies", whole(stats->copies), "bytes",
			 whole(stats->bytes), "busy_ps", whole(stats->busy));
}

static json_t *output_json_gpu_of(const struct result_gpu *gpu)
{
	const struct gpu_counts *counts = &gpu->counts;
	const struct gpu_work_counts *kernels = &counts->works[GPU_KERNEL];
	json_t *engines = json_object();

	for (uint32_t k = 0; k < GPU_ENGINES; k++)
		engines = object_add(engines, gpu_engine_names[k],
				     output_json_engine_of(&gpu->engines[k]));
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "engines",
			 engines, "kernels", whole(kernels->count), "kernels_ps",
			 whole(kernels->time), "staged_bytes",
			 whole(counts->staged_bytes + counts->works[GPU_STAGED].bytes +
			       counts->works[GPU_PUSHED_COPY].bytes),
			 "staged_ps", whole(counts->staged_time), "pins", whole(counts->pins),
			 "pins_ps", whole(counts->pin_time), "flushes", whole(counts->flushes),
			 "flushes_ps", whole(counts->flush_time), "window_bytes",
			 whole(gpu->window), "window_max_bytes", whole(counts->windowed_max),
			 "window_refused", whole(counts->refused), "stale_reads",
			 whole(counts->stale_reads), "stale_bytes", whole(counts->stale_bytes));
}

static json_t *output_json_add_gpus(const struct result_machine *machine, json_t *all)
{
	json_t *gpus = machine->gpu_count > 0 ? json_object() : NULL;

	for (uint32_t i = 0; i < machine->gpu_count; i++)
		gpus = object_add(gpus, machine->gpus[i].part,
				  output_json_gpu_of(&machine->gpus[i]));
	return machine->gpu_count > 0 ? object_add(all, "gpus", gpus) : all;
}

/* Names of keys, of figures that nobody has published. */
static json_t *output_json_add_guesses(const struct result_machine *machine, json_t *all)
{
	const char *at = machine->is->guesses;
	json_t *guesses = at ? json_array() : NULL;

	if (!at)
		return all;
	for (; *at; at += strspn(at, ", ")) {
		const size_t length = strcspn(at, ",");

		if (guesses && json_array_append_new(guesses, json_stringn(at, length)) != 0) {
			json_decref(guesses);
			guesses = NULL;
		}
		at += length;
	}
	return object_add(all, "guesses", guesses);
}

static json_t *output_json_machine_of(const struct result_machine *machine)
{
	json_t *lanes = json_object(), *tags = json_object();

	for (uint32_t i = 0; i < machine->lane_count; i++) {
		struct bad_text name;

		lanes = object_add(lanes,
				   bad_text(&name, "%s>%s%s", machine->lanes[i].from,
					    machine->lanes[i].to, machine_way_mark(machine->is, i)),
				   output_json_lane_of(&machine->lanes[i]));
	}
	for (uint32_t i = 0; i < machine->tag_count; i++)
		tags = object_add(tags, machine->tags[i].part,
				  output_json_tags_of(&machine->tags[i]));
	return output_json_add_guesses(
		machine,
		output_json_add_managed(
			machine, output_json_add_gpus(machine, json_pack("{s:o,s:o}", "lanes",
									 lanes, "tags", tags))));
}

/* Nothing where no host has a machine. */
static json_t *output_json_add_machines(const struct result *result, json_t *all)
{
	json_t *machines = result->machine_count ? json_object() : NULL;

	for (uint32_t i = 0; i < result->machine_count; i++)
		machines = object_add(machines, result->machines[i].name,
				      output_json_machine_of(&result->machines[i]));
	return result->machine_count ? object_add(all, "machines", machines) : all;
}

static json_t *without_machines(const struct result *result)
{
	char digest[17];

	snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)result->digest);
	return json_pack(
		"{s:i,s:s,s:s,s:o,s:s,s:b,s:o,s:f,s:o,s:o,s:o,s:o,s:o,s:{s:o,s:o,s:o,s:o,s:o,"
		"s:o},s:{s:o},"
		"s:{s:o,s:o,s:o},s:{s:o},s:{s:o,s:o,s:o,s:o,s:o},s:{s:o,s:o,s:o},s:{s:o,s:o,s:o},"
		"s:o,s:o,s:o}",
		"schema", 2, "version", result->version, "scenario", result->scenario->name, "seed",
		whole(result->scenario->seed), "digest", digest, "partial", (int)result->partial,
		"time_ps", whole(result->time), "wall_s", result->wall_s, "events",
		whole(result->events), "packet_hops", whole(result->packet_hops),
		"packets_retransmitted", whole(result->packets_retransmitted), "flows",
		flows_of(result), "drops", drops_of(result), "pfc", "pause_sent",
		whole(result->pfc.pause_sent), "resume_sent", whole(result->pfc.resume_sent),
		"paused_ps", whole(result->pfc.paused), "paused_at_end",
		whole(result->pfc.paused_at_end), "storms", whole(result->pfc.storms),
		"storms_over", whole(result->pfc.storms_over), "ecn", "marked",
		whole(result->marked), "cnp", "sent", whole(result->cnp_sent), "handled",
		whole(result->cnp_handled), "ignored", whole(result->cnp_ignored), "queue",
		"max_bytes", whole(result->queue_max_bytes), "reroutes", "flows",
		whole(result->reroutes.rerouted), "kept", whole(result->reroutes.kept),
		"kept_max_bytes", whole(result->reroutes.kept_bytes_max), "overdue",
		whole(result->reroutes.overdue), "untracked", whole(result->reroutes.untracked),
		"floods", "packets", whole(result->floods.packets), "copies",
		whole(result->floods.copies), "discarded", whole(result->floods.discarded),
		"multicast", "packets", whole(result->multicast.packets), "copies",
		whole(result->multicast.copies), "discarded", whole(result->multicast.discarded),
		"fct", fct_of(result), "programs", programs_of(result), "expect",
		expects_of(result));
}

json_t *output_json_value(const struct result *result)
{
	return output_json_add_machines(result, without_machines(result));
}

int output_json(const struct result *result, FILE *file)
{
	json_t *all = output_json_value(result);
	int ret = 0;

	if (!all)
		return -ENOMEM;
	/* 15 digits: what was rounded to millionths is shown as that. */
	if (json_dumpf(all, file, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) != 0 ||
	    fputc('\n', file) == EOF)
		ret = -EIO;
	json_decref(all);
	return ret;
}
