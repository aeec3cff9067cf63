/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

/* Streams: handles of them, how they are told what to do, and how it is waited for. */

static struct gpu_stream *find_stream(struct CUctx_st *context, CUstream handle)
{
	for (struct gpu_stream *s = context->streams.streams; s; s = s->next)
		if (s == (struct gpu_stream *)(void *)handle && !s->is_doomed)
			return s;
	return NULL;
}

/* That of the calling thread, which has it from its first use on. */
static struct gpu_stream *stream_of_thread(struct CUctx_st *context)
{
	const struct gpu_thread *thread = gpu_backend()->thread();
	struct gpu_stream *stream = context->streams.streams;

	while (stream && !(stream->kind == GPU_OF_THREAD && stream->thread == thread))
		stream = stream->next;
	if (stream)
		return stream;
	stream = gpu_stream_create(&context->streams, GPU_OF_THREAD);
	if (stream)
		stream->thread = thread;
	return stream;
}

/* A stream that was made is known to whoever names it, without a context. */
static CUresult find_anywhere(CUstream handle, struct gpu_stream **ret_stream)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	for (struct CUctx_st *context = gpu_program_next(thread->program, NULL); context;
	     context = gpu_program_next(thread->program, context)) {
		*ret_stream = find_stream(context, handle);
		if (*ret_stream)
			return cuda_state(&context->streams);
	}
	return CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuda_stream(CUstream handle, struct gpu_stream **ret_stream)
{
	struct CUctx_st *context;
	CUresult ret;

	if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD)
		return find_anywhere(handle, ret_stream);
	ret = cuda_current(&context);
	if (ret != CUDA_SUCCESS)
		return ret;
	*ret_stream = handle == CU_STREAM_PER_THREAD ? stream_of_thread(context) : context->legacy;
	return *ret_stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

struct gpu_command *cuda_command(enum gpu_work work)
{
	struct gpu_command *command = util_calloc(1, sizeof(*command));

	if (command)
		command->work = work;
	return command;
}

void cuda_hold(struct gpu_stream *stream)
{
	stream->users++;
}

void cuda_let_go(struct gpu_stream *stream)
{
	stream->users--;
	gpu_stream_let_go(stream);
}

void cuda_tell(struct gpu_stream *stream, struct gpu_command *command)
{
	const struct gpu_profile *profile = stream->context->gpu->profile;
	const struct gpu_cost *cost = &profile->costs[command->work];

	cuda_hold(stream);
	gpu_backend()->pass(cost->call + (cost->call_bps > 0
						  ? util_tx_time(command->bytes, cost->call_bps)
						  : 0));
	while (stream->count >= profile->queue)
		gpu_backend()->block();
	gpu_stream_take(stream, command, gpu_backend()->now());
	if (cost->after > 0)
		gpu_backend()->pass(cost->after);
	cuda_let_go(stream);
}

void cuda_wait(struct gpu_stream *stream)
{
	const uint64_t number = stream->begun;
	const enum gpu_work last = stream->last_work;

	if (stream->over >= number)
		return;
	cuda_hold(stream);
	while (stream->over < number)
		gpu_backend()->block();
	gpu_backend()->pass(stream->context->gpu->profile->costs[last].notice);
	cuda_let_go(stream);
}

void cuda_wake(struct gpu_context *context)
{
	const struct CUctx_st *own = container_of(context, struct CUctx_st, streams);

	if (own->flags & CU_CTX_SCHED_BLOCKING_SYNC)
		gpu_backend()->pass(gpu_backend()->interrupt());
}

static bool is_idle(const struct CUctx_st *context)
{
	for (const struct gpu_stream *s = context->streams.streams; s; s = s->next)
		if (!gpu_stream_is_idle(s))
			return false;
	return true;
}

bool cuda_rest(const struct CUctx_st *context)
{
	if (is_idle(context))
		return false;
	while (!is_idle(context))
		gpu_backend()->block();
	return true;
}

CUDA_PUBLIC CUresult cuStreamCreateWithPriority(CUstream *ret_stream, unsigned int flags,
						int priority)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct gpu_stream *stream;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_stream || (flags & ~(unsigned int)CU_STREAM_NON_BLOCKING))
		return CUDA_ERROR_INVALID_VALUE;
	gpu_backend()->pass(context->streams.gpu->profile->stream_create);
	stream =
		gpu_stream_create(&context->streams,
				  flags & CU_STREAM_NON_BLOCKING ? GPU_NON_BLOCKING : GPU_BLOCKING);
	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	*ret_stream = (CUstream)(void *)stream;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuStreamCreate(CUstream *ret_stream, unsigned int flags)
{
	return cuStreamCreateWithPriority(ret_stream, flags, 0);
}

/* It returns at once; what the stream was told is done. */
CUDA_PUBLIC CUresult cuStreamDestroy(CUstream handle)
{
	struct gpu_stream *stream;
	CUresult ret;

	if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	ret = cuda_stream(handle, &stream);
	if (ret != CUDA_SUCCESS)
		return ret;
	gpu_backend()->pass(stream->context->gpu->profile->stream_destroy);
	gpu_stream_destroy(stream);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuStreamSynchronize(CUstream handle)
{
	struct gpu_stream *stream;
	CUresult ret = cuda_stream(handle, &stream);

	if (ret != CUDA_SUCCESS)
		return ret;
	cuda_hold(stream);
	gpu_backend()->pass(stream->context->gpu->profile->query);
	if (!gpu_stream_is_idle(stream)) {
		cuda_wait(stream);
		cuda_wake(stream->context);
	}
	ret = cuda_state(stream->context);
	cuda_let_go(stream);
	cuda_pools_trim();
	return ret;
}

CUDA_PUBLIC CUresult cuStreamQuery(CUstream handle)
{
	struct gpu_stream *stream;
	const CUresult ret = cuda_stream(handle, &stream);

	if (ret != CUDA_SUCCESS)
		return ret;
	gpu_backend()->pass(stream->context->gpu->profile->query);
	return gpu_stream_is_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUDA_PUBLIC CUresult cuStreamGetPriority(CUstream handle, int *ret_priority)
{
	struct gpu_stream *stream;
	const CUresult ret = cuda_stream(handle, &stream);

	if (ret == CUDA_SUCCESS && !ret_priority)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS)
		*ret_priority = stream->priority;
	return ret;
}

CUDA_PUBLIC CUresult cuStreamGetFlags(CUstream handle, unsigned int *ret_flags)
{
	struct gpu_stream *stream;
	const CUresult ret = cuda_stream(handle, &stream);

	if (ret == CUDA_SUCCESS && !ret_flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS)
		*ret_flags = stream->kind == GPU_NON_BLOCKING ? CU_STREAM_NON_BLOCKING
							      : CU_STREAM_DEFAULT;
	return ret;
}

/* ---- host functions ---- */

CUDA_PUBLIC CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data)
{
	struct gpu_stream *stream;
	const CUresult ret = cuda_stream(handle, &stream);
	struct gpu_command *command;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	command = cuda_command(GPU_HOST_FUNCTION);
	if (!command || gpu_backend()->expect_call() != 0) {
		util_free(command);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	command->function = function;
	command->arg = data;
	cuda_tell(stream, command);
	return CUDA_SUCCESS;
}

/* ---- values in memory ---- */

/* Not of managed memory. Who writes what may only be read is not told here, but loses the context:
 * as measured. */
static CUresult tell_value(CUstream handle, enum gpu_work work, CUdeviceptr address, uint64_t value,
			   uint32_t bytes, enum gpu_compare compare)
{
	struct gpu_stream *stream;
	CUresult ret = cuda_stream(handle, &stream);
	struct gpu_command *command;
	struct cuda_range range;

	if (ret == CUDA_SUCCESS)
		ret = cuda_range(address, bytes, &range);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (address % bytes != 0 || range.kind == CUDA_PAGEABLE || range.managed)
		return CUDA_ERROR_INVALID_VALUE;
	command = cuda_command(work);
	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	command->value = (struct gpu_value){.at = range.at,
					    .value = value,
					    .bytes = (uint8_t)bytes,
					    .compare = compare,
					    .is_read_only = range.is_read_only};
	cuda_tell(stream, command);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuStreamWriteValue32(CUstream handle, CUdeviceptr address, cuuint32_t value,
					  unsigned int flags)
{
	return flags != 0 ? CUDA_ERROR_INVALID_VALUE
			  : tell_value(handle, GPU_WRITE_VALUE, address, value, 4, GPU_EQ);
}

CUDA_PUBLIC CUresult cuStreamWriteValue64(CUstream handle, CUdeviceptr address, cuuint64_t value,
					  unsigned int flags)
{
	return flags != 0 ? CUDA_ERROR_INVALID_VALUE
			  : tell_value(handle, GPU_WRITE_VALUE, address, value, 8, GPU_EQ);
}

/* No flush of remote writes: CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES is 0. */
static CUresult tell_wait(CUstream handle, CUdeviceptr address, uint64_t value, uint32_t bytes,
			  unsigned int flags)
{
	if (flags == CU_STREAM_WAIT_VALUE_FLUSH)
		return CUDA_ERROR_NOT_SUPPORTED;
	return flags > GPU_NOR ? CUDA_ERROR_INVALID_VALUE
			       : tell_value(handle, GPU_WAIT_VALUE, address, value, bytes,
					    (enum gpu_compare)flags);
}

CUDA_PUBLIC CUresult cuStreamWaitValue32(CUstream handle, CUdeviceptr address, cuuint32_t value,
					 unsigned int flags)
{
	return tell_wait(handle, address, value, 4, flags);
}

CUDA_PUBLIC CUresult cuStreamWaitValue64(CUstream handle, CUdeviceptr address, cuuint64_t value,
					 unsigned int flags)
{
	return tell_wait(handle, address, value, 8, flags);
}
