/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_MANAGED_INNER_H
#define GPU_MANAGED_INNER_H

/* What managed.c and managed_fault.c share. */
#include "gpu/device/managed.h"

static inline uint64_t managed_bit(uint32_t who)
{
	return UINT64_C(1) << who;
}

/* @page is with @who, where @copies beside those who have it already. The bytes that this moved or
 * populated, counted; 0: it was there. */
uint64_t gpu_managed_bring(struct gpu_managed *managed, struct gpu_managed_page *page, uint32_t who,
			   bool copies);
/* Of whole pages of [@address, @address + @bytes), the owner is told what is new for a CPU. */
void gpu_managed_protect(struct gpu_managed *managed, uint64_t address, uint64_t bytes);

#endif
