/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPECT_JQ_H
#define TOOLS_EXPECT_JQ_H

/* libjq, or its absence (expect_no_jq.c). For the child only: it may not come back. */
#include "tools/expect/ask.h"

void expect_jq(const char *expression, const struct expect_scan *scan, const char *json,
	       struct expect_answer *ret_answer);

#endif
