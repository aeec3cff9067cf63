/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/flow_log.h"

#include "tools/result/result.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MICRO = 1000000 };

/* Values up to 1023 have a place each; above that each power of two is cut into 512, so that the
 * middle of a place is within 1 / 1024 of all that is in it. */
enum { FINE_BITS = 9, PLACES = (64 - FINE_BITS) << FINE_BITS };

struct histogram {
	uint64_t counts[PLACES], count;
	u128 sum;
};

struct stream_class { /* of a stream */
	uint64_t posted, bytes;
	ps_t first_start, last_end;
	struct histogram fct, slowdown; /* of those that are ok; the latter in millionths */
};

struct row { /* in the file */
	uint64_t bytes, start_at, end_at, ideal, packets_retransmitted;
	uint32_t src, dst, class_index;
	uint8_t priority, status, is_sent, is_there;
	int8_t wc_status;
};

struct flow_log {
	struct traffic_listener listener;
	const struct scenario *scenario;
	const struct traffic *traffic;
	struct stream_class **classes; /* NULL: without a stream */
	int fd;			       /* -1: no rows */
	uint64_t row_count;	       /* up to the largest number heard of */
};

/* ---- histograms ---- */

static uint32_t flow_log_place_of(uint64_t value)
{
	const uint32_t shift =
		value >> (FINE_BITS + 1) ? 63 - (uint32_t)__builtin_clzll(value) - FINE_BITS : 0;

	return (shift << FINE_BITS) + (uint32_t)(value >> shift);
}

/* The middle of a place. */
static uint64_t value_of(uint32_t place)
{
	const uint32_t shift = place >> (FINE_BITS + 1) ? (place >> FINE_BITS) - 1 : 0;
	const uint64_t least = (uint64_t)(place - (shift << FINE_BITS)) << shift;

	return least + (shift ? (uint64_t)1 << (shift - 1) : 0);
}

static void flow_log_add(struct histogram *histogram, uint64_t value)
{
	histogram->counts[flow_log_place_of(value)]++;
	histogram->count++;
	histogram->sum += value;
}

/* As the smallest value that at least @per_mille of all are not above. */
static uint64_t flow_log_rank_of(const struct histogram *histogram, uint64_t per_mille)
{
	const uint64_t rank = (histogram->count * per_mille + 999) / 1000;
	uint64_t below = 0;

	for (uint32_t place = 0; place < PLACES; place++) {
		below += histogram->counts[place];
		if (below >= rank && below > 0)
			return value_of(place);
	}
	return 0;
}

static uint64_t flow_log_mean_of(const struct histogram *histogram)
{
	return (uint64_t)(histogram->sum / histogram->count);
}

/* ---- listening ---- */

static void flow_log_take(struct stream_class *class, const struct traffic_flow *flow, ps_t ideal)
{
	const ps_t fct = flow->end_at - flow->start_at;

	class->posted++;
	if (flow->start_at < class->first_start)
		class->first_start = flow->start_at;
	if (flow->status != TRAFFIC_OK)
		return;
	if (flow->end_at > class->last_end)
		class->last_end = flow->end_at;
	class->bytes += flow->bytes;
	flow_log_add(&class->fct, fct);
	if (ideal != PS_NEVER && ideal > 0)
		flow_log_add(&class->slowdown, (uint64_t)(((u128)fct * MICRO + ideal / 2) / ideal));
}

static int write_row(struct flow_log *log, const struct traffic_flow *flow, uint64_t id, ps_t ideal)
{
	const uint64_t number = id - log->scenario->flow_count;
	const struct row row = {
		.bytes = flow->bytes,
		.start_at = flow->start_at,
		.end_at = flow->end_at,
		.ideal = ideal,
		.packets_retransmitted = traffic_retransmitted(flow),
		.src = flow->src,
		.dst = flow->dst,
		.class_index = flow->class_index,
		.priority = flow->priority,
		.status = (uint8_t)flow->status,
		.is_sent = flow->is_sent,
		.is_there = 1,
		.wc_status = (int8_t)flow->wc_status,
	};

	if (pwrite(log->fd, &row, sizeof(row), (off_t)(number * sizeof(row))) != sizeof(row))
		return errno ? -errno : -EIO;
	if (number >= log->row_count)
		log->row_count = number + 1;
	return 0;
}

static int on_flow(struct traffic_listener *listener, const struct traffic_flow *flow, uint64_t id)
{
	struct flow_log *log = container_of(listener, struct flow_log, listener);
	const ps_t ideal = traffic_ideal(log->traffic, flow);

	flow_log_take(log->classes[flow->class_index], flow, ideal);
	errno = 0;
	return log->fd >= 0 ? write_row(log, flow, id, ideal) : 0;
}

/* ---- begin and end ---- */

static int open_rows(const char *folder)
{
	char path[4096];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || errno == ENOSPC || errno == EACCES)
		return fd;
	/* A file system that knows no files without names. */
	snprintf(path, sizeof(path), "%s/.flows.XXXXXX", folder);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

struct flow_log *flow_log_create(const struct scenario *scenario, const char *folder)
{
	struct flow_log *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	log->scenario = scenario;
	log->listener.on_flow = on_flow;
	log->fd = folder ? open_rows(folder) : -1;
	log->classes = calloc((size_t)scenario->class_count + 1, sizeof(struct stream_class *));
	if (!log->classes || (folder && log->fd < 0))
		goto err;
	for (uint32_t i = 0; i < scenario->stream_count; i++) {
		struct stream_class *class = calloc(1, sizeof(*class));

		if (!class)
			goto err;
		class->first_start = PS_NEVER;
		log->classes[scenario->streams[i].class_index] = class;
	}
	return log;
err:
	flow_log_destroy(log);
	return NULL;
}

void flow_log_destroy(struct flow_log *log)
{
	if (!log)
		return;
	for (uint32_t i = 0; log->classes && i < log->scenario->class_count; i++)
		free(log->classes[i]);
	free(log->classes);
	if (log->fd >= 0)
		close(log->fd);
	free(log);
}

struct traffic_listener *flow_log_listener(struct flow_log *log)
{
	return log ? &log->listener : NULL;
}

void flow_log_attach(struct flow_log *log, const struct traffic *traffic)
{
	log->traffic = traffic;
}

/* ---- results ---- */

bool flow_log_class(const struct flow_log *log, uint32_t number, struct result_class *ret_class)
{
	const struct stream_class *class = log ? log->classes[number] : NULL;

	if (!class)
		return false;
	ret_class->posted = class->posted;
	ret_class->count = class->fct.count;
	if (class->fct.count == 0)
		return true;
	ret_class->times.mean = flow_log_mean_of(&class->fct);
	ret_class->times.p50 = flow_log_rank_of(&class->fct, 500);
	ret_class->times.p99 = flow_log_rank_of(&class->fct, 990);
	ret_class->times.p999 = flow_log_rank_of(&class->fct, 999);
	ret_class->goodput_bps =
		(uint64_t)((u128) class->bytes * 8 * PS_S / (class->last_end - class->first_start));
	ret_class->flow_bps = result_flow_bps(class->bytes, ret_class);
	ret_class->slowdown_count = class->slowdown.count;
	if (class->slowdown.count == 0)
		return true;
	ret_class->slowdown_mean = (double)flow_log_mean_of(&class->slowdown) / MICRO;
	ret_class->slowdown_p99 = (double)flow_log_rank_of(&class->slowdown, 990) / MICRO;
	return true;
}

ps_t flow_log_last_end(const struct flow_log *log)
{
	ps_t last = 0;

	for (uint32_t i = 0; log && i < log->scenario->class_count; i++)
		if (log->classes[i] && log->classes[i]->last_end > last)
			last = log->classes[i]->last_end;
	return last;
}

int flow_log_rows(const struct flow_log *log,
		  int (*each)(void *owner, uint64_t id, const struct flow_log_row *row),
		  void *owner)
{
	enum { AT_ONCE = 1024 };
	struct row rows[AT_ONCE];
	int ret = 0;

	for (uint64_t first = 0; log && first < log->row_count && !ret; first += AT_ONCE) {
		const ssize_t bytes =
			pread(log->fd, rows, sizeof(rows), (off_t)(first * sizeof(struct row)));

		if (bytes <= 0)
			return bytes < 0 ? -errno : -EIO;
		for (uint64_t i = 0; i < (size_t)bytes / sizeof(struct row) && !ret; i++) {
			const struct row *r = &rows[i];
			const struct flow_log_row row = {
				.flow = {.src = r->src,
					 .dst = r->dst,
					 .class_index = r->class_index,
					 .priority = r->priority,
					 .bytes = r->bytes,
					 .start_at = r->start_at,
					 .status = (enum traffic_status)r->status,
					 .is_sent = r->is_sent,
					 .wc_status = r->wc_status,
					 .end_at = r->end_at,
					 .packets_retransmitted = r->packets_retransmitted},
				.ideal = r->ideal,
			};

			if (r->is_there)
				ret = each(owner, log->scenario->flow_count + first + i, &row);
		}
	}
	return ret;
}
