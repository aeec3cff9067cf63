/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of flow.txt over any bytes. */
#include "tests/fuzz/fuzz_flow.h"

#include "models/trace/hpcc_flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_flow(read_hpcc_flow, data, size);
	return 0;
}
