/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXEC_HOSTS_H
#define EXEC_HOSTS_H

/* --host, --devices and --profile: which devices the program has, told in the environment. */
#include "tools/command.h"

/* COMMAND_DONE, or COMMAND_BAD or COMMAND_BROKEN with a line on stderr. */
int hosts_set(const struct command_options *options);

#endif
