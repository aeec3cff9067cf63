/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

#include <string.h>

/* Events: records of streams that others wait for, and the times between them. */

/* Of times in ns: as measured on an H100. */
enum { EVENT_STEP_NS = 32, NS_PER_MS = 1000000 };

/* One that the program has made and not destroyed. */
static CUresult check_event(CUevent event)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	const struct CUevent_st *known;

	if (ret != CUDA_SUCCESS)
		return ret;
	known = thread->program->events;
	while (known && known != event)
		known = known->next;
	if (!known)
		return CUDA_ERROR_INVALID_HANDLE;
	return known->context->users == 0 ? CUDA_ERROR_CONTEXT_IS_DESTROYED
					  : cuda_state(&known->context->streams);
}

/* Of its latest record, by whoever has it. */
static struct gpu_mark **mark_of(CUevent event)
{
	return event->shared ? &event->shared->mark : &event->mark;
}

static void forget(CUevent event)
{
	gpu_mark_put(event->mark);
	cuda_put_shared(event->shared);
	util_free(event);
}

struct CUevent_st *cuda_event_make(struct CUctx_st *context, unsigned int flags)
{
	struct CUevent_st *event = util_calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	event->flags = flags;
	event->context = context;
	event->next = cuda_program()->events;
	cuda_program()->events = event;
	return event;
}

CUDA_PUBLIC CUresult cuEventCreate(CUevent *ret_event, unsigned int flags)
{
	const unsigned int known =
		CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct CUevent_st *event;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_event || (flags & ~known) ||
	    ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
		return CUDA_ERROR_INVALID_VALUE;
	event = cuda_event_make(context, flags);
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gpu_backend()->pass(context->streams.gpu->profile->event_create);
	*ret_event = event;
	return CUDA_SUCCESS;
}

/* Whoever waits for it goes on doing so. */
CUDA_PUBLIC CUresult cuEventDestroy(CUevent event)
{
	const CUresult ret = check_event(event);
	struct CUevent_st **at;

	if (ret != CUDA_SUCCESS)
		return ret;
	at = &cuda_program()->events;
	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
	forget(event);
	return CUDA_SUCCESS;
}

/* What wants no time of an idle stream is over at once: nothing is sent. */
static void mark_at_once(struct gpu_stream *stream, struct gpu_mark *mark)
{
	gpu_backend()->pass(2 * stream->context->gpu->profile->query);
	mark->is_over = true;
	mark->at = gpu_backend()->now();
}

CUDA_PUBLIC CUresult cuEventRecord(CUevent event, CUstream handle)
{
	struct gpu_stream *stream;
	CUresult ret = cuda_stream(handle, &stream);
	struct gpu_command *command;
	struct gpu_mark *mark;

	if (ret == CUDA_SUCCESS)
		ret = check_event(event);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (stream->context != &event->context->streams)
		return CUDA_ERROR_INVALID_HANDLE;
	mark = gpu_mark_create();
	command = cuda_command(GPU_MARK);
	if (!mark || !command) {
		gpu_mark_put(mark);
		util_free(command);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	gpu_mark_put(*mark_of(event));
	*mark_of(event) = mark;
	if ((event->flags & CU_EVENT_DISABLE_TIMING) && gpu_stream_is_idle(stream)) {
		util_free(command);
		mark_at_once(stream, mark);
		return CUDA_SUCCESS;
	}
	mark->users++;
	command->mark = mark;
	cuda_tell(stream, command);
	return CUDA_SUCCESS;
}

/* One that was never recorded is over. */
CUDA_PUBLIC CUresult cuEventQuery(CUevent event)
{
	const CUresult ret = check_event(event);

	if (ret != CUDA_SUCCESS)
		return ret;
	gpu_backend()->pass(2 * event->context->streams.gpu->profile->query);
	return !*mark_of(event) || (*mark_of(event))->is_over ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUDA_PUBLIC CUresult cuEventSynchronize(CUevent event)
{
	const CUresult ret = check_event(event);
	struct gpu_mark *mark;

	if (ret != CUDA_SUCCESS)
		return ret;
	mark = *mark_of(event);
	if (!mark || mark->is_over) {
		cuda_pools_trim();
		gpu_backend()->pass(2 * event->context->streams.gpu->profile->query);
		return CUDA_SUCCESS;
	}
	mark->users++;
	while (!mark->is_over)
		gpu_backend()->block();
	gpu_mark_put(mark);
	cuda_pools_trim();
	gpu_backend()->pass(event->context->streams.gpu->profile->costs[GPU_MARK].notice);
	if (event->flags & CU_EVENT_BLOCKING_SYNC)
		gpu_backend()->pass(gpu_backend()->interrupt());
	return cuda_state(&event->context->streams);
}

/* @ns as milliseconds, in the form of IEEE 754, cut off behind 24 bits: what decides here knows
 * whole numbers only. */
static void put_ms(int64_t ns, float *ret_ms)
{
	uint64_t rest = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;
	uint32_t bits = 0;
	int exponent = 0; /* ms = mantissa * 2 ^ exponent */
	u128 mantissa;

	if (rest > 0) {
		mantissa = ((u128)rest << 40) / NS_PER_MS;
		for (exponent = -40; mantissa >> 24 != 0; exponent++)
			mantissa >>= 1;
		bits = (uint32_t)(ns < 0) << 31 | (uint32_t)(exponent + 23 + 127) << 23 |
		       ((uint32_t)mantissa & 0x7fffff);
	}
	memcpy(ret_ms, &bits, sizeof(bits));
}

CUDA_PUBLIC CUresult cuEventElapsedTime(float *ret_ms, CUevent start, CUevent end)
{
	CUresult ret = check_event(start);
	int64_t steps;

	if (ret == CUDA_SUCCESS)
		ret = check_event(end);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (!start->mark || !end->mark || (start->flags & CU_EVENT_DISABLE_TIMING) ||
	    (end->flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_ms)
		return CUDA_ERROR_INVALID_VALUE;
	if (!start->mark->is_over || !end->mark->is_over)
		return CUDA_ERROR_NOT_READY;
	steps = (int64_t)(end->mark->at / PS_NS / EVENT_STEP_NS) -
		(int64_t)(start->mark->at / PS_NS / EVENT_STEP_NS);
	put_ms(steps * EVENT_STEP_NS, ret_ms);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
	struct gpu_stream *stream;
	CUresult ret = cuda_stream(handle, &stream);
	struct gpu_command *command;

	if (ret == CUDA_SUCCESS)
		ret = check_event(event);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (flags == CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_ILLEGAL_STATE; /* it captures nothing */
	if (flags != CU_EVENT_WAIT_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	if (!*mark_of(event))
		return CUDA_SUCCESS;
	command = cuda_command(GPU_WAIT);
	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	command->mark = *mark_of(event);
	command->mark->users++;
	cuda_tell(stream, command);
	return CUDA_SUCCESS;
}
