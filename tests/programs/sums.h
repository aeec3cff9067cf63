/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_SUMS_H
#define TESTS_PROGRAMS_SUMS_H

/* What all-reduce programs have in the memory of GPUs before, and look for behind. */
#include "tests/programs/gpu.h"

static inline uint32_t sums_word(int gpu, uint64_t i)
{
	return (uint32_t)(i * 2654435761u + (uint32_t)gpu * 40503u);
}

/* Whether @count words at @address, of @gpu, are the sums of those of @gpus; in @words. Else a line
 * says where not. */
static inline bool sums_are_there(const struct vb_prog *prog, int gpus, int gpu,
				  CUdeviceptr address, uint32_t *words, uint64_t count)
{
	if (!GPU_DO(prog, cuMemcpyDtoH(words, address, 4 * count)))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		uint32_t sum = 0;

		for (int other = 0; other < gpus; other++)
			sum += sums_word(other, i);
		if (words[i] != sum) {
			prog_say(prog, "GPU %d: word %llu is not the sum", gpu,
				 (unsigned long long)i);
			return false;
		}
	}
	return true;
}

#endif
