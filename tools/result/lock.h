/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_LOCK_H
#define TOOLS_LOCK_H

/* What one process at a time may write. The kernel lets go of it however the process ends. */
#include <stdbool.h>

/* The lock of the file or folder @fd, until lock_give_back() or all that came from the same open()
 * is closed. False: another process has it, *ret_pid, or 0 where that is not known. True, too, on a
 * file system that knows no locks. */
bool lock_take(int fd, unsigned *ret_pid);
/* Also where a child of a program has it still open. */
void lock_give_back(int fd);

#endif
