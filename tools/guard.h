/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_GUARD_H
#define TOOLS_GUARD_H

/* What programs may do to the process that they share with the run: print, fork, exit, crash.
 * Their standard output is kept off ours, which belongs to results; where one of them ends the
 * process, it is named with its host and line, and what was measured so far is kept. */
#include <stdbool.h>

/* Before the first program is loaded. Until guard_end() standard output is standard error, or
 * nowhere with @quiet. @rescue keeps what there is, on the stack of whoever is in trouble; it calls
 * guard_end(). Once in a process at a time. */
void guard_begin(bool quiet, void (*rescue)(void));
/* Standard output is ours again. Allowed at any time, from any thread. */
void guard_end(void);

#endif
