/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PART_H
#define TOOLS_PART_H

/* A file that appears whole or not at all: until then it is NAME.part, beside where it will be.
 * That name is nobody else's: what lies there already, such as what a run left that was killed, or
 * a link or a FIFO, is removed and never opened. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

enum part_trouble {
	PART_OF_FILE,	 /* NAME, as errno has it */
	PART_OF_FOREIGN, /* something lies at NAME.part that can be neither opened nor removed */
	PART_IS_LOST,	 /* somebody has removed NAME.part meanwhile */
	PART_IS_KEPT,	 /* NAME cannot be replaced: NAME.part stays, whole */
};

struct part {
	FILE *file; /* to be written to; NULL: not open */
	int folder;
	bool is_alone; /* @lock_fd: the same file, for its lock */
	int lock_fd;
	int error;		   /* errno of a write; 0: none */
	enum part_trouble trouble; /* what it is of that opening or closing has failed */
	char name[NAME_MAX + 1];
};

/* @folder, an open one, stays the caller's, and open. 0 or negative errno. */
int part_open(struct part *part, int folder, const char *name);
/* The same where another process may be writing it: then -EWOULDBLOCK, and *ret_pid is that one, or
 * 0 where that is not known. */
int part_open_alone(struct part *part, int folder, const char *name, unsigned *ret_pid);
/* The folder that the file @path is to lie in, open, or negative errno; and its name there, which
 * is part of @path. */
int part_folder_of(const char *path, const char **ret_name);
/* After something was written: keeps what went wrong with it, while errno still says so. Not open:
 * allowed. */
void part_note(struct part *part);
/* Gives it its name, unless @is_good is false or something could not be written: then there is
 * neither of the two, and no NAME from before. Where all is written and the name alone cannot be
 * given, both stay as they are; so they do, with -ESTALE, where part_open_alone() has opened it and
 * NAME.part is no more what it was: it may be another run's. 0 or negative errno; not open:
 * allowed. */
int part_close(struct part *part, bool is_good);
/* There is no NAME.part any more, unless it is another run's, and a NAME from before stays. Open.
 */
void part_drop(struct part *part);
/* Tells on stderr that the file @path could not be opened or closed, which @part was to be. @error:
 * positive errno. */
void part_say(const struct part *part, const char *path, int error);
/* Ends part->file alone, whatever it is. 0 or negative errno. */
int part_end(struct part *part);
/* There is no NAME, nor a NAME.part, any more. 0 or negative errno. */
int part_remove(int folder, const char *name);

#endif
