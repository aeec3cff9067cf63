/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REPORT_COLUMNS_H
#define TOOLS_REPORT_COLUMNS_H

/* JSON by columns rather than rows: names once. Appending to NULL is harmless, and a column in
 * which something is missing is NULL in the end, as is all that it is packed into. */
#include <jansson.h>
#include <stdint.h>

static inline json_t *column_add(json_t *column, json_t *value) /* @value is the column's */
{
	if (column && json_array_append_new(column, value) == 0)
		return column;
	json_decref(column);
	return NULL;
}

static inline json_t *column_add_number(json_t *column, uint64_t value)
{
	return column_add(column, json_integer((json_int_t)value));
}

#endif
