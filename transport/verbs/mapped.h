/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_MAPPED_H
#define VERBS_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the process may read [@addr, @addr + @length), which does not wrap, and where it @writes,
 * write it: 0 or -EFAULT. Changes none of it; pages of a small one may be made. Where the system
 * does not tell, all is well. */
int vrb_mapped_check(uint64_t addr, uint64_t length, bool writes);

#endif
