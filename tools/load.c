/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/load.h"

#include "models/program/space.h"
#include "tools/memory.h"
#include "tools/threads.h"
#include "util/siphash.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* ROOM: beside a module, for libraries that it brings. GROWTH: what is left free below the stack of
 * the process. HOLES: so many parts of its addresses are free at most. */
enum { SLOTS = 256, HOLES = 4096, GRAIN = 1 << 16, SPARE_PARTS = 160, SPARE_BYTES = 100000 };
#define ROOM (SPACE_MODULES_BYTES / SLOTS / 4)
#define GROWTH ((uintptr_t)1 << 26)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

struct range {
	uintptr_t start, end;
};

struct holes {
	struct range all[HOLES];
	uint32_t count;
};

/* Modules in memory, and which run was the first to use each. */
static struct use {
	const struct link_map *map;
	uint32_t run;
} * uses;
static uint32_t use_count;
/* A copy that was closed is still there, and may come to memory of its run when the process ends.
 */
static bool one_stays;

/* ---- calls ---- */

struct object {
	const struct link_map *map;
	struct range relro;
};

static int find_relro(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *object = arg;

	(void)size;
	if (info->dlpi_addr != object->map->l_addr)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
			const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

			object->relro =
				(struct range){start & ~(page - 1),
					       (start + info->dlpi_phdr[i].p_memsz) & ~(page - 1)};
		}
	return 1;
}

/* What the loader has made of a pointer there, it has made in place; or left it. */
static uintptr_t pointer_of(const struct link_map *map, uintptr_t value)
{
	return value < map->l_addr ? value + map->l_addr : value;
}

/* Whether a slot holds libc's function of that name, or what looks for it when it is called first:
 * a stub of the object itself. */
static bool is_libcs(uintptr_t value, const char *name, const struct link_map *map)
{
	Dl_info info;

	return value == (uintptr_t)dlsym(RTLD_DEFAULT, name) ||
	       (dladdr((const void *)value, &info) != 0 &&
		(uintptr_t)info.dli_fbase == (uintptr_t)map->l_addr);
}

static bool hook_call(uintptr_t *slot, const char *name, const struct link_map *map,
		      const struct memory_call *calls, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(name, calls[i].name) == 0) {
			if (is_libcs(*slot, name, map))
				*slot = (uintptr_t)calls[i].fn;
			return true;
		}
	return false;
}

static void hook_slot(uintptr_t *slot, const char *name, const struct link_map *map)
{
	if (!space_is_supported() || !hook_call(slot, name, map, memory_calls, memory_call_count))
		hook_call(slot, name, map, thread_calls, thread_call_count);
}

static void hook_slots(const struct object *object, uintptr_t table, size_t bytes,
		       const ElfW(Sym) * symbols, const char *names)
{
	const ElfW(Rela) *all = (const ElfW(Rela) *)table;

	for (size_t i = 0; table && i < bytes / sizeof(*all); i++) {
		const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(all[i].r_info)];

		if (ELF64_R_SYM(all[i].r_info) != 0 && symbol->st_shndx == SHN_UNDEF)
			hook_slot((uintptr_t *)(object->map->l_addr + all[i].r_offset),
				  names + symbol->st_name, object->map);
	}
}

static void hook_object(const struct link_map *map)
{
	struct object object = {.map = map};
	uintptr_t value[DT_JMPREL + 1] = {0};
	size_t bytes;

	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag > 0 && entry->d_tag <= DT_JMPREL)
			value[entry->d_tag] = entry->d_un.d_val;
	for (size_t i = 0; i < 4; i++) {
		static const int pointers[] = {DT_SYMTAB, DT_STRTAB, DT_RELA, DT_JMPREL};

		if (value[pointers[i]])
			value[pointers[i]] = pointer_of(map, value[pointers[i]]);
	}
	dl_iterate_phdr(find_relro, &object);
	bytes = object.relro.end - object.relro.start;
	if (bytes > 0 && mprotect((void *)object.relro.start, bytes, PROT_READ | PROT_WRITE) != 0)
		return;
	hook_slots(&object, value[DT_RELA], value[DT_RELASZ], (const ElfW(Sym) *)value[DT_SYMTAB],
		   (const char *)value[DT_STRTAB]);
	hook_slots(&object, value[DT_JMPREL], value[DT_PLTRELSZ],
		   (const ElfW(Sym) *)value[DT_SYMTAB], (const char *)value[DT_STRTAB]);
	if (bytes > 0)
		mprotect((void *)object.relro.start, bytes, PROT_READ);
}

/* ---- places ---- */

/* What is mapped of the file at @path: from address, to address, as it was linked. */
static bool read_extent(const char *path, struct range *ret_extent)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ElfW(Ehdr) head;
	ElfW(Phdr) part;
	bool ok = fd >= 0 && pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
		  memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
		  head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_phentsize == sizeof(part);

	*ret_extent = (struct range){UINTPTR_MAX, 0};
	for (int i = 0; ok && i < head.e_phnum; i++) {
		ok = pread(fd, &part, sizeof(part),
			   (off_t)(head.e_phoff + (size_t)i * sizeof(part))) == sizeof(part);
		if (!ok || part.p_type != PT_LOAD)
			continue;
		if (part.p_vaddr < ret_extent->start)
			ret_extent->start = part.p_vaddr & ~(page - 1);
		if (part.p_vaddr + part.p_memsz > ret_extent->end)
			ret_extent->end = (part.p_vaddr + part.p_memsz + page - 1) & ~(page - 1);
	}
	if (fd >= 0)
		close(fd);
	return ok && ret_extent->start < ret_extent->end;
}

static void add_hole(struct holes *holes, uintptr_t start, uintptr_t end)
{
	if (start < end && holes->count < HOLES)
		holes->all[holes->count++] = (struct range){start, end};
}

/* All that is free but @keep. */
static bool find_holes(struct holes *holes, struct range keep)
{
	FILE *file = fopen("/proc/self/maps", "re");
	uintptr_t from = GRAIN;
	char line[512];

	holes->count = 0;
	while (file && fgets(line, sizeof(line), file)) {
		struct range used;
		uintptr_t to;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &used.start, &used.end) != 2)
			continue;
		to = used.start;
		if (strstr(line, "[stack]"))
			to = to > GROWTH ? to - GROWTH : 0;
		add_hole(holes, from, to < keep.start ? to : keep.start);
		add_hole(holes, from > keep.end ? from : keep.end, to);
		from = used.end;
		if (strstr(line, "[stack]"))
			break; /* nothing is mapped above it of itself */
	}
	if (file)
		fclose(file);
	return file && holes->count > 0 && holes->count < HOLES - 1; /* one more may come */
}

static void tools_load_fill(struct range *hole)
{
	void *got = mmap((void *)hole->start, hole->end - hole->start, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (got == (void *)hole->start)
		return;
	if (got != MAP_FAILED)
		munmap(got, hole->end - hole->start);
	hole->end = hole->start; /* something has come there since */
}

static void clear(const struct holes *holes)
{
	for (uint32_t i = 0; i < holes->count; i++)
		if (holes->all[i].end > holes->all[i].start)
			munmap((void *)holes->all[i].start,
			       holes->all[i].end - holes->all[i].start);
}

static const struct link_map *tools_load_map_of(void *module)
{
	struct link_map *map = NULL;

	return dlinfo(module, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL;
}

/* Where it was linked to, or in the range for modules. */
static bool is_fixed(void *module)
{
	const struct link_map *map = tools_load_map_of(module);

	return map && (map->l_addr == 0 || (map->l_addr >= SPACE_MODULES &&
					    map->l_addr < SPACE_MODULES + SPACE_MODULES_BYTES));
}

/* Memory of the process's heap that nobody uses, for the loader and what it calls, while the heap
 * cannot grow. */
struct spare {
	void *parts[SPARE_PARTS], *end;
};

static void spare_begin(struct spare *spare)
{
	for (int i = 0; i < SPARE_PARTS; i++)
		spare->parts[i] = malloc(SPARE_BYTES);
	spare->end = malloc(1);
	for (int i = 0; i < SPARE_PARTS; i++)
		free(spare->parts[i]);
}

static void spare_end(struct spare *spare)
{
	free(spare->end);
}

/* All is filled but @place with @room on both sides: fills the side from which the system takes
 * first, so that what it gives first is @place. */
static bool fill_side(struct holes *holes, uintptr_t place, size_t bytes, size_t room)
{
	struct range *side = &holes->all[holes->count];
	void *first =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (first == MAP_FAILED)
		return false;
	munmap(first, bytes);
	if ((uintptr_t)first == place + room)
		*side = (struct range){place + bytes, place + bytes + room};
	else if ((uintptr_t)first == place - room)
		*side = (struct range){place - room, place};
	else
		return false;
	tools_load_fill(side);
	holes->count++;
	return true;
}

/* The loader takes what the system gives it: for as long as it asks nothing is free but @place and
 * @room beside it, for libraries and what they map. */
static void *open_at(const char *path, uintptr_t place, size_t bytes, size_t room,
		     struct holes *holes)
{
	const struct range keep = {place - room, place + bytes + room};
	struct spare spare;
	void *module = NULL;

	spare_begin(&spare);
	if (find_holes(holes, keep)) {
		for (uint32_t i = 0; i < holes->count; i++)
			tools_load_fill(&holes->all[i]);
		if (room == 0 || fill_side(holes, place, bytes, room))
			module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		clear(holes);
	}
	spare_end(&spare);
	if (module && tools_load_map_of(module)->l_addr != place) {
		dlclose(module);
		return NULL;
	}
	return module;
}

static uintptr_t tools_load_place_of(const char *path, uint32_t turn)
{
	const char *slash = strrchr(path, '/');
	const uint64_t slot = util_hash_name(slash ? slash + 1 : path) + turn;

	return SPACE_MODULES + ROOM + slot % SLOTS * (SPACE_MODULES_BYTES / SLOTS);
}

/* Emulators and debuggers that keep books of every page take hours for what takes a kernel nothing;
 * they show no vDSO. */
static bool has_kernel(void)
{
	return getauxval(AT_SYSINFO_EHDR) != 0;
}

static bool is_free(uintptr_t place, size_t bytes)
{
	void *got = mmap((void *)place, bytes, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (got != MAP_FAILED)
		munmap(got, bytes);
	return got == (void *)place;
}

static void *open_fixed(const char *path, uintptr_t bytes)
{
	struct holes *holes;
	void *module = NULL;
	uintptr_t place;
	uint32_t turn = 0;

	if (bytes > ROOM || !has_kernel())
		return NULL;
	while (place = tools_load_place_of(path, turn), turn < SLOTS && !is_free(place, bytes))
		turn++; /* another module, whose name has the same hash */
	holes = malloc(sizeof(*holes));
	module = holes ? open_at(path, place, bytes, ROOM, holes) : NULL;
	/* Some file systems look for room to align large files. */
	if (holes && !module)
		module = open_at(path, place, bytes, 0, holes);
	free(holes);
	return module;
}

static struct use *tools_load_use_of(const struct link_map *map)
{
	for (uint32_t i = 0; i < use_count; i++)
		if (uses[i].map == map)
			return &uses[i];
	return NULL;
}

bool load_use(void *module, uint32_t run)
{
	if (one_stays)
		return false;

	struct use *use = tools_load_use_of(tools_load_map_of(module)), *more;

	if (!use || use->run == 0) {
		more = use ? uses : realloc(uses, (use_count + 1) * sizeof(*uses));
		if (!more)
			return false;
		uses = more;
		use = use ? use : &uses[use_count++];
		*use = (struct use){tools_load_map_of(module), run};
	}
	return use->run == run;
}

/* ---- copies ---- */

/* Copies in memory. */
static struct copy_of {
	void *module;
	uint32_t number, users;
	uintptr_t start, bytes, original;
} * copies;
static uint32_t copy_count;

/* All of @path in a file without a name. -1: errno. */
static int copy_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	const int from = open(path, O_RDONLY | O_CLOEXEC);
	const int to = from < 0 ? -1 : memfd_create(slash ? slash + 1 : path, MFD_CLOEXEC);
	char bytes[65536];
	ssize_t got = 1;

	while (to >= 0 && got > 0) {
		got = read(from, bytes, sizeof(bytes));
		if (got > 0 && write(to, bytes, (size_t)got) != got)
			got = -1;
	}
	if (from >= 0)
		close(from);
	if (to >= 0 && got < 0) {
		close(to);
		return -1;
	}
	return to;
}

/* Each time another name, since the loader goes by names, of which descriptors come again. */
static void name_copy(int fd, char *ret_path, size_t room)
{
	static uint32_t serial;
	char *at = stpcpy(ret_path, "/proc/self/fd");

	for (uint32_t bits = ++serial; bits > 0; bits >>= 1)
		at = stpcpy(at, bits & 1 ? "/." : "/");
	snprintf(at, room - (size_t)(at - ret_path), "/%d", fd);
}

static void *open_copy(const char *path, const char *name, uint32_t number, uintptr_t bytes)
{
	const uintptr_t step = (bytes + GRAIN - 1) / GRAIN * GRAIN;
	const uintptr_t place = tools_load_place_of(path, 0) + ROOM + number * step;
	struct range behind = {place + bytes, place + step};
	struct holes *holes;
	void *module = NULL;

	if (has_kernel() && space_is_supported() && number < ROOM / step) {
		holes = malloc(sizeof(*holes));
		module = holes ? open_at(name, place, bytes, 0, holes) : NULL;
		free(holes);
		if (module && bytes < step)
			tools_load_fill(&behind); /* one hole less for the next */
	}
	return module ? module : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* One that is there and that no run has used; NULL: none. */
static void *share_copy(const struct link_map *original, uint32_t number, bool *ret_fixed)
{
	for (uint32_t i = 0; i < copy_count; i++) {
		struct copy_of *copy = &copies[i];
		const struct use *use = tools_load_use_of(tools_load_map_of(copy->module));

		if (copy->original != original->l_addr || copy->number != number ||
		    (use && use->run != 0))
			continue;
		copy->users++;
		*ret_fixed = space_is_supported() && is_fixed(copy->module);
		return copy->module;
	}
	return NULL;
}

static bool note_copy(void *module, const struct link_map *original, uint32_t number,
		      uintptr_t bytes)
{
	struct use *use = tools_load_use_of(tools_load_map_of(module));
	struct copy_of *more = realloc(copies, (copy_count + 1) * sizeof(*copies));

	if (!more)
		return false;
	copies = more;
	copies[copy_count++] = (struct copy_of){
		module, number, 1, tools_load_map_of(module)->l_addr, bytes, original->l_addr};
	if (use)
		use->run = 0; /* that was another one, which is gone */
	return true;
}

/* A new one. NULL: errno or dlerror(). */
static void *make_copy(const char *path, const struct link_map *original, uint32_t number)
{
	const int fd = copy_file(path);
	void *module = NULL;
	struct range extent;
	char name[128];

	if (fd >= 0 && read_extent(path, &extent)) {
		name_copy(fd, name, sizeof(name));
		module = open_copy(path, name, number, extent.end);
	}
	if (module && !note_copy(module, original, number, extent.end)) {
		dlclose(module);
		module = NULL;
	}
	if (module)
		hook_object(tools_load_map_of(module));
	if (fd >= 0)
		close(fd);
	return module;
}

void *load_copy(const char *path, uint32_t number, bool *ret_fixed)
{
	void *original = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD), *module;
	const struct link_map *map = original ? tools_load_map_of(original) : NULL;

	if (!map)
		return NULL;
	module = share_copy(map, number, ret_fixed);
	if (!module) {
		module = make_copy(path, map, number);
		*ret_fixed = module && space_is_supported() && is_fixed(module);
	}
	dlclose(original);
	return module;
}

void load_close_copy(void *module)
{
	char *name;

	for (uint32_t i = 0; i < copy_count; i++)
		if (copies[i].module == module) {
			if (--copies[i].users > 0)
				return;
			copies[i] = copies[--copy_count];
			break;
		}
	name = strdup(tools_load_map_of(module)->l_name);
	dlclose(module);
	module = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
	one_stays = one_stays || module;
	if (module)
		dlclose(module);
	free(name);
}

const void *load_original(const void *place)
{
	for (uint32_t i = 0; i < copy_count; i++)
		if ((uintptr_t)place - copies[i].start < copies[i].bytes)
			return (const void *)((uintptr_t)place - copies[i].start +
					      copies[i].original);
	return place;
}

/* The library of C++ is one that we may have brought ourselves, beneath libxml2. What others than
 * programs call there goes to libc as before. */
static void hook_cxx(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	if (!library)
		return;
	hook_object(tools_load_map_of(library));
	dlclose(library);
}

void *load_open(const char *path, bool *ret_fixed)
{
	struct range extent;
	void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	const bool is_new = !module;

	if (is_new && space_is_supported() && read_extent(path, &extent) && extent.start == 0)
		module = open_fixed(path, extent.end);
	if (!module)
		module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (is_new && module && tools_load_use_of(tools_load_map_of(module)))
		tools_load_use_of(tools_load_map_of(module))->run =
			0; /* that was another one, which is gone */
	*ret_fixed = module && space_is_supported() && is_fixed(module);
	/* With the libraries that it has brought. */
	for (const struct link_map *map = is_new && module ? tools_load_map_of(module) : NULL; map;
	     map = map->l_next)
		hook_object(map);
	if (is_new && module)
		hook_cxx();
	return module;
}
