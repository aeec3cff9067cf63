/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CUDA_BACKEND_H
#define CUDA_BACKEND_H

/* What stands behind the functions of the CUDA driver API, which exist once, in this folder: the
 * GPUs that the calling program has, and how time passes for it. */
#include "gpu/device/stream.h"

enum {
	GPU_MAX = 256,	    /* of a machine: as many as it has parts */
	GPU_STACK_MAX = 64, /* contexts that a thread has pushed */
};

/* A context of a program. */
struct CUctx_st {
	uint32_t users; /* 0: there is none, or none any more */
	uint32_t flags;
	int device;	       /* whose primary one it is; -1: none's */
	uint64_t number;       /* n-th of the program, from 1 */
	struct CUctx_st *next; /* of those that are no primary ones */
	struct gpu_program *program;
	struct gpu_context streams;
	struct gpu_stream *legacy;
	uint64_t peers[GPU_MAX / 64]; /* devices whose memory its kernels reach */
};

/* Host memory that the driver knows. */
struct gpu_pinned {
	uint64_t address, bytes;
	uint64_t number;		/* an identity, as that of struct gpu_allocation */
	uint32_t flags;			/* of cuMemHostAlloc(), or those of cuMemHostRegister() */
	bool is_registered;		/* the program's own memory */
	const struct CUctx_st *context; /* with which it goes */
};

/* What the driver knows of one program (a process), and of each of its threads. */
struct gpu_program {
	bool is_initialised;
	struct CUctx_st *contexts[GPU_MAX]; /* primary ones, by device; NULL: never asked for */
	struct CUctx_st *made;		    /* by cuCtxCreate(), in that order; they stay */
	uint64_t contexts_made;		    /* so far, of both */
	struct gpu_pinned *pinned;	    /* in the order of their addresses */
	size_t pinned_count, pinned_room;
	uint64_t pinned_made; /* so far */
	struct CUevent_st *events;
	struct CUmemPoolHandle_st *pools;	     /* default ones with them */
	struct CUmemPoolHandle_st *current[GPU_MAX]; /* by device; NULL: the default one */
	uint64_t pools_made;
	struct cuda_handle *handles; /* of cuMemCreate() */
	uint64_t handles_made;
	bool has_imported; /* something, by IPC */
	bool has_exported; /* a handle of memory */
	struct CUmod_st *modules;
	struct gdr *gdrs;	    /* of gdr_open() */
	struct cuda_named *kernels; /* that it has registered */
	bool has_said;		    /* that nobody knows what some kernel does */
};
struct gpu_thread {
	struct gpu_program *program;
	struct CUctx_st *stack[GPU_STACK_MAX];
	uint32_t depth;
	bool is_driver; /* runs host functions, which may not call */
};

/* Memory that has a handle, for other programs. */
struct gpu_shared {
	struct gpu *gpu; /* NULL: it is that of ... */
	struct gpu_team *team;
	uint64_t address, bytes;
	bool is_rdma; /* adapters may have it */
};

struct gpu_backend {
	/* Of the calling thread, all of them; outside of programs there are none, and NULL. */
	struct gpu_thread *(*thread)(void);
	uint32_t (*count)(void);
	struct gpu *(*gpu)(uint32_t number);
	/* Of all programs of the machine the one behind @program; NULL: the first; none. */
	struct gpu_program *(*program)(const struct gpu_program *program);
	ps_t (*now)(void);
	/* So much time passes. */
	void (*pass)(ps_t time);
	/* From an interrupt until a thread that slept for it runs. */
	ps_t (*interrupt)(void);
	/* Until something on the program's GPUs is over, or sooner. */
	void (*block)(void);
	/* Whoever is in block() on this machine looks again. */
	void (*wake)(void);
	/* Memory of the program's; NULL: there is none. */
	void *(*take)(size_t bytes);
	void (*give_back)(void *bytes);
	/* Whether the program has memory at all of [@address, @address + @bytes), which it may
	 * write if @writes. */
	bool (*has_memory)(uint64_t address, uint64_t bytes, bool writes);
	/* A dma-buf of that range of @gpu, which is mapped: 0 and its descriptor, the program's; or
	 * a negative errno. */
	int (*export_range)(struct gpu *gpu, uint64_t address, uint64_t bytes, int *ret_fd);
	/* The same as a descriptor by which other programs of the machine find it, as long as it is
	 * open. */
	int (*share)(const struct gpu_shared *shared, int *ret_fd);
	/* What @fd is such a descriptor of; false: of nothing. */
	bool (*find_shared)(int fd, struct gpu_shared *ret_shared);
	/* That memory is nobody's any more: whoever registered it finds it gone. */
	void (*freed)(struct gpu *gpu, uint64_t address, uint64_t bytes);
	/* Managed memory of the program's machine, which there is from now on where @makes. NULL:
	 * there is none, or no memory for it. */
	struct gpu_managed *(*managed)(bool makes);
	/* What @touch says moves, and the caller waits for that, @touch's time at least. */
	void (*move)(const struct gpu_touch *touch);
	/* Looks for what was exported and is used no more. */
	void (*collect)(struct gpu *gpu);
	/* The CPU reads a word of @gpu, over the bus. */
	void (*read)(struct gpu *gpu);
	/* It stores or loads through its mapping of @gpu's memory. False: no memory. */
	bool (*access)(struct gpu *gpu, struct mapping_access *access);
	/* For the streams of a context of the program. */
	void (*changed)(struct gpu_context *context, ps_t now);
	void (*call)(struct gpu_context *context, struct gpu_command *command, ps_t now);
	void (*stored)(struct gpu_context *context, ps_t now);
	void (*placed)(struct gpu_context *context, ps_t now);
	/* Of the machine that @beside is in, whose memory has @address; NULL: none. At any time. */
	struct gpu *(*find)(const struct gpu *beside, uint64_t address);
	/* A line for a person. */
	void (*say)(const char *line);
	/* A host function will have its turn; -ENOMEM. */
	int (*expect_call)(void);
};

/* Defined once by each final artefact. */
const struct gpu_backend *gpu_backend(void);

/* Each context of @program that there ever was, primary ones first: the one behind @context, which
 * is NULL for the first; NULL behind the last. */
struct CUctx_st *gpu_program_next(const struct gpu_program *program,
				  const struct CUctx_st *context);

/* The calling program, which has GPUs, is over, the run goes on: as when a process ends, what its
 * streams have not begun is no more, and its memory is free, but for what others hold. May wait.
 */
void gpu_program_end(void);

/* Gives back what @program has, which is over, as the run is; not itself. */
void gpu_program_fini(struct gpu_program *program);

#endif
