/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_MODULE_H
#define TOOLS_MODULE_H

/* A shared object, by what its file says, without loading it: nothing of it runs, not even its
 * constructors. */
#include <stdbool.h>
#include <stddef.h>

/* Whether the module at @path could be loaded into this process as far as its tables of symbols
 * tell, and defines a function prog_main or main. What it wants from libraries that this process
 * does not have is not looked for, but for calls of libibverbs and of libverbena, which are ours or
 * nobody's. 0; -ENOEXEC, -ENOMEM or another negative errno, and @ret_error says what is wrong. */
int module_check(const char *path, char *ret_error, size_t room);
/* Whether the module at @path has variables that it can change, so that each rank needs its own:
 * any, where its table of all symbols was stripped. */
bool module_has_state(const char *path);
/* Loads the libverbena that came with the command where the module at @path, which is good, names
 * it: wherever that lies the loader then has it. The calls go to the executable all the same. */
void module_bring(const char *path);

#endif
