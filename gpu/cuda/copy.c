/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

/* Copies: which engine moves them, and when a call returns, as measured. Memory that is not pinned
 * is copied by the CPU first, into the command or, piece by piece, into pinned memory of the
 * driver's own. */

struct move {
	struct gpu_stream *stream;
	struct cuda_range to, from;
	struct copy_side to_side, from_side;
	uint64_t bytes;
	bool waits; /* a synchronous call */
};

static const struct gpu_profile *profile_of(const struct move *move)
{
	return move->stream->context->gpu->profile;
}

/* The same from the @nth byte on. */
static void skip(struct cuda_range *range, struct copy_side *side, uint64_t nth)
{
	if (side->width > 0) {
		side->skip += nth;
		return;
	}
	range->at += nth;
	if (range->managed)
		range->managed += nth;
}

/* The GPU that is told copies, if it is one of the two and may; else the one that has the bytes. */
static void choose_mover(const struct move *move, struct gpu_command *command)
{
	const struct gpu *own = move->stream->context->gpu;

	command->pulls = move->to.gpu == own &&
			 bus_may_read(own->bus, move->to.gpu->part, move->from.gpu->part);
	command->mover = command->pulls ? move->to.gpu : move->from.gpu;
	command->peer = command->pulls ? move->from.gpu : move->to.gpu;
}

/* One command of @move: its bytes from @at on, @bytes of them; what it reads or writes there may be
 * a copy of them (@copy, which goes with it). */
static CUresult tell(const struct move *move, enum gpu_work work, uint64_t at, uint64_t bytes,
		     uint8_t *copy)
{
	const struct cuda_range in_a_row = {.at = copy};
	struct cuda_range to = move->to, from = copy ? in_a_row : move->from;
	struct gpu_command *command = cuda_command(work);

	if (!command) {
		util_free(copy);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	command->bytes = bytes;
	command->to_side = move->to_side;
	skip(&to, &command->to_side, at);
	if (!copy) {
		command->from_side = move->from_side;
		skip(&from, &command->from_side, at);
	}
	command->to = to.at;
	command->from = from.at;
	command->copy = copy;
	command->managed_to = to.managed;
	command->managed_from = from.managed;
	if (work == GPU_TO_PEER)
		choose_mover(move, command);
	cuda_tell(move->stream, command);
	return CUDA_SUCCESS;
}

/* ---- what is not pinned, to a GPU ---- */

/* What a CPU takes to copy so many bytes of one source. */
static ps_t cpu_time(const struct move *move, uint64_t bytes)
{
	const struct gpu_profile *profile = profile_of(move);

	return util_tx_time(bytes, move->bytes > profile->cached_bytes ? profile->uncached_bps
								       : profile->cached_bps);
}

/* Memory that is not pinned is copied by the CPU, which takes so long. */
static void pass_staging(const struct move *move, uint64_t bytes)
{
	const ps_t time = cpu_time(move, bytes);

	move->stream->context->gpu->counts.staged_time += time;
	gpu_backend()->pass(time);
}

static CUresult tell_copied(const struct move *move, enum gpu_work work, uint64_t at,
			    uint64_t bytes)
{
	const struct copy_side in_a_row = {0};
	struct copy_side side = move->from_side;
	struct cuda_range from = move->from;
	uint8_t *copy = util_alloc(bytes);

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	skip(&from, &side, at);
	copy_sides(copy, &in_a_row, from.at, &side, bytes);
	return tell(move, work, at, bytes, copy);
}

/* Until the driver's own memory has room for @bytes more of this stream. */
static void wait_for_room(const struct move *move, uint64_t bytes)
{
	const struct gpu_profile *profile = profile_of(move);

	while (move->stream->staged + bytes > profile->stage_bytes)
		gpu_backend()->block();
}

static CUresult stage(const struct move *move)
{
	const uint32_t most = profile_of(move)->stage_piece;
	CUresult ret = CUDA_SUCCESS;

	for (uint64_t at = 0, bytes; at < move->bytes && ret == CUDA_SUCCESS; at += bytes) {
		bytes = move->bytes - at < most ? move->bytes - at : most;
		wait_for_room(move, bytes);
		pass_staging(move, bytes);
		ret = tell_copied(move, GPU_STAGED, at, bytes);
	}
	return ret;
}

/* Returns before the bytes are in the GPU, a synchronous call as well; that waits for all that was
 * told before it. */
static CUresult bring_pageable(const struct move *move)
{
	if (move->waits)
		cuda_wait(move->stream);
	if (move->bytes <= profile_of(move)->push_copy_bytes)
		return tell_copied(move, GPU_PUSHED_COPY, 0, move->bytes);
	return stage(move);
}

/* ---- what is not pinned, from a GPU: synchronous, whatever was asked for ---- */

static CUresult fetch_pageable(const struct move *move)
{
	const uint32_t most = profile_of(move)->stage_piece;
	struct move piece = *move;
	uint8_t *staged = util_alloc(move->bytes < most ? move->bytes : most);
	CUresult ret = staged ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (uint64_t at = 0, bytes; at < move->bytes && ret == CUDA_SUCCESS; at += bytes) {
		const struct copy_side in_a_row = {0};
		struct copy_side side = move->to_side;
		struct cuda_range to = move->to;

		bytes = move->bytes - at < most ? move->bytes - at : most;
		piece.to.at = staged;
		piece.to_side = in_a_row;
		piece.from_side = move->from_side;
		piece.from = move->from;
		skip(&piece.from, &piece.from_side, at);
		ret = tell(&piece, GPU_FROM_DEVICE, 0, bytes, NULL);
		cuda_wait(move->stream);
		pass_staging(move, bytes);
		move->stream->context->gpu->counts.staged_bytes += bytes;
		skip(&to, &side, at);
		copy_sides(to.at, &side, staged, &in_a_row, bytes);
	}
	util_free(staged);
	return ret;
}

/* ---- all of them ---- */

static CUresult then_wait(const struct move *move, CUresult ret)
{
	if (ret == CUDA_SUCCESS && move->waits && !gpu_stream_is_idle(move->stream)) {
		cuda_wait(move->stream);
		cuda_wake(move->stream->context);
	}
	return ret;
}

static CUresult within_host(const struct move *move)
{
	cuda_wait(move->stream);
	gpu_backend()->pass(cpu_time(move, move->bytes));
	copy_sides(move->to.at, &move->to_side, move->from.at, &move->from_side, move->bytes);
	return CUDA_SUCCESS;
}

static CUresult start_move(const struct move *move)
{
	const bool pushed = move->bytes <= profile_of(move)->push_bytes;

	if (move->to.is_registered || move->from.is_registered)
		gpu_backend()->pass(profile_of(move)->registered);
	if (move->to.kind != CUDA_DEVICE && move->from.kind != CUDA_DEVICE)
		return within_host(move);
	if (move->from.kind == CUDA_PAGEABLE)
		return bring_pageable(move);
	if (move->to.kind == CUDA_PAGEABLE)
		return fetch_pageable(move);
	if (move->from.kind == CUDA_PINNED)
		return then_wait(move, tell(move, pushed ? GPU_PUSHED : GPU_TO_DEVICE, 0,
					    move->bytes, NULL));
	if (move->to.kind == CUDA_PINNED)
		return then_wait(move, tell(move, GPU_FROM_DEVICE, 0, move->bytes, NULL));
	/* Within a GPU and between two, a synchronous call does not wait either. */
	return tell(move, move->to.gpu == move->from.gpu ? GPU_WITHIN : GPU_TO_PEER, 0, move->bytes,
		    NULL);
}

/* Managed memory is where the other side is, or with the stream's GPU. */
static void settle(struct move *move)
{
	struct gpu *own = move->stream->context->gpu;

	if (move->to.managed)
		move->to.gpu = move->from.gpu ? move->from.gpu : own;
	if (move->from.managed)
		move->from.gpu = move->to.gpu ? move->to.gpu : own;
}

CUresult cuda_copy(const struct cuda_copy *copy)
{
	struct move move = {.bytes = copy->bytes,
			    .waits = copy->waits,
			    .to_side = copy->to_side,
			    .from_side = copy->from_side};
	CUresult ret = cuda_stream(copy->stream, &move.stream);

	if (ret != CUDA_SUCCESS || copy->bytes == 0)
		return ret;
	ret = cuda_range(copy->to, copy->to_extent, &move.to);
	if (ret == CUDA_SUCCESS)
		ret = cuda_range(copy->from, copy->from_extent, &move.from);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (move.to.is_read_only || (copy->to_known && move.to.kind == CUDA_PAGEABLE) ||
	    (copy->from_known && move.from.kind == CUDA_PAGEABLE))
		return CUDA_ERROR_INVALID_VALUE;
	settle(&move);
	cuda_hold(move.stream);
	ret = start_move(&move);
	if (ret == CUDA_SUCCESS && copy->waits && (move.to.is_sync || move.from.is_sync))
		cuda_wait(move.stream);
	if (ret == CUDA_SUCCESS && copy->waits)
		ret = cuda_state(move.stream->context);
	cuda_let_go(move.stream);
	return ret;
}

/* What the driver has to know of one side. */
enum known { ANY, KNOWN };

static CUresult copy(CUdeviceptr to, enum known to_is, CUdeviceptr from, enum known from_is,
		     size_t bytes, CUstream stream, bool waits)
{
	return cuda_copy(&(struct cuda_copy){.to = to,
					     .from = from,
					     .to_extent = bytes,
					     .from_extent = bytes,
					     .to_known = to_is == KNOWN,
					     .from_known = from_is == KNOWN,
					     .bytes = bytes,
					     .stream = stream,
					     .waits = waits});
}

static CUdeviceptr at(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}

CUDA_PUBLIC CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return copy(to, ANY, from, ANY, bytes, NULL, true);
}

CUDA_PUBLIC CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy(to, ANY, from, ANY, bytes, stream, false);
}

CUDA_PUBLIC CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
	return copy(to, KNOWN, at(from), ANY, bytes, NULL, true);
}

CUDA_PUBLIC CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
				       CUstream stream)
{
	return copy(to, KNOWN, at(from), ANY, bytes, stream, false);
}

CUDA_PUBLIC CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
	return copy(at(to), ANY, from, KNOWN, bytes, NULL, true);
}

CUDA_PUBLIC CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return copy(at(to), ANY, from, KNOWN, bytes, stream, false);
}

CUDA_PUBLIC CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return copy(to, KNOWN, from, KNOWN, bytes, NULL, true);
}

CUDA_PUBLIC CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
				       CUstream stream)
{
	return copy(to, KNOWN, from, KNOWN, bytes, stream, false);
}

/* Where memory is says whose it is: contexts may be NULL. */
CUDA_PUBLIC CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
				  CUcontext from_context, size_t bytes)
{
	(void)to_context;
	(void)from_context;
	return copy(to, KNOWN, from, KNOWN, bytes, NULL, true);
}

CUDA_PUBLIC CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
				       CUcontext from_context, size_t bytes, CUstream stream)
{
	(void)to_context;
	(void)from_context;
	return copy(to, KNOWN, from, KNOWN, bytes, stream, false);
}
