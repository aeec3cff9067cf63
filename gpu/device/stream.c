/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/stream.h"

#include "gpu/device/kernel.h"
#include "util/alloc.h"
#include "util/check.h"

#include <string.h>

enum { DOORBELL_BYTES = 8 };

/* ---- marks ---- */

struct gpu_mark *gpu_mark_create(void)
{
	struct gpu_mark *mark = util_calloc(1, sizeof(*mark));

	if (mark)
		mark->users = 1;
	return mark;
}

void gpu_mark_put(struct gpu_mark *mark)
{
	if (mark && --mark->users == 0)
		util_free(mark);
}

/* ---- effects ---- */

static void set_row(const struct gpu_command *command, uint8_t *to, uint64_t bytes)
{
	uint8_t pattern[4];

	if (command->pattern_bytes == 1) {
		memset(to, (int)(command->pattern & 0xff), bytes);
		return;
	}
	if (command->pattern_bytes == 2)
		memcpy(pattern, &(uint16_t){(uint16_t)command->pattern}, 2);
	else
		memcpy(pattern, &command->pattern, 4);
	for (uint64_t i = 0; i < bytes; i += command->pattern_bytes)
		memcpy(to + i, pattern, command->pattern_bytes);
}

static void set_bytes(const struct gpu_command *command)
{
	for (uint64_t done = 0, run; done < command->bytes; done += run) {
		const uint64_t at = copy_side_at(&command->to_side, done, &run);

		run = run < command->bytes - done ? run : command->bytes - done;
		set_row(command, (uint8_t *)command->to + at, run);
	}
}

static void note_rows_read(const struct gpu_command *command)
{
	for (uint64_t done = 0, run; done < command->bytes; done += run) {
		const uint64_t at = copy_side_at(&command->from_side, done, &run);

		run = run < command->bytes - done ? run : command->bytes - done;
		gpu_note_read(command->stream->context->gpu, (const uint8_t *)command->from + at,
			      run);
	}
}

/* What can be seen of @command in memory. */
static void take_effect(struct gpu_command *command, ps_t now)
{
	if (command->work == GPU_MARK) {
		command->mark->is_over = true;
		command->mark->at = now;
	} else if (command->work == GPU_SET || command->work == GPU_SET_FEW) {
		set_bytes(command);
	} else if (command->work == GPU_WRITE_VALUE) {
		gpu_write_value(&command->value);
	} else if (command->to && !command->job.to) {
		if (command->work == GPU_WITHIN)
			note_rows_read(command);
		copy_sides(command->to, &command->to_side, command->from, &command->from_side,
			   command->bytes);
	}
}

/* ---- commands ---- */

static const struct gpu_cost *cost_of(const struct gpu_command *command)
{
	return &command->stream->context->gpu->profile->costs[command->work];
}

static void command_free(struct gpu_command *command)
{
	gpu_mark_put(command->mark);
	gpu_kernel_destroy(command->kernel);
	gpu_migration_fini(&command->migration);
	util_free(command->copy);
	util_free(command);
}

static void forget_wait(const struct gpu_command *command)
{
	if (command->work == GPU_WAIT)
		command->stream->context->gpu->marks_awaited--;
}

static void stream_free(struct gpu_stream *stream)
{
	struct gpu_stream **at = &stream->context->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	while (stream->first) {
		struct gpu_command *command = stream->first;

		stream->first = command->next;
		forget_wait(command);
		command_free(command);
	}
	util_free(stream);
}

void gpu_stream_let_go(struct gpu_stream *stream)
{
	if (stream->is_doomed && !stream->first && stream->users == 0)
		stream_free(stream);
}

static bool context_go(struct gpu_context *context, ps_t now);

static void count_work(const struct gpu_command *command, ps_t now)
{
	struct gpu_work_counts *counts =
		&command->stream->context->gpu->counts.works[command->work];

	counts->count++;
	counts->bytes += command->bytes;
	if (command->is_begun)
		counts->time += now - command->begun_at;
}

/* The first command of its stream is over. */
static void command_end(struct gpu_command *command, ps_t now)
{
	struct gpu_stream *stream = command->stream;
	struct gpu *gpu = stream->context->gpu;

	CHECK(stream->first == command);
	if (stream->context->how == GPU_KERNEL_WELL || command->work == GPU_MARK)
		take_effect(command, now);
	stream->first = command->next;
	stream->count--;
	if (command->work == GPU_STAGED)
		stream->staged -= command->bytes;
	forget_wait(command);
	count_work(command, now);
	stream->over = command->number;
	stream->before = command->work;
	if (gpu->on_done)
		gpu->on_done(gpu, command, now);
	command_free(command);
	gpu_stream_let_go(stream);
}

void gpu_command_end(struct gpu_command *command, ps_t now)
{
	struct gpu_context *context = command->stream->context;

	command_end(command, now);
	(void)context_go(context, now);
	context->changed(context, now);
}

/* A kernel, or a write, has failed, and with it everything in its context. */
static void on_failure(struct gpu_command *command, enum gpu_kernel_end how, ps_t now)
{
	struct gpu_context *context = command->stream->context;

	context->how = how;
	gpu_context_look(context, now);
	gpu_command_end(command, now);
}

static void on_timer(struct sim_local_event *event, void *context)
{
	struct gpu_command *command = container_of(event, struct gpu_command, event);

	(void)context;
	if (command->work == GPU_WRITE_VALUE && command->value.is_read_only)
		on_failure(command, GPU_KERNEL_TRAPPED, event->at);
	else
		gpu_command_end(command, event->at);
}

static void end_later(struct gpu_command *command, ps_t at)
{
	command->event.fn = on_timer;
	sim_local_schedule(command->stream->context->gpu->local, &command->event, at);
}

/* How long the GPU has to do with it, beside what crosses the bus. */
static ps_t time_of(const struct gpu_command *command)
{
	const struct gpu_cost *cost = cost_of(command);
	const struct gpu_stream *stream = command->stream;
	ps_t time = cost->start + command->time;

	if (cost->rate_bps > 0)
		time += util_tx_time(command->bytes, cost->rate_bps);
	if (command->work == GPU_MARK &&
	    (stream->before == GPU_PUSHED || stream->before == GPU_PUSHED_COPY))
		time += stream->context->gpu->profile->after_push;
	return time < cost->least ? cost->least : time;
}

static void on_copied(struct copy_job *job, ps_t now)
{
	gpu_command_end(container_of(job, struct gpu_command, job), now);
}

/* Whoever looks at memory finds a copy burst by burst. */
static void on_placed(struct copy_job *job, ps_t now)
{
	struct gpu_context *context = container_of(job, struct gpu_command, job)->stream->context;

	context->placed(context, now);
}

/* What was pushed is there, and the GPU takes it in. */
static void on_pushed(struct copy_job *job, ps_t now)
{
	struct gpu_command *command = container_of(job, struct gpu_command, job);

	end_later(command, now + time_of(command));
}

static void on_copy_read(struct copy_job *job, const uint8_t *from, uint32_t bytes)
{
	gpu_note_read(container_of(job, struct gpu_command, job)->stream->context->gpu, from,
		      bytes);
}

/* What an engine takes before the first byte of a copy. Another GPU, behind PCI Express as host
 * memory is, is read and written as that is. */
static ps_t start_of(const struct gpu_command *command, const struct copy_engine *engine,
		     uint32_t other)
{
	const struct gpu_cost *costs = command->stream->context->gpu->profile->costs;

	if (command->work != GPU_TO_PEER || bus_has_nvlink(engine->bus, engine->own, other))
		return cost_of(command)->start;
	return costs[engine->reads ? GPU_TO_DEVICE : GPU_FROM_DEVICE].start;
}

static void begin_copy(struct gpu_command *command, struct copy_engine *engine, uint32_t other,
		       ps_t now)
{
	const struct gpu_cost *cost = cost_of(command);

	command->job = (struct copy_job){
		.bytes = command->bytes,
		.to = command->to,
		.from = command->from,
		.to_side = command->to_side,
		.from_side = command->from_side,
		.start = start_of(command, engine, other) + command->time,
		.least = cost->rate_bps ? util_tx_time(command->bytes, cost->rate_bps) : 0,
		.other = other,
		.on_done = on_copied,
		.on_placed = on_placed,
		.on_read = engine->reads ? NULL : on_copy_read};
	copy_engine_take(engine, &command->job, now);
}

static void look_at_value(struct gpu_command *command, ps_t now)
{
	const struct gpu_context *context = command->stream->context;

	if (!gpu_has_value(&command->value) && context->how == GPU_KERNEL_WELL)
		return;
	context->gpu->values_awaited--;
	end_later(command, now + time_of(command));
}

static void begin_work(struct gpu_command *command, ps_t now);

static void on_migrated(struct gpu_migration *migration, ps_t now)
{
	begin_work(container_of(migration, struct gpu_command, migration), now);
}

/* Its managed memory from @first on, each row where it lies. */
static void touch_rows(const struct gpu_command *command, struct gpu_touch *touch, uint64_t first,
		       const struct copy_side *side, bool is_write)
{
	const uint64_t bytes = command->value.at ? command->value.bytes : command->bytes;
	struct gpu_managed *managed = command->stream->context->gpu->managed;

	for (uint64_t done = 0, run; done < bytes; done += run) {
		const uint64_t at = first + copy_side_at(side, done, &run);

		run = run < bytes - done ? run : bytes - done;
		gpu_managed_touch(managed, touch, at, run, is_write);
	}
}

/* What its memory needs that is managed. False: it may begin, with command->time; else it begins
 * when everything has come. */
static bool wait_for_managed(struct gpu_command *command, ps_t now)
{
	const struct gpu *gpu = command->stream->context->gpu;
	struct gpu_touch touch = {.who = command->work == GPU_PREFETCH ? command->goal : gpu->place,
				  .by = GPU_BY_ENGINE,
				  .now = now};

	if (command->work == GPU_PREFETCH) {
		const uint64_t bytes = command->bytes;
		const uint64_t missing =
			gpu_managed_missing(gpu->managed, touch.who, command->managed_to, bytes);

		touch.time = gpu_managed_prefetch_time(touch.who, missing, bytes);
		gpu_managed_prefetch(gpu->managed, &touch, command->managed_to, bytes);
	} else {
		if (command->managed_from)
			touch_rows(command, &touch, command->managed_from, &command->from_side,
				   false);
		if (command->managed_to)
			touch_rows(command, &touch, command->managed_to, &command->to_side,
				   command->work != GPU_WAIT_VALUE);
	}
	touch.time += gpu_managed_there_time(&touch);
	command->migration.on_done = on_migrated;
	if (gpu_migrate(&command->migration, &touch, touch.time, now))
		return true;
	command->time += touch.time;
	return false;
}

void gpu_context_end(struct gpu_context *context, ps_t now)
{
	if (context->how == GPU_KERNEL_WELL)
		context->how = GPU_KERNEL_TRAPPED;
	gpu_context_look(context, now);
	if (context_go(context, now))
		context->changed(context, now);
}

static const struct gpu_kernel_ends kernel_ends = {.over = gpu_command_end, .failed = on_failure};

static void begin_work(struct gpu_command *command, ps_t now)
{
	struct gpu_context *context = command->stream->context;
	struct gpu *gpu = context->gpu;

	switch (command->work) {
	case GPU_PUSHED:
	case GPU_PUSHED_COPY:
		command->job = (struct copy_job){
			.bytes = command->bytes, .other = gpu->part, .on_done = on_pushed};
		copy_engine_take(&gpu->pushed, &command->job, now);
		return;
	case GPU_TO_DEVICE:
	case GPU_STAGED:
		begin_copy(command, &gpu->to, gpu->host_part, now);
		return;
	case GPU_FROM_DEVICE:
		begin_copy(command, &gpu->from, gpu->host_part, now);
		return;
	case GPU_TO_PEER:
		begin_copy(command, command->pulls ? &command->mover->pull : &command->mover->peer,
			   command->peer->part, now);
		return;
	case GPU_HOST_FUNCTION:
		context->call(context, command, now);
		return;
	case GPU_WAIT_VALUE:
		gpu->values_awaited++;
		look_at_value(command, now);
		return;
	case GPU_KERNEL:
		gpu_kernel_begin(command, &kernel_ends, now);
		return;
	case GPU_WITHIN:
	case GPU_SET_FEW:
	case GPU_SET:
	case GPU_MARK:
	case GPU_WRITE_VALUE:
	case GPU_PREFETCH:
		end_later(command, now + time_of(command));
		return;
	case GPU_WAIT:
	case GPU_WORKS:
		break;
	}
	CHECK(command->work != GPU_WAIT && command->work != GPU_WORKS);
}

static void begin(struct gpu_command *command, ps_t now)
{
	command->is_begun = true;
	command->begun_at = now;
	if ((command->managed_to || command->managed_from) && wait_for_managed(command, now))
		return;
	begin_work(command, now);
}

/* ---- order ---- */

/* Whether @stream has something to do that came before @number. */
static bool is_behind(const struct gpu_stream *stream, uint64_t number)
{
	return stream->first && stream->first->number < number;
}

/* What the legacy stream and those that have it in their order wait for. */
static bool waits_for_others(const struct gpu_command *command)
{
	const struct gpu_stream *own = command->stream;

	if (own->kind == GPU_NON_BLOCKING)
		return false;
	for (const struct gpu_stream *other = own->context->streams; other; other = other->next) {
		const bool is_ordered = own->kind == GPU_LEGACY ? other->kind != GPU_NON_BLOCKING
								: other->kind == GPU_LEGACY;

		if (other != own && is_ordered && is_behind(other, command->number))
			return true;
	}
	return false;
}

/* The first command of @stream begins, or is over at once, where it may. */
static bool stream_goes(struct gpu_stream *stream, ps_t now)
{
	struct gpu_command *command = stream->first;

	if (!command || !command->is_heard || command->is_begun || waits_for_others(command))
		return false;
	if (stream->context->how != GPU_KERNEL_WELL) {
		command_end(command, now);
		return true;
	}
	if (command->work != GPU_WAIT) {
		begin(command, now);
		return true;
	}
	if (!command->mark->is_over)
		return false;
	command_end(command, now);
	return true;
}

/* False: nothing does. */
static bool context_go(struct gpu_context *context, ps_t now)
{
	bool goes = true, went = false;

	while (goes) {
		goes = false;
		for (struct gpu_stream *stream = context->streams, *next; stream; stream = next) {
			next = stream->next;
			goes |= stream_goes(stream, now);
		}
		went |= goes;
	}
	return went;
}

bool gpu_context_go_on(struct gpu_context *context, ps_t now)
{
	return context_go(context, now);
}

static void on_heard(struct sim_local_event *event, void *context)
{
	struct gpu_command *command = container_of(event, struct gpu_command, event);
	struct gpu_context *own = command->stream->context;
	const ps_t now = event->at; /* which goes with the command, where that is over at once */

	(void)context;
	command->is_heard = true;
	(void)context_go(own, now);
	/* One that waits for a mark may be over, one that waits for a value may have begun. */
	own->changed(own, now);
}

/* The rest of the way into the GPU. */
static void on_doorbell(struct bus_burst *burst, void *context, ps_t now)
{
	struct gpu_command *command = container_of(burst, struct gpu_command, doorbell);
	const struct gpu *gpu = command->stream->context->gpu;

	(void)context;
	sim_local_schedule(gpu->local, &command->event, now + gpu->profile->submit);
}

static const struct bus_burst_ops doorbell_ops = {.arrived = on_doorbell};

void gpu_stream_take(struct gpu_stream *stream, struct gpu_command *command, ps_t now)
{
	struct gpu *gpu = stream->context->gpu;

	command->stream = stream;
	command->number = ++stream->context->commands;
	command->next = NULL;
	command->event = (struct sim_local_event){
		.key = gpu_key(gpu), .phase = SIM_LOCAL_ARRIVAL, .fn = on_heard};
	stream->begun = command->number;
	stream->last_work = command->work;
	stream->count++;
	if (command->work == GPU_STAGED)
		stream->staged += command->bytes;
	if (command->work == GPU_WAIT)
		gpu->marks_awaited++;
	*(stream->first ? &stream->last->next : &stream->first) = command;
	stream->last = command;
	/* A GPU that keeps the order of writes by others hears of it behind them. */
	if (gpu->writes_ordering >= GPU_ORDERED_FOR_OWNER) {
		command->doorbell =
			(struct bus_burst){.ops = &doorbell_ops, .bytes = DOORBELL_BYTES};
		bus_write(gpu->bus, &command->doorbell, gpu->host_part, gpu->part, now);
	} else {
		sim_local_schedule(gpu->local, &command->event, now + gpu->profile->submit);
	}
}

void gpu_context_look(struct gpu_context *context, ps_t now)
{
	for (struct gpu_stream *stream = context->streams; stream; stream = stream->next) {
		struct gpu_command *command = stream->first;

		if (!command || !command->is_begun || command->event.pending ||
		    command->migration.under_way > 0)
			continue;
		if (command->work == GPU_WAIT_VALUE)
			look_at_value(command, now);
		else if (command->work == GPU_KERNEL)
			gpu_kernel_look(command->kernel, now);
	}
}

/* ---- streams ---- */

struct gpu_stream *gpu_stream_create(struct gpu_context *context, enum gpu_stream_kind kind)
{
	struct gpu_stream *stream = util_calloc(1, sizeof(*stream)), **at = &context->streams;

	if (!stream)
		return NULL;
	stream->kind = kind;
	stream->context = context;
	stream->number = context->stream_count++;
	stream->before = GPU_MARK;
	while (*at)
		at = &(*at)->next;
	*at = stream;
	return stream;
}

void gpu_stream_destroy(struct gpu_stream *stream)
{
	stream->is_doomed = true;
	gpu_stream_let_go(stream);
}

void gpu_context_fini(struct gpu_context *context)
{
	while (context->streams)
		stream_free(context->streams);
}
