/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_NAMED_H
#define TOOLS_NAMED_H

/* A file that the user names and that a run writes while it lasts, such as a capture. It appears
 * whole or not at all (tools/result/part.h), and one process at a time writes it. What is no file
 * but a stream of this process, such as /dev/stdout, or a character device, such as /dev/null, is
 * written as it stands. */
#include "tools/result/part.h"

struct named {
	const char *path;
	FILE *file; /* to be written to; NULL: not open */
	struct part part;
	int folder;
	bool is_stream;
};

/* Whether @path can be such a file, before anything is written: COMMAND_DONE, or COMMAND_BAD with a
 * line on stderr that names @option. Of FIFOs, which somebody would have to read, of sockets and
 * of block devices none can. */
int named_check(const char *option, const char *path);
/* @path stays the caller's. COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */
int named_open(struct named *named, const char *path);
/* After something was written: keeps what went wrong with it, while errno still says so. */
void named_note(struct named *named);
/* Gives it its name, unless @error, an errno, or what was noted says that it is not whole: then
 * there is no such file, nor one from before. As named_open(); not open: allowed. */
int named_close(struct named *named, int error);
/* Nothing was begun: what was there before stays. Not open: allowed. */
void named_drop(struct named *named);

#endif
