/* SPDX-License-Identifier: BSD-2-Clause */

/* When calls of the driver API return, what waits for what, and which codes they give: each rank by
 * itself, as was measured on an H100 (driver 580.159.04). A line for each check, "ok" or "not". */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BIG = 32 << 20, SMALL = 4096, TIMES = 12 };

struct order {
	const struct vb_prog *prog;
	CUdeviceptr memory, other; /* BIG each */
	uint8_t *pinned, *pageable;
	CUstream a, b;		 /* that wait for nobody */
	CUstream blocking, next; /* that wait for the legacy one */
	CUevent event;
	CUcontext context;
	int failed;
};

/* Everything is over. */
static void rest(void)
{
	(void)cuCtxSynchronize();
}

static bool is_busy(CUstream stream)
{
	return cuStreamQuery(stream) == CUDA_ERROR_NOT_READY;
}

static void keep_busy(struct order *o, CUstream stream)
{
	(void)cuMemcpyHtoDAsync(o->memory, o->pinned, BIG, stream);
}

static void returns(struct order *o)
{
	(void)cuMemcpyHtoD(o->memory, o->pageable, 1 << 20);
	GPU_CHECK(o, is_busy(NULL), "a copy of pageable memory returns before it is there");
	rest();
	(void)cuMemcpyHtoD(o->memory, o->pinned, 1 << 20);
	GPU_CHECK(o, !is_busy(NULL), "a copy of pinned memory returns when it is there");
	(void)cuMemcpyDtoH(o->pinned, o->memory, 1 << 20);
	GPU_CHECK(o, !is_busy(NULL), "a copy to pinned memory returns when it is there");
	(void)cuMemcpyDtoH(o->pageable, o->memory, 1 << 20);
	GPU_CHECK(o, !is_busy(NULL), "a copy to pageable memory returns when it is there");
	(void)cuMemcpyDtoD(o->other, o->memory, BIG);
	GPU_CHECK(o, is_busy(NULL), "a copy within a GPU returns at once");
	rest();
	(void)cuMemsetD8(o->memory, 0, BIG);
	GPU_CHECK(o, is_busy(NULL), "setting memory of a GPU returns at once");
	rest();
	(void)cuMemsetD8((CUdeviceptr)(uintptr_t)o->pinned, 7, SMALL);
	GPU_CHECK(o, !is_busy(NULL) && o->pinned[SMALL - 1] == 7,
		  "setting pinned memory returns when it is done");
	keep_busy(o, o->a);
	(void)cuMemcpyDtoHAsync(o->pageable, o->memory, SMALL, o->a);
	GPU_CHECK(o, !is_busy(o->a), "an asynchronous copy to pageable memory is synchronous");
	keep_busy(o, o->a);
	(void)cuMemcpyHtoDAsync(o->memory, o->pageable, 2 << 20, o->a);
	GPU_CHECK(o, is_busy(o->a), "one of 2 MiB from it is not");
	rest();
}

static uint8_t byte_of(CUdeviceptr at)
{
	uint8_t byte = 0;

	(void)cuMemcpyDtoH(&byte, at, 1);
	return byte;
}

/* When the source is read. */
static void sources(struct order *o)
{
	keep_busy(o, o->a);
	o->pageable[0] = 1;
	(void)cuMemcpyHtoDAsync(o->other, o->pageable, SMALL, o->a);
	o->pageable[0] = 2;
	rest();
	GPU_CHECK(o, byte_of(o->other) == 1, "pageable memory may be changed after the call");
	keep_busy(o, o->a);
	o->pinned[0] = 1;
	(void)cuMemcpyHtoDAsync(o->other, o->pinned, 4, o->a);
	o->pinned[0] = 2;
	rest();
	GPU_CHECK(o, byte_of(o->other) == 2, "pinned memory is read when the copy's turn has come");
}

/* @first is busy; whether a copy that @second is told waits for it. */
static bool waits(struct order *o, CUstream first, CUstream second)
{
	bool waited;

	keep_busy(o, first);
	(void)cuMemsetD8Async(o->other, 1, 4, second);
	while (is_busy(second))
		(void)cuCtxGetCurrent(&(CUcontext){NULL});
	waited = !is_busy(first);
	rest();
	return waited;
}

static void streams(struct order *o)
{
	GPU_CHECK(o, waits(o, NULL, o->blocking), "blocking streams wait for the legacy one");
	GPU_CHECK(o, waits(o, o->blocking, NULL), "and it waits for them");
	GPU_CHECK(o, waits(o, NULL, CU_STREAM_PER_THREAD),
		  "a thread's stream waits for the legacy one");
	GPU_CHECK(o, waits(o, CU_STREAM_PER_THREAD, NULL), "and it waits for that");
	GPU_CHECK(o, waits(o, CU_STREAM_LEGACY, o->blocking), "which has two names");
	GPU_CHECK(o, !waits(o, NULL, o->a), "a non-blocking stream does not wait for it");
	GPU_CHECK(o, !waits(o, o->a, NULL), "nor it for that");
	GPU_CHECK(o, !waits(o, o->blocking, o->next),
		  "two blocking streams do not wait for each other");
	GPU_CHECK(o, !waits(o, CU_STREAM_PER_THREAD, o->blocking), "nor one and a thread's");
	GPU_CHECK(o, waits(o, o->a, o->a), "a stream goes in order");
}

/* The time from now until @stream has nothing to do. */
static uint64_t until_idle(CUstream stream)
{
	const uint64_t before = vb_now_ps();

	(void)cuStreamSynchronize(stream);
	return vb_now_ps() - before;
}

static void engines(struct order *o)
{
	const uint64_t us = 1000000;
	uint64_t one, both;

	keep_busy(o, o->a);
	one = until_idle(o->a);
	keep_busy(o, o->a);
	(void)cuMemcpyHtoDAsync(o->other, o->pinned, 24 << 10, o->b);
	GPU_CHECK(o, until_idle(o->b) < 50 * us, "24 KiB to a GPU go past its engine");
	rest();
	keep_busy(o, o->a);
	(void)cuMemcpyHtoDAsync(o->other, o->pinned, 25 << 10, o->b);
	GPU_CHECK(o, until_idle(o->b) > one * 9 / 10, "25 KiB wait for it");
	rest();
	keep_busy(o, o->a);
	(void)cuMemcpyHtoDAsync(o->other, o->pageable, 64 << 10, o->b);
	GPU_CHECK(o, until_idle(o->b) < 50 * us, "64 KiB of pageable memory go past it");
	rest();
	(void)cuMemcpyDtoHAsync(o->pinned, o->memory, BIG, o->a);
	(void)cuMemcpyDtoHAsync(o->pageable, o->memory, 0, o->b);
	(void)cuMemcpyDtoHAsync(o->pinned, o->memory, 4, o->b);
	GPU_CHECK(o, until_idle(o->b) > one * 9 / 10, "4 bytes from a GPU wait for its engine");
	rest();
	keep_busy(o, o->a);
	keep_busy(o, o->b);
	both = until_idle(o->b);
	GPU_CHECK(o, both > one * 19 / 10, "two copies one way go one after the other");
	keep_busy(o, o->a);
	(void)cuMemcpyDtoHAsync(o->pinned, o->other, BIG, o->b);
	both = until_idle(o->b);
	(void)cuStreamSynchronize(o->a);
	GPU_CHECK(o, both < one * 15 / 10, "two ways go at once");
	keep_busy(o, o->a);
	(void)cuMemcpyDtoDAsync(o->other, o->memory, SMALL, o->b);
	GPU_CHECK(o, until_idle(o->b) < 50 * us, "what stays within a GPU waits for no engine");
	rest();
}

static void *record_again(void *arg)
{
	struct order *o = arg;

	(void)cuCtxSetCurrent(o->context);
	keep_busy(o, o->b);
	(void)cuEventRecord(o->event, o->b);
	return NULL;
}

/* Whoever waits for an event does so for its record of that time, and is done with it. */
static void records(struct order *o)
{
	pthread_t thread;

	(void)cuCtxGetCurrent(&o->context);
	keep_busy(o, o->a);
	(void)cuEventRecord(o->event, o->a);
	(void)pthread_create(&thread, NULL, record_again, o);
	(void)cuEventSynchronize(o->event);
	GPU_CHECK(o,
		  !is_busy(o->a) && is_busy(o->b) && cuEventQuery(o->event) == CUDA_ERROR_NOT_READY,
		  "a record by another thread is none that a call waits for");
	(void)pthread_join(thread, NULL);
	rest();
}

/* In ns. */
static int64_t between(CUevent first, CUevent second)
{
	float ms = 0;

	(void)cuEventElapsedTime(&ms, first, second);
	return (int64_t)(ms * 1000000 + (ms < 0 ? -0.5f : 0.5f));
}

/* Each is of a clock with steps of 32 ns, so that times add up. */
static void times(struct order *o)
{
	CUevent marks[TIMES];
	int64_t sum = 0;
	bool in_steps = true;

	for (int i = 0; i < TIMES; i++) {
		(void)cuEventCreate(&marks[i], 0);
		(void)cuEventRecord(marks[i], o->a);
		(void)cuMemsetD8Async(o->other, 1, (size_t)(1 + 700 * i), o->a);
	}
	(void)cuStreamSynchronize(o->a);
	for (int i = 1; i < TIMES; i++) {
		const int64_t ns = between(marks[i - 1], marks[i]);

		in_steps &= ns > 0 && ns % 32 == 0 && between(marks[i], marks[i - 1]) == -ns;
		sum += ns;
	}
	GPU_CHECK(o, in_steps && sum == between(marks[0], marks[TIMES - 1]), "times add up");
	for (int i = 0; i < TIMES; i++)
		(void)cuEventDestroy(marks[i]);
}

static void events(struct order *o)
{
	CUevent quick, end;
	float ms = 0;

	(void)cuEventCreate(&quick, CU_EVENT_DISABLE_TIMING);
	(void)cuEventCreate(&end, 0);
	GPU_CHECK(o, cuEventQuery(o->event) == CUDA_SUCCESS,
		  "an event that was never recorded is over");
	GPU_CHECK(o, cuEventElapsedTime(&ms, o->event, end) == CUDA_ERROR_INVALID_HANDLE,
		  "and has no time");
	(void)cuEventRecord(o->event, o->a);
	keep_busy(o, o->a);
	(void)cuEventRecord(end, o->a);
	GPU_CHECK(o, cuEventQuery(end) == CUDA_ERROR_NOT_READY, "one behind a copy is not");
	GPU_CHECK(o, cuEventElapsedTime(&ms, o->event, end) == CUDA_ERROR_NOT_READY,
		  "nor are times until it");
	(void)cuMemsetD8Async(o->other, 5, 1, o->b);
	(void)cuStreamWaitEvent(o->b, end, 0);
	(void)cuMemsetD8Async(o->other, 6, 1, o->b);
	(void)cuEventRecord(end, o->b);
	GPU_CHECK(o, is_busy(o->b), "a stream waits for the event of another one");
	(void)cuStreamSynchronize(o->b);
	GPU_CHECK(o, !is_busy(o->a), "as it was when that was said");
	(void)cuEventSynchronize(end);
	GPU_CHECK(o,
		  cuEventElapsedTime(&ms, o->event, end) == CUDA_SUCCESS && ms > 0.6f && ms < 0.7f,
		  "the time between two events is that of what is between them");
	GPU_CHECK(o, cuEventElapsedTime(&ms, end, o->event) == CUDA_SUCCESS && ms < 0,
		  "or a negative one");
	(void)cuEventRecord(quick, o->a);
	GPU_CHECK(o, cuEventQuery(quick) == CUDA_SUCCESS, "one without a time is over at once");
	GPU_CHECK(o, cuEventElapsedTime(&ms, quick, end) == CUDA_ERROR_INVALID_HANDLE,
		  "and has none");
	keep_busy(o, o->a);
	(void)cuEventRecord(quick, o->a);
	GPU_CHECK(o, cuEventDestroy(quick) == CUDA_SUCCESS && cuEventDestroy(end) == CUDA_SUCCESS,
		  "events may be destroyed while they are awaited");
	rest();
	records(o);
	times(o);
}

struct called {
	int count, order[4];
	CUresult inside;
};

static void note(void *data)
{
	struct called *called = data;
	CUdeviceptr memory;

	called->order[called->count % 4] = called->count;
	called->count++;
	called->inside = cuMemAlloc(&memory, 1);
}

static void host_functions(struct order *o)
{
	struct called called = {.inside = CUDA_SUCCESS};
	uint64_t took;

	(void)cuLaunchHostFunc(o->a, note, &called);
	GPU_CHECK(o, called.count == 0, "a host function does not run at once");
	took = until_idle(o->a);
	GPU_CHECK(o, called.count == 1 && took > 10000000 && took < 30000000, "but 15 us later");
	GPU_CHECK(o, called.inside == CUDA_ERROR_NOT_PERMITTED, "and may not call");
	keep_busy(o, o->a);
	(void)cuLaunchHostFunc(o->a, note, &called);
	(void)cuLaunchHostFunc(o->b, note, &called);
	(void)cuStreamSynchronize(o->b);
	GPU_CHECK(o, called.count == 2 && is_busy(o->a),
		  "one waits for its stream and for no other");
	rest();
	GPU_CHECK(o, called.count == 3, "each runs once");
	GPU_CHECK(o, cuLaunchHostFunc(o->a, NULL, NULL) == CUDA_ERROR_INVALID_VALUE,
		  "none is none");
}

static void values(struct order *o)
{
	const CUdeviceptr word = (CUdeviceptr)(uintptr_t)o->pinned;
	uint32_t value = 0;
	uint64_t took;

	memset(o->pinned, 0, 16);
	(void)cuStreamWriteValue32(o->a, word, 17, 0);
	(void)cuStreamSynchronize(o->a);
	memcpy(&value, o->pinned, 4);
	GPU_CHECK(o, value == 17, "a stream writes a value");
	(void)cuStreamWaitValue32(o->a, word, 18, CU_STREAM_WAIT_VALUE_GEQ);
	(void)cuStreamWriteValue64(o->a, word + 8, 5, 0);
	o->prog->sleep_ns(o->prog, 100000);
	GPU_CHECK(o, is_busy(o->a), "and waits for one");
	value = 18;
	memcpy(o->pinned, &value, 4);
	took = until_idle(o->a);
	GPU_CHECK(o, o->pinned[8] + o->pinned[15] == 5 && took < 8000000, "that the host stores");
	(void)cuStreamWaitValue32(o->a, o->other, 3, CU_STREAM_WAIT_VALUE_EQ);
	(void)cuMemsetD32Async(o->other, 3, 1, o->b);
	GPU_CHECK(o, until_idle(o->a) < 20000000, "or another stream does");
	GPU_CHECK(o, cuStreamWriteValue32(o->a, word + 2, 1, 0) == CUDA_ERROR_INVALID_VALUE,
		  "only where it is aligned");
	GPU_CHECK(o,
		  cuStreamWriteValue32(o->a, (CUdeviceptr)(uintptr_t)o->pageable, 1, 0) ==
			  CUDA_ERROR_INVALID_VALUE,
		  "and in memory that it knows");
	GPU_CHECK(o, cuStreamWriteValue32(o->a, word, 1, 0x10) == CUDA_ERROR_INVALID_VALUE,
		  "without flags");
}

static uint64_t time_of_records(struct order *o, int count)
{
	const uint64_t before = vb_now_ps();

	for (int i = 0; i < count; i++)
		(void)cuEventRecord(o->event, o->b);
	return vb_now_ps() - before;
}

static void waiting_calls(struct order *o)
{
	CUdeviceptr more;
	CUstream gone;

	(void)cuMemAlloc(&more, 1);
	keep_busy(o, o->a);
	(void)cuMemFree(more);
	GPU_CHECK(o, !is_busy(o->a), "giving memory back waits for all streams");
	keep_busy(o, o->a);
	(void)cuMemAlloc(&more, 1);
	GPU_CHECK(o, is_busy(o->a), "taking it does not");
	rest();
	(void)cuMemFree(more);
	(void)cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING);
	o->pinned[0] = 9;
	(void)cuMemsetD8(o->other, 0, 1);
	keep_busy(o, gone);
	(void)cuMemcpyHtoDAsync(o->other, o->pinned, 1, gone);
	GPU_CHECK(o, cuStreamDestroy(gone) == CUDA_SUCCESS, "a busy stream can be destroyed");
	rest();
	GPU_CHECK(o, byte_of(o->other) == 9, "and does what it was told");
	(void)cuMemsetD8(o->other, 0, 4);
	for (int i = 0; i < 3; i++)
		keep_busy(o, o->a);
	(void)cuStreamWriteValue32(o->a, o->other, 77, 0);
	(void)cuStreamWaitValue32(o->b, o->other, 77, CU_STREAM_WAIT_VALUE_EQ);
	GPU_CHECK(o, time_of_records(o, 1020) < 1020 * 1000000ULL, "a stream holds 1021 commands");
	GPU_CHECK(o, time_of_records(o, 1) > 100 * 1000000ULL, "and the next call waits for room");
	rest();
}

static void host_memory(struct order *o)
{
	uint8_t *own = calloc(4, SMALL);
	unsigned int flags = 0;
	CUdeviceptr at = 0;
	void *portable;

	GPU_CHECK(o, cuMemHostRegister(own, 2 * SMALL, 0) == CUDA_SUCCESS, "memory is registered");
	GPU_CHECK(o,
		  cuMemHostRegister(own, 2 * SMALL, 0) ==
				  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED &&
			  cuMemHostRegister(own + SMALL, 2 * SMALL, 0) ==
				  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
		  "once");
	GPU_CHECK(o, cuMemHostRegister(own + 2 * SMALL, SMALL, 0) == CUDA_SUCCESS, "beside other");
	GPU_CHECK(o, cuMemHostUnregister(own + 1) == CUDA_ERROR_INVALID_VALUE, "as it was");
	GPU_CHECK(o, cuMemcpyHtoD(o->memory, own + SMALL, 2 * SMALL) == CUDA_ERROR_INVALID_VALUE,
		  "a copy goes not beyond it");
	GPU_CHECK(o,
		  cuMemHostGetDevicePointer(&at, own + 5, 0) == CUDA_SUCCESS &&
			  at == (CUdeviceptr)(uintptr_t)(own + 5),
		  "it has one address");
	GPU_CHECK(o, cuMemHostGetFlags(&flags, own) == CUDA_SUCCESS && flags == 2, "and flags");
	GPU_CHECK(o,
		  cuMemHostUnregister(own) == CUDA_SUCCESS &&
			  cuMemHostUnregister(own) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
		  "until it is not");
	GPU_CHECK(o, cuMemFreeHost(own + 2 * SMALL) == CUDA_ERROR_INVALID_VALUE,
		  "it is not given back as what was given out");
	(void)cuMemHostUnregister(own + 2 * SMALL);
	GPU_CHECK(o,
		  cuMemHostRegister(own, 0, 0) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemHostRegister(NULL, 1, 0) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemHostRegister((void *)64, 1, 0) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemHostRegister(own, 1, 0x10) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemHostRegister((void *)(uintptr_t)o->memory, 1, 0) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "what is no memory of the host is not registered");
	GPU_CHECK(o,
		  cuMemHostAlloc(&portable, 1, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS &&
			  cuMemHostGetFlags(&flags, portable) == CUDA_SUCCESS && flags == 3 &&
			  cuMemHostUnregister(portable) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemFreeHost(portable) == CUDA_SUCCESS &&
			  cuMemFreeHost(portable) == CUDA_ERROR_INVALID_VALUE,
		  "memory is given out and back");
	GPU_CHECK(o,
		  cuMemHostAlloc(&portable, 1, 0x80) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemFreeHost(NULL) == CUDA_SUCCESS,
		  "with flags that there are");
	free(own);
}

static void codes(struct order *o)
{
	CUstream stream;
	CUevent event;
	int priority = 0;

	GPU_CHECK(o, cuStreamCreate(&stream, 8) == CUDA_ERROR_INVALID_VALUE,
		  "no such flag of a stream");
	GPU_CHECK(o,
		  cuStreamDestroy(NULL) == CUDA_ERROR_INVALID_HANDLE &&
			  cuStreamDestroy(CU_STREAM_PER_THREAD) == CUDA_ERROR_INVALID_HANDLE,
		  "these streams stay");
	GPU_CHECK(o,
		  cuStreamCreateWithPriority(&stream, 0, -99) == CUDA_SUCCESS &&
			  cuStreamGetPriority(stream, &priority) == CUDA_SUCCESS &&
			  priority == -5 && cuStreamDestroy(stream) == CUDA_SUCCESS,
		  "priorities end at -5");
	GPU_CHECK(o,
		  cuEventCreate(&event, 0x80) == CUDA_ERROR_INVALID_VALUE &&
			  cuEventCreate(&event, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE,
		  "no such flags of an event");
	GPU_CHECK(o,
		  cuEventRecord(NULL, o->a) == CUDA_ERROR_INVALID_HANDLE &&
			  cuStreamWaitEvent(o->a, NULL, 0) == CUDA_ERROR_INVALID_HANDLE,
		  "no event");
	GPU_CHECK(o,
		  cuMemcpyHtoD(o->memory, o->pinned, BIG + 1) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemcpyHtoD((CUdeviceptr)(uintptr_t)o->pageable, o->pinned, 1) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMemcpyDtoD(o->memory, (CUdeviceptr)(uintptr_t)o->pageable, 1) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "no copy beyond what is there");
	GPU_CHECK(o,
		  cuMemcpy((CUdeviceptr)(uintptr_t)o->pageable, (CUdeviceptr)(uintptr_t)o->pinned,
			   SMALL) == CUDA_SUCCESS,
		  "one from host to host");
	GPU_CHECK(o,
		  cuMemsetD16(o->memory + 1, 0, 1) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemsetD8((CUdeviceptr)(uintptr_t)o->pageable, 0, 1) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "what is set is aligned, and the driver's");
	GPU_CHECK(o,
		  cuCtxPopCurrent(NULL) == CUDA_SUCCESS &&
			  cuCtxPopCurrent(NULL) == CUDA_ERROR_INVALID_CONTEXT &&
			  cuStreamQuery(NULL) == CUDA_ERROR_INVALID_CONTEXT &&
			  cuStreamQuery(o->a) == CUDA_SUCCESS,
		  "without a context only what names a stream");
}

int prog_main(const struct vb_prog *prog)
{
	struct order o = {.prog = prog, .pageable = calloc(1, BIG)};

	if (!prog_takes(prog, "") || !o.pageable || !gpu_open(prog, 0) ||
	    !GPU_DO(prog, cuMemAlloc(&o.memory, BIG)) || !GPU_DO(prog, cuMemAlloc(&o.other, BIG)) ||
	    !GPU_DO(prog, cuMemAllocHost((void **)&o.pinned, BIG)) ||
	    !GPU_DO(prog, cuStreamCreate(&o.a, CU_STREAM_NON_BLOCKING)) ||
	    !GPU_DO(prog, cuStreamCreate(&o.b, CU_STREAM_NON_BLOCKING)) ||
	    !GPU_DO(prog, cuStreamCreate(&o.blocking, 0)) ||
	    !GPU_DO(prog, cuStreamCreate(&o.next, 0)) ||
	    !GPU_DO(prog, cuEventCreate(&o.event, 0))) {
		free(o.pageable);
		return -1;
	}
	returns(&o);
	sources(&o);
	streams(&o);
	engines(&o);
	events(&o);
	host_functions(&o);
	values(&o);
	waiting_calls(&o);
	host_memory(&o);
	codes(&o);
	(void)cuMemFreeHost(o.pinned);
	free(o.pageable);
	return o.failed == 0 ? 0 : -1;
}
