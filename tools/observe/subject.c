/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool subject_read(const char **text, struct subject *ret_subject)
{
	const bool is_request = strncmp(*text, "wr", 2) == 0;
	const char *number = *text + (is_request ? 2 : 0);
	char *end;

	if (*number < '0' || *number > '9')
		return false;
	*ret_subject = (struct subject){is_request, strtoull(number, &end, 10)};
	*text = end;
	return true;
}

const char *subject_name(const struct subject *subject, char ret_text[SUBJECT_MAX])
{
	snprintf(ret_text, SUBJECT_MAX, "%s%" PRIu64, subject->is_request ? "wr" : "",
		 subject->number);
	return ret_text;
}
