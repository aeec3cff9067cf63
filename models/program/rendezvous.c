/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/rendezvous.h"

#include "models/program/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/siphash.h"

#include <errno.h>
#include <string.h>

enum { BUCKETS = 4096 };

struct note { /* one key: put, waited for, or both */
	struct note *next;
	char *key;
	void *bytes;
	size_t length;
	ps_t visible_at; /* PS_NEVER: not put yet */
	uint64_t host_id;
	struct task *waiting; /* task->rendezvous_next chains them */
	struct note *next_touched;
	bool touched; /* in this window */
};

struct request { /* of one window */
	struct request *next;
	struct note note;
	struct task *task; /* NULL: a put */
};

struct rendezvous {
	struct sim *sim;
	ps_t delay;
	uint32_t thread_count;
	struct request **requests; /* a list a thread */
	struct note *buckets[BUCKETS];
};

struct rendezvous *rendezvous_create(struct sim *sim, uint32_t thread_count, ps_t delay)
{
	struct rendezvous *rendezvous = util_calloc(1, sizeof(*rendezvous));

	if (!rendezvous)
		return NULL;
	rendezvous->sim = sim;
	CHECK(delay >= sim_lookahead(sim));
	rendezvous->delay = delay;
	rendezvous->thread_count = thread_count;
	rendezvous->requests = util_calloc(thread_count, sizeof(*rendezvous->requests));
	if (rendezvous->requests)
		return rendezvous;
	util_free(rendezvous);
	return NULL;
}

static void request_free(struct request *request)
{
	util_free(request->note.key);
	util_free(request->note.bytes);
	util_free(request);
}

void rendezvous_destroy(struct rendezvous *rendezvous)
{
	if (!rendezvous)
		return;
	for (uint32_t i = 0; i < rendezvous->thread_count; i++)
		while (rendezvous->requests[i]) {
			struct request *request = rendezvous->requests[i];

			rendezvous->requests[i] = request->next;
			request_free(request);
		}
	for (uint32_t i = 0; i < BUCKETS; i++)
		while (rendezvous->buckets[i]) {
			struct note *note = rendezvous->buckets[i];

			rendezvous->buckets[i] = note->next;
			util_free(note->key);
			util_free(note->bytes);
			util_free(note);
		}
	util_free(rendezvous->requests);
	util_free(rendezvous);
}

static struct request *request_new(const char *key, const void *bytes, size_t length)
{
	struct request *request = util_calloc(1, sizeof(*request));
	const size_t key_bytes = strlen(key) + 1;

	if (!request)
		return NULL;
	request->note.key = util_alloc(key_bytes);
	request->note.bytes = util_alloc(length);
	if (!request->note.key || !request->note.bytes) {
		request_free(request);
		return NULL;
	}
	memcpy(request->note.key, key, key_bytes);
	if (length)
		memcpy(request->note.bytes, bytes, length);
	request->note.length = length;
	return request;
}

int rendezvous_put(struct rendezvous *rendezvous, struct sim_thread *th, uint64_t host_id,
		   const char *key, const void *bytes, size_t length, ps_t now)
{
	struct request *request = request_new(key, bytes, length);

	if (!request)
		return -ENOMEM;
	request->note.visible_at = now + rendezvous->delay;
	request->note.host_id = host_id;
	request->next = rendezvous->requests[th->number];
	rendezvous->requests[th->number] = request;
	return 0;
}

int rendezvous_wait(struct rendezvous *rendezvous, struct sim_thread *th, struct task *task,
		    const char *key)
{
	struct request *request = request_new(key, NULL, 0);

	if (!request)
		return -ENOMEM;
	request->note.visible_at = PS_NEVER;
	request->task = task;
	request->next = rendezvous->requests[th->number];
	rendezvous->requests[th->number] = request;
	return 0;
}

static struct note *rendezvous_find(const struct rendezvous *rendezvous, const char *key)
{
	struct note *note = rendezvous->buckets[util_hash_name(key) % BUCKETS];

	while (note && strcmp(note->key, key) != 0)
		note = note->next;
	return note;
}

int64_t rendezvous_get(const struct rendezvous *rendezvous, const char *key, void *ret_bytes,
		       size_t room, ps_t now, ps_t *ret_visible_at)
{
	const struct note *note = rendezvous_find(rendezvous, key);

	if (!note || note->visible_at > now) {
		*ret_visible_at = note ? note->visible_at : PS_NEVER;
		return -ENOENT;
	}
	if (note->length && room)
		memcpy(ret_bytes, note->bytes, note->length < room ? note->length : room);
	return (int64_t)note->length;
}

/* The key, the bytes and their places go over to the rendezvous. */
static struct note *find_or_add(struct rendezvous *rendezvous, struct request *request)
{
	struct note *note = rendezvous_find(rendezvous, request->note.key), **bucket;

	if (note)
		return note;
	note = util_calloc(1, sizeof(*note));
	if (!note)
		return NULL;
	bucket = &rendezvous->buckets[util_hash_name(request->note.key) % BUCKETS];
	note->key = request->note.key;
	request->note.key = NULL;
	note->visible_at = PS_NEVER;
	note->next = *bucket;
	*bucket = note;
	return note;
}

static bool comes_first(const struct note *a, const struct note *b)
{
	return a->visible_at != b->visible_at ? a->visible_at < b->visible_at
					      : a->host_id < b->host_id;
}

static void take_put(struct note *note, struct request *request)
{
	void *swap = note->bytes;

	if (note->visible_at != PS_NEVER && !comes_first(&request->note, note))
		return;
	note->bytes = request->note.bytes;
	request->note.bytes = swap;
	note->length = request->note.length;
	note->visible_at = request->note.visible_at;
	note->host_id = request->note.host_id;
}

static void wake_waiting(struct note *note)
{
	while (note->visible_at != PS_NEVER && note->waiting) {
		struct task *task = note->waiting;

		note->waiting = task->rendezvous_next;
		if (!task->done) /* a thread whose program has ended meanwhile */
			task_wake_between(task, note->visible_at);
	}
}

/* Joins one request; its note goes to the front of @touched. */
static struct note *rendezvous_join(struct rendezvous *rendezvous, struct request *request,
				    struct note *touched)
{
	struct note *note = find_or_add(rendezvous, request);

	if (!note)
		return NULL;
	if (request->task) {
		request->task->rendezvous_next = note->waiting;
		note->waiting = request->task;
	} else {
		take_put(note, request);
	}
	if (note->touched)
		return touched;
	note->touched = true;
	note->next_touched = touched;
	return note;
}

/* The oldest first: of what a host puts at one instant, the first stays. */
static void put_in_order(struct request **list)
{
	struct request *ordered = NULL;

	while (*list) {
		struct request *request = *list;

		*list = request->next;
		request->next = ordered;
		ordered = request;
	}
	*list = ordered;
}

/* The order in which hosts had their turns is not seen: the earliest put wins, and only when all
 * are joined is anyone woken. */
static __attribute__((noinline)) int join_all(struct rendezvous *rendezvous)
{
	struct note end = {0}, *touched = &end;

	for (uint32_t i = 0; i < rendezvous->thread_count; i++)
		for (put_in_order(&rendezvous->requests[i]); rendezvous->requests[i];) {
			struct request *request = rendezvous->requests[i];

			touched = rendezvous_join(rendezvous, request, touched);
			if (!touched)
				return -ENOMEM;
			rendezvous->requests[i] = request->next;
			request_free(request);
		}
	for (; touched != &end; touched = touched->next_touched) {
		touched->touched = false;
		wake_waiting(touched);
	}
	return 0;
}

int rendezvous_between(struct rendezvous *rendezvous)
{
	for (uint32_t i = 0; i < rendezvous->thread_count; i++)
		if (rendezvous->requests[i])
			return join_all(rendezvous);
	return 0;
}
