/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CULPRITS_H
#define TOOLS_CULPRITS_H

/* Who had a flow wait, in words: where it was paused, or slowed down by marks, the pauses behind
 * that up to their root, and which flows go there. */
#include "tools/explain/explain.h"

/* Lines on stdout; none where it hardly waited for others. */
void culprits_say(const struct explain *explain, const struct account_sum *sum);

#endif
