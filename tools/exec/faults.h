/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXEC_FAULTS_H
#define EXEC_FAULTS_H

/* --faults: a file of what goes wrong in verbs (transport/verbs/fault.h), told in the environment.
 * COMMAND_DONE, or COMMAND_BAD or COMMAND_BROKEN with lines on stderr. */
int faults_set(const char *path);

#endif
