/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/managed.h"

#include "models/machine/machine.h"
#include "util/alloc.h"
#include "util/check.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

enum { FACT_MANAGED = 6 }; /* of the digest: behind that of gpus.c */

/* Under a limit of addresses it is less. */
static const uint64_t managed_least = UINT64_C(64) << 20;

static void *managed_pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/* The system keeps a range of pages of one kind as one; where they are too many all is open, and a
 * CPU makes no more faults. It is in a handler of signals. */
static void protect(struct gpu_managed *managed, uint64_t address, uint64_t bytes,
		    enum gpu_access access)
{
	static const int rights[] = {[GPU_ACCESS_NONE] = PROT_NONE,
				     [GPU_ACCESS_READ] = PROT_READ,
				     [GPU_ACCESS_WRITE] = PROT_READ | PROT_WRITE};

	if (mprotect(managed_pointer(address), bytes, rights[access]) != 0)
		CHECK(mprotect(managed_pointer(managed->memory.base), managed->memory.bytes,
			       PROT_READ | PROT_WRITE) == 0);
}

static void forget_bytes(struct gpu_managed *managed, uint64_t address, uint64_t bytes)
{
	CHECK(madvise(managed->bytes + (address - managed->memory.base), bytes, MADV_REMOVE) == 0);
}

/* What came where is a fact of the run. */
static void note_fault(struct gpu_managed *managed, uint32_t who, uint64_t address, uint64_t bytes,
		       ps_t now)
{
	struct host *host = managed->owner;

	sim_digest_add(&host->node, now,
		       (uint64_t)FACT_MANAGED << 56 | (uint64_t)who << 48 |
			       (address - managed->memory.base) / GPU_MANAGED_PAGE,
		       bytes);
}

/* At @wish, or where there is room; a multiple of GPU_MEMORY_BLOCK. MAP_FAILED: nowhere. */
static void *map_at(uint64_t wish, uint64_t bytes, int fd)
{
	const int flags = MAP_SHARED | MAP_NORESERVE;
	void *got =
		mmap((void *)(uintptr_t)wish, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, fd, 0);
	uint8_t *room;
	uint64_t before;

	if (got == (void *)(uintptr_t)wish)
		return got;
	if (got != MAP_FAILED)
		munmap(got, bytes);
	room = mmap(NULL, bytes + GPU_MEMORY_BLOCK, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return MAP_FAILED;
	before = GPU_MEMORY_BLOCK - (uintptr_t)room % GPU_MEMORY_BLOCK;
	got = mmap(room + before, bytes, PROT_NONE, flags | MAP_FIXED, fd, 0);
	munmap(room, before);
	if (before < GPU_MEMORY_BLOCK)
		munmap(room + before + bytes, GPU_MEMORY_BLOCK - before);
	return got;
}

/* False: not so many bytes. */
static bool map_twice(struct gpu_managed *managed, uint64_t base, uint64_t bytes)
{
	const int fd = memfd_create("managed", MFD_CLOEXEC);
	void *theirs = MAP_FAILED, *ours = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
		ours = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (ours != MAP_FAILED)
		theirs = map_at(base, bytes, fd);
	if (fd >= 0)
		close(fd);
	if (theirs != MAP_FAILED && gpu_managed_init(managed, (uintptr_t)theirs, bytes) == 0) {
		managed->bytes = ours;
		return true;
	}
	if (theirs != MAP_FAILED)
		munmap(theirs, bytes);
	if (ours != MAP_FAILED)
		munmap(ours, bytes);
	return false;
}

void host_managed_at(struct host *host, uint64_t base, uint64_t bytes)
{
	host->gpus->managed_base = base;
	host->gpus->managed_bytes = bytes;
}

struct gpu_managed *host_managed_find(const struct host *host)
{
	return host->gpus ? host->gpus->managed : NULL;
}

struct gpu_managed *host_managed(struct host *host)
{
	struct host_gpus *gpus = host->gpus;
	uint64_t bytes = gpus->managed_bytes;
	struct gpu_managed *managed;

	if (gpus->managed || gpus->count >= GPU_MANAGED_OWNERS)
		return gpus->managed;
	managed = util_calloc(1, sizeof(*managed));
	if (!managed)
		return NULL;
	while (bytes >= managed_least && !map_twice(managed, gpus->managed_base, bytes))
		bytes /= 2;
	if (bytes < managed_least) {
		util_free(managed);
		return NULL;
	}
	managed->protect = protect;
	managed->forget = forget_bytes;
	managed->on_fault = note_fault;
	managed->owner = host;
	gpus->managed = managed;
	for (uint32_t i = 0; i < gpus->count; i++) {
		managed->gpus[gpus->gpus[i].place] = &gpus->gpus[i];
		gpus->gpus[i].managed = managed;
	}
	return managed;
}

void host_managed_destroy(struct host *host)
{
	struct gpu_managed *managed = host->gpus->managed;

	if (!managed)
		return;
	munmap(managed->bytes, managed->memory.bytes);
	munmap(managed_pointer(managed->memory.base), managed->memory.bytes);
	gpu_managed_fini(managed);
	util_free(managed);
	host->gpus->managed = NULL;
}
