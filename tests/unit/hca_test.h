/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_HCA_TEST_H
#define TESTS_UNIT_HCA_TEST_H

/* What the tests of transport/hca share: an observer's calls of which they want to know nothing. */
#include "transport/hca/device.h"

static inline void unheard_cq_event(void *world, void *owner, ps_t now)
{
	(void)world, (void)owner, (void)now;
}

static inline void unheard_place(void *world, const struct hca_mr *mr, uint64_t offset,
				 uint32_t length, bool is_word, ps_t now)
{
	(void)world, (void)mr, (void)offset, (void)length, (void)is_word, (void)now;
}

static inline void unheard_async(void *world, void *owner, int event, ps_t now)
{
	(void)world, (void)owner, (void)event, (void)now;
}

#endif
