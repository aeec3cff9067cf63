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
/* Run @run of this process, from 1, will use it. False: an earlier one has, and its variables may
 * point to memory of that run, which therefore has to stay; or there is no memory to remember it.
 */
bool load_use(void *module, uint32_t run);

#endif
