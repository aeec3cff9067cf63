/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CUDA_INTERNAL_H
#define CUDA_INTERNAL_H

#include "gpu/cuda/backend.h"
#include "include/verbena/cuda.h"

#define CUDA_PUBLIC __attribute__((visibility("default")))

/* The program that calls; NULL: it has not called cuInit(), or is no program. */
struct gpu_program *cuda_program(void);
/* Devices are numbers from 0. CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_DEVICE. */
CUresult cuda_device(CUdevice number, struct gpu **ret_gpu);
/* @ret_gpu: of the context that is current. CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_CONTEXT.
 */
CUresult cuda_current(struct gpu **ret_gpu);
/* Its memory is that of one of the program's GPUs; NULL: of none. */
struct gpu *cuda_gpu_of(CUdeviceptr address);

#endif
