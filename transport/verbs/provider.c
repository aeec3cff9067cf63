/* SPDX-License-Identifier: BSD-2-Clause */
/* Which devices there are: the one place that joins the front and an adapter. */
#include "transport/verbs/bytes.h"
#include "transport/verbs/internal.h"
#include "transport/verbs/local.h"

#include <errno.h>
#include <stdlib.h>

static struct vrb_device *create(struct vrb_world *world)
{
	const struct vrb_backend *backend = &vrb_local;
	struct vrb_device *device = NULL;
	void *local = vrb_local_create(world), *self = local;

	if (local && world->through_bytes) {
		self = vrb_bytes_create(backend, local);
		backend = &vrb_bytes;
	}
	if (self)
		device = vrb_device_create(backend, self);
	if (self && !device)
		backend->detach(self);
	else if (local && !self)
		vrb_local.detach(local);
	return device;
}

/* The device of @world, made at the first call: programs compare these pointers. NULL: no memory.
 */
static struct vrb_device *device_of(struct vrb_world *world)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct vrb_device *device;

	pthread_mutex_lock(&lock);
	if (!world->device)
		world->device = create(world);
	device = world->device;
	pthread_mutex_unlock(&lock);
	return device;
}

void vrb_world_fini(struct vrb_world *world)
{
	if (world->device)
		vrb_device_destroy(world->device);
	world->device = NULL;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	const struct vrb_provider *provider = vrb_provider();
	uint32_t count = provider->list(NULL, 0), got;
	struct vrb_world **worlds = calloc((size_t)count + 1, sizeof(struct vrb_world *));
	struct ibv_device **list = calloc((size_t)count + 1, sizeof(struct ibv_device *));

	if (num_devices)
		*num_devices = 0;
	if (!worlds || !list)
		goto no_memory;
	got = provider->list(worlds, count);
	for (uint32_t i = 0; i < got && i < count; i++) {
		struct vrb_device *device = device_of(worlds[i]);

		if (!device)
			goto no_memory;
		list[i] = &device->ibv;
		if (num_devices)
			*num_devices = (int)i + 1;
	}
	free(worlds);
	return list;
no_memory:
	if (num_devices)
		*num_devices = 0;
	free(worlds);
	free(list);
	return vrb_null(-ENOMEM);
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}
