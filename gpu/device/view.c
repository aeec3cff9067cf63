/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/view.h"

#include "util/alloc.h"

#include <errno.h>
#include <string.h>

void gpu_views_init(struct gpu_views *views, uint64_t base, uint64_t bytes)
{
	*views = (struct gpu_views){.base = base, .bytes = bytes};
}

void gpu_views_fini(struct gpu_views *views)
{
	for (size_t i = 0; i < views->count; i++)
		util_free(views->views[i]);
	util_free(views->views);
	util_free(views->stretches);
	*views = (struct gpu_views){.base = 0};
}

/* ---- stretches ---- */

static int grow_stretches(struct gpu_views *views)
{
	const size_t room = views->stretch_room ? 2 * views->stretch_room : 8;
	struct gpu_stretch *more;

	if (views->stretch_count < views->stretch_room)
		return 0;
	more = util_realloc(views->stretches, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	views->stretches = more;
	views->stretch_room = room;
	return 0;
}

/* Whether @bytes at @address lie before the stretch @next, and in the whole. */
static bool is_free(const struct gpu_views *views, uint64_t address, uint64_t bytes, size_t next)
{
	const uint64_t limit = next < views->stretch_count ? views->stretches[next].address
							   : views->base + views->bytes;

	return address >= views->base && address <= limit && bytes <= limit - address;
}

static uint64_t round_up(uint64_t address, uint64_t align)
{
	return (address + align - 1) / align * align;
}

/* First fit at or behind @from: 0 if there is none. */
static uint64_t find_room(const struct gpu_views *views, uint64_t from, uint64_t bytes,
			  uint64_t align, size_t *ret_next)
{
	uint64_t address = round_up(from, align);

	for (size_t next = 0; next <= views->stretch_count; next++) {
		*ret_next = next;
		if (is_free(views, address, bytes, next))
			return address;
		if (next < views->stretch_count) {
			const struct gpu_stretch *s = &views->stretches[next];

			if (address < s->address + s->bytes)
				address = round_up(s->address + s->bytes, align);
		}
	}
	return 0;
}

int gpu_views_reserve(struct gpu_views *views, const struct gpu_stretch *stretch, uint64_t align,
		      uint64_t wish, uint64_t *ret_address)
{
	uint64_t address = 0;
	size_t next = 0;

	if (grow_stretches(views) != 0)
		return -ENOMEM;
	if (wish != 0 && wish % align == 0 && gpu_views_have(views, wish))
		address = find_room(views, wish, stretch->bytes, align, &next);
	if (address == 0 || address != wish)
		address = find_room(views, views->base, stretch->bytes, align, &next);
	if (address == 0)
		return -ENOSPC;
	memmove(views->stretches + next + 1, views->stretches + next,
		(views->stretch_count - next) * sizeof(*views->stretches));
	views->stretches[next] = *stretch;
	views->stretches[next].address = address;
	views->stretch_count++;
	*ret_address = address;
	return 0;
}

const struct gpu_stretch *gpu_views_stretch(const struct gpu_views *views, uint64_t address)
{
	for (size_t i = 0; i < views->stretch_count; i++)
		if (address - views->stretches[i].address < views->stretches[i].bytes)
			return &views->stretches[i];
	return NULL;
}

void gpu_views_give_back(struct gpu_views *views, uint64_t address)
{
	for (size_t i = 0; i < views->stretch_count; i++)
		if (views->stretches[i].address == address) {
			views->stretch_count--;
			memmove(views->stretches + i, views->stretches + i + 1,
				(views->stretch_count - i) * sizeof(*views->stretches));
			return;
		}
}

/* ---- views ---- */

/* How many begin at or below @address. */
static size_t count_to(const struct gpu_views *views, uint64_t address)
{
	size_t low = 0, high = views->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (views->views[middle]->address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct gpu_view *gpu_views_add(struct gpu_views *views, const struct gpu_view *view)
{
	const size_t at = count_to(views, view->address);
	struct gpu_view *own;

	if (views->count == views->room) {
		const size_t room = views->room ? 2 * views->room : 8;
		struct gpu_view **more =
			util_realloc(views->views, room, sizeof(struct gpu_view *));

		if (!more)
			return NULL;
		views->views = more;
		views->room = room;
	}
	own = util_alloc(sizeof(*own));
	if (!own)
		return NULL;
	*own = *view;
	memmove(views->views + at + 1, views->views + at,
		(views->count - at) * sizeof(struct gpu_view *));
	views->views[at] = own;
	views->count++;
	return own;
}

void gpu_views_remove(struct gpu_views *views, struct gpu_view *view)
{
	const size_t at = count_to(views, view->address) - 1;

	views->count--;
	memmove(views->views + at, views->views + at + 1,
		(views->count - at) * sizeof(struct gpu_view *));
	util_free(view);
}

struct gpu_view *gpu_views_behind(const struct gpu_views *views, uint64_t address)
{
	size_t at = count_to(views, address);

	if (at > 0 && address - views->views[at - 1]->address < views->views[at - 1]->bytes)
		at--;
	return at < views->count ? views->views[at] : NULL;
}

struct gpu_view *gpu_views_find(const struct gpu_views *views, uint64_t address)
{
	struct gpu_view *view = gpu_views_behind(views, address);

	return view && view->address <= address ? view : NULL;
}

bool gpu_views_resolve(const struct gpu_views *views, uint64_t address, uint64_t bytes,
		       struct gpu **ret_gpu, uint64_t *ret_target)
{
	const struct gpu_stretch *stretch = gpu_views_stretch(views, address);
	const struct gpu_view *view;
	uint64_t done = 0;

	if (!stretch || bytes > stretch->bytes - (address - stretch->address))
		return false;
	if (stretch->gpu) {
		*ret_gpu = stretch->gpu;
		*ret_target = stretch->target + (address - stretch->address);
		return true;
	}
	view = gpu_views_find(views, address);
	if (!view || view->is_closed)
		return false;
	*ret_gpu = view->gpu;
	*ret_target = view->target + (address - view->address);
	while (done < bytes) {
		view = gpu_views_find(views, address + done);
		if (!view || view->is_closed || view->gpu != *ret_gpu ||
		    view->target + (address + done - view->address) != *ret_target + done)
			return false;
		done = view->address + view->bytes - address;
	}
	return true;
}
