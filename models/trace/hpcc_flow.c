/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/trace/hpcc_flow.h"

#include "models/input/fields.h"
#include "util/alloc.h"
#include "util/quantity.h"

#include <errno.h>

enum { START_MAX_S = 1000 };

static bool is_number(const struct field *field, uint64_t limit, uint64_t *ret_value)
{
	return util_count_parse(field->text, field->length, ret_value) == UTIL_QUANTITY_OK &&
	       *ret_value < limit;
}

static bool hpcc_flow_check(bool good, const struct fields *line, uint32_t i, const char *key,
			    const char *expected, struct bad_list *errors)
{
	struct bad_text found;

	if (!good)
		bad(errors, &line->at, key,
		    bad_quote(&found, line->field[i].text, line->field[i].length), expected);
	return good;
}

static bool read_flow(const struct fields *line, uint32_t priority_count,
		      struct read_flow *ret_flow, struct bad_list *errors)
{
	const struct field *f = line->field;
	const uint32_t bytes_at = line->count - 2, start_at = line->count - 1;
	uint64_t src = 0, dst = 0, priority = 0, port = 0, bytes = 0, start = 0;
	struct bad_text found;
	bool good;

	if (line->count != 5 && line->count != 6) {
		bad(errors, &line->at, "flow", bad_text(&found, "%u fields", line->count),
		    "SRC DST PRIORITY PORT BYTES START");
		return false;
	}
	good = hpcc_flow_check(is_number(&f[0], UINT32_MAX, &src), line, 0, "src", "a node",
			       errors);
	good &= hpcc_flow_check(is_number(&f[1], UINT32_MAX, &dst), line, 1, "dst", "a node",
				errors);
	good &= hpcc_flow_check(is_number(&f[2], priority_count, &priority), line, 2, "priority",
				"0 to 7, or to 15 with priorities: 16", errors);
	if (line->count == 6)
		good &= hpcc_flow_check(is_number(&f[3], 65536, &port), line, 3, "port",
					"0 to 65535", errors);
	good &= hpcc_flow_check(is_number(&f[bytes_at], READ_FLOW_BYTES_MAX + 1, &bytes) &&
					bytes > 0,
				line, bytes_at, "bytes", "1 to 2^44", errors);
	good &= hpcc_flow_check(util_decimal_parse(f[start_at].text, f[start_at].length, 12,
						   &start) == UTIL_QUANTITY_OK &&
					start <= START_MAX_S * PS_S,
				line, start_at, "start", "seconds such as 2.000001, at most 1000",
				errors);
	if (good && src == dst)
		good = hpcc_flow_check(false, line, 1, "dst", "another node than src", errors);
	*ret_flow = (struct read_flow){.src = (uint32_t)src,
				       .dst = (uint32_t)dst,
				       .priority = (uint8_t)priority,
				       .bytes = bytes,
				       .start_at = start,
				       .line = line->at.line};
	return good;
}

static bool hpcc_flow_read_header(struct fields_reader *reader, uint64_t *ret_count,
				  struct bad_list *errors)
{
	struct bad_text found;
	struct fields line;

	if (!fields_next(reader, &line)) {
		bad(errors, &reader->at, "header", "nothing", "the number of flows");
		return false;
	}
	if (line.count != 1) {
		bad(errors, &line.at, "header", bad_text(&found, "%u fields", line.count),
		    "the number of flows");
		return false;
	}
	return hpcc_flow_check(is_number(&line.field[0], READ_FLOWS_MAX + 1, ret_count), &line, 0,
			       "header", "the number of flows, at most 4000000", errors);
}

static void hpcc_flow_warn_of_rest(struct fields_reader *reader, struct bad_list *errors)
{
	const uint64_t left = fields_left(*reader);
	struct bad_text found;
	struct fields line;

	if (left == 0)
		return;
	fields_next(reader, &line);
	bad_warn(errors, &line.at, "rest",
		 bad_text(&found, "%llu more lines", (unsigned long long)left),
		 "as many flows as the first line says");
}

/* Room for @count flows at most: a short file may lie. */
static struct read_flow *hpcc_flow_make_room(uint64_t count, size_t length)
{
	enum { LINE_MIN = 10 };
	const uint64_t most = length / LINE_MIN + 1;

	return util_calloc((count < most ? count : most) + 1, sizeof(struct read_flow));
}

int read_hpcc_flow(const struct read_flow_file *file, struct read_flow **ret_flows,
		   uint64_t *ret_count, struct bad_list *errors)
{
	struct fields_reader reader = {file->bytes, file->bytes + file->length, file->at};
	struct bad_text found, expected;
	struct read_flow *flows;
	uint64_t count, done = 0;
	struct fields line;
	bool good = true;

	if (!hpcc_flow_read_header(&reader, &count, errors))
		return -EINVAL;
	flows = hpcc_flow_make_room(count, file->length);
	if (!flows)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		if (!fields_next(&reader, &line)) {
			bad(errors, &reader.at, "flows",
			    bad_text(&found, "%llu lines", (unsigned long long)i),
			    bad_text(&expected, "%llu, as the first line says",
				     (unsigned long long)count));
			good = false;
			break;
		}
		if (read_flow(&line, file->priority_count, &flows[done], errors))
			done++;
		else
			good = false;
	}
	if (!good) {
		util_free(flows);
		return -EINVAL;
	}
	hpcc_flow_warn_of_rest(&reader, errors);
	*ret_flows = flows;
	*ret_count = done;
	return 0;
}
