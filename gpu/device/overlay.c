/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/overlay.h"

#include "util/alloc.h"

#include <errno.h>
#include <string.h>

enum { PAGE = 4096, SLOTS = 64, WORD = 64 };

struct overlay_page {
	struct overlay_page *next;	  /* of its slot */
	uint8_t *at;			  /* a multiple of PAGE */
	uint64_t is_written[PAGE / WORD]; /* a bit a byte */
	uint8_t bytes[PAGE];		  /* those that are written; the others are of no meaning */
};

static size_t slot_of(const struct overlay *overlay, const uint8_t *at)
{
	return ((uintptr_t)at / PAGE * UINT64_C(0x9e3779b97f4a7c15) >> 20) &
	       (overlay->slot_count - 1);
}

static struct overlay_page *find_page(const struct overlay *overlay, const uint8_t *at)
{
	struct overlay_page *page =
		overlay->slot_count > 0 ? overlay->slots[slot_of(overlay, at)] : NULL;

	while (page && page->at != at)
		page = page->next;
	return page;
}

static int grow(struct overlay *overlay)
{
	const struct overlay before = *overlay;
	const size_t count = before.slot_count > 0 ? 4 * before.slot_count : SLOTS;
	struct overlay_page **slots = util_calloc(count, sizeof(struct overlay_page *));

	if (!slots)
		return -ENOMEM;
	overlay->slots = slots;
	overlay->slot_count = count;
	for (size_t i = 0; i < before.slot_count; i++)
		for (struct overlay_page *page = before.slots[i], *next; page; page = next) {
			struct overlay_page **slot = &slots[slot_of(overlay, page->at)];

			next = page->next;
			page->next = *slot;
			*slot = page;
		}
	util_free(before.slots);
	return 0;
}

static struct overlay_page *make_page(struct overlay *overlay, uint8_t *at)
{
	struct overlay_page *page = find_page(overlay, at), **slot;

	if (page)
		return page;
	if (overlay->count >= overlay->slot_count && grow(overlay) != 0)
		return NULL;
	page = util_alloc(sizeof(*page));
	if (!page)
		return NULL;
	memset(page->is_written, 0, sizeof(page->is_written));
	slot = &overlay->slots[slot_of(overlay, at)];
	page->at = at;
	page->next = *slot;
	*slot = page;
	overlay->count++;
	return page;
}

/* Of @bytes from @at on: those in its page. */
static size_t in_page(const uint8_t *at, size_t bytes)
{
	const size_t left = PAGE - (uintptr_t)at % PAGE;

	return bytes < left ? bytes : left;
}

/* Of the word that @offset is in: the bits of @bytes bytes from there on, as far as it has them. */
static uint64_t bits_of(size_t offset, size_t bytes)
{
	const size_t first = offset % WORD, count = bytes < WORD - first ? bytes : WORD - first;

	return (count < WORD ? (UINT64_C(1) << count) - 1 : UINT64_MAX) << first;
}

int overlay_write(struct overlay *overlay, uint8_t *at, const void *from, size_t bytes)
{
	const uint8_t *source = from;

	for (size_t part; bytes > 0; bytes -= part, at += part, source += part) {
		const size_t offset = (uintptr_t)at % PAGE;
		struct overlay_page *page = make_page(overlay, at - offset);

		part = in_page(at, bytes);
		if (!page)
			return -ENOMEM;
		memcpy(page->bytes + offset, source, part);
		for (size_t i = offset; i < offset + part; i += WORD - i % WORD)
			page->is_written[i / WORD] |= bits_of(i, offset + part - i);
	}
	return 0;
}

/* Those of @page from @offset on that are written: @to has them, at their places. */
static void patch(const struct overlay_page *page, uint8_t *to, size_t offset, size_t bytes)
{
	const size_t end = offset + bytes;

	for (size_t i = offset, next; i < end; i = next) {
		const uint64_t bits = bits_of(i, end - i);
		uint64_t written = page->is_written[i / WORD] & bits;

		next = i - i % WORD + WORD < end ? i - i % WORD + WORD : end;
		if (written == bits) {
			memcpy(to + (i - offset), page->bytes + i, next - i);
			continue;
		}
		for (; written; written &= written - 1) {
			const size_t k = i / WORD * WORD + (size_t)__builtin_ctzll(written);

			to[k - offset] = page->bytes[k];
		}
	}
}

void overlay_read(const struct overlay *overlay, void *to, const uint8_t *at, size_t bytes)
{
	uint8_t *target = to;

	memcpy(to, at, bytes);
	for (size_t part; overlay->count > 0 && bytes > 0;
	     bytes -= part, at += part, target += part) {
		const size_t offset = (uintptr_t)at % PAGE;
		const struct overlay_page *page = find_page(overlay, at - offset);

		part = in_page(at, bytes);
		if (page)
			patch(page, target, offset, part);
	}
}

static void end_pages(struct overlay *overlay, bool laid_down)
{
	for (size_t i = 0; i < overlay->slot_count; i++)
		for (struct overlay_page *page = overlay->slots[i], *next; page; page = next) {
			next = page->next;
			if (laid_down)
				patch(page, page->at, 0, PAGE);
			util_free(page);
		}
	util_free(overlay->slots);
	*overlay = (struct overlay){.slots = NULL};
}

void overlay_lay_down(struct overlay *overlay)
{
	end_pages(overlay, true);
}

void overlay_fini(struct overlay *overlay)
{
	end_pages(overlay, false);
}
