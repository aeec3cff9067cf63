/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/ucma.h"

#include "transport/nic/internal.h"
#include "transport/nic/world.h"
#include "util/trap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ASKER_TURNS = 500 }; /* of 200 us */

static struct vrb_world *ucma_world(void)
{
	struct vrb_world *world = NULL;

	return vrb_provider_nic()->list(&world, 1) > 0 ? world : NULL;
}

static bool world_is_dead(const struct vrb_world *world)
{
	return __atomic_load_n(&world->is_dead, __ATOMIC_ACQUIRE);
}

/* ---- calls ---- */

/* One call with the adapter's lock. A thread that is cancelled in it would keep the lock; a CHECK
 * that fails makes the device dead, as in any call of verbs. */
struct ucma_call {
	int (*run)(struct ucma_call *call, ps_t now);
	struct nic_cm_file *file;
	const void *command;
	size_t bytes;
	struct cm_reply reply;
};

static int call_locked(struct vrb_world *world, struct ucma_call *call)
{
	const ps_t now = world->ops->enter(world, VRB_CALL_CONTROL, 0);
	int ret = world_is_dead(world) ? -EIO : call->run(call, now);

	world->ops->leave(world, true);
	return ret;
}

static int call_trapped(struct vrb_world *world, struct ucma_call *call)
{
	struct util_trap trap = {.cond = NULL};
	int ret = -EIO;

	if (world->aborts)
		return call_locked(world, call);
	if (UTIL_TRAP_SET(&trap)) {
		ret = call_locked(world, call);
		util_trap_clear(&trap);
		return ret;
	}
	fprintf(stderr, "verbena: an internal check failed: %s:%d: %s: device %s is dead\n",
		trap.file, trap.line, trap.cond, world->device_name);
	world->ops->abandon(world);
	vrb_on_fatal(world);
	return ret;
}

static int call(struct ucma_call *what)
{
	struct vrb_world *world = what->file->world;
	int state, ret;

	if (world_is_dead(world))
		return -EIO;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ret = call_trapped(world, what);
	pthread_setcancelstate(state, NULL);
	return ret;
}

static int run_open(struct ucma_call *c, ps_t now)
{
	(void)now;
	c->file->cm_file = cm_file_create(nic_gsi_cm(nic_world_nic(c->file->world)->gsi), c->file);
	return c->file->cm_file ? 0 : -ENOMEM;
}

static int run_command(struct ucma_call *c, ps_t now)
{
	if (!c->file->cm_file)
		return -EBADF;
	return cm_command(c->file->cm_file, c->command, c->bytes, &c->reply, now);
}

static int run_close(struct ucma_call *c, ps_t now)
{
	cm_file_destroy(c->file->cm_file, now);
	c->file->cm_file = NULL;
	return 0;
}

/* ---- the file ---- */

static int ucma_fail(int error)
{
	errno = error < 0 ? -error : error;
	return -1;
}

static int ucma_open(int flags)
{
	const int event_flags =
		(flags & O_CLOEXEC ? EFD_CLOEXEC : 0) | (flags & O_NONBLOCK ? EFD_NONBLOCK : 0);
	struct vrb_world *world = ucma_world();
	struct nic_cm_file *file;
	struct ucma_call c = {.run = run_open};
	int ret;

	if (!world)
		return ucma_fail(ENODEV);
	file = calloc(1, sizeof(*file));
	if (!file)
		return ucma_fail(ENOMEM);
	file->world = world;
	file->fd = eventfd(0, event_flags);
	if (file->fd < 0) {
		free(file);
		return -1;
	}
	ret = world->ops->open(world);
	if (ret == 0) {
		c.file = file;
		ret = call(&c);
		if (ret == 0)
			ret = nic_cm_file_set(file->fd, file);
		if (ret != 0)
			world->ops->close(world);
	}
	if (ret != 0) {
		close(file->fd);
		free(file);
		return ucma_fail(ret);
	}
	return file->fd;
}

/* What is asked for may come: whether it is worth to wait. */
static bool waits_for_event(int fd, const void *command)
{
	struct rdma_ucm_cmd_hdr header;
	int flags;

	memcpy(&header, command, sizeof(header));
	flags = fcntl(fd, F_GETFL);
	return header.cmd == RDMA_USER_CM_CMD_GET_EVENT && flags >= 0 && !(flags & O_NONBLOCK);
}

/* Set by the thread that ends the process, which closes the others' files beneath them. */
static atomic_bool process_ends;
static pthread_t ending_thread;

/* Of a file that there is not, or not any more. Where the process ends, a kernel would let its
 * other threads wait until they are gone: they are not to see how their files are closed. */
static ssize_t ucma_no_file(void)
{
	while (atomic_load(&process_ends) && !pthread_equal(ending_thread, pthread_self()))
		pause();
	return ucma_fail(EBADF);
}

/* Another thread has closed it. A kernel lets who is in a call of its wait on. */
static ssize_t ucma_closed(void)
{
	pause();
	return ucma_no_file();
}

static ssize_t write_to(struct nic_cm_file *file, int fd, const void *command, size_t bytes)
{
	struct ucma_call c = {.run = run_command, .file = file, .command = command, .bytes = bytes};
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	bool waits;
	int ret;

	if (bytes < sizeof(struct rdma_ucm_cmd_hdr))
		return ucma_fail(EINVAL);
	waits = waits_for_event(fd, command);
	if (waits)
		__atomic_store_n(&file->asker, gettid(), __ATOMIC_RELAXED);
	while ((ret = call(&c)) == -EAGAIN && waits && nic_cm_file_get(fd) == file)
		if (poll(&wait, 1, -1) < 0)
			return -1;
	if (ret != 0 && nic_cm_file_get(fd) != file)
		return waits ? ucma_closed() : ucma_no_file();
	if (ret != 0)
		return ucma_fail(ret);
	if (c.reply.length > 0)
		memcpy((void *)(uintptr_t)c.reply.address, c.reply.bytes, c.reply.length);
	return (ssize_t)bytes;
}

static ssize_t ucma_write(int fd, const void *command, size_t bytes)
{
	struct nic_cm_file *file = nic_cm_file_hold(fd);
	ssize_t ret = file ? write_to(file, fd, command, bytes) : ucma_no_file();

	nic_cm_file_release(fd);
	return ret;
}

/* A thread that takes events comes back for the next one, and finds no file if another thread is
 * quicker to close it: rping ends badly then. In a kernel nobody is, since to end ids takes
 * milliseconds; so there is time here, too, for a thread that lives. */
static void ucma_await_asker(int fd)
{
	const struct timespec turn = {.tv_nsec = 200000};
	const struct nic_cm_file *file = nic_cm_file_get(fd);
	const pid_t asker = file ? __atomic_load_n(&file->asker, __ATOMIC_RELAXED) : 0;

	if (asker == 0 || asker == gettid() || file->world->is_child)
		return;
	for (int i = 0; i < ASKER_TURNS && !nic_cm_file_is_held(fd); i++)
		if (tgkill(getpid(), asker, 0) != 0 || nanosleep(&turn, NULL) != 0)
			return;
}

/* Of who is still in a call: nobody knows when that ends. */
static void retire(struct nic_cm_file *file)
{
	static struct nic_cm_file *_Atomic retired;

	file->next = atomic_exchange(&retired, file);
}

static int ucma_close(int fd)
{
	struct ucma_call c = {.run = run_close, .file = nic_cm_file_get(fd)};
	const struct vrb_world *world = c.file ? c.file->world : NULL;

	if (!c.file)
		return ucma_fail(EBADF);
	(void)nic_cm_file_set(fd, NULL);
	(void)call(&c); /* of a dead device nothing is left to end */
	if (!world->is_child)
		world->ops->close(c.file->world);
	/* Its number is another file's as soon as it is closed. */
	if (!nic_cm_file_is_held(fd))
		free(c.file);
	else
		retire(c.file);
	return close(fd);
}

/* What a process leaves open when it ends, a kernel closes for it, and the peers of its connections
 * are told. Here they are by who calls exit() or returns; not by who is killed, and not where a
 * signal handler ends a process within a call of ours. */
__attribute__((destructor)) static void ucma_end(void)
{
	int fd = nic_cm_file_next(-1);
	struct vrb_world *world = fd < 0 ? NULL : ucma_world();

	if (!world || world->is_child || nic_is_mine(nic_world_nic(world)))
		return;
	ending_thread = pthread_self();
	atomic_store(&process_ends, true);
	for (; fd >= 0; fd = nic_cm_file_next(fd)) {
		struct ucma_call c = {.run = run_close, .file = nic_cm_file_get(fd)};

		(void)nic_cm_file_set(fd, NULL);
		(void)call(&c);
	}
}

const struct nic_ucma nic_ucma = {.bytes = sizeof(nic_ucma),
				  .open = ucma_open,
				  .write = ucma_write,
				  .close = ucma_close,
				  .await_asker = ucma_await_asker,
				  .publish = nic_world_publish};
