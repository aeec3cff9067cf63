/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CUDA_INTERNAL_H
#define CUDA_INTERNAL_H

#include "gpu/cuda/backend.h"
#include "include/verbena/cuda.h"
#include "include/verbena/cuda_kernel.h"

#define CUDA_PUBLIC __attribute__((visibility("default")))

/* An event that several programs may have. */
struct cuda_shared_event {
	uint32_t users;
	uint64_t number; /* n-th of the machine, from 1 */
	const struct gpu_program *maker;
	struct gpu_mark *mark;
};

/* A stream's handle is its struct gpu_stream, an event's this. */
struct CUevent_st {
	uint32_t flags;
	struct gpu_mark *mark;		  /* of its latest record; NULL: none yet */
	struct cuda_shared_event *shared; /* which has the mark instead; NULL: it is not shared */
	struct CUctx_st *context;
	struct CUevent_st *next; /* of the program */
};

/* The calling thread. CUDA_ERROR_NOT_INITIALIZED: its program has not called cuInit(), or it is of
 * no program; CUDA_ERROR_NOT_PERMITTED: it runs a host function. */
CUresult cuda_enter(struct gpu_thread **ret_thread);
/* Devices are numbers from 0. Those of cuda_enter(), and CUDA_ERROR_INVALID_DEVICE. */
CUresult cuda_device(CUdevice number, struct gpu **ret_gpu);
/* The context that is current. Those of cuda_enter(), CUDA_ERROR_INVALID_CONTEXT, and
 * CUDA_ERROR_CONTEXT_IS_DESTROYED. */
CUresult cuda_current(struct CUctx_st **ret_context);
/* The same, have its kernels failed or not. */
CUresult cuda_current_any(struct CUctx_st **ret_context);
/* What a kernel that has failed has made of it: CUDA_SUCCESS: none has. */
CUresult cuda_state(const struct gpu_context *context);
/* Of the calling thread, which has entered. */
struct gpu_program *cuda_program(void);
/* Older programs' cuCtxCreate(). */
CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice device);
/* What @context has, when it goes. */
void cuda_forget_memory(const struct CUctx_st *context);
uint32_t cuda_number(const struct gpu *gpu);

/* ---- range.c ---- */

/* Its memory is that of one of the program's GPUs; NULL: of none. */
struct gpu *cuda_gpu_of(CUdeviceptr address);
/* What @address lies in; NULL: in nothing that was given out to the program. */
struct gpu_allocation *cuda_find(CUdeviceptr address, struct gpu **ret_gpu);
/* The same of managed memory, and whether it is such at all. */
const struct gpu_allocation *cuda_find_managed(CUdeviceptr address);
bool cuda_is_managed(CUdeviceptr address);
/* What a program was given of GPUs' memory, whatever kind it is. */
struct cuda_memory {
	struct gpu *gpu;
	struct CUctx_st *context; /* NULL: it is of none */
	uint64_t start, bytes, number;
	uint64_t target; /* where the GPU has it */
	bool *is_sync;
	struct gpu_allocation *allocation; /* of cuMemAlloc(); NULL: ... */
	struct gpu_view *view;		   /* ... of this */
};
/* What @address lies in; false: in nothing that was given out to the program. */
bool cuda_memory(CUdeviceptr address, struct cuda_memory *ret_memory);
/* How its own GPU may touch what @view shows (NULL: plain memory): CUmemAccess_flags. */
uint32_t cuda_access_of(const struct gpu_view *view);
/* Whether each block of @gpu that [@address, @address + @bytes) touches has memory of @program: it
 * shows to it as a whole, whatever else is in it. */
bool cuda_is_mapped(const struct gpu_program *program, const struct gpu *gpu, uint64_t address,
		    uint64_t bytes);
/* Of the machine of the calling thread, which has entered. */
struct gpu_views *cuda_views(void);
/* A call that takes so long, and longer for each MiB. */
ps_t cuda_time(ps_t call, ps_t mib, uint64_t bytes);

/* The same of host memory. */
const struct gpu_pinned *cuda_find_pinned(const struct gpu_program *program, uint64_t address);
/* It was registered to be read. */
bool cuda_is_read_only(const struct gpu_pinned *pinned);
void cuda_pinned_fini(struct gpu_program *program);
/* What @context has of it, when it goes. */
void cuda_forget_host(const struct CUctx_st *context);

enum cuda_kind { CUDA_PAGEABLE, CUDA_PINNED, CUDA_DEVICE };
struct cuda_range {
	enum cuda_kind kind;
	struct gpu *gpu;    /* of CUDA_DEVICE; NULL: managed memory, of no GPU */
	bool is_registered; /* of CUDA_PINNED */
	bool is_sync;	    /* of CUDA_DEVICE: synchronous calls wait */
	bool is_read_only;  /* nobody may write it */
	uint64_t managed;   /* of CUDA_DEVICE: its address; 0: it is of @gpu, and not managed */
	uint8_t *at;	    /* where the emulator reaches it */
};
/* What [@address, @address + @bytes) is. CUDA_ERROR_INVALID_VALUE: it goes beyond what the driver
 * gave out or registered, or begins at no address. */
CUresult cuda_range(CUdeviceptr address, uint64_t bytes, struct cuda_range *ret_range);

/* ---- direct.c, gdr.c ---- */

/* Where a GPU, which this returns, has the range; NULL: it is none of the program's that can be
 * exported. */
struct gpu *cuda_exportable(CUdeviceptr address, uint64_t bytes, uint64_t *ret_target);
/* What a program that is over has mapped. */
void cuda_gdrs_fini(struct gpu_program *program);

/* ---- room.c ---- */

/* More of @gpu's memory was taken: what managed memory has of it goes, as far as it has to. */
void cuda_make_room(struct gpu *gpu);

/* ---- managed.c ---- */

/* cuMemFree() of what is managed. */
CUresult cuda_free_managed(CUdeviceptr address);
/* cuMemAlloc(). */
CUresult cuda_take(CUdeviceptr *ret_address, size_t bytes);
/* NULL: no memory. */
struct CUevent_st *cuda_event_make(struct CUctx_st *context, unsigned int flags);

/* ---- copy.c ---- */

struct cuda_copy {
	CUdeviceptr to, from;
	uint64_t to_extent, from_extent; /* from there to the last byte */
	struct copy_side to_side, from_side;
	bool to_known, from_known; /* the driver has to know it */
	uint64_t bytes;
	CUstream stream;
	bool waits;
};
CUresult cuda_copy(const struct cuda_copy *copy);

/* ---- set.c ---- */

struct cuda_set {
	CUdeviceptr to;
	uint64_t extent;
	struct copy_side side;
	uint32_t pattern, size;
	uint64_t count;
	CUstream stream;
	bool waits;
};
CUresult cuda_set(const struct cuda_set *set);

/* ---- program.c, pool.c, handle.c ---- */

/* Nobody uses the event that programs share through it any more; NULL allowed. */
void cuda_put_shared(struct cuda_shared_event *shared);
/* @view, of a pool, is given back, once what @stream was told is over (NULL: that it is). */
void cuda_pool_free(struct gpu_view *view, const struct gpu_stream *stream);
/* Streams may have got further: pools give back what nobody uses. */
void cuda_pools_trim(void);
/* The pools of a program that is over. */
void cuda_pools_fini(struct gpu_program *program);
/* And its handles of memory. */
void cuda_handles_fini(struct gpu_program *program);
/* The calling program has them no more, and their memory goes as far as it is its alone. */
void cuda_handles_end(void);

/* ---- stream.c ---- */

/* What @handle names for the calling thread. Those of cuda_current(), CUDA_ERROR_INVALID_HANDLE. */
CUresult cuda_stream(CUstream handle, struct gpu_stream **ret_stream);
/* A command for @stream, zeroed; NULL: no memory. */
struct gpu_command *cuda_command(enum gpu_work work);
/* The CPU's part of telling @stream, which takes @command, and waits where it is full. */
void cuda_tell(struct gpu_stream *stream, struct gpu_command *command);
/* Until the last that @stream was told by now is over, and this is known. */
void cuda_wait(struct gpu_stream *stream);
/* Whoever has waited for work of @context may have slept, until an interrupt. */
void cuda_wake(struct gpu_context *context);
/* A call that tells @stream several things or waits for it as well: it stays until cuda_let_go(),
 * be it destroyed by another thread. */
void cuda_hold(struct gpu_stream *stream);
void cuda_let_go(struct gpu_stream *stream);
/* Until all streams of @context are idle; false: they were. */
bool cuda_rest(const struct CUctx_st *context);

/* ---- module.c, launch.c ---- */

enum { CUDA_PARAMS_MAX = 256, CUDA_PARAM_BYTES_MAX = 4096 };

/* A kernel, as PTX has it. */
struct CUfunc_st {
	struct CUfunc_st *next; /* of its module */
	uint32_t param_count;
	uint32_t offsets[CUDA_PARAMS_MAX], sizes[CUDA_PARAMS_MAX];
	uint32_t param_bytes;	 /* all together */
	uint32_t dynamic_shared; /* that a launch may have */
	int arch;		 /* that it was made for: 10 * major + minor */
	char name[];
};
struct CUmod_st {
	struct CUmod_st *next; /* of the program */
	struct CUctx_st *context;
	struct CUfunc_st *functions;
};
struct cuda_named {
	struct cuda_named *next;
	void (*fn)(struct vb_launch *launch);
	char name[];
};
/* What a name does that nobody has registered; NULL: nothing. */
void (*cuda_builtin(const char *name))(struct vb_launch *launch);
void (*cuda_builtin_float(const char *name))(struct vb_launch *launch);
/* One of the calling program's, whose context is not over; NULL: none. */
struct CUfunc_st *cuda_function(CUfunction handle);
void cuda_modules_fini(struct gpu_program *program);
/* The kernels that @text names, first as it has them: 0 and a list that the caller frees; or what
 * cuModuleLoadData() says of it. @newest: version of PTX, 10 * major + minor; @target: of a GPU, as
 * CUfunc_st.arch. */
CUresult cuda_ptx(const char *text, int newest, uint32_t target, struct CUfunc_st **ret_functions);

#endif
