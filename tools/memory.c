/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/memory.h"

#include "models/program/task.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

/* Mappings whose place is the caller's choice. */
#ifdef MAP_32BIT
enum { PLACED = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT };
#else
enum { PLACED = MAP_FIXED | MAP_FIXED_NOREPLACE };
#endif

/* A rank may give back what another one got, on another thread of the simulation. */
struct memory {
	struct space space;
	pthread_mutex_t lock;
};

static struct memory *memories;
static uint32_t memory_count;

/* ---- spaces ---- */

static void tools_memory_close_all(void)
{
	for (uint32_t i = 0; i < memory_count; i++) {
		space_close(&memories[i].space);
		pthread_mutex_destroy(&memories[i].lock);
	}
	free(memories);
	memories = NULL;
	memory_count = 0;
}

int memory_open(uint32_t count, size_t stack_bytes)
{
	int ret = 0;

	tools_memory_close_all();
	memories = calloc((size_t)count + 1, sizeof(*memories));
	if (!memories)
		return -ENOMEM;
	for (; memory_count < count && !ret; memory_count++) {
		struct memory *memory = &memories[memory_count];

		pthread_mutex_init(&memory->lock, NULL);
		ret = space_open(&memory->space, memory_count, count, stack_bytes);
	}
	if (ret)
		tools_memory_close_all();
	return ret;
}

struct space *memory_space(uint32_t number)
{
	return number < memory_count ? &memories[number].space : NULL;
}

/* Of whoever runs here; NULL: no rank, or one without a space. */
static struct memory *own(void)
{
	const struct task *task = task_current();

	return task && task->space ? &memories[task->space->number] : NULL;
}

/* Whose space it is in; NULL: in nobody's. */
static struct memory *owner_of(const void *ptr)
{
	const uintptr_t place = (uintptr_t)ptr - SPACE_BASE;

	if (memory_count == 0 || place >= memory_count * space_bytes(memory_count))
		return NULL;
	return &memories[place / space_bytes(memory_count)];
}

/* ---- the heap ---- */

static void *tools_memory_allocate(struct memory *memory, size_t bytes, size_t align, bool zero)
{
	void *ptr;

	pthread_mutex_lock(&memory->lock);
	ptr = heap_alloc(&memory->space.heap, bytes, align, zero);
	pthread_mutex_unlock(&memory->lock);
	if (!ptr)
		errno = ENOMEM;
	return ptr;
}

/* As libc does it: whoever gives back what he has not goes no further. */
static void tools_memory_refuse(const char *call, const void *ptr)
{
	fprintf(stderr, "%s(): %p is no block in use\n", call, ptr);
	abort();
}

void memory_free(void *ptr)
{
	struct memory *memory = owner_of(ptr);
	bool ok;

	if (!memory) {
		free(ptr);
		return;
	}
	pthread_mutex_lock(&memory->lock);
	ok = heap_free(&memory->space.heap, ptr);
	pthread_mutex_unlock(&memory->lock);
	/* Outside of ranks: an earlier run in this process, whose memory is gone, is taken down. */
	if (!ok && task_current())
		tools_memory_refuse("free", ptr);
}

static void *memory_malloc(size_t bytes)
{
	struct memory *memory = own();

	return memory ? tools_memory_allocate(memory, bytes, HEAP_ALIGN, false) : malloc(bytes);
}

void *memory_calloc(size_t count, size_t bytes)
{
	struct memory *memory = own();
	size_t all;

	if (!memory)
		return calloc(count, bytes);
	if (__builtin_mul_overflow(count, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return tools_memory_allocate(memory, all, HEAP_ALIGN, true);
}

static size_t memory_size(void *ptr)
{
	struct memory *memory = owner_of(ptr);
	size_t bytes;

	if (!memory)
		return malloc_usable_size(ptr);
	pthread_mutex_lock(&memory->lock);
	bytes = heap_size(&memory->space.heap, ptr);
	pthread_mutex_unlock(&memory->lock);
	return bytes;
}

static void *memory_realloc(void *ptr, size_t bytes)
{
	size_t before;
	void *more;

	if (!ptr)
		return memory_malloc(bytes);
	if (!owner_of(ptr))
		return realloc(ptr, bytes);
	before = memory_size(ptr);
	if (before == 0)
		tools_memory_refuse("realloc", ptr);
	if (bytes == 0) {
		memory_free(ptr);
		return NULL;
	}
	if (bytes <= before && bytes > before / 2)
		return ptr;
	more = memory_malloc(bytes);
	if (!more)
		return NULL;
	memcpy(more, ptr, before < bytes ? before : bytes);
	memory_free(ptr);
	return more;
}

static void *memory_reallocarray(void *ptr, size_t count, size_t bytes)
{
	size_t all;

	if (!__builtin_mul_overflow(count, bytes, &all))
		return memory_realloc(ptr, all);
	errno = ENOMEM;
	return NULL;
}

static void *memory_aligned(size_t align, size_t bytes)
{
	struct memory *memory = own();

	if (!memory)
		return memalign(align, bytes);
	if (align == 0 || (align & (align - 1)) != 0) {
		errno = EINVAL;
		return NULL;
	}
	return tools_memory_allocate(memory, bytes, align, false);
}

static int memory_posix_memalign(void **ret_ptr, size_t align, size_t bytes)
{
	struct memory *memory = own();
	void *ptr;

	if (!memory)
		return posix_memalign(ret_ptr, align, bytes);
	if (align % sizeof(void *) != 0 || align == 0 || (align & (align - 1)) != 0)
		return EINVAL;
	ptr = tools_memory_allocate(memory, bytes, align, false);
	if (!ptr)
		return ENOMEM;
	*ret_ptr = ptr;
	return 0;
}

static void *memory_valloc(size_t bytes)
{
	return memory_aligned((size_t)sysconf(_SC_PAGESIZE), bytes);
}

static void *memory_pvalloc(size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return memory_aligned(page, (bytes + page - 1) / page * page);
}

/* ---- what libc allocates for its callers ---- */

static char *memory_strndup(const char *text, size_t most)
{
	const size_t length = strnlen(text, most);
	char *copy = memory_malloc(length + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

static char *memory_strdup(const char *text)
{
	return memory_strndup(text, PTRDIFF_MAX);
}

/* @text, libc's own, in memory of the program. */
static char *adopt(char *text, size_t bytes)
{
	char *copy;

	if (!text || !own())
		return text;
	copy = memory_malloc(bytes);
	if (copy)
		memcpy(copy, text, bytes);
	free(text);
	return copy;
}

__attribute__((format(printf, 2, 0))) static int memory_vasprintf(char **ret_text,
								  const char *format, va_list args)
{
	char *text;
	const int length = vasprintf(&text, format, args);

	if (length < 0)
		return length;
	*ret_text = adopt(text, (size_t)length + 1);
	return *ret_text ? length : -1;
}

__attribute__((format(printf, 2, 3))) static int memory_asprintf(char **ret_text,
								 const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = memory_vasprintf(ret_text, format, args);
	va_end(args);
	return length;
}

/* As <stdio.h> makes it with _FORTIFY_SOURCE: @flag asks for more checks of @format. */
__attribute__((format(printf, 3, 0))) static int
memory_vasprintf_chk(char **ret_text, int flag, const char *format, va_list args)
{
	(void)flag;
	return memory_vasprintf(ret_text, format, args);
}

__attribute__((format(printf, 3, 4))) static int memory_asprintf_chk(char **ret_text, int flag,
								     const char *format, ...)
{
	va_list args;
	int length;

	(void)flag;
	va_start(args, format);
	length = memory_vasprintf(ret_text, format, args);
	va_end(args);
	return length;
}

static ssize_t memory_getdelim(char **line, size_t *room, int end, FILE *file)
{
	char *read = NULL, *copy;
	size_t read_room = 0;
	ssize_t length;

	if (!own())
		return getdelim(line, room, end, file);
	length = getdelim(&read, &read_room, end, file);
	if (length >= 0 && (!*line || *room <= (size_t)length)) {
		copy = memory_realloc(*line, (size_t)length + 1);
		if (copy) {
			*line = copy;
			*room = memory_size(copy);
		} else {
			length = -1;
		}
	}
	if (length >= 0)
		memcpy(*line, read, (size_t)length + 1);
	free(read);
	return length;
}

static ssize_t memory_getline(char **line, size_t *room, FILE *file)
{
	return memory_getdelim(line, room, '\n', file);
}

static char *memory_realpath(const char *path, char *place)
{
	char *text = realpath(path, place);

	return place || !text ? text : adopt(text, strlen(text) + 1);
}

static char *memory_getcwd(char *place, size_t bytes)
{
	char *text = getcwd(place, bytes);

	return place || !text ? text : adopt(text, bytes > 0 ? bytes : strlen(text) + 1);
}

static char *memory_canonicalize_file_name(const char *path)
{
	return memory_realpath(path, NULL);
}

static char *memory_get_current_dir_name(void)
{
	char *text = get_current_dir_name();

	return text ? adopt(text, strlen(text) + 1) : NULL;
}

static wchar_t *memory_wcsdup(const wchar_t *text)
{
	const size_t bytes = (wcslen(text) + 1) * sizeof(*text);
	wchar_t *copy = memory_malloc(bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

/* ---- mappings ---- */

/* Where something may be gone that adapters know: whole pages, of which the last may be named in
 * part. */
static void has_changed(const void *start, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct task *task = task_current();

	if (task)
		task_memory_changed(task, (uintptr_t)start,
				    bytes > SIZE_MAX - page ? bytes : bytes + page - 1);
}

/* Maps at a place that is free as far as the program knows. What is there in spite of it, mapped
 * behind our back, is left alone, and the next place tried. */
static void *map_in(struct memory *memory, size_t bytes, int protection, int flags, int fd,
		    off_t offset)
{
	const size_t align = flags & MAP_HUGETLB ? (size_t)1 << 21 : 0;
	void *got = MAP_FAILED;
	uintptr_t place;

	do {
		pthread_mutex_lock(&memory->lock);
		place = maps_take(&memory->space.maps, bytes, align);
		pthread_mutex_unlock(&memory->lock);
		if (place == 0) {
			errno = ENOMEM;
			return MAP_FAILED;
		}
		got = mmap((void *)place, bytes, protection, flags | MAP_FIXED_NOREPLACE, fd,
			   offset);
	} while (got == MAP_FAILED && errno == EEXIST);
	if (got == (void *)place)
		return got;
	if (got != MAP_FAILED)
		munmap(got, bytes);
	pthread_mutex_lock(&memory->lock);
	maps_drop(&memory->space.maps, place, bytes);
	pthread_mutex_unlock(&memory->lock);
	return MAP_FAILED;
}

static void *memory_mmap(void *wish, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	struct memory *memory = own();
	void *got;

	if (!memory || bytes == 0 || (flags & PLACED) != 0) {
		got = mmap(wish, bytes, protection, flags, fd, offset);
		if (got != MAP_FAILED && flags & MAP_FIXED)
			has_changed(got, bytes);
		return got;
	}
	if (wish) {
		got = mmap(wish, bytes, protection, flags | MAP_FIXED_NOREPLACE, fd, offset);
		if (got == wish)
			return got;
		if (got != MAP_FAILED)
			munmap(got, bytes);
	}
	return map_in(memory, bytes, protection, flags, fd, offset);
}

void *memory_map_stack(size_t *bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct memory *memory = own();
	uint8_t *start;

	*bytes = (*bytes + page - 1) / page * page;
	start = memory ? map_in(memory, *bytes + page, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0)
		       : MAP_FAILED;
	if (start == MAP_FAILED)
		return NULL;
	mprotect(start, page, PROT_NONE);
	return start + page;
}

static int memory_munmap(void *start, size_t bytes)
{
	struct memory *memory = owner_of(start);
	const int ret = munmap(start, bytes);

	if (ret != 0)
		return ret;
	has_changed(start, bytes);
	if (!memory)
		return 0;
	pthread_mutex_lock(&memory->lock);
	maps_drop(&memory->space.maps, (uintptr_t)start, bytes);
	pthread_mutex_unlock(&memory->lock);
	return ret;
}

void memory_unmap_stack(void *stack, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	memory_munmap((uint8_t *)stack - page, bytes + page);
}

/* Where it has to move it goes where a new mapping would. */
static void *memory_mremap(void *start, size_t before, size_t bytes, int flags, ...)
{
	struct memory *memory = owner_of(start);
	void *place, *got;
	va_list args;

	va_start(args, flags);
	place = flags & MREMAP_FIXED ? va_arg(args, void *) : NULL;
	va_end(args);
	if (!memory || !own() || place || before == 0 || bytes <= before ||
	    !(flags & MREMAP_MAYMOVE)) {
		got = mremap(start, before, bytes, flags, place);
		if (got != MAP_FAILED)
			has_changed(start, before);
		if (got == start && memory && bytes < before) {
			pthread_mutex_lock(&memory->lock);
			maps_drop(&memory->space.maps, (uintptr_t)start + bytes, before - bytes);
			pthread_mutex_unlock(&memory->lock);
		}
		return got;
	}
	place = map_in(memory, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		       0);
	if (place == MAP_FAILED)
		return MAP_FAILED;
	got = mremap(start, before, bytes, flags | MREMAP_FIXED, place);
	if (got == MAP_FAILED) {
		memory_munmap(place, bytes);
		return MAP_FAILED;
	}
	has_changed(start, before);
	pthread_mutex_lock(&memory->lock);
	maps_drop(&memory->space.maps, (uintptr_t)start, before);
	pthread_mutex_unlock(&memory->lock);
	return got;
}

static int memory_mprotect(void *start, size_t bytes, int protection)
{
	const int ret = mprotect(start, bytes, protection);

	if (ret == 0)
		has_changed(start, bytes);
	return ret;
}

/* Whatever is mapped of the file: it is not known here where. */
static int memory_ftruncate(int fd, off_t length)
{
	const int ret = ftruncate(fd, length);

	if (ret == 0)
		has_changed(NULL, SIZE_MAX);
	return ret;
}

static int memory_truncate(const char *path, off_t length)
{
	const int ret = truncate(path, length);

	if (ret == 0)
		has_changed(NULL, SIZE_MAX);
	return ret;
}

#define CALL(name, fn)                                                                             \
	{                                                                                          \
		name, (void (*)(void))(fn)                                                         \
	}

const struct memory_call memory_calls[] = {
	CALL("malloc", memory_malloc),
	CALL("calloc", memory_calloc),
	CALL("realloc", memory_realloc),
	CALL("reallocarray", memory_reallocarray),
	CALL("free", memory_free),
	CALL("cfree", memory_free),
	CALL("memalign", memory_aligned),
	CALL("aligned_alloc", memory_aligned),
	CALL("posix_memalign", memory_posix_memalign),
	CALL("valloc", memory_valloc),
	CALL("pvalloc", memory_pvalloc),
	CALL("malloc_usable_size", memory_size),
	CALL("strdup", memory_strdup),
	CALL("__strdup", memory_strdup),
	CALL("strndup", memory_strndup),
	CALL("__strndup", memory_strndup),
	CALL("asprintf", memory_asprintf),
	CALL("vasprintf", memory_vasprintf),
	CALL("__asprintf_chk", memory_asprintf_chk),
	CALL("__vasprintf_chk", memory_vasprintf_chk),
	CALL("getline", memory_getline),
	CALL("getdelim", memory_getdelim),
	CALL("__getdelim", memory_getdelim),
	CALL("realpath", memory_realpath),
	CALL("getcwd", memory_getcwd),
	CALL("canonicalize_file_name", memory_canonicalize_file_name),
	CALL("get_current_dir_name", memory_get_current_dir_name),
	CALL("wcsdup", memory_wcsdup),
	CALL("mmap", memory_mmap),
	CALL("mmap64", memory_mmap),
	CALL("munmap", memory_munmap),
	CALL("mremap", memory_mremap),
	CALL("mprotect", memory_mprotect),
	CALL("ftruncate", memory_ftruncate),
	CALL("ftruncate64", memory_ftruncate),
	CALL("truncate", memory_truncate),
	CALL("truncate64", memory_truncate),
};
const uint32_t memory_call_count = sizeof(memory_calls) / sizeof(memory_calls[0]);
