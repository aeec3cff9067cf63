/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXEC_IMPAIRED_H
#define TOOLS_EXEC_IMPAIRED_H

/* The rules of --impair: whether they are any, and what they did to the packets of a program. */
#include "tools/command.h"
#include "transport/nic/impair.h"

/* COMMAND_BAD, with a line that says why. */
int impaired_check(const char *rules);
/* A line a rule on stderr. */
void impaired_tell(const char *rules, const struct nic_impair_board *board);

#endif
