/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_PROGRAM_SPACE_H
#define MODELS_PROGRAM_SPACE_H

/* Where the memory of programs in virtual time lies. What a program sends is in the digest, and
 * some send addresses; so its stack, its heap and what it maps lie in a space that is the same in
 * every run and on every machine with this processor, whatever the system does to addresses
 * otherwise.
 *
 * A range of addresses that neither Linux nor an emulator or debugger uses is divided among all
 * ranks of a run, in equal parts that are powers of two. Each holds, from its start: a guard and
 * the stack (a sixteenth), the heap (up to the half), mappings. Behind that range is another for
 * modules, and
 * one whose addresses are those of the GPUs' memory (models/machine/gpus.h), one of managed memory
 * (models/machine/managed.h), and one of those that show some of the GPUs' once more
 * (gpu/device/view.h). */
#include "models/program/heap.h"
#include "models/program/maps.h"

#if defined(__x86_64__)
#define SPACE_BASE 0x200000000000u /* 32 TiB: above what grows from below, far under all else */
#define SPACE_BYTES 0x100000000000u
#define SPACE_VIEWS 0x300000000000u
#define SPACE_VIEWS_BYTES 0x80000000000u
#define SPACE_MODULES 0x380000000000u
#define SPACE_MODULES_BYTES 0x40000000000u
#define SPACE_GPUS 0x400000000000u
#define SPACE_GPUS_BYTES 0x100000000000u
#define SPACE_MANAGED 0x500000000000u
#define SPACE_MANAGED_BYTES 0x40000000000u
#elif defined(__s390x__)
#define SPACE_BASE 0x10000000000u /* 1 TiB, of the 4 that three levels of tables reach */
#define SPACE_BYTES 0x8000000000u
#define SPACE_MODULES 0x18000000000u
#define SPACE_MODULES_BYTES 0x4000000000u
#define SPACE_GPUS 0x1c000000000u
#define SPACE_GPUS_BYTES 0x4000000000u
#define SPACE_MANAGED 0x20000000000u
#define SPACE_MANAGED_BYTES 0x4000000000u
#define SPACE_VIEWS (SPACE_MANAGED + SPACE_MANAGED_BYTES)
#define SPACE_VIEWS_BYTES SPACE_GPUS_BYTES
#else
#define SPACE_BASE 0x1000000000u /* 64 GiB: an aarch64 of 39 bits has 512 in all */
#define SPACE_BYTES 0x2000000000u
#define SPACE_MODULES 0x3000000000u
#define SPACE_MODULES_BYTES 0x800000000u
#define SPACE_GPUS 0x3800000000u
#define SPACE_GPUS_BYTES 0x800000000u
#define SPACE_MANAGED 0x4000000000u
#define SPACE_MANAGED_BYTES 0x800000000u
#define SPACE_VIEWS (SPACE_MANAGED + SPACE_MANAGED_BYTES)
#define SPACE_VIEWS_BYTES SPACE_GPUS_BYTES
#endif

/* A GPU has addresses for so much of its memory at least, in whichever run. */
#define SPACE_GPU_BYTES_LEAST 0x4000000u

struct space {
	uint32_t number;
	uint8_t *start;
	uint8_t *stack; /* above its guard */
	size_t stack_bytes;
	struct heap heap;
	struct maps maps;
};

/* False: a sanitizer has plans of its own for addresses and memory. */
bool space_is_supported(void);
/* Of each of so many ranks; 0: they are too many. */
size_t space_bytes(uint32_t count);
/* The space of rank @number of all @count. -ENOSPC: too many; -EEXIST: something lies there
 * already; -ENOMEM; -ENOTSUP: a sanitizer has plans of its own for addresses. */
int space_open(struct space *space, uint32_t number, uint32_t count, size_t stack_bytes);
void space_close(struct space *space); /* zeroed: allowed */

#endif
