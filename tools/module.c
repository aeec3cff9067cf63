/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
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

/* Whether it names a library that this process has not loaded. */
static bool wants_others(const struct module *module)
{
	for (size_t i = 0; i < module->dynamic.length / sizeof(ElfW(Dyn)); i++) {
		ElfW(Dyn) entry;
		void *library;

		memcpy(&entry, module->dynamic.bytes + i * sizeof(entry), sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag != DT_NEEDED)
			continue;
		library = dlopen(name_in(&module->dynamic_names, entry.d_un.d_val),
				 RTLD_LAZY | RTLD_NOLOAD);
		if (!library)
			return true;
		dlclose(library);
	}
	return false;
}

/* The bind and the type of a symbol lie in st_info in the same way for 32 and 64 bits. */
static int check_symbols(const struct module *module, const char *symbol, char *ret_error,
			 size_t room)
{
	const bool all_known = !wants_others(module);
	bool has_it = false;

	for (size_t i = 0; i < module->symbols.length / sizeof(ElfW(Sym)); i++) {
		ElfW(Sym) entry;
		const char *name;

		memcpy(&entry, module->symbols.bytes + i * sizeof(entry), sizeof(entry));
		name = name_in(&module->names, entry.st_name);
		if (entry.st_shndx != SHN_UNDEF) {
			has_it = has_it || (ELF64_ST_TYPE(entry.st_info) == STT_FUNC &&
					    strcmp(name, symbol) == 0);
		} else if (all_known && name[0] && ELF64_ST_BIND(entry.st_info) == STB_GLOBAL &&
			   !dlsym(RTLD_DEFAULT, name)) {
			snprintf(ret_error, room, "undefined symbol: %s", name);
			return -ENOEXEC;
		}
	}
	if (has_it)
		return 0;
	snprintf(ret_error, room, "it defines no function %s", symbol);
	return -ENOEXEC;
}

int module_check(const char *path, const char *symbol, char *ret_error, size_t room)
{
	struct module module = {.fd = -1};
	int ret = -ENOEXEC;

	snprintf(ret_error, room, "no shared object");
	if (!open_file(&module, path) || module_read_header(&module) != 0 ||
	    memcmp(module.header.e_ident, ELFMAG, SELFMAG) != 0 || module.header.e_type != ET_DYN)
		goto out;
	if (!is_ours(&module.header)) {
		snprintf(ret_error, room, "a shared object of another machine");
		goto out;
	}
	ret = read_tables(&module);
	if (ret)
		snprintf(ret_error, room, "%s",
			 ret == -ENOEXEC ? "its tables are not whole" : strerror(-ret));
	else
		ret = check_symbols(&module, symbol, ret_error, room);
out:
	free(module.sections.bytes);
	free(module.symbols.bytes);
	free(module.names.bytes);
	free(module.dynamic.bytes);
	free(module.dynamic_names.bytes);
	if (module.fd >= 0)
		close(module.fd);
	return ret;
}
