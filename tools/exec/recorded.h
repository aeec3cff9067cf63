/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXEC_RECORDED_H
#define EXEC_RECORDED_H

/* The recording of a command: a folder beside the file that it shall become, in which each process
 * writes a file of its own (transport/verbs/record_file.h), and at the end all of them in one, in
 * order of time. */
#include <limits.h>

struct recorded {
	char file[PATH_MAX]; /* "": nothing is recorded */
	char folder[PATH_MAX];
};

/* Tells the processes of the command, too. COMMAND_DONE, or COMMAND_BAD with a line on stderr. */
int recorded_begin(struct recorded *ret_recorded, const char *file);
/* The command has ended: the file is there, and the folder is not any more. COMMAND_DONE, or
 * COMMAND_BROKEN with a line on stderr, and the folder stays. */
int recorded_end(struct recorded *recorded);

#endif
