/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLAY_PLAY_H
#define PLAY_PLAY_H

/* A recording as a program of a scenario: {run: run.vbt, args: [more.vbt, ...], hosts: [...]}, a
 * rank for each of its processes. Each makes the calls that its process has made; one that follows
 * a completion comes as long after it as it did then, and what processes told each other outside of
 * verbs is known in so far as it comes before their first requests and before what they use is
 * taken away (docs/recording.md). */
#include "tools/command.h"
#include "tools/play/recording.h"

/* What the recordings at @paths hold, together. On success *@ret_play is for play_close(). -EINVAL
 * with lines on stderr, -ENOMEM. */
int play_open(char *const *paths, uint32_t count, struct play **ret_play);
void play_close(struct play *play); /* NULL: allowed */
/* Where it cannot be played: why, as one says it behind "expected". NULL: it can. */
const char *play_lacks(const struct play *play, const struct scenario_program *program,
		       struct bad_text *ret_text);
/* One line about it. */
const char *play_describe(const struct play *play, struct bad_text *ret_text);

/* As prog_main(): rank @prog->rank is the process of that number. */
int play_main(const struct vb_prog *prog);

/* tools/check.c: of a file that is a recording. COMMAND_DONE or COMMAND_BAD with its lines. */
int play_check(const char *path, bool quiet);

#endif
