/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

/* From the ring to the program. The adapter puts an event into the ring and then writes to the
 * channel's descriptor; whoever reads the descriptor looks into the ring afterwards. So nothing is
 * missed, without a lock that both sides know. */

int vrb_queue_init(struct vrb_device *device, struct vrb_queue *queue, enum vrb_channel_use use)
{
	*queue = (struct vrb_queue){.tail = &queue->head};
	return device->backend->create_channel(device->self, use, &queue->handle, &queue->fd);
}

void vrb_queue_fini(struct vrb_device *device, struct vrb_queue *queue)
{
	(void)device->backend->destroy_channel(device->self, queue->handle);
}

int vrb_note(struct vrb_device *device, uint64_t handle, void *object)
{
	int ret;

	pthread_mutex_lock(&device->lock);
	ret = vrb_table_note(&device->objects, handle, object);
	pthread_mutex_unlock(&device->lock);
	return ret;
}

void vrb_drop(struct vrb_device *device, uint64_t handle)
{
	pthread_mutex_lock(&device->lock);
	vrb_table_drop(&device->objects, handle);
	pthread_mutex_unlock(&device->lock);
}

void vrb_drop_shared(struct vrb_device *device, uint64_t handle)
{
	pthread_mutex_lock(&device->lock);
	if (vrb_table_find(&device->objects, handle, vrb_kind_of(handle)))
		vrb_table_drop(&device->objects, handle);
	pthread_mutex_unlock(&device->lock);
}

void vrb_queue_append(struct vrb_queue *queue, struct vrb_unread *event)
{
	if (event->queued)
		return;
	event->queued = true;
	event->next = NULL;
	*queue->tail = event;
	queue->tail = &event->next;
}

static void remove_event(struct vrb_queue *queue, struct vrb_unread *event)
{
	struct vrb_unread **at = &queue->head;

	if (!event->queued)
		return;
	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
	if (queue->tail == &event->next)
		queue->tail = at;
	event->queued = false;
}

/* The application may have read it itself, or do so at this moment; and whether the descriptor
 * blocks is the application's to say. Nobody waits for it here, with the lock held. */
static void read_wakes(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	uint64_t count;
	const struct iovec to = {&count, sizeof(count)};

	if (preadv2(fd, &to, 1, -1, RWF_NOWAIT) >= 0 || errno != EOPNOTSUPP)
		return;
	if (poll(&pfd, 1, 0) == 1) /* before Linux 5.8 */
		(void)!read(fd, &count, sizeof(count));
}

static void write_wake(int fd)
{
	const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

void vrb_queue_settle(struct vrb_device *device, struct vrb_queue *queue)
{
	if (queue->head || queue->fd < 0 || device->is_child)
		return;
	read_wakes(queue->fd);
	vrb_events_take(device);
	if (queue->head)
		write_wake(queue->fd);
}

void vrb_queue_forget(struct vrb_device *device, struct vrb_queue *queue, struct vrb_unread *event)
{
	pthread_mutex_lock(&device->lock);
	vrb_events_take(device);
	remove_event(queue, event);
	vrb_queue_settle(device, queue);
	pthread_mutex_unlock(&device->lock);
}

static bool may_wait(const struct vrb_queue *queue)
{
	return queue->fd < 0 || !(fcntl(queue->fd, F_GETFL) & O_NONBLOCK);
}

int vrb_queue_get(struct vrb_device *device, struct vrb_queue *queue, struct vrb_unread **ret_event)
{
	if (device->is_child)
		return -EIO;
	device->backend->charge_event(device->self);
	for (;;) {
		uint32_t seen;
		int ret = -EAGAIN;

		pthread_mutex_lock(&device->lock);
		vrb_events_take(device);
		if (queue->head)
			break;
		vrb_queue_settle(device, queue);
		if (queue->head)
			break;
		seen = queue->seen;
		pthread_mutex_unlock(&device->lock);
		if (may_wait(queue))
			ret = device->backend->wait_channel(device->self, queue->handle, &seen);
		if (ret < 0)
			return ret;
		pthread_mutex_lock(&device->lock);
		queue->seen = seen;
		pthread_mutex_unlock(&device->lock);
	}
	*ret_event = queue->head;
	remove_event(queue, queue->head);
	return 0;
}
