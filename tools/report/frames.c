/* SPDX-License-Identifier: BSD-2-Clause */

/* Each port over time, for the slider: what it sent and how long it was paused in a frame, and the
 * most that waited. */
#include "tools/report/parts.h"

#include "tools/report/columns.h"
#include "tools/report/frames.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES_MIN = 12, NUMBERS_MAX = 120000 };

void report_frames_of(const struct sampler *sampler, struct report_frames *ret_frames)
{
	const uint32_t steps = sampler->point_count - 1;
	uint32_t count = NUMBERS_MAX / (sampler->port_count + 1);

	count = count < FRAMES_MIN ? FRAMES_MIN : count > FRAMES_MAX ? FRAMES_MAX : count;
	ret_frames->sampler = sampler;
	ret_frames->count = steps < count ? steps : count;
	for (uint32_t k = 0; k <= ret_frames->count; k++)
		ret_frames->ends[k] = (uint32_t)((uint64_t)k * steps / ret_frames->count);
}

static const struct sampler_trace *trace_at(const struct sampler *sampler, uint32_t point,
					    uint32_t port)
{
	return &sampler->traces[(size_t)point * sampler->port_count + port];
}

static uint64_t sent_in(const struct report_frames *frames, uint32_t frame, uint32_t port)
{
	return trace_at(frames->sampler, frames->ends[frame + 1], port)->sent_bytes -
	       trace_at(frames->sampler, frames->ends[frame], port)->sent_bytes;
}

static uint64_t paused_in(const struct report_frames *frames, uint32_t frame, uint32_t port)
{
	return trace_at(frames->sampler, frames->ends[frame + 1], port)->paused -
	       trace_at(frames->sampler, frames->ends[frame], port)->paused;
}

static uint64_t queued_in(const struct report_frames *frames, uint32_t frame, uint32_t port)
{
	const struct sampler *sampler = frames->sampler;
	uint32_t most = 0;

	if (port >= sampler->queue_count)
		return 0; /* a host */
	for (uint32_t k = frames->ends[frame] + 1; k <= frames->ends[frame + 1]; k++) {
		const uint32_t bytes = sampler->queues[(size_t)k * sampler->queue_count + port];

		most = bytes > most ? bytes : most;
	}
	return most;
}

/* Without the zeros at the end, of which an idle port has nothing else. */
static json_t *column_of(const struct report_frames *frames, uint32_t port,
			 uint64_t (*value)(const struct report_frames *frames, uint32_t frame,
					   uint32_t port))
{
	uint32_t count = frames->count;
	json_t *column = json_array();

	while (count > 0 && value(frames, count - 1, port) == 0)
		count--;
	for (uint32_t k = 0; k < count; k++)
		column = column_add_number(column, value(frames, k, port));
	return column;
}

static int frames_compare_names(const void *a, const void *b)
{
	const struct result_link *x = a, *y = b;
	const int order = strcmp(x->node, y->node);

	return order ? order : strcmp(x->link, y->link);
}

/* The sampler's number of each of result.links. NULL: no memory. */
static uint32_t *numbers_of(const struct result *result, const struct sampler *sampler)
{
	uint32_t *numbers = calloc(result->link_count + 1, sizeof(*numbers));

	for (uint32_t i = 0; numbers && i < sampler->port_count; i++) {
		struct result_link wanted = {.node = NULL};
		const struct result_link *link;

		sampler_name(sampler, i, &wanted.node, &wanted.link);
		link = bsearch(&wanted, result->links, result->link_count, sizeof(wanted),
			       frames_compare_names);
		if (link)
			numbers[link - result->links] = i;
	}
	return numbers;
}

json_t *report_frames(const struct report *report)
{
	struct report_frames frames;
	const struct result *result = report->result;
	uint32_t *numbers = numbers_of(result, report->sampler);
	json_t *at = numbers ? json_array() : NULL;
	json_t *sent = json_array(), *paused = json_array(), *queued = json_array();

	report_frames_of(report->sampler, &frames);
	for (uint32_t k = 0; k < frames.count; k++)
		at = column_add_number(at, report->sampler->points[frames.ends[k + 1]].at);
	for (uint64_t i = 0; numbers && i < result->link_count; i++) {
		sent = column_add(sent, column_of(&frames, numbers[i], sent_in));
		paused = column_add(paused, column_of(&frames, numbers[i], paused_in));
		queued = column_add(queued, column_of(&frames, numbers[i], queued_in));
	}
	free(numbers);
	return json_pack("{s:o,s:o,s:o,s:o}", "at_ps", at, "sent_bytes", sent, "paused_ps", paused,
			 "queue_bytes", queued);
}
