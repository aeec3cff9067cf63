/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_COPIES_H
#define TOOLS_COPIES_H

/* What a run has read, kept in its folder, so that the run can be had again where nothing else is:
 * its scenario and the files that this names, each as inputs/N-NAME, N from 0 in the order in which
 * they were read. run.json says which files they were, how long, and with which hash. Programs are
 * not among them: nothing that is run comes out of a folder. */
#include "models/input/file.h"
#include "tools/result/folder.h"

#include <jansson.h>

/* In all, of one run: what comes when they are used up is named with its hash and read where it
 * lies. */
enum { COPIES_BYTES_MAX = 64 << 20 };

struct copy {
	char *path; /* as the reader of the scenario has it */
	char *text; /* the same, by copies_text() */
	size_t length;
	uint64_t hash;
	char *bytes; /* NULL: not kept */
};

struct copies {
	struct copy *all; /* the first is the scenario */
	uint32_t count;
	size_t bytes;	 /* of those that are kept */
	char *folder;	 /* where relative paths begin: that in which the run was; NULL: unknown */
	const char *run; /* the folder that they were found in */
	const struct read_source *before; /* asked before the file system; NULL: none */
	struct read_source source;
};

/* Nothing yet: all that is read through copies->source from now on is kept. -ENOMEM; @copies stays
 * where it is, and can be finished in any case, as can a zeroed one. */
int copies_init(struct copies *copies);
/* The same of a run that is had again from those that another has @kept, which stay. */
int copies_init_again(struct copies *copies, const struct copies *kept);
void copies_fini(struct copies *copies);

/* @path as a text for JSON: where it is no UTF-8, as a terminal is shown it. For free(); NULL: no
 * memory. */
char *copies_text(const char *path);
/* Those of an older run are gone from @folder, and run.json, which names them. COMMAND_DONE, or
 * COMMAND_BROKEN with a line on stderr. */
int copies_drop(const struct folder *folder);
/* Into @folder. COMMAND_DONE, or COMMAND_BROKEN with a line on
 * stderr. */
int copies_write(const struct copies *copies, const struct folder *folder);
/* Into @origin, which becomes run.json. -ENOMEM. */
int copies_name(const struct copies *copies, json_t *origin);
/* Says, a line each, what was too much to be kept. */
void copies_warn_of_limit(const struct copies *copies, const struct folder *folder);

/* Those that @origin, the run.json of the folder @run, names: copies->source gives them, and what
 * is not kept from where it lies. None, and count 0: that run is of a version that kept nothing.
 * COMMAND_DONE; COMMAND_BAD with lines on stderr: one is missing, or is not what the run has read;
 * COMMAND_BROKEN. @copies as with copies_init(); @run stays. */
int copies_open(struct copies *copies, const char *run, const json_t *origin);
/* Says, a line each, which of the files have been edited since where they lie. What is not there is
 * no matter. */
void copies_warn_of_edits(const struct copies *copies);
/* @path as it is from anywhere, for free(); NULL: no memory. */
char *copies_path_of(const struct copies *copies, const char *path);

#endif
