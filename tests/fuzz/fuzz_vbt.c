/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of recordings over any bytes; a record that it takes becomes the same bytes again. */
#include "models/trace/vbt.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void emit_again(struct vrb_record *record, const uint8_t *bytes)
{
	uint8_t again[VRB_RECORD_BYTES_MAX];
	const uint32_t length = vbt_length(bytes);

	CHECK(vrb_record_emit(record, again) == length);
	CHECK(memcmp(again, bytes, length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = util_alloc(size + 1); /* as long as it is, for who looks behind it */
	struct bad_list errors = {0};
	struct vbt_reader reader;
	struct vrb_record record;
	uint8_t *bytes;
	int ret;

	CHECK(copy != NULL);
	memcpy(copy, data, size);
	ret = vbt_open(&reader, "fuzz.vbt", copy, size, &errors);
	CHECK(ret == 0 || ret == -EINVAL);
	while (ret == 0) {
		const int got = vbt_next(&reader, &record, &bytes, &errors);

		CHECK(got == 0 || got == 1 || got == -EINVAL);
		if (got != 1)
			ret = got ? got : 1;
		else
			emit_again(&record, bytes);
	}
	CHECK((ret == -EINVAL) == (errors.error_count > 0));
	bad_list_fini(&errors);
	util_free(copy);
	return 0;
}
