/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_RECORD_FILE_H
#define VERBS_RECORD_FILE_H

/* The file into which one process writes its records as it goes: a mapping that the kernel keeps
 * however the process ends, so that one that is killed leaves all but the call it was at. Any
 * thread may call; a fork()'s child has a file of its own from its first record on. Where there is
 * no room any more one line on stderr says so, and the file is what was written up to there. */
#include "transport/verbs/record.h"

struct vrb_record_file;

/* Nothing is written before the first record. @process: what that is, but for its name, number and
 * times. NULL: no memory. */
struct vrb_record_file *vrb_record_file_create(const char *folder,
					       const struct vrb_record_process *process);
void vrb_record_file_destroy(struct vrb_record_file *file);

/* Records of one call, all with the time of begin(); nobody else's come between. */
void vrb_record_begin(struct vrb_record_file *file);
void vrb_record_add(struct vrb_record_file *file, struct vrb_record *record);
void vrb_record_done(struct vrb_record_file *file);

/* The program has one context more (1), or less (-1): the child of a fork() that happens while it
 * has any gets no adapter, and keeps no record. */
void vrb_record_contexts(struct vrb_record_file *file, int change);

#endif
