/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/pool.h"

#include "gpu/cuda/internal.h"
#include "util/alloc.h"

/* Stream-ordered memory. A pool takes chunks of its GPU's memory and gives out pieces of them. What
 * is given back may be had again by the same stream at once, and by others once that stream has
 * come so far. Chunks that nobody uses go back when a program has waited for something. */

#define CHUNK_BYTES ((uint64_t)32 << 20)

static uint64_t extent_of(uint64_t bytes)
{
	return (bytes + GPU_MEMORY_GRAIN - 1) / GPU_MEMORY_GRAIN * GPU_MEMORY_GRAIN;
}

/* ---- pools ---- */

struct CUmemPoolHandle_st *cuda_pool_make(struct gpu *gpu)
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

struct CUmemPoolHandle_st *cuda_pool_default(struct gpu *gpu)
{
	struct CUmemPoolHandle_st *pool = cuda_program()->pools;

	while (pool && !(pool->is_default && pool->gpu == gpu))
		pool = pool->next;
	if (pool)
		return pool;
	pool = cuda_pool_make(gpu);
	if (pool)
		pool->is_default = true;
	return pool;
}

struct CUmemPoolHandle_st *cuda_pool_current(struct gpu *gpu)
{
	struct CUmemPoolHandle_st *pool = cuda_program()->current[cuda_number(gpu)];

	return pool ? pool : cuda_pool_default(gpu);
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
	cuda_make_room(pool->gpu);
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

ps_t cuda_pool_trim(struct CUmemPoolHandle_st *pool, uint64_t keep)
{
	struct pool_chunk **at = &pool->chunks;
	ps_t time = 0;

	forget_over(pool);
	while (*at && pool->reserved > keep) {
		struct pool_chunk *chunk = *at;

		if (is_used(pool, chunk) || chunk->bytes > pool->reserved - keep) {
			at = &chunk->next;
			continue;
		}
		*at = chunk->next;
		pool->reserved -= chunk->bytes;
		if (gpu_memory_drop(&pool->gpu->memory, chunk->target) == 0)
			gpu_backend()->freed(pool->gpu, chunk->target, chunk->bytes);
		gpu_views_give_back(cuda_views(), chunk->address);
		util_free(chunk);
		time += pool->gpu->profile->pool_shrink;
	}
	return time;
}

ps_t cuda_pools_end(void)
{
	struct CUmemPoolHandle_st **at = &cuda_program()->pools;
	ps_t time = 0;

	while (*at) {
		struct CUmemPoolHandle_st *pool = *at;

		if (pool->is_doomed && pool->used == 0)
			time += cuda_pool_trim(pool, 0);
		if (!pool->is_doomed || pool->chunks) {
			at = &pool->next;
			continue;
		}
		*at = pool->next;
		free_pool(pool);
	}
	return time;
}

void cuda_pools_trim(void)
{
	ps_t time = 0;

	for (struct CUmemPoolHandle_st *pool = cuda_program()->pools; pool; pool = pool->next)
		time += cuda_pool_trim(pool, pool->threshold);
	time += cuda_pools_end();
	if (time > 0)
		gpu_backend()->pass(time);
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
	pool->used += bytes;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	return CUDA_SUCCESS;
}

CUresult cuda_pool_take(CUdeviceptr *ret_address, size_t bytes, struct CUmemPoolHandle_st *pool,
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
	pool->used -= view->bytes;
	gpu_views_remove(cuda_views(), view);
}
