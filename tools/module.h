/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_MODULE_H
#define TOOLS_MODULE_H

/* A shared object, by what its file says, without loading it: nothing of it runs, not even its
 * constructors. */
#include <stddef.h>

/* Whether the module at @path could be loaded into this process as far as its tables of symbols
 * tell, and defines the function @symbol. What it wants from libraries that this process does not
 * have is not looked for. 0; -ENOEXEC, -ENOMEM or another negative errno, and @ret_error says what
 * is wrong. */
int module_check(const char *path, const char *symbol, char *ret_error, size_t room);

#endif
