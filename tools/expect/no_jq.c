/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/expect/jq.h"

void expect_jq(const char *expression, const struct expect_scan *scan, const char *json,
	       struct expect_answer *ret_answer)
{
	(void)expression;
	(void)scan;
	(void)json;
	*ret_answer = (struct expect_answer){.kind = EXPECT_NO_JQ};
}
