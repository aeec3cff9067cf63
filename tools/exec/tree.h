/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXEC_TREE_H
#define EXEC_TREE_H

/* The folder in which a command finds Verbena's device as files (transport/nic/sysfs.h). It is
 * there as long as the command runs; of those whose "verbena exec" was killed the next one gets rid
 * of. */
#include <limits.h>

struct tree {
	char path[PATH_MAX]; /* "": there is none */
	int lock;	     /* held while it is in use; -1 */
};

/* An empty folder. 0 or -errno; tree_remove() in any case. */
int tree_make(struct tree *ret_tree);
void tree_remove(struct tree *tree);

#endif
