/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXEC_LOOP_H
#define TOOLS_EXEC_LOOP_H

/* --loop and VERBENA_LOOP: how packets go through the socket. */
#include "transport/nic/nic.h"

/* Before anything is run; COMMAND_BAD, with a line that says why. */
int loop_check_word(const char *word); /* NULL: there is none */
int loop_check(enum nic_loop_kind loop);

#endif
