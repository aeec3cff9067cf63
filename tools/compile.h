/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_COMPILE_H
#define TOOLS_COMPILE_H

/* Programs that a scenario names by their source, one file of C or C++: compiled when they are run.
 *	CC, CXX		the compilers ("cc", "c++"), with blanks between words
 *	CFLAGS, CXXFLAGS	more words for them
 * They find <verbena/program.h> by themselves. Modules are kept in
 * $XDG_CACHE_HOME/verbena/programs, else ~/.cache/verbena/programs, by a hash of all that the
 * compiler reads and is told, so that headers and flags count, too. */
#include <stdbool.h>
#include <stddef.h>

/* By its name: .c, .cc, .cpp or .cxx. */
bool compile_is_source(const char *path);
/* Whether there is such a compiler and the file can be read; nothing is compiled. 0 or -ENOENT,
 * with the reason in @ret_error. */
int compile_check(const char *path, char *ret_error, size_t room);
/* The module made of @path, of PATH_MAX bytes at most. -ENOEXEC: the compiler refuses it, and its
 * lines are in *@ret_said, for free(); -ENOENT, -ENOMEM or another negative errno. With the reason
 * in @ret_error. */
int compile_source(const char *path, char *ret_path, char *ret_error, size_t room, char **ret_said);

#endif
