/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/trace/format.h"

#include "models/input/fields.h"

enum read_format read_format(enum read_format format, const char *bytes, size_t length,
			     const struct bad_at *at, struct bad_list *errors)
{
	static const char *const words[] = {"nodes", "connections", "triggers", "failures",
					    "tiers", "podsize",	    "tier"};
	struct fields_reader reader = {bytes, bytes + length, *at};
	struct fields line = {.count = 0};
	struct bad_text found = {"nothing"};

	if (format > READ_FORMAT_AUTO)
		return format;
	while (fields_next(&reader, &line) && line.field[0].text[0] == '#')
		line.count = 0;
	if (line.count > 0 && line.field[0].text[0] >= '0' && line.field[0].text[0] <= '9')
		return READ_FORMAT_HPCC;
	for (size_t i = 0; line.count > 0 && i < sizeof(words) / sizeof(words[0]); i++)
		if (fields_is(line.field[0], words[i]))
			return READ_FORMAT_HTSIM;
	if (line.count > 0)
		bad_quote(&found, line.field[0].text, line.field[0].length);
	bad(errors, line.count > 0 ? &line.at : at, "format", found.text,
	    "a number first, as in files of HPCC, or \"Nodes\", as in those of htsim");
	return READ_FORMAT_UNKNOWN;
}
