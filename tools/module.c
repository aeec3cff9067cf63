/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct table { /* a section; NULL: there is none */
	char *bytes;
	size_t length;
};

struct module {
	int fd;
	uint64_t size; /* of the file */
	ElfW(Ehdr) header;
	struct table sections, symbols, names, dynamic, dynamic_names;
};

/* ---- the file ---- */

/* A zero behind it, so that the last text of a table ends. */
static int read_range(const struct module *module, uint64_t offset, uint64_t length,
		      struct table *ret_table)
{
	size_t have = 0;

	if (offset > module->size || length > module->size - offset)
		return -ENOEXEC;
	ret_table->bytes = malloc(length + 1);
	if (!ret_table->bytes)
		return -ENOMEM;
	while (have < length) {
		const ssize_t got = pread(module->fd, ret_table->bytes + have, length - have,
					  (off_t)(offset + have));

		if (got == 0 || (got < 0 && errno != EINTR))
			return got == 0 ? -ENOEXEC : -errno;
		have += got > 0 ? (size_t)got : 0;
	}
	ret_table->bytes[length] = '\0';
	ret_table->length = length;
	return 0;
}

static int module_read_header(struct module *module)
{
	struct table header = {.bytes = NULL};
	const int ret = read_range(module, 0, sizeof(module->header), &header);

	if (!ret)
		memcpy(&module->header, header.bytes, sizeof(module->header));
	free(header.bytes);
	return ret;
}

static bool open_file(struct module *module, const char *path)
{
	struct stat stat_of;

	module->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* also of a FIFO */
	if (module->fd < 0 || fstat(module->fd, &stat_of) != 0 || !S_ISREG(stat_of.st_mode))
		return false;
	module->size = (uint64_t)stat_of.st_size;
	return true;
}

/* That of the process itself: the same kind of file for the same kind of machine. */
static bool is_ours(const ElfW(Ehdr) * header)
{
	struct module self = {.fd = -1};
	bool is_same = open_file(&self, "/proc/self/exe") && module_read_header(&self) == 0;

	is_same = is_same && self.header.e_ident[EI_CLASS] == header->e_ident[EI_CLASS] &&
		  self.header.e_ident[EI_DATA] == header->e_ident[EI_DATA] &&
		  self.header.e_machine == header->e_machine;
	if (self.fd >= 0)
		close(self.fd);
	return is_same;
}

/* ---- sections ---- */

static size_t section_count(const struct module *module)
{
	return module->sections.length / sizeof(ElfW(Shdr));
}

static ElfW(Shdr) section_at(const struct module *module, size_t i)
{
	ElfW(Shdr) section;

	memcpy(&section, module->sections.bytes + i * sizeof(section), sizeof(section));
	return section;
}

/* The first of @type, and the texts that it names. */
static int read_section(struct module *module, uint32_t type, struct table *ret_table,
			struct table *ret_names)
{
	for (size_t i = 0; i < section_count(module); i++) {
		const ElfW(Shdr) section = section_at(module, i);
		int ret;

		if (section.sh_type != type)
			continue;
		if (section.sh_link >= section_count(module))
			return -ENOEXEC;
		ret = read_range(module, section.sh_offset, section.sh_size, ret_table);
		return ret ? ret
			   : read_range(module, section_at(module, section.sh_link).sh_offset,
					section_at(module, section.sh_link).sh_size, ret_names);
	}
	return 0;
}

static int read_tables(struct module *module)
{
	const ElfW(Ehdr) *header = &module->header;
	int ret;

	if (header->e_shnum > 0 && header->e_shentsize != sizeof(ElfW(Shdr)))
		return -ENOEXEC;
	ret = read_range(module, header->e_shoff, (uint64_t)header->e_shnum * sizeof(ElfW(Shdr)),
			 &module->sections);
	ret = ret ? ret : read_section(module, SHT_DYNSYM, &module->symbols, &module->names);
	return ret ? ret
		   : read_section(module, SHT_DYNAMIC, &module->dynamic, &module->dynamic_names);
}

static const char *name_in(const struct table *names, uint64_t offset)
{
	return offset < names->length ? names->bytes + offset : "";
}

/* ---- what it wants ---- */

/* Of these all that we have is ours. */
static const char verbs_library[] = "libibverbs.so.1", own_library[] = "libverbena.so.0";
/* What these do goes past the adapter that a program has here. */
static const char *const others_libraries[] = {"librdmacm.so.1", "libibumad.so.3", "libmlx4.so.1",
					       "libmlx5.so.1",	 "libefa.so.1",	   "libmana.so.1"};

/* The @nth library that it names, from 0; NULL: there are no more. */
static const char *library_at(const struct module *module, size_t nth)
{
	for (size_t i = 0; i < module->dynamic.length / sizeof(ElfW(Dyn)); i++) {
		ElfW(Dyn) entry;

		memcpy(&entry, module->dynamic.bytes + i * sizeof(entry), sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_NEEDED && nth-- == 0)
			return name_in(&module->dynamic_names, entry.d_un.d_val);
	}
	return NULL;
}

/* Whether it names a library that this process has not loaded. */
static bool wants_others(const struct module *module)
{
	const char *name;

	for (size_t i = 0; (name = library_at(module, i)) != NULL; i++) {
		void *library;

		if (strcmp(name, verbs_library) == 0 || strcmp(name, own_library) == 0)
			continue;
		library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
		if (!library)
			return true;
		dlclose(library);
	}
	return false;
}

static int check_libraries(const struct module *module, char *ret_error, size_t room)
{
	const char *name;

	for (size_t i = 0; (name = library_at(module, i)) != NULL; i++)
		for (size_t k = 0; k < sizeof(others_libraries) / sizeof(*others_libraries); k++)
			if (strcmp(name, others_libraries[k]) == 0) {
				snprintf(ret_error, room,
					 "it is linked with %s, which is not served", name);
				return -ENOEXEC;
			}
	return 0;
}

static bool is_call_of_verbs(const char *name)
{
	return strncmp(name, "ibv_", 4) == 0 || strncmp(name, "_ibv_", 5) == 0 ||
	       strncmp(name, "vb_", 3) == 0;
}

/* The bind and the type of a symbol lie in st_info in the same way for 32 and 64 bits. */
static int check_symbols(const struct module *module, char *ret_error, size_t room)
{
	const bool all_known = !wants_others(module);
	bool has_it = false;

	for (size_t i = 0; i < module->symbols.length / sizeof(ElfW(Sym)); i++) {
		ElfW(Sym) entry;
		const char *name;

		memcpy(&entry, module->symbols.bytes + i * sizeof(entry), sizeof(entry));
		name = name_in(&module->names, entry.st_name);
		if (entry.st_shndx != SHN_UNDEF) {
			has_it = has_it ||
				 (ELF64_ST_TYPE(entry.st_info) == STT_FUNC &&
				  (strcmp(name, "prog_main") == 0 || strcmp(name, "main") == 0));
			continue;
		}
		if (!name[0] || ELF64_ST_BIND(entry.st_info) != STB_GLOBAL ||
		    !(all_known || is_call_of_verbs(name)) || dlsym(RTLD_DEFAULT, name))
			continue;
		snprintf(ret_error, room,
			 is_call_of_verbs(name) ? "%s() is not served" : "undefined symbol: %s",
			 name);
		return -ENOEXEC;
	}
	if (has_it)
		return 0;
	snprintf(ret_error, room, "it defines no function prog_main or main");
	return -ENOEXEC;
}

/* Whatever the outcome, for close_module(). */
static int open_module(struct module *module, const char *path, char *ret_error, size_t room)
{
	int ret;

	*module = (struct module){.fd = -1};
	snprintf(ret_error, room, "no shared object");
	if (!open_file(module, path) || module_read_header(module) != 0 ||
	    memcmp(module->header.e_ident, ELFMAG, SELFMAG) != 0 || module->header.e_type != ET_DYN)
		return -ENOEXEC;
	if (!is_ours(&module->header)) {
		snprintf(ret_error, room, "a shared object of another machine");
		return -ENOEXEC;
	}
	ret = read_tables(module);
	if (ret)
		snprintf(ret_error, room, "%s",
			 ret == -ENOEXEC ? "its tables are not whole" : strerror(-ret));
	return ret;
}

static void close_module(struct module *module)
{
	free(module->sections.bytes);
	free(module->symbols.bytes);
	free(module->names.bytes);
	free(module->dynamic.bytes);
	free(module->dynamic_names.bytes);
	if (module->fd >= 0)
		close(module->fd);
}

int module_check(const char *path, char *ret_error, size_t room)
{
	struct module module;
	int ret = open_module(&module, path, ret_error, room);

	ret = ret ? ret : check_libraries(&module, ret_error, room);
	ret = ret ? ret : check_symbols(&module, ret_error, room);
	close_module(&module);
	return ret;
}

/* What is made constant once the loader is done with it. */
static bool find_constant(const struct module *module, uint64_t *ret_start, uint64_t *ret_end)
{
	struct table parts = {.bytes = NULL};
	const bool ok =
		read_range(module, module->header.e_phoff,
			   (uint64_t)module->header.e_phnum * sizeof(ElfW(Phdr)), &parts) == 0;

	*ret_start = *ret_end = 0;
	for (size_t i = 0; ok && i < module->header.e_phnum; i++) {
		ElfW(Phdr) part;

		memcpy(&part, parts.bytes + i * sizeof(part), sizeof(part));
		if (part.p_type != PT_GNU_RELRO)
			continue;
		*ret_start = part.p_vaddr;
		*ret_end = part.p_vaddr + part.p_memsz;
	}
	free(parts.bytes);
	return ok;
}

/* What compilers put into every module, in writable memory. */
static bool is_of_compiler(const char *name)
{
	return strncmp(name, "completed", 9) == 0 || strcmp(name, "__dso_handle") == 0 ||
	       strncmp(name, "DW.ref.", 7) == 0 || strcmp(name, "_DYNAMIC") == 0 ||
	       strcmp(name, "_GLOBAL_OFFSET_TABLE_") == 0;
}

static bool is_variable(const struct module *module, const ElfW(Sym) * symbol)
{
	const int type = ELF64_ST_TYPE(symbol->st_info);
	ElfW(Shdr) section;

	if ((type != STT_OBJECT && type != STT_TLS) || symbol->st_size == 0 ||
	    symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= section_count(module))
		return false;
	section = section_at(module, symbol->st_shndx);
	return (section.sh_flags & SHF_WRITE) != 0;
}

static bool has_variable(const struct module *module)
{
	uint64_t start, end;

	if (!module->symbols.bytes || !find_constant(module, &start, &end))
		return true;
	for (size_t i = 0; i < module->symbols.length / sizeof(ElfW(Sym)); i++) {
		ElfW(Sym) symbol;

		memcpy(&symbol, module->symbols.bytes + i * sizeof(symbol), sizeof(symbol));
		if (is_variable(module, &symbol) &&
		    !is_of_compiler(name_in(&module->names, symbol.st_name)) &&
		    (ELF64_ST_TYPE(symbol.st_info) == STT_TLS || symbol.st_value < start ||
		     symbol.st_value >= end))
			return true;
	}
	return false;
}

bool module_has_state(const char *path)
{
	struct module module;
	char error[64];
	bool has_it = true;

	if (open_module(&module, path, error, sizeof(error)) == 0) {
		free(module.symbols.bytes);
		free(module.names.bytes);
		module.symbols = module.names = (struct table){.bytes = NULL};
		has_it = read_section(&module, SHT_SYMTAB, &module.symbols, &module.names) != 0 ||
			 has_variable(&module);
	}
	close_module(&module);
	return has_it;
}

/* Where it is installed, and where it is built; the loader has a look where the system keeps such
 * things in any case. */
static bool load_own_library(void)
{
	static const char *const folders[] = {LIBRARY_FROM_BIN, "transport/process"};
	char exe[PATH_MAX], path[PATH_MAX + 64];
	const ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[length > 0 ? length : 0] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (snprintf(path, sizeof(path), "%s/%s/%s", exe, folders[i], own_library) <
			    (int)sizeof(path) &&
		    dlopen(path, RTLD_NOW | RTLD_LOCAL))
			return true;
	return false;
}

void module_bring(const char *path)
{
	static bool is_there;
	struct module module;
	const char *name;
	char error[64];

	if (open_module(&module, path, error, sizeof(error)) == 0)
		for (size_t i = 0; !is_there && (name = library_at(&module, i)) != NULL; i++)
			is_there = strcmp(name, own_library) == 0 && load_own_library();
	close_module(&module);
}
