/* SPDX-License-Identifier: BSD-2-Clause */
/* Which devices there are, and where programs have their objects: the one place that joins the
 * front and an adapter. */
#include "transport/verbs/bytes.h"
#include "transport/verbs/guard.h"
#include "transport/verbs/internal.h"
#include "transport/verbs/local.h"
#include "transport/verbs/record.h"

#include <errno.h>
#include <stdlib.h>

void *vrb_calloc(size_t count, size_t bytes)
{
	const struct vrb_provider *provider = vrb_provider();

	return provider->calloc ? provider->calloc(count, bytes) : calloc(count, bytes);
}

void vrb_free(void *ptr)
{
	const struct vrb_provider *provider = vrb_provider();

	if (provider->free)
		provider->free(ptr);
	else
		free(ptr);
}

bool vrb_is_elsewhere(uint64_t address)
{
	const struct vrb_provider *provider = vrb_provider();

	return provider->is_elsewhere && provider->is_elsewhere(address);
}

int vrb_find_dmabuf(int fd, uint64_t offset, uint64_t length, uint64_t *ret_address)
{
	const struct vrb_provider *provider = vrb_provider();

	return provider->find_dmabuf ? provider->find_dmabuf(fd, offset, length, ret_address)
				     : -ENOENT;
}

/* @front, made for what is behind it, becomes the backend; NULL: no memory, all is given back. */
static void *stand_in_front(void *front, const struct vrb_backend *ops,
			    const struct vrb_backend **backend, void *behind)
{
	if (!front)
		(*backend)->detach(behind);
	*backend = ops;
	return front;
}

static struct vrb_device *create(struct vrb_world *world)
{
	const struct vrb_backend *backend = &vrb_local;
	struct vrb_device *device = NULL;
	void *self = vrb_local_create(world);

	if (self && world->is_guarded)
		self = stand_in_front(vrb_guard_create(backend, self, world), &vrb_guard, &backend,
				      self);
	if (self && world->recording)
		self = stand_in_front(vrb_record_create(backend, self, world->recording),
				      &vrb_record_ops, &backend, self);
	if (self && world->through_bytes)
		self = stand_in_front(vrb_bytes_create(backend, self), &vrb_bytes, &backend, self);
	if (self)
		device = vrb_device_create(backend, self);
	if (self && !device)
		backend->detach(self);
	return device;
}

/* Made so far, for a fork(): the locks of the front are nobody's in the child. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vrb_device *devices;

static void provider_before_fork(void)
{
	pthread_mutex_lock(&lock);
	for (struct vrb_device *device = devices; device; device = device->next)
		pthread_mutex_lock(&device->lock);
}

static void provider_after_fork(void)
{
	for (struct vrb_device *device = devices; device; device = device->next)
		pthread_mutex_unlock(&device->lock);
	pthread_mutex_unlock(&lock);
}

static void provider_after_fork_child(void)
{
	for (struct vrb_device *device = devices; device; device = device->next)
		device->is_child = device->world->is_child;
	provider_after_fork();
}

/* After the adapter's: its lock is taken inside the front's, and is_child is set by then. */
static void mind_forks(void)
{
	pthread_atfork(provider_before_fork, provider_after_fork, provider_after_fork_child);
}

/* The device of @world, made at the first call: programs compare these pointers. NULL: no memory.
 */
static struct vrb_device *provider_device_of(struct vrb_world *world)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct vrb_device *device;

	pthread_once(&once, mind_forks);
	pthread_mutex_lock(&lock);
	device = world->device;
	if (!device) {
		world->device = device = create(world);
		if (device) {
			device->world = world;
			device->is_child = world->is_child;
			device->next = devices;
			devices = device;
		}
	}
	pthread_mutex_unlock(&lock);
	return device;
}

void vrb_world_fini(struct vrb_world *world)
{
	struct vrb_device **at = &devices;

	if (!world->device)
		return;
	pthread_mutex_lock(&lock);
	while (*at != world->device)
		at = &(*at)->next;
	*at = world->device->next;
	pthread_mutex_unlock(&lock);
	vrb_device_destroy(world->device);
	world->device = NULL;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	const struct vrb_provider *provider = vrb_provider();
	uint32_t count = provider->list(NULL, 0), got;
	struct vrb_world **worlds = vrb_calloc((size_t)count + 1, sizeof(struct vrb_world *));
	struct ibv_device **list = vrb_calloc((size_t)count + 1, sizeof(struct ibv_device *));

	if (num_devices)
		*num_devices = 0;
	if (!worlds || !list)
		goto no_memory;
	got = provider->list(worlds, count);
	for (uint32_t i = 0; i < got && i < count; i++) {
		struct vrb_device *device = provider_device_of(worlds[i]);

		if (!device)
			goto no_memory;
		list[i] = &device->shown->ibv;
		if (num_devices)
			*num_devices = (int)i + 1;
	}
	vrb_free(worlds);
	return list;
no_memory:
	if (num_devices)
		*num_devices = 0;
	vrb_free(worlds);
	vrb_free(list);
	return vrb_null(-ENOMEM);
}

void ibv_free_device_list(struct ibv_device **list)
{
	vrb_free(list);
}
