/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBENA_GDRAPI_H
#define VERBENA_GDRAPI_H

/* A CPU's mapping of a GPU's memory, with the names of GDRCopy's library (gdrapi.h), version 2, for
 * programs in virtual time. What gdr_copy_to_mapping() and gdr_copy_from_mapping() move goes over
 * the machine's buses and takes its time; plain loads and stores through what gdr_map() returns
 * reach the memory, too, but nobody sees them, and they take none. Functions return 0 or a positive
 * errno. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define GPU_PAGE_SHIFT 16
#define GPU_PAGE_SIZE (1UL << GPU_PAGE_SHIFT)
#define GPU_PAGE_OFFSET (GPU_PAGE_SIZE - 1)
#define GPU_PAGE_MASK (~GPU_PAGE_OFFSET)

typedef struct gdr *gdr_t;
typedef struct gdr_mh_s {
	unsigned long h;
} gdr_mh_t;

/* NULL: outside of a program that has called cuInit(), or no memory. */
gdr_t gdr_open(void);
/* Unpins what is still pinned. EINVAL: it is none. */
int gdr_close(gdr_t gdr);

/* The pages of 64 KiB that [@address, @address + @size) touches, which are the program's device
 * memory, are in the window until gdr_unpin_buffer(). EINVAL: they are not, or are managed; ENOMEM:
 * the window has no room. @token and @space are not looked at. */
int gdr_pin_buffer(gdr_t gdr, unsigned long address, size_t size, uint64_t token, uint32_t space,
		   gdr_mh_t *ret_handle);
int gdr_unpin_buffer(gdr_t gdr, gdr_mh_t handle);

typedef enum gdr_mapping_type {
	GDR_MAPPING_TYPE_NONE = 0,
	GDR_MAPPING_TYPE_WC = 1,
	GDR_MAPPING_TYPE_CACHING = 2,
	GDR_MAPPING_TYPE_DEVICE = 3
} gdr_mapping_type_t;
typedef struct gdr_info_v2 {
	uint64_t va;
	uint64_t mapped_size;
	uint32_t page_size;
	uint64_t tm_cycles;
	uint32_t cycles_per_ms;
	unsigned mapped : 1;
	unsigned wc_mapping : 1;
	gdr_mapping_type_t mapping_type;
} gdr_info_v2_t;
typedef gdr_info_v2_t gdr_info_t;
int gdr_get_info_v2(gdr_t gdr, gdr_mh_t handle, gdr_info_v2_t *ret_info);
#define gdr_get_info gdr_get_info_v2

/* EINVAL: what was pinned begins within a page, or is shorter; EAGAIN: it is mapped. */
int gdr_map(gdr_t gdr, gdr_mh_t handle, void **ret_at, size_t size);
int gdr_unmap(gdr_t gdr, gdr_mh_t handle, void *at, size_t size);

/* EINVAL: that is not in the mapping, or the memory is gone. Stores have left the CPU when it
 * returns, and come to the GPU behind that. */
int gdr_copy_to_mapping(gdr_mh_t handle, void *at, const void *from, size_t size);
int gdr_copy_from_mapping(gdr_mh_t handle, void *to, const void *at, size_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
