/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "include/verbena/gdrapi.h"

#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* GDRCopy's library: device memory that a CPU maps. */

struct gdr_pinned {
	struct gdr_pinned *next;
	struct gdr *gdr;
	struct gpu *gpu;
	uint64_t address, bytes; /* of the program: whole pages */
	uint64_t target;	 /* where the GPU has it */
	uint64_t offset;	 /* of what was asked for */
	bool is_mapped;
};

struct gdr {
	struct gdr *next; /* of the program */
	struct gdr_pinned *pinned;
};

/* One of the calling program's; NULL: it is none. */
static struct gdr *find_gdr(const struct gdr *gdr)
{
	struct gpu_thread *thread;
	struct gdr *own = cuda_enter(&thread) == CUDA_SUCCESS ? cuda_program()->gdrs : NULL;

	while (own && own != gdr)
		own = own->next;
	return own;
}

static struct gdr_pinned *find_pinned(const struct gdr *gdr, gdr_mh_t handle)
{
	struct gdr_pinned *pinned = gdr ? gdr->pinned : NULL;

	while (pinned && (uintptr_t)pinned != handle.h)
		pinned = pinned->next;
	return pinned;
}

/* The same where only the handle is known. */
static struct gdr_pinned *find_anywhere(gdr_mh_t handle)
{
	struct gpu_thread *thread;
	struct gdr_pinned *pinned = NULL;

	if (cuda_enter(&thread) != CUDA_SUCCESS)
		return NULL;
	for (struct gdr *gdr = cuda_program()->gdrs; gdr && !pinned; gdr = gdr->next)
		pinned = find_pinned(gdr, handle);
	return pinned;
}

static void unpin(struct gdr_pinned *pinned)
{
	struct gdr_pinned **at = &pinned->gdr->pinned;

	while (*at != pinned)
		at = &(*at)->next;
	*at = pinned->next;
	gpu_window_give_back(pinned->gpu, pinned->target, pinned->bytes);
	util_free(pinned);
}

void cuda_gdrs_fini(struct gpu_program *program)
{
	while (program->gdrs) {
		struct gdr *gdr = program->gdrs;

		program->gdrs = gdr->next;
		while (gdr->pinned)
			unpin(gdr->pinned);
		util_free(gdr);
	}
}

CUDA_PUBLIC gdr_t gdr_open(void)
{
	struct gpu_thread *thread;
	struct gdr *gdr;

	if (cuda_enter(&thread) != CUDA_SUCCESS)
		return NULL;
	gdr = util_calloc(1, sizeof(*gdr));
	if (!gdr)
		return NULL;
	gdr->next = cuda_program()->gdrs;
	cuda_program()->gdrs = gdr;
	return gdr;
}

CUDA_PUBLIC int gdr_close(gdr_t gdr)
{
	struct gdr **at;

	if (!find_gdr(gdr))
		return EINVAL;
	while (gdr->pinned)
		unpin(gdr->pinned);
	at = &cuda_program()->gdrs;
	while (*at != gdr)
		at = &(*at)->next;
	*at = gdr->next;
	util_free(gdr);
	return 0;
}

CUDA_PUBLIC int gdr_pin_buffer(gdr_t gdr, unsigned long address, size_t size, uint64_t token,
			       uint32_t space, gdr_mh_t *ret_handle)
{
	const uint64_t first = address & GPU_PAGE_MASK;
	struct gdr_pinned *pinned;
	struct gpu *gpu;
	uint64_t target, bytes;

	(void)token, (void)space;
	if (!find_gdr(gdr) || !ret_handle || size == 0 || size > UINT64_MAX / 2 - address)
		return EINVAL;
	bytes = ((address + size + GPU_PAGE_OFFSET) & GPU_PAGE_MASK) - first;
	gpu = cuda_exportable(first, bytes, &target);
	if (!gpu || !gpu_memory_is_mapped(&gpu->memory, target, bytes))
		return EINVAL;
	pinned = util_calloc(1, sizeof(*pinned));
	if (!pinned)
		return ENOMEM;
	if (gpu_window_take(gpu, target, bytes) != 0) {
		util_free(pinned);
		return ENOMEM;
	}
	*pinned = (struct gdr_pinned){.next = gdr->pinned,
				      .gdr = gdr,
				      .gpu = gpu,
				      .address = first,
				      .bytes = bytes,
				      .target = target,
				      .offset = address - first};
	gdr->pinned = pinned;
	gpu_backend()->pass(gpu->profile->gdr_pin);
	ret_handle->h = (uintptr_t)pinned;
	return 0;
}

CUDA_PUBLIC int gdr_unpin_buffer(gdr_t gdr, gdr_mh_t handle)
{
	struct gdr_pinned *pinned = find_pinned(find_gdr(gdr), handle);
	ps_t time;

	if (!pinned)
		return EINVAL;
	time = pinned->gpu->profile->gdr_unpin;
	unpin(pinned);
	gpu_backend()->pass(time);
	return 0;
}

CUDA_PUBLIC int gdr_get_info_v2(gdr_t gdr, gdr_mh_t handle, gdr_info_v2_t *ret_info)
{
	const struct gdr_pinned *pinned = find_pinned(find_gdr(gdr), handle);

	if (!pinned || !ret_info)
		return EINVAL;
	*ret_info = (gdr_info_v2_t){.va = pinned->address,
				    .mapped_size = pinned->bytes,
				    .page_size = GPU_PAGE_SIZE,
				    .mapped = pinned->is_mapped,
				    .wc_mapping = pinned->is_mapped,
				    .mapping_type = pinned->is_mapped ? GDR_MAPPING_TYPE_WC
								      : GDR_MAPPING_TYPE_NONE};
	gpu_backend()->pass(pinned->gpu->profile->gdr_info);
	return 0;
}

static uint8_t *pinned_at(const struct gdr_pinned *pinned)
{
	return gpu_at(pinned->gpu, pinned->target);
}

CUDA_PUBLIC int gdr_map(gdr_t gdr, gdr_mh_t handle, void **ret_at, size_t size)
{
	struct gdr_pinned *pinned = find_pinned(find_gdr(gdr), handle);

	if (!pinned || !ret_at || pinned->offset > 0 || size == 0 || size > pinned->bytes)
		return EINVAL;
	if (pinned->is_mapped)
		return EAGAIN;
	pinned->is_mapped = true;
	gpu_backend()->pass(pinned->gpu->profile->gdr_map);
	*ret_at = pinned_at(pinned);
	return 0;
}

CUDA_PUBLIC int gdr_unmap(gdr_t gdr, gdr_mh_t handle, void *at, size_t size)
{
	struct gdr_pinned *pinned = find_pinned(find_gdr(gdr), handle);

	if (!pinned || !pinned->is_mapped || at != pinned_at(pinned) || size > pinned->bytes)
		return EINVAL;
	pinned->is_mapped = false;
	gpu_backend()->pass(pinned->gpu->profile->gdr_unmap);
	return 0;
}

static int copy_mapped(gdr_mh_t handle, uint8_t *at, uint8_t *host, size_t size, bool is_store)
{
	const struct gdr_pinned *pinned = find_anywhere(handle);
	struct mapping_access access = {
		.gpu = at, .host = host, .bytes = size, .is_store = is_store};
	uint64_t offset;

	if (!pinned || !pinned->is_mapped || at < pinned_at(pinned))
		return EINVAL;
	offset = (uint64_t)(at - pinned_at(pinned));
	access.address = pinned->address + offset;
	if (offset > pinned->bytes || size > pinned->bytes - offset ||
	    !gpu_memory_is_mapped(&pinned->gpu->memory, pinned->target, pinned->bytes))
		return EINVAL;
	gpu_backend()->pass(pinned->gpu->profile->gdr_copy);
	if (size == 0)
		return 0;
	return gpu_backend()->access(pinned->gpu, &access) ? 0 : ENOMEM;
}

CUDA_PUBLIC int gdr_copy_to_mapping(gdr_mh_t handle, void *at, const void *from, size_t size)
{
	return copy_mapped(handle, at, (uint8_t *)(uintptr_t)from, size, true);
}

CUDA_PUBLIC int gdr_copy_from_mapping(gdr_mh_t handle, void *to, const void *at, size_t size)
{
	return copy_mapped(handle, (uint8_t *)(uintptr_t)at, to, size, false);
}
