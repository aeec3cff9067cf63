/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_gpu_state.h"

#include <stdio.h>

/* What the driver has to say to a person. */

void task_gpu_say(const char *line)
{
	fprintf(stderr, "verbena: %s\n", line);
}
