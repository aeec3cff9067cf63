/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/symbol.h"

#include "tools/load.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef HAVE_LIBDW
#define HAVE_LIBDW 0
#endif

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void by_dladdr(const void *place, char *ret_text, size_t room)
{
	Dl_info info;

	if (dladdr(place, &info) == 0)
		snprintf(ret_text, room, "%p", place);
	else if (info.dli_sname)
		snprintf(ret_text, room, "%s+%#tx (%s)", info.dli_sname,
			 (const char *)place - (const char *)info.dli_saddr,
			 base_of(info.dli_fname));
	else
		snprintf(ret_text, room, "%s+%#tx", base_of(info.dli_fname),
			 (const char *)place - (const char *)info.dli_fbase);
}

#if HAVE_LIBDW
#include <elfutils/libdwfl.h>

/* What is in the file itself; nothing is looked for anywhere else, least of all on a server. */
static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **ret_name)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)ret_name;
	return -1;
}

static const char *symbol_line_of(Dwfl_Module *module, Dwarf_Addr at, int *ret_line)
{
	Dwfl_Line *known = dwfl_module_getsrc(module, at);
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	if (known)
		return dwfl_lineinfo(known, NULL, ret_line, NULL, NULL, NULL);
	/* clang writes no table of addresses, in which the call above looks: each unit in turn. */
	while ((unit = dwfl_module_nextcu(module, unit, &bias)) != NULL) {
		Dwarf_Line *line =
			dwarf_haspc(unit, at - bias) > 0 ? dwarf_getsrc_die(unit, at - bias) : NULL;

		if (line && dwarf_lineno(line, ret_line) == 0)
			return dwarf_linesrc(line, NULL, NULL);
	}
	return NULL;
}

/* 1: with its line, 0: with its symbol, -1: not known here. */
static int by_module(Dwfl_Module *module, Dwarf_Addr at, char *ret_text, size_t room)
{
	int line_number = 0;
	const char *file = module ? symbol_line_of(module, at, &line_number) : NULL;
	const char *function = NULL, *name;
	GElf_Off offset = 0;
	GElf_Sym sym;

	if (!module)
		return -1;
	function = dwfl_module_addrinfo(module, at, &offset, &sym, NULL, NULL, NULL);
	if (file) {
		snprintf(ret_text, room, "%s:%d (%s)", file, line_number,
			 function ? function : "?");
		return 1;
	}
	if (!function)
		return -1;
	name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	snprintf(ret_text, room, "%s+%#llx (%s)", function, (unsigned long long)offset,
		 name ? base_of(name) : "?");
	return 0;
}

static int by_libdw(const void *place, bool is_return, char *ret_text, size_t room)
{
	const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
					  .find_debuginfo = no_debuginfo};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	const Dwarf_Addr at = (uintptr_t)place - is_return;
	int ret = -1;

	if (!dwfl)
		return -1;
	if (dwfl_linux_proc_report(dwfl, getpid()) == 0 && dwfl_report_end(dwfl, NULL, NULL) == 0)
		ret = by_module(dwfl_addrmodule(dwfl, at), at, ret_text, room);
	dwfl_end(dwfl);
	return ret;
}
#else
static int by_libdw(const void *place, bool is_return, char *ret_text, size_t room)
{
	(void)place, (void)is_return, (void)ret_text, (void)room;
	return -1;
}
#endif

bool symbol_of(const void *place, bool is_return, char *ret_text, size_t room)
{
	place = load_original(place);

	const int known = by_libdw(place, is_return, ret_text, room);

	if (known < 0)
		by_dladdr(place, ret_text, room);
	return known > 0;
}

static bool in_libc(const void *place)
{
	Dl_info info;

	return dladdr(place, &info) != 0 && strncmp(base_of(info.dli_fname), "libc.", 5) == 0;
}

void symbol_places(const struct spin_report *report, char *ret_text, size_t room)
{
	bool has_line = false;

	snprintf(ret_text, room, "an unknown place");
	for (uint32_t i = 0; i < report->place_count && !has_line; i++)
		has_line = symbol_of(report->places[i], i > 0, ret_text, room);
	/* abort() and the like do not say much. */
	for (uint32_t i = 0; i < report->place_count && !has_line; i++) {
		if (in_libc(report->places[i]) && i + 1 < report->place_count)
			continue;
		symbol_of(report->places[i], i > 0, ret_text, room);
		break;
	}
}

void symbol_spin(const struct spin_report *report, char *ret_text, size_t room)
{
	char place[256];

	symbol_places(report, place, sizeof(place));
	if (report->is_stranger) {
		snprintf(ret_text, room,
			 "%s: a thread that program %s has not made with pthread_create() calls "
			 "the adapter at %s: in virtual time there are only those",
			 report->host, report->program, place);
		return;
	}
	snprintf(
		ret_text, room,
		"%s: program %s spins at %s: no verbs call in %llu ms of its processor time. In "
		"virtual time memory does not change while a program computes; vb_wait_mem() waits "
		"for it",
		report->host, report->program, place, (unsigned long long)report->used_ms);
}
