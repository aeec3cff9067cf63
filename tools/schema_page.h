/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SCHEMA_PAGE_H
#define TOOLS_SCHEMA_PAGE_H

#include <stdio.h>

/* What `check --schema --html` prints: every key of a scenario, in the order of the table. Write
 * errors are the stream's. */
void schema_page(FILE *file);

#endif
