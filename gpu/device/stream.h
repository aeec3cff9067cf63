/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_STREAM_H
#define GPU_STREAM_H

/* Streams of a context: what a GPU is told to do, in which order, and when. A command begins once
 * the GPU has heard of it and everything before it in its stream is over; its effect on memory
 * happens when it ends. Copies take an engine each, whole copies in order; all else runs beside
 * them. A stream that other streams wait for and that waits for them is the legacy one: those that
 * are blocking and those of threads have it in their order.
 *
 * As measured on an H100 (driver 580.159.04). Sans I/O: everything happens in the local events of
 * the node. One caller at a time. */
#include "gpu/device/migrate.h"
#include "gpu/device/value.h"

enum gpu_stream_kind { GPU_LEGACY, GPU_OF_THREAD, GPU_BLOCKING, GPU_NON_BLOCKING };

/* What an event's record comes to, for all who wait for it. */
struct gpu_mark {
	uint32_t users;
	bool is_over;
	ps_t at; /* where it is */
};
/* NULL: no memory; with one user. */
struct gpu_mark *gpu_mark_create(void);
/* The last user frees it. NULL allowed. */
void gpu_mark_put(struct gpu_mark *mark);

/* What comes of a kernel, and of its context. */
enum gpu_kernel_end {
	GPU_KERNEL_WELL,
	GPU_KERNEL_STRAYED, /* it has touched what is not its memory */
	GPU_KERNEL_TRAPPED,
	GPU_KERNEL_CUT_OFF, /* NVLink did not lead to memory of its team */
};

struct gpu_kernel;
struct gpu_stream;
struct gpu_command {
	enum gpu_work work;
	uint64_t bytes;
	void *to;	  /* where the emulator reaches them; */
	const void *from; /* NULL: there is nothing to copy or set */
	struct copy_side to_side, from_side;
	uint32_t pattern;	/* of what is set, ... */
	uint8_t pattern_bytes;	/* ... and its size: 1, 2 or 4 */
	void *copy;		/* of what is copied, which goes with the command; NULL: none */
	struct gpu *mover;	/* of GPU_TO_PEER: whose engine moves it, ... */
	const struct gpu *peer; /* ... to the memory of the other GPU, or ... */
	bool pulls;		/* ... from there */
	uint64_t managed_to, managed_from; /* their addresses where they are managed; 0: not */
	uint32_t goal;			   /* of GPU_PREFETCH: the processor */
	struct gpu_mark *mark;		   /* which is used */
	struct gpu_value value;
	void (*function)(void *arg); /* of the host */
	void *arg;
	ps_t time;			/* of faults on managed memory that move nothing */
	struct gpu_migration migration; /* of what others move */
	ps_t begun_at;			/* where is_begun */
	struct gpu_kernel *kernel;	/* which goes with the command */
	/* The stream's own. */
	struct gpu_stream *stream;
	uint64_t number; /* in its context, from 1 */
	bool is_heard, is_begun;
	struct gpu_command *next, *next_call; /* of the stream; of the host functions */
	struct sim_local_event event;
	struct bus_burst doorbell;
	struct copy_job job;
};

struct gpu_context;
struct gpu_stream {
	enum gpu_stream_kind kind;
	int32_t priority;
	uint64_t number;    /* n-th of its context, from 0 */
	const void *thread; /* whose it is, of GPU_OF_THREAD */
	struct gpu_context *context;
	struct gpu_stream *next; /* of the context, in the order of their numbers */
	struct gpu_command *first, *last;
	uint32_t count;	      /* commands that are not over */
	uint64_t staged;      /* bytes of those that are GPU_STAGED */
	uint32_t users;	      /* who waits for one of them */
	uint64_t begun, over; /* numbers of the last command that it was given and that is over */
	enum gpu_work last_work; /* of that one */
	enum gpu_work before;	 /* that was done last */
	bool is_doomed;		 /* goes when its commands are over, and nobody waits */
};

struct gpu_context {
	struct gpu *gpu;
	struct gpu_stream *streams;
	uint64_t commands, stream_count; /* so far */
	enum gpu_kernel_end how;	 /* it is: a kernel has failed, and nothing begins */
	/* Something is over. From the local events of the node, or gpu_context_look(). */
	void (*changed)(struct gpu_context *context, ps_t now);
	/* @command->function's turn has come: gpu_command_end() when it has run. */
	void (*call)(struct gpu_context *context, struct gpu_command *command, ps_t now);
	/* A kernel has written into memory. */
	void (*stored)(struct gpu_context *context, ps_t now);
	/* A burst of a copy has come there. */
	void (*placed)(struct gpu_context *context, ps_t now);
};

/* The streams of @context are empty, or the run has ended. */
void gpu_context_fini(struct gpu_context *context);
/* NULL: no memory. */
struct gpu_stream *gpu_stream_create(struct gpu_context *context, enum gpu_stream_kind kind);
/* Once what it has to do is done. */
void gpu_stream_destroy(struct gpu_stream *stream);

/* The same where that was done, when somebody waits no more (users). */
void gpu_stream_let_go(struct gpu_stream *stream);

/* @command, whose memory util_alloc() gave and which is the stream's from now on. */
void gpu_stream_take(struct gpu_stream *stream, struct gpu_command *command, ps_t now);
/* A host function has run. */
void gpu_command_end(struct gpu_command *command, ps_t now);
/* Marks of other contexts may be over: what waited for them goes on. False: nothing did. */
bool gpu_context_go_on(struct gpu_context *context, ps_t now);
/* Memory may have changed: of commands that wait for values. */
void gpu_context_look(struct gpu_context *context, ps_t now);
/* Its program is over: nothing begins there any more, and nothing waits. What has begun ends. */
void gpu_context_end(struct gpu_context *context, ps_t now);

/* Whether everything that it was given is over. */
static inline bool gpu_stream_is_idle(const struct gpu_stream *stream)
{
	return !stream->first;
}

#endif
