/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of topology.txt over any bytes. */
#include "tests/fuzz/fuzz_topology.h"

#include "models/topology/hpcc_topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_topology(read_hpcc_topology, data, size);
	return 0;
}
