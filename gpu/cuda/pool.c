/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

/* Stream-ordered memory. A pool takes chunks of its GPU's memory and gives out pieces of them. What
 * is given back may be had again by the same stream at once, and by others once that stream has
 * come so far. Chunks that nobody uses go back when a program has waited for something. */

#define CHUNK_BYTES ((uint64_t)32 << 20)

/* Given back, and not yet over. */
struct late_piece {
	uint64_t address, extent;
	const struct gpu_stream *stream;
	uint64_t stream_number, until; /* that one's, and of its last command */
	const struct CUctx_st *context;
	struct late_piece *next;
};

struct pool_chunk {
	uint64_t address, bytes, target;
	struct pool_chunk *next; /* in the order in which they were taken */
};

struct CUmemPoolHandle_st {
	struct gpu *gpu;
	const struct gpu_program *program;
	uint64_t number; /* n-th of the program, from 1 */
	bool is_default, is_doomed;
	uint32_t handle_types;
	uint64_t reuse[3]; /* kept, and without effect */
	uint64_t threshold, most;
	uint64_t reserved, reserved_high, used, used_high;
	struct pool_chunk *chunks;
	struct late_piece *late;
	struct CUmemPoolHandle_st *next;
};

static uint64_t extent_of(uint64_t bytes)
{
	return (bytes + GPU_MEMORY_GRAIN - 1) / GPU_MEMORY_GRAIN * GPU_MEMORY_GRAIN;
}

/* ---- pools ---- */

static struct CUmemPoolHandle_st *make_pool(struct gpu *gpu)
{
	struct CUmemPoolHandle_st *pool = util_calloc(1, sizeof(*pool)), **at;

	if (!pool)
		return NULL;
	pool->gpu = gpu;
	pool->program = cuda_program();
	pool->number = ++cuda_program()->pools_made;
	pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
	for (at = &cuda_program()->pools; *at;)
		at = &(*at)->next;
	*at = pool;
	return pool;
}

/* NULL: no memory. */
static struct CUmemPoolHandle_st *default_pool(struct gpu *gpu)
{
	struct CUmemPoolHandle_st *pool = cuda_program()->pools;

	while (pool && !(pool->is_default && pool->gpu == gpu))
		pool = pool->next;
	if (pool)
		return pool;
	pool = make_pool(gpu);
	if (pool)
		pool->is_default = true;
	return pool;
}

static struct CUmemPoolHandle_st *current_pool(struct gpu *gpu)
{
	struct CUmemPoolHandle_st *pool = cuda_program()->current[cuda_number(gpu)];

	return pool ? pool : default_pool(gpu);
}

static CUresult check_pool(CUmemoryPool pool)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	const struct CUmemPoolHandle_st *known;

	if (ret != CUDA_SUCCESS)
		return ret;
	known = thread->program->pools;
	while (known && known != pool)
		known = known->next;
	return known && !known->is_doomed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void free_late(struct late_piece **at)
{
	struct late_piece *late = *at;

	*at = late->next;
	util_free(late);
}

static void free_pool(struct CUmemPoolHandle_st *pool)
{
	while (pool->late)
		free_late(&pool->late);
	while (pool->chunks) {
		struct pool_chunk *chunk = pool->chunks;

		pool->chunks = chunk->next;
		util_free(chunk);
	}
	util_free(pool);
}

void cuda_pools_fini(struct gpu_program *program)
{
	while (program->pools) {
		struct CUmemPoolHandle_st *pool = program->pools;

		program->pools = pool->next;
		free_pool(pool);
	}
}

/* ---- pieces ---- */

/* The stream has come so far, or is gone. */
static bool is_over(const struct late_piece *late)
{
	const struct gpu_stream *stream = late->context->streams.streams;

	while (stream && stream->number != late->stream_number)
		stream = stream->next;
	return !stream || stream->over >= late->until;
}

static void forget_over(struct CUmemPoolHandle_st *pool)
{
	struct late_piece **at = &pool->late;

	while (*at)
		if (is_over(*at))
			free_late(at);
		else
			at = &(*at)->next;
}

/* The end of what lies in the way of @extent bytes at @address for @stream; 0: nothing does. */
static uint64_t way_to(const struct CUmemPoolHandle_st *pool, uint64_t address, uint64_t extent,
		       const struct gpu_stream *stream)
{
	const struct gpu_view *view = gpu_views_behind(cuda_views(), address);

	if (view && view->address < address + extent)
		return view->address + extent_of(view->bytes);
	for (const struct late_piece *late = pool->late; late; late = late->next)
		if (late->stream != stream && late->address < address + extent &&
		    address < late->address + late->extent)
			return late->address + late->extent;
	return 0;
}

/* First fit in the chunks that there are; 0: nowhere. */
static uint64_t find_piece(const struct CUmemPoolHandle_st *pool, uint64_t extent,
			   const struct gpu_stream *stream, const struct pool_chunk **ret_chunk)
{
	for (const struct pool_chunk *chunk = pool->chunks; chunk; chunk = chunk->next) {
		uint64_t address = chunk->address, end;

		*ret_chunk = chunk;
		while (address + extent <= chunk->address + chunk->bytes) {
			end = way_to(pool, address, extent, stream);
			if (end == 0)
				return address;
			address = end;
		}
	}
	return 0;
}

static CUresult take_chunk(struct CUmemPoolHandle_st *pool, uint64_t extent)
{
	const uint64_t bytes = (extent + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
	struct gpu_stretch stretch = {.bytes = bytes, .owner = pool->program, .gpu = pool->gpu};
	struct pool_chunk *chunk, **at = &pool->chunks;

	if (bytes < extent || (pool->most > 0 && bytes > pool->most - pool->reserved))
		return CUDA_ERROR_OUT_OF_MEMORY;
	chunk = util_calloc(1, sizeof(*chunk));
	gpu_backend()->collect(pool->gpu);
	if (!chunk || gpu_memory_hide(&pool->gpu->memory, bytes, &stretch.target) != 0) {
		util_free(chunk);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (gpu_views_reserve(cuda_views(), &stretch, GPU_MEMORY_BLOCK, 0, &chunk->address) != 0) {
		(void)gpu_memory_drop(&pool->gpu->memory, stretch.target);
		util_free(chunk);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	chunk->bytes = bytes;
	chunk->target = stretch.target;
	while (*at)
		at = &(*at)->next;
	*at = chunk;
	pool->reserved += bytes;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	return CUDA_SUCCESS;
}

static bool is_used(const struct CUmemPoolHandle_st *pool, const struct pool_chunk *chunk)
{
	const struct gpu_view *view = gpu_views_behind(cuda_views(), chunk->address);

	if (view && view->address < chunk->address + chunk->bytes)
		return true;
	for (const struct late_piece *late = pool->late; late; late = late->next)
		if (late->address - chunk->address < chunk->bytes)
			return true;
	return false;
}

/* Chunks that nobody uses go, as long as @pool has more than @keep. */
static void trim(struct CUmemPoolHandle_st *pool, uint64_t keep)
{
	struct pool_chunk **at = &pool->chunks;

	forget_over(pool);
	while (*at && pool->reserved > keep) {
		struct pool_chunk *chunk = *at;

		if (is_used(pool, chunk)) {
			at = &chunk->next;
			continue;
		}
		*at = chunk->next;
		pool->reserved -= chunk->bytes;
		if (gpu_memory_drop(&pool->gpu->memory, chunk->target) == 0)
			gpu_backend()->freed(pool->gpu, chunk->target, chunk->bytes);
		gpu_views_give_back(cuda_views(), chunk->address);
		util_free(chunk);
	}
}

/* A pool that was destroyed goes with the last of its memory. */
static void end_doomed(void)
{
	struct CUmemPoolHandle_st **at = &cuda_program()->pools;

	while (*at) {
		struct CUmemPoolHandle_st *pool = *at;

		if (pool->is_doomed && pool->used == 0)
			trim(pool, 0);
		if (!pool->is_doomed || pool->chunks) {
			at = &pool->next;
			continue;
		}
		*at = pool->next;
		free_pool(pool);
	}
}

void cuda_pools_trim(void)
{
	for (struct CUmemPoolHandle_st *pool = cuda_program()->pools; pool; pool = pool->next)
		trim(pool, pool->threshold);
	end_doomed();
}

static CUresult add_view(struct CUmemPoolHandle_st *pool, uint64_t address,
			 const struct pool_chunk *chunk, uint64_t bytes)
{
	const struct gpu_view view = {.address = address,
				      .bytes = bytes,
				      .target = chunk->target + (address - chunk->address),
				      .number = ++pool->gpu->memory.made,
				      .gpu = pool->gpu,
				      .kind = GPU_VIEW_POOL,
				      .owner = pool->program,
				      .object = pool,
				      .handle_types = pool->handle_types};

	if (!gpu_views_add(cuda_views(), &view))
		return CUDA_ERROR_OUT_OF_MEMORY;
	pool->used += extent_of(bytes);
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	return CUDA_SUCCESS;
}

static CUresult take(CUdeviceptr *ret_address, size_t bytes, struct CUmemPoolHandle_st *pool,
		     const struct gpu_stream *stream)
{
	const struct gpu_profile *profile = pool->gpu->profile;
	const struct pool_chunk *chunk;
	CUresult ret = CUDA_SUCCESS;
	uint64_t address;
	ps_t time = bytes < GPU_MEMORY_SMALL ? profile->pool_alloc : profile->pool_alloc_large;

	forget_over(pool);
	address = find_piece(pool, extent_of(bytes), stream, &chunk);
	if (address == 0) {
		ret = take_chunk(pool, extent_of(bytes));
		time = cuda_time(profile->pool_grow, profile->pool_grow_mib,
				 bytes > CHUNK_BYTES ? bytes - CHUNK_BYTES * 3 / 4 : 0);
		if (ret == CUDA_SUCCESS)
			address = find_piece(pool, extent_of(bytes), stream, &chunk);
	}
	if (ret == CUDA_SUCCESS)
		ret = add_view(pool, address, chunk, bytes);
	if (ret != CUDA_SUCCESS)
		return ret;
	*ret_address = address;
	gpu_backend()->pass(time);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ret_address, size_t bytes,
					     CUmemoryPool pool, CUstream handle)
{
	struct gpu_stream *stream;
	CUresult ret = cuda_stream(handle, &stream);

	if (ret == CUDA_SUCCESS)
		ret = check_pool(pool);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_address)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_address = 0;
	if (bytes > pool->gpu->memory.bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return bytes == 0 ? CUDA_SUCCESS : take(ret_address, bytes, pool, stream);
}

CUDA_PUBLIC CUresult cuMemAllocAsync(CUdeviceptr *ret_address, size_t bytes, CUstream handle)
{
	struct gpu_stream *stream;
	const CUresult ret = cuda_stream(handle, &stream);
	struct CUmemPoolHandle_st *pool;

	if (ret != CUDA_SUCCESS)
		return ret;
	pool = current_pool(stream->context->gpu);
	return pool ? cuMemAllocFromPoolAsync(ret_address, bytes, pool, handle)
		    : CUDA_ERROR_OUT_OF_MEMORY;
}

void cuda_pool_free(struct gpu_view *view, const struct gpu_stream *stream)
{
	struct CUmemPoolHandle_st *pool = view->object;
	struct late_piece *late = stream ? util_alloc(sizeof(*late)) : NULL;

	/* Without memory for that it can be had at once. */
	if (late) {
		*late = (struct late_piece){
			.address = view->address,
			.extent = extent_of(view->bytes),
			.stream = stream,
			.stream_number = stream->number,
			.until = stream->begun,
			.context = container_of(stream->context, struct CUctx_st, streams),
			.next = pool->late};
		pool->late = late;
	}
	pool->used -= extent_of(view->bytes);
	gpu_views_remove(cuda_views(), view);
}

CUDA_PUBLIC CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
	struct gpu_stream *stream;
	const CUresult ret = cuda_stream(handle, &stream);
	struct cuda_memory memory;

	if (ret != CUDA_SUCCESS || address == 0)
		return ret;
	if (!cuda_memory(address, &memory) || !memory.view || memory.start != address ||
	    memory.view->kind != GPU_VIEW_POOL)
		return CUDA_ERROR_INVALID_VALUE;
	cuda_pool_free(memory.view, stream);
	gpu_backend()->pass(memory.gpu->profile->pool_free);
	return CUDA_SUCCESS;
}

/* ---- pools, for programs ---- */

CUDA_PUBLIC CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *ret_pool, CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = cuda_device(device, &gpu);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_pool)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_pool = default_pool(gpu);
	return *ret_pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUDA_PUBLIC CUresult cuDeviceGetMemPool(CUmemoryPool *ret_pool, CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = cuda_device(device, &gpu);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_pool)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_pool = current_pool(gpu);
	return *ret_pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUDA_PUBLIC CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	struct gpu *gpu;
	CUresult ret = cuda_device(device, &gpu);

	if (ret == CUDA_SUCCESS)
		ret = check_pool(pool);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (pool->gpu != gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	cuda_program()->current[device] = pool;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemPoolCreate(CUmemoryPool *ret_pool, const CUmemPoolProps *props)
{
	struct gpu_thread *thread;
	CUresult ret = cuda_enter(&thread);
	struct gpu *gpu;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	ret = cuda_device(props->location.id, &gpu);
	if (ret != CUDA_SUCCESS)
		return ret;
	*ret_pool = make_pool(gpu);
	if (!*ret_pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*ret_pool)->handle_types = props->handleTypes;
	(*ret_pool)->most = props->maxSize;
	return CUDA_SUCCESS;
}

/* It goes with the last of its memory; its device has the default one again. */
CUDA_PUBLIC CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	const CUresult ret = check_pool(pool);
	struct CUmemPoolHandle_st **current;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (pool->is_default)
		return CUDA_ERROR_INVALID_VALUE;
	current = &cuda_program()->current[cuda_number(pool->gpu)];
	if (*current == pool)
		*current = NULL;
	pool->is_doomed = true;
	end_doomed();
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
	const CUresult ret = check_pool(pool);

	if (ret == CUDA_SUCCESS)
		trim(pool, bytes);
	return ret;
}

/* Where @attribute is; NULL: nowhere. */
static uint64_t *attribute_of(struct CUmemPoolHandle_st *pool, CUmemPool_attribute attribute)
{
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		return &pool->reuse[attribute - 1];
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		return &pool->threshold;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		return &pool->reserved;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return &pool->reserved_high;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return &pool->used;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return &pool->used_high;
	}
	return NULL;
}

static bool is_int(CUmemPool_attribute attribute)
{
	return attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
}

/* A high mark is set to what there is, by the value 0; what is there is not set. */
CUDA_PUBLIC CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
					   void *value)
{
	const CUresult ret = check_pool(pool);
	uint64_t *at;

	if (ret != CUDA_SUCCESS)
		return ret;
	at = attribute_of(pool, attribute);
	if (!at || !value || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
	    attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_int(attribute)) {
		*at = *(const int *)value != 0;
	} else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
		*at = *(const cuuint64_t *)value;
	} else if (*(const cuuint64_t *)value != 0) {
		return CUDA_ERROR_INVALID_VALUE;
	} else {
		*at = attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used : pool->reserved;
	}
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
					   void *ret_value)
{
	const CUresult ret = check_pool(pool);
	const uint64_t *at;

	if (ret != CUDA_SUCCESS)
		return ret;
	at = attribute_of(pool, attribute);
	if (!at || !ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_int(attribute))
		*(int *)ret_value = (int)*at;
	else
		*(cuuint64_t *)ret_value = *at;
	return CUDA_SUCCESS;
}
