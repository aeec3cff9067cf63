/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

/* Memory that lies in rows. A copy of them goes as one of as many bytes in a row does, by the same
 * engine, and each row crosses the bus in bursts of its own. That is a guess: no time of such a
 * copy was measured. */

enum { PITCH_STEP = 512 };

CUDA_PUBLIC CUresult cuMemAllocPitch(CUdeviceptr *ret_address, size_t *ret_pitch, size_t width,
				     size_t height, unsigned int element_bytes)
{
	const size_t pitch = (width + PITCH_STEP - 1) / PITCH_STEP * PITCH_STEP;
	struct CUctx_st *context;
	CUresult ret = cuda_current(&context);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_address || !ret_pitch || width == 0 || height == 0 || pitch < width ||
	    (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
		return CUDA_ERROR_INVALID_VALUE;
	if (height > SIZE_MAX / pitch)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ret = cuda_take(ret_address, pitch * height);
	if (ret == CUDA_SUCCESS)
		*ret_pitch = pitch;
	return ret;
}

/* One end of a copy: where its first byte is, how the others lie, and how far the last one is. */
struct end {
	CUdeviceptr at;
	struct copy_side side;
	uint64_t extent;
	bool is_known;
};

/* What a caller says of one. */
struct said {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x, y, z, pitch, slice_rows;
};

/* @width bytes of each of @rows rows of @slices slices. A pitch or a height of 0: there is nothing
 * between them. Arrays there are none, so that no copy has the handle of one. */
static CUresult find_end(const struct said *said, size_t width, size_t rows, size_t slices,
			 struct end *ret_end)
{
	const size_t pitch = said->pitch > 0 ? said->pitch : said->x + width;
	const size_t slice_rows = said->slice_rows > 0 ? said->slice_rows : said->y + rows;
	const u128 row = pitch, slice = row * slice_rows;
	const u128 first = said->z * slice + said->y * row + said->x;
	const u128 extent = (slices - 1) * slice + (rows - 1) * row + width;

	if (said->type < CU_MEMORYTYPE_HOST || said->type > CU_MEMORYTYPE_UNIFIED ||
	    said->type == CU_MEMORYTYPE_ARRAY || said->x > pitch || width > pitch - said->x ||
	    (slices > 1 && (said->y > slice_rows || rows > slice_rows - said->y)) ||
	    first + extent > INT64_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_end = (struct end){.at = said->type == CU_MEMORYTYPE_HOST
					      ? (CUdeviceptr)(uintptr_t)said->host
					      : said->device,
				.extent = (uint64_t)extent,
				.is_known = said->type == CU_MEMORYTYPE_DEVICE};
	if (ret_end->at == 0)
		return CUDA_ERROR_INVALID_VALUE;
	ret_end->at += (uint64_t)first;
	/* What lies in a row is told so. */
	if (extent != (u128)width * rows * slices)
		ret_end->side = (struct copy_side){.width = width,
						   .rows = rows,
						   .row_step = pitch,
						   .slice_step = (uint64_t)slice};
	return CUDA_SUCCESS;
}

static CUresult copy(const struct said *to, const struct said *from, const size_t size[3],
		     CUstream stream, bool waits)
{
	struct end to_end, from_end;
	struct gpu_thread *thread;
	CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS || size[0] == 0 || size[1] == 0 || size[2] == 0)
		return ret;
	ret = find_end(to, size[0], size[1], size[2], &to_end);
	if (ret == CUDA_SUCCESS)
		ret = find_end(from, size[0], size[1], size[2], &from_end);
	if (ret != CUDA_SUCCESS)
		return ret;
	return cuda_copy(&(struct cuda_copy){.to = to_end.at,
					     .from = from_end.at,
					     .to_extent = to_end.extent,
					     .from_extent = from_end.extent,
					     .to_side = to_end.side,
					     .from_side = from_end.side,
					     .to_known = to_end.is_known,
					     .from_known = from_end.is_known,
					     .bytes = size[0] * size[1] * size[2],
					     .stream = stream,
					     .waits = waits});
}

static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool waits)
{
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	return copy(&(struct said){.type = c->dstMemoryType,
				   .host = c->dstHost,
				   .device = c->dstDevice,
				   .x = c->dstXInBytes,
				   .y = c->dstY,
				   .pitch = c->dstPitch},
		    &(struct said){.type = c->srcMemoryType,
				   .host = c->srcHost,
				   .device = c->srcDevice,
				   .x = c->srcXInBytes,
				   .y = c->srcY,
				   .pitch = c->srcPitch},
		    (const size_t[3]){c->WidthInBytes, c->Height, 1}, stream, waits);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *c, CUstream stream, bool waits)
{
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	return copy(&(struct said){.type = c->dstMemoryType,
				   .host = c->dstHost,
				   .device = c->dstDevice,
				   .x = c->dstXInBytes,
				   .y = c->dstY,
				   .z = c->dstZ,
				   .pitch = c->dstPitch,
				   .slice_rows = c->dstHeight},
		    &(struct said){.type = c->srcMemoryType,
				   .host = c->srcHost,
				   .device = c->srcDevice,
				   .x = c->srcXInBytes,
				   .y = c->srcY,
				   .z = c->srcZ,
				   .pitch = c->srcPitch,
				   .slice_rows = c->srcHeight},
		    (const size_t[3]){c->WidthInBytes, c->Height, c->Depth}, stream, waits);
}

CUDA_PUBLIC CUresult cuMemcpy2D(const CUDA_MEMCPY2D *c)
{
	return copy_2d(c, NULL, true);
}

CUDA_PUBLIC CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *c)
{
	return copy_2d(c, NULL, true);
}

CUDA_PUBLIC CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream)
{
	return copy_2d(c, stream, false);
}

CUDA_PUBLIC CUresult cuMemcpy3D(const CUDA_MEMCPY3D *c)
{
	return copy_3d(c, NULL, true);
}

CUDA_PUBLIC CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *c, CUstream stream)
{
	return copy_3d(c, stream, false);
}

/* ---- memory that is set ---- */

/* @value: its size in bytes, and itself. */
static CUresult set(CUdeviceptr to, size_t pitch, const uint32_t value[2], size_t width,
		    size_t height, CUstream stream, bool waits)
{
	const u128 row = (u128)width * value[0];
	const u128 extent = height == 0 ? 0 : (u128)pitch * (height - 1) + row;
	struct cuda_set set = {
		.to = to, .pattern = value[1], .size = value[0], .stream = stream, .waits = waits};

	if (width > 0 && height > 1 && (row > pitch || pitch % value[0] != 0))
		return CUDA_ERROR_INVALID_VALUE;
	if (extent > INT64_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	set.extent = (uint64_t)extent;
	set.count = width * height;
	if (extent != row * height)
		set.side = (struct copy_side){
			.width = (uint64_t)row, .rows = height, .row_step = pitch};
	return cuda_set(&set);
}

CUDA_PUBLIC CUresult cuMemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
				  size_t height)
{
	return set(to, pitch, (const uint32_t[2]){1, value}, width, height, NULL, true);
}

CUDA_PUBLIC CUresult cuMemsetD2D16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
				   size_t height)
{
	return set(to, pitch, (const uint32_t[2]){2, value}, width, height, NULL, true);
}

CUDA_PUBLIC CUresult cuMemsetD2D32(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
				   size_t height)
{
	return set(to, pitch, (const uint32_t[2]){4, value}, width, height, NULL, true);
}

CUDA_PUBLIC CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value,
				       size_t width, size_t height, CUstream stream)
{
	return set(to, pitch, (const uint32_t[2]){1, value}, width, height, stream, false);
}

CUDA_PUBLIC CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value,
					size_t width, size_t height, CUstream stream)
{
	return set(to, pitch, (const uint32_t[2]){2, value}, width, height, stream, false);
}

CUDA_PUBLIC CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value,
					size_t width, size_t height, CUstream stream)
{
	return set(to, pitch, (const uint32_t[2]){4, value}, width, height, stream, false);
}
