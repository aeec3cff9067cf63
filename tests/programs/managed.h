/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_MANAGED_H
#define TESTS_PROGRAMS_MANAGED_H

/* What the test programs of managed memory share. */
#include "tests/programs/gpu.h"

static const CUmemLocation cpu = {.type = CU_MEM_LOCATION_TYPE_HOST};
static const CUmemLocation gpu = {.type = CU_MEM_LOCATION_TYPE_DEVICE};

/* As the CPU reaches it. */
static inline volatile uint8_t *managed_at(CUdeviceptr address)
{
	return (volatile uint8_t *)(uintptr_t)address;
}

/* 0: there is none. */
static inline CUdeviceptr managed_take(size_t bytes)
{
	CUdeviceptr address = 0;

	(void)cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL);
	return address;
}

#endif
