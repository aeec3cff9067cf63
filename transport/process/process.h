/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

/* The vb_ functions of libverbena: a program is a process, and time is real. Who this process is
 * comes from vb_run() or, at the first call that asks, from the environment
 * (include/verbena/verbena.h). */
#include <stdbool.h>

struct process_settings {
	int rank, size, wait_s;
	const char *board; /* ADDR:PORT; NULL: of a single rank, here */
};

/* What the environment says, or the default. False: something bad, and a line on stderr. */
bool process_settings_from_env(struct process_settings *ret_settings);
/* Whether they can be; else a line on stderr. */
bool process_settings_are_good(const struct process_settings *settings);
/* Once, before any other call: keeps the board where that is up to this rank, and connects to it.
 * False: with a line on stderr. @settings->board stays. */
bool process_begin(const struct process_settings *settings);
/* Tells the others how it ended, and waits for them where the board is kept here. False: it did not
 * end well for all. Once more: nothing. */
bool process_end(bool well);

#endif
