/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_MACHINE_WATCH_H
#define TOOLS_MACHINE_WATCH_H

/* What the lanes, tags and GPUs of a machine have done in a span of time: from the begin of the
 * run, or from machine_watch_begin(), to machine_watch_end(). */
#include "tools/observe/machines.h"

struct machine_watch {
	const struct machine_seen *machine; /* NULL: nobody looks */
	ps_t from, until;
	/* Then and then: of each way, and of each part. */
	struct bus_way_stats *ways[2];
	struct bus_tag_stats *tags[2];
	struct machine_watch_gpu *gpus[2];     /* of each GPU */
	struct gpu_managed_counts *managed[2]; /* of each processor, the CPU first */
};

struct machine_watch_gpu {
	struct gpu_counts counts;
	struct copy_stats engines[GPU_ENGINES];
};

/* @machine NULL: there is none, and the calls below do nothing. -ENOMEM; can be finished in any
 * case. */
int machine_watch_init(struct machine_watch *watch, const struct machine_seen *machine);
void machine_watch_fini(struct machine_watch *watch); /* zeroed: allowed */
/* Between two events of the engine, @at not before the first of them; the last call counts. */
void machine_watch_begin(struct machine_watch *watch, ps_t at);
void machine_watch_end(struct machine_watch *watch, ps_t at);
/* As @other of the same machine has ended, which costs less. */
void machine_watch_end_as(struct machine_watch *watch, const struct machine_watch *other);

struct bus_way_stats machine_watch_way(const struct machine_watch *watch, uint32_t way);
struct bus_tag_stats machine_watch_tags(const struct machine_watch *watch, uint32_t part);
/* Of the n-th GPU, but for what is a most (refused_bytes, windowed_max), which is that of the run;
 * and of a processor, as struct gpu_managed has them. */
struct machine_watch_gpu machine_watch_gpu(const struct machine_watch *watch, uint32_t gpu);
struct gpu_managed_counts machine_watch_managed(const struct machine_watch *watch, uint32_t who);

#endif
