/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBENA_CUDA_KERNEL_H
#define VERBENA_CUDA_KERNEL_H

/* What kernels of CUDA do where there is no GPU: a function of the host for each name, which a
 * program registers before it launches the kernel. All else is the driver API (cuda.h, ours or the
 * Toolkit's): the program loads PTX with cuModuleLoadData(), of which we read what it names and
 * which parameters that has. So one source is a program for both:
 *
 *	#if __has_include(<verbena/cuda_kernel.h>)
 *	static void twice(struct vb_launch *launch) { ... }
 *	...	vb_kernel("twice", twice);
 *	#endif
 *
 * A function does what the whole grid does. It reaches the memory of the GPU, that of its peers
 * where access is enabled, pinned memory of the host and managed memory by vb_kernel_read() and
 * vb_kernel_write() alone; how long the kernel takes comes of what they move: within the GPU by
 * what so many threads reach, all else over the machine's buses, and managed memory by faults in
 * the order of the calls. It sees memory as it is when the kernel begins, and
 * what it has written itself; others see that when the kernel ends. It calls nothing of CUDA. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Of one launch. Members are only ever added, at the end. */
struct vb_launch {
	size_t bytes; /* of this structure, as whoever runs the kernel knows it */
	unsigned int grid[3], block[3];
	unsigned int shared_bytes; /* dynamic */
	unsigned int arg_count;
	const void *const *args;       /* the value of each parameter, ... */
	const unsigned int *arg_bytes; /* ... and its size */
	unsigned int step;	       /* how often the function was called before */
	uint64_t state[8];	       /* its own, 0 at first */
};
typedef void vb_kernel_fn(struct vb_launch *launch);

/* Kernels of this program that are called @name do this from now on. 0; -EINVAL: outside of a
 * program, or NULL; -ENOMEM. */
int vb_kernel(const char *name, vb_kernel_fn *fn);

/* ---- for such functions ---- */

/* 0; -1: that is not the kernel's memory: the kernel has failed (CUDA_ERROR_ILLEGAL_ADDRESS), what
 * was to be read is 0, and no more is read or written. */
int vb_kernel_read(struct vb_launch *launch, void *to, uint64_t from, size_t bytes);
int vb_kernel_write(struct vb_launch *launch, uint64_t to, const void *from, size_t bytes);
/* It fails: CUDA_ERROR_LAUNCH_FAILED. */
void vb_kernel_trap(struct vb_launch *launch);
/* Its threads move 1, 2, 4, 8 or 16 bytes at a time: 16 unless it says so. */
void vb_kernel_width(struct vb_launch *launch, unsigned int bytes);
/* It computes so long besides. */
void vb_kernel_busy_ns(struct vb_launch *launch, uint64_t ns);
/* When the function has returned, and what it has written is in memory, the kernel polls the word
 * of 32 bits at @at until it is @value or, in a circle, behind it; then the function is called
 * again. */
int vb_kernel_wait(struct vb_launch *launch, uint64_t at, uint32_t value);

/* What a multicast address shows (cuMulticastCreate()), which nothing else reads or writes: memory
 * of all GPUs of the team, over NVSwitches that make one of several. Addresses and sizes are of
 * whole values, as PTX has them; what it has no operation for fails as vb_kernel_trap(). */
enum vb_type { VB_U32, VB_S32, VB_U64, VB_S64, VB_F32, VB_F64 }; /* floats: VB_ADD alone */
enum vb_op { VB_ADD, VB_MIN, VB_MAX, VB_AND, VB_OR, VB_XOR };
/* multimem.ld_reduce: of what each has, in the order of the devices. */
int vb_kernel_multimem_reduce(struct vb_launch *launch, void *to, uint64_t from, size_t bytes,
			      enum vb_type type, enum vb_op op);
/* multimem.st: each has it, when the kernel ends or waits. */
int vb_kernel_multimem_write(struct vb_launch *launch, uint64_t to, const void *from, size_t bytes);
/* multimem.red: then each has what it has with this, whatever others do meanwhile. */
int vb_kernel_multimem_red(struct vb_launch *launch, uint64_t to, const void *from, size_t bytes,
			   enum vb_type type, enum vb_op op);

#pragma GCC visibility pop

/* ---- kernels that are there without being registered ---- */

/* For cuModuleLoadData():
 *	vb_fill(u64 to, u32 value, u64 count)		words of 4 bytes
 *	vb_copy(u64 to, u64 from, u64 bytes)
 *	vb_axpy(u64 y, u64 x, f32 a, u64 count)		y[i] += a * x[i], of floats
 *	vb_reduce_u32(u64 to, u64 from, u64 count)	to[i] += from[i]
 *	vb_reduce_f32(u64 to, u64 from, u64 count)	the same of floats
 *	vb_compare(u64 a, u64 b, u64 bytes, u64 result)	*result, of 8 bytes: how many differ
 *	vb_flag_set(u64 at, u32 value)
 *	vb_flag_wait(u64 at, u32 value)			as vb_kernel_wait()
 *	vb_flag_echo(u64 from, u64 to, u32 count)	*to = i when *from has come to i, 1 to count
 */
#define VB_KERNELS_PTX                                                                             \
	".version 6.0\n.target sm_50\n.address_size 64\n"                                          \
	".visible .entry vb_fill(.param .u64 t, .param .u32 v, .param .u64 n)\n{ ret; }\n"         \
	".visible .entry vb_copy(.param .u64 t, .param .u64 f, .param .u64 n)\n{ ret; }\n"         \
	".visible .entry vb_axpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u64 n)\n"    \
	"{ ret; }\n"                                                                               \
	".visible .entry vb_reduce_u32(.param .u64 t, .param .u64 f, .param .u64 n)\n{ ret; }\n"   \
	".visible .entry vb_reduce_f32(.param .u64 t, .param .u64 f, .param .u64 n)\n{ ret; }\n"   \
	".visible .entry vb_compare(.param .u64 a, .param .u64 b, .param .u64 n, .param .u64 r)\n" \
	"{ ret; }\n"                                                                               \
	".visible .entry vb_flag_set(.param .u64 t, .param .u32 v)\n{ ret; }\n"                    \
	".visible .entry vb_flag_wait(.param .u64 t, .param .u32 v)\n{ ret; }\n"                   \
	".visible .entry vb_flag_echo(.param .u64 f, .param .u64 t, .param .u32 n)\n{ ret; }\n"

#ifdef __cplusplus
}
#endif

#endif
