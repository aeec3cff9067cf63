/* SPDX-License-Identifier: BSD-2-Clause */
#include "include/verbena/verbena.h"

#include "models/program/spawn.h"
#include "models/program/task.h"
#include "util/check.h"

#include <string.h>

enum { STACK_BYTES = 256 * 1024 };

static struct task *current(void)
{
	struct task *task = task_current();

	CHECK(task != NULL); /* called from outside of a program */
	task_pay(task);
	return task;
}

int vb_version(void)
{
	return VB_VERSION;
}

int vb_spawn(struct vb_host *host, const char *name, vb_fn *fn, void *arg, uint64_t start_ps)
{
	return task_spawn((struct host *)host, name, fn, arg, start_ps, STACK_BYTES);
}

uint64_t vb_now_ps(void)
{
	return current()->host->now;
}

void vb_sleep_ns(uint64_t ns)
{
	task_sleep(current(), ns < PS_NEVER / PS_NS ? ns * PS_NS : PS_NEVER);
}

int vb_put(const char *key, const void *bytes, size_t length)
{
	return task_put(current(), key, bytes, length);
}

int64_t vb_get(const char *key, void *ret_bytes, size_t room)
{
	return task_get(current(), key, ret_bytes, room);
}

void vb_wait_mem(const void *address, const void *seen, size_t length)
{
	struct task *task = current();

	while (memcmp(address, seen, length) == 0)
		task_wait_placement(task);
}
