/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_LOAD_H
#define TOOLS_LOAD_H

/* A module of a program in memory: at the same place in every run, so that addresses of its
 * variables and functions are, too, and with the calls of tools/memory.h in place of libc's. Not
 * while other threads run. */
#include <stdbool.h>
#include <stdint.h>

/* As dlopen(@path, RTLD_NOW | RTLD_LOCAL). @ret_fixed: it lies where it does in every run: where it
 * was linked to, or in the range for modules, at a place by the name of its file. Not so where the
 * C library or the emulator we run under leaves us no choice, with limits to addresses (ulimit -v),
 * or where a sanitizer has them. */
void *load_open(const char *path, bool *ret_fixed);
/* The same module once more, with variables of its own, for rank @number of all: at a place by that
 * and the name of its file. @path as load_open() has opened it before. NULL: dlerror() or, where it
 * says nothing, errno has the reason. One that is there, and that no run has used, is shared. */
void *load_copy(const char *path, uint32_t number, bool *ret_fixed);
void load_close_copy(void *module);
/* A place in the code of a copy, as it is in the module that was opened, of which the file tells
 * more; any other one as it is. */
const void *load_original(const void *place);
/* Run @run of this process, from 1, will use it. False: an earlier one has, and its variables may
 * point to memory of that run, which therefore has to stay; or there is no memory to remember it.
 */
bool load_use(void *module, uint32_t run);

#endif
