/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/expect/jq.h"

bool expect_jq(const struct expect_question *questions, size_t count, const char *roots,
	       const struct expect_jq_ops *ops)
{
	const struct expect_answer answer = {.kind = EXPECT_NO_JQ};
	json_t *array = json_loads(roots, 0, NULL);

	(void)questions;
	for (size_t i = 0; i < count * json_array_size(array); i++)
		ops->on_answer(ops->owner, &answer);
	json_decref(array);
	return true;
}
