/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/trace/vbt.h"

#include <errno.h>
#include <string.h>

static int vbt_refuse(struct vbt_reader *reader, const char *key, const char *found,
		      const char *expected, struct bad_list *errors)
{
	bad(errors, &reader->at, key, found, expected);
	return -EINVAL;
}

static uint32_t vbt_word(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

uint32_t vbt_length(const uint8_t *bytes)
{
	return vbt_word(bytes);
}

int vbt_open(struct vbt_reader *ret_reader, const char *file, uint8_t *bytes, size_t length,
	     struct bad_list *errors)
{
	const size_t magic = sizeof(VRB_RECORD_MAGIC) - 1;
	struct bad_text found;

	*ret_reader = (struct vbt_reader){.begin = bytes,
					  .next = bytes + VRB_RECORD_FILE_BYTES,
					  .end = bytes + length,
					  .at = {.file = file, .line = 1}};
	if (length < magic || memcmp(bytes, VRB_RECORD_MAGIC, magic) != 0)
		return vbt_refuse(
			ret_reader, "file",
			bad_quote(&found, (const char *)bytes, length < magic ? length : magic),
			"a recording of verbena exec --record, which begins with "
			"\"" VRB_RECORD_MAGIC "\"",
			errors);
	if (length < VRB_RECORD_FILE_BYTES)
		return vbt_refuse(ret_reader, "file", bad_text(&found, "%zu bytes", length),
				  "16 bytes and records", errors);
	if (vbt_word(bytes + magic) != VRB_RECORD_VERSION || vbt_word(bytes + magic + 4) != 0)
		return vbt_refuse(ret_reader, "version",
				  bad_text(&found, "%u", vbt_word(bytes + magic)),
				  "1, the version of recordings that is known here", errors);
	ret_reader->at.line = 0;
	return 0;
}

static int check_record(struct vbt_reader *reader, const struct vrb_record *record,
			struct bad_list *errors)
{
	const bool is_first = record->kind == VRB_RECORD_PROCESS;
	struct bad_text found, expected;

	if (record->at_ns < reader->last_ns)
		return vbt_refuse(reader, "time",
				  bad_text(&found, "%llu ns", (unsigned long long)record->at_ns),
				  bad_text(&expected,
					   "no less than that of the record before, %llu ns",
					   (unsigned long long)reader->last_ns),
				  errors);
	if (is_first && record->process != reader->process_count)
		return vbt_refuse(
			reader, "process",
			bad_text(&found, "the first record of %u", record->process),
			bad_text(&expected, "that of %u, the next one", reader->process_count),
			errors);
	if (reader->is_whole)
		return vbt_refuse(reader, "record", "one more",
				  "none behind that which says that the file is whole", errors);
	reader->is_whole = record->kind == VRB_RECORD_WHOLE;
	if (!is_first && !reader->is_whole && record->process >= reader->process_count)
		return vbt_refuse(reader, "process", bad_text(&found, "%u", record->process),
				  bad_text(&expected, "one of the %u that were named so far",
					   reader->process_count),
				  errors);
	reader->process_count += is_first;
	reader->last_ns = record->at_ns;
	return 0;
}

int vbt_next(struct vbt_reader *reader, struct vrb_record *ret_record, uint8_t **ret_bytes,
	     struct bad_list *errors)
{
	const size_t left = (size_t)(reader->end - reader->next);
	struct bad_text found;
	uint32_t length;

	length = left < 4 ? 0 : vbt_word(reader->next);
	if (length == 0) { /* what the process had room for, or nothing */
		reader->is_cut = !reader->is_whole;
		return 0;
	}
	reader->at.line++;
	if (length < VRB_RECORD_HEAD_BYTES || length > VRB_RECORD_BYTES_MAX || length % 8 != 0)
		return vbt_refuse(reader, "length",
				  bad_text(&found, "%u at byte %llu", length,
					   (unsigned long long)(reader->next - reader->begin)),
				  "16 to 1024 bytes, a multiple of 8", errors);
	if (left < length) {
		reader->is_cut = true;
		return 0;
	}
	if (!vrb_record_parse(reader->next, length, ret_record))
		return vbt_refuse(
			reader, "record",
			bad_text(&found, "%u bytes of kind %u at byte %llu", length,
				 (uint32_t)ret_record->kind,
				 (unsigned long long)(reader->next - reader->begin)),
			"a record of a known kind, with its fields and nothing behind them",
			errors);
	if (check_record(reader, ret_record, errors) != 0)
		return -EINVAL;
	if (ret_bytes)
		*ret_bytes = reader->next;
	reader->next += length;
	return 1;
}
