/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_RESULT_INTERNAL_H
#define TOOLS_RESULT_INTERNAL_H

/* The halves of result_collect(): ports, counters and programs; flows and their classes. */
#include "tools/result/result.h"

int result_collect_flows(struct result *result, const struct traffic *traffic); /* -ENOMEM */

#endif
