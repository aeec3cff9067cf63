/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of .topo over any bytes. */
#include "tests/fuzz/fuzz_topology.h"

#include "models/topology/htsim_topo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_topology(read_htsim_topology, data, size);
	return 0;
}
