/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXEC_FOLDER_H
#define EXEC_FOLDER_H

/* Where the libraries are that a command is given: in a folder that nothing but this puts on a
 * path. */
#include <limits.h>
#include <stdbool.h>

#define FOLDER_LIBRARY "libibverbs.so.1"
#define FOLDER_PATHS "libverbena-paths.so"

/* False: there is none beside this executable. */
bool folder_find(char ret_folder[PATH_MAX]);

#endif
