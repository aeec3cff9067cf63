/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CUDA_INTERNAL_H
#define CUDA_INTERNAL_H

#include "gpu/cuda/backend.h"
#include "include/verbena/cuda.h"
#include "include/verbena/cuda_kernel.h"

#define CUDA_PUBLIC __attribute__((visibility("default")))

/* A stream's handle is its struct gpu_stream, an event's this. */
struct CUevent_st {
	uint32_t flags;
	struct gpu_mark *mark; /* of its latest record; NULL: none yet */
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
uint32_t cuda_number(const struct gpu *gpu);

/* ---- range.c ---- */

/* Its memory is that of one of the program's GPUs; NULL: of none. */
struct gpu *cuda_gpu_of(CUdeviceptr address);
/* What @address lies in; NULL: in nothing that was given out. */
struct gpu_allocation *cuda_find(CUdeviceptr address, struct gpu **ret_gpu);
/* The same of host memory. */
const struct gpu_pinned *cuda_find_pinned(const struct gpu_program *program, uint64_t address);

enum cuda_kind { CUDA_PAGEABLE, CUDA_PINNED, CUDA_DEVICE };
struct cuda_range {
	enum cuda_kind kind;
	struct gpu *gpu;    /* of CUDA_DEVICE */
	bool is_registered; /* of CUDA_PINNED */
	bool is_sync;	    /* of CUDA_DEVICE: synchronous calls wait */
	uint8_t *at;	    /* where the emulator reaches it */
};
/* What [@address, @address + @bytes) is. CUDA_ERROR_INVALID_VALUE: it goes beyond what the driver
 * gave out or registered, or begins at no address. */
CUresult cuda_range(CUdeviceptr address, uint64_t bytes, struct cuda_range *ret_range);

/* ---- stream.c ---- */

/* What @handle names for the calling thread. Those of cuda_current(), CUDA_ERROR_INVALID_HANDLE. */
CUresult cuda_stream(CUstream handle, struct gpu_stream **ret_stream);
/* A command for @stream, zeroed; NULL: no memory. */
struct gpu_command *cuda_command(enum gpu_work work);
/* The CPU's part of telling @stream, which takes @command, and waits where it is full. */
void cuda_tell(struct gpu_stream *stream, struct gpu_command *command);
/* Until the last that @stream was told by now is over, and this is known. */
void cuda_wait(struct gpu_stream *stream);
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
	int ptx_version;	 /* 10 * major + minor */
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
/* One of the calling program's; NULL: none. */
struct CUfunc_st *cuda_function(CUfunction handle);
void cuda_modules_fini(struct gpu_program *program);
/* The kernels that @text names, first as it has them: 0 and a list that the caller frees; or what
 * cuModuleLoadData() says of it. @newest: as CUfunc_st.ptx_version; @target: of a GPU, 10 * major +
 * minor. */
CUresult cuda_ptx(const char *text, int newest, uint32_t target, struct CUfunc_st **ret_functions);

#endif
