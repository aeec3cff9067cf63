/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_VIEW_H
#define GPU_VIEW_H

/* Addresses of a machine that show memory of its GPUs which has others, or none: what a program
 * imported, took from a pool, or mapped. A program reserves a stretch of them, and views lie in
 * stretches. Books only, as those of struct gpu_memory. One caller at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu;
struct gpu_team;

enum gpu_view_kind { GPU_VIEW_IMPORT, GPU_VIEW_POOL, GPU_VIEW_MAPPED, GPU_VIEW_MULTICAST };

struct gpu_view {
	uint64_t address, bytes; /* as asked for */
	uint64_t target;	 /* what it shows: an address of @gpu's memory */
	uint64_t number;	 /* an identity, as that of struct gpu_allocation */
	uint64_t exported;	 /* the identity that what it imported was exported with */
	struct gpu *gpu;	 /* NULL: it shows memory of a team, to kernels only: ... */
	struct gpu_team *team;	 /* ... which is closed to all others, and ... */
	uint64_t open[4];	 /* ... open to the GPUs that have a bit here, by their number */
	enum gpu_view_kind kind;
	const void *owner; /* the program */
	void *object;	   /* what it is of: the driver's */
	uint32_t users;
	uint32_t handle_types;	 /* CUmemAllocationHandleType, that it may be shared with */
	bool is_sync, is_closed; /* as that of struct gpu_allocation; nobody may touch it */
	bool is_read_only;	 /* who may touch it may only read */
	bool is_rdma;		 /* adapters may have it by its address */
};

struct gpu_stretch {
	uint64_t address, bytes;
	const void *owner; /* the program */
	struct gpu *gpu;   /* that all of it shows, from @target on; NULL: views say */
	uint64_t target;
};

struct gpu_views {
	uint64_t base, bytes;
	struct gpu_stretch *stretches; /* in order of their addresses, as the views are */
	struct gpu_view **views;
	size_t stretch_count, stretch_room, count, room;
	uint64_t events_made; /* that programs share, so far: the driver's */
	uint64_t teams_made;  /* so far */
};

void gpu_views_init(struct gpu_views *views, uint64_t base, uint64_t bytes);
void gpu_views_fini(struct gpu_views *views);

/* @stretch's bytes, where its address is a multiple of @align, first fit; at @wish if that is free.
 * -ENOSPC, -ENOMEM. */
int gpu_views_reserve(struct gpu_views *views, const struct gpu_stretch *stretch, uint64_t align,
		      uint64_t wish, uint64_t *ret_address);
/* What @address lies in; NULL: in none. Good until the next one is reserved or given back. */
const struct gpu_stretch *gpu_views_stretch(const struct gpu_views *views, uint64_t address);
void gpu_views_give_back(struct gpu_views *views, uint64_t address);

/* A copy of @view, which lies beside all others; NULL: no memory. */
struct gpu_view *gpu_views_add(struct gpu_views *views, const struct gpu_view *view);
void gpu_views_remove(struct gpu_views *views, struct gpu_view *view);
/* What @address lies in; NULL: in none. */
struct gpu_view *gpu_views_find(const struct gpu_views *views, uint64_t address);
/* The first that ends behind @address; NULL: none does. */
struct gpu_view *gpu_views_behind(const struct gpu_views *views, uint64_t address);

/* Where the memory is that [@address, @address + @bytes) shows; false: some of it shows nothing, or
 * not one stretch of memory. */
bool gpu_views_resolve(const struct gpu_views *views, uint64_t address, uint64_t bytes,
		       struct gpu **ret_gpu, uint64_t *ret_target);

static inline bool gpu_views_have(const struct gpu_views *views, uint64_t address)
{
	return views && address - views->base < views->bytes;
}

#endif
