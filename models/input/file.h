/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_READ_FILE_H
#define MODELS_READ_FILE_H

/* A whole file in memory: the one place where scenarios and traces touch the file system. */
#include "models/input/bad.h"

/* At most 64 MiB and one byte, which says that there was more. -EINVAL: cannot be read; reported at
 * @at under @key. -ENOMEM. */
int read_file(const char *path, const struct bad_at *at, const char *key, char **ret_bytes,
	      size_t *ret_length, struct bad_list *errors);
/* @path as it is named in @file: relative to its folder. NULL: no memory. */
char *read_file_beside(const char *file, const char *path);

#endif
