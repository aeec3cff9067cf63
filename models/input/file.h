/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_READ_FILE_H
#define MODELS_READ_FILE_H

/* A whole file in memory: the one place where scenarios and traces touch the file system. */
#include "models/input/bad.h"

/* Where files come from, if not from the file system. @path is one as readers make it: as it was
 * given, or by read_file_beside(). The bytes are for util_free(). 0, an errno, or -ENOMEM. */
struct read_source {
	int (*read)(void *owner, const char *path, char **ret_bytes, size_t *ret_length);
	void *owner;
};

/* The one of the file system: at most 64 MiB and one byte, which says that there was more. */
int read_file_bytes(const char *path, char **ret_bytes, size_t *ret_length);

/* From @source, NULL: the file system. -EINVAL: cannot be read; reported at @at under @key, without
 * a line where @path is the file of @at. -ENOMEM. */
int read_file(const struct read_source *source, const char *path, const struct bad_at *at,
	      const char *key, char **ret_bytes, size_t *ret_length, struct bad_list *errors);
/* @path as it is named in @file: relative to its folder. NULL: no memory. */
char *read_file_beside(const char *file, const char *path);

#endif
