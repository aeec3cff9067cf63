/* SPDX-License-Identifier: BSD-2-Clause */

/* Memory of programs that may not be there any more. To be ready for a fault takes longer than
 * reaching the bytes, so only those regions are reached with care of which a program has given up
 * or protected something since they were registered. */
#include "models/program/task.h"

#include "transport/hca/mem.h"

static bool task_memory_read(const struct hca_mr *mr, uint64_t offset, uint8_t *ret_bytes,
			     uint32_t length)
{
	const bool is_there = hca_mem_program.read(mr, offset, ret_bytes, length);

	hca_mem_program_rest(); /* the program may have a handler of its own the next time */
	return is_there;
}

static bool task_memory_write(struct hca_mr *mr, uint64_t offset, const uint8_t *bytes,
			      uint32_t length)
{
	const bool is_there = hca_mem_program.write(mr, offset, bytes, length);

	hca_mem_program_rest();
	return is_there;
}

static bool task_memory_atomic(struct hca_mr *mr, uint64_t offset, bool is_swap, uint64_t swap_add,
			       uint64_t compare, uint64_t *ret_original)
{
	const bool is_there =
		hca_mem_program.atomic(mr, offset, is_swap, swap_add, compare, ret_original);

	hca_mem_program_rest();
	return is_there;
}

const struct hca_mem_ops task_memory_doubtful = {
	.name = "program",
	.read = task_memory_read,
	.write = task_memory_write,
	.atomic = task_memory_atomic,
};

void task_memory_changed(struct task *task, uint64_t address, uint64_t bytes)
{
	const struct task *process = task->process;

	for (uint32_t i = 0; i < process->device_count; i++)
		hca_mr_doubt(process->devices[i].host->hca, address, bytes, &task_memory_doubtful);
}
