/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void doctor_found(struct doctor_row *row, enum doctor_state state, const char *format, ...)
{
	va_list args;

	row->state = state;
	va_start(args, format);
	vsnprintf(row->found, sizeof(row->found), format, args);
	va_end(args);
}

void doctor_fix(struct doctor_row *row, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(row->fix, sizeof(row->fix), format, args);
	va_end(args);
}

void doctor_read(const char *path, char *ret_text, size_t room)
{
	FILE *file = fopen(path, "re");

	if (!file || !fgets(ret_text, (int)room, file))
		ret_text[0] = '\0';
	if (file)
		fclose(file);
	ret_text[strcspn(ret_text, "\n")] = '\0';
}
