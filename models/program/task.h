/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TASK_H
#define MODELS_TASK_H

/* Programs in virtual time. A task is a function on a stack of its own that calls libibverbs; each
 * call lets the time pass that the host profile says, and a wait takes no wall time at all. Tasks
 * of one host see each other's memory and are told apart by name. Of a machine with several
 * adapters they are those of its first, and see all of them. A thread is a task that has the
 * adapters of another one, its process: of all these one runs at a time, and only where it waits
 * does another go on. */
#include "models/machine/host.h"
#include "models/program/space.h"
#include "transport/verbs/world.h"

typedef void task_fn(void *arg);

struct task_gpu;

struct task_device {
	struct vrb_world world; /* an adapter as transport/verbs sees it */
	struct task *task;
	struct host *host; /* the adapter */
	char name[16], netdev[16];
};

struct task {
	struct task *next; /* of the host */
	struct host *host;
	char *name;
	struct coro *coro;
	struct space *space;  /* where its memory lies; NULL: anywhere */
	struct task *process; /* whose adapters it has: itself, or it is a thread */
	void *thread;	      /* of whoever serves threads */
	task_fn *fn;
	void *arg;
	struct sim_local_event event; /* when it goes on */
	struct task_device *devices;  /* the adapters of its machine, in their order */
	uint32_t device_count;
	const struct hca_cq *waiting_cq;
	const struct vrb_channel *waiting_channel;
	struct task *rendezvous_next;
	struct task_gpu *gpu; /* what the driver has of it; NULL: it has not asked for any */
	ps_t debt;	      /* of its own code's faults: passes with its next call */
	void (*pays)(struct task *task); /* that, where it moves something; NULL: time alone */
	uint64_t qp_count;		 /* created so far, on all devices: identities of QPs */
	bool waiting_placement, done;
	bool is_service; /* a thread that nobody waits for */
};

/* @host: the first adapter of its machine. @name is unique there and is copied; @fn begins at
 * @start, or now where that is past. Before sim_run() or from inside a task of the same host.
 * -EEXIST, -ENOMEM. */
int task_spawn(struct host *host, const char *name, task_fn *fn, void *arg, ps_t start,
	       size_t stack_bytes);
/* The same with its stack in @space, which stays until task_destroy_all(). */
int task_spawn_in(struct host *host, const char *name, task_fn *fn, void *arg, ps_t start,
		  struct space *space);
/* A thread of @process, from inside of it: begins now. @stack: as long as the task; NULL: its own.
 * -EEXIST, -ENOMEM. */
int task_spawn_thread(struct task *process, const char *name, task_fn *fn, void *arg, void *stack,
		      size_t stack_bytes, struct task **ret_task);
/* From inside another one: it does not go on any more. */
void task_end(struct task *task);
void task_destroy_all(struct host *host);
uint32_t task_unfinished(const struct host *host);
/* The longest timeout that a task of the host gave a queue pair and that the adapter's own goes
 * before: a code as in struct ibv_qp_attr; 0: none. */
uint8_t task_timeout_unheard(const struct host *host);

/* The task whose code runs on this thread now; NULL outside of tasks. */
struct task *task_current(void);

/* 106 days: times of results are signed numbers of 64 bits to many who read them. */
#define TASK_END_OF_TIME ((ps_t)1 << 63)

/* From inside the task. Whoever sleeps beyond the end of time never wakes up. */
void task_sleep(struct task *task, ps_t duration);
/* What its own code owes passes now. */
void task_pay(struct task *task);
/* Until somebody wakes it. */
void task_block(struct task *task);
/* Until an adapter of the machine has placed bytes in its memory. */
void task_wait_placement(struct task *task);
int task_put(struct task *task, const char *key, const void *bytes, size_t length);
/* Waits; the length, of which as much as fits into @room was copied; -ENOMEM. */
int64_t task_get(struct task *task, const char *key, void *ret_bytes, size_t room);

/* The program of @task has unmapped or protected something of [@address, @address + @bytes), or cut
 * it off: what its adapters do not find there any more they report, as hardware does. From inside
 * the task. */
extern const struct hca_mem_ops task_memory_doubtful;
void task_memory_changed(struct task *task, uint64_t address, uint64_t bytes);

/* What the host tells, any adapter of the machine: a completion came, bytes were placed and tasks
 * wait for that, an armed CQ fired, something else happened. */
void task_on_wc(struct host *host, const struct hca_cq *cq, ps_t now);
void task_on_place(struct host *host, ps_t now);
void task_on_cq_event(void *cq_owner);
void task_on_async(struct host *host, void *owner, int event);
/* @task goes on at @at, from inside its machine's turn. */
void task_wake(struct task *task, ps_t at);
/* The same between windows. */
void task_wake_between(struct task *task, ps_t at);

/* For the vrb_provider() of an artefact whose programs are tasks. */
uint32_t task_list_worlds(struct vrb_world **ret_worlds, uint32_t count);

#endif
