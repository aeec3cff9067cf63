/* SPDX-License-Identifier: BSD-2-Clause */

/* Locks and what else threads wait for. Nothing is written into the program's objects but into
 * pthread_once_t: who has what stands in a table of the rank, by address. A lock that is given back
 * goes to the one who has waited longest, so that nobody waits for ever beside a loop. */
#include "tools/thread_calls.h"
#include "tools/thread_wait.h"

#include <errno.h>
#include <limits.h>

/* ---- one who has it ---- */

static int take_new(struct thread *self, const void *lock)
{
	struct thread_object *object = thread_object_add(self->threads, lock);

	if (!object)
		return ENOMEM;
	object->owner = self;
	object->count = 1;
	return 0;
}

/* As the C library keeps it in mutexes of its own; with others a second time is allowed. */
static int mutex_kind(const pthread_mutex_t *mutex)
{
#ifdef __GLIBC__
	return mutex->__data.__kind & 3;
#else
	(void)mutex;
	return PTHREAD_MUTEX_RECURSIVE;
#endif
}

/* @mutex NULL: @lock is another kind of lock. */
static int thread_take(struct thread *self, const void *lock, const pthread_mutex_t *mutex,
		       ps_t deadline)
{
	struct thread_object *object = thread_object(self->threads, lock);
	const int kind = mutex ? mutex_kind(mutex) : PTHREAD_MUTEX_NORMAL;

	if (!object)
		return take_new(self, lock);
	if (object->owner == self && kind == PTHREAD_MUTEX_RECURSIVE) {
		object->count++;
		return 0;
	}
	if (object->owner == self && kind == PTHREAD_MUTEX_ERRORCHECK)
		return EDEADLK;
	return thread_wait(self, lock, deadline) ? 0 : ETIMEDOUT;
}

static int try_take(struct thread *self, const void *lock, const pthread_mutex_t *mutex)
{
	struct thread_object *object = thread_object(self->threads, lock);

	if (!object)
		return take_new(self, lock);
	if (!mutex || object->owner != self || mutex_kind(mutex) != PTHREAD_MUTEX_RECURSIVE)
		return EBUSY;
	object->count++;
	return 0;
}

static int thread_give(struct thread *self, const void *lock)
{
	struct thread_object *object = thread_object(self->threads, lock);
	struct thread *next = thread_waiting(self->threads, lock);

	if (!object || object->owner != self)
		return EPERM;
	if (--object->count > 0)
		return 0;
	if (next) {
		object->owner = next;
		object->count = 1;
		thread_wake(next);
	} else {
		thread_object_drop(self->threads, lock);
	}
	return 0;
}

int thread_mutex_lock(pthread_mutex_t *mutex)
{
	struct thread *self = thread_self();

	return self ? thread_take(self, mutex, mutex, PS_NEVER) : pthread_mutex_lock(mutex);
}

int thread_mutex_trylock(pthread_mutex_t *mutex)
{
	struct thread *self = thread_self();

	return self ? try_take(self, mutex, mutex) : pthread_mutex_trylock(mutex);
}

int thread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	struct thread *self = thread_self();

	return self ? thread_take(self, mutex, mutex, thread_time_of(until))
		    : pthread_mutex_timedlock(mutex, until);
}

int thread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	(void)clock;
	return thread_mutex_timedlock(mutex, until);
}

int thread_mutex_unlock(pthread_mutex_t *mutex)
{
	struct thread *self = thread_self();

	return self ? thread_give(self, mutex) : pthread_mutex_unlock(mutex);
}

int thread_spin_lock(pthread_spinlock_t *lock)
{
	struct thread *self = thread_self();

	return self ? thread_take(self, (void *)(uintptr_t)lock, NULL, PS_NEVER)
		    : pthread_spin_lock(lock);
}

int thread_spin_trylock(pthread_spinlock_t *lock)
{
	struct thread *self = thread_self();

	return self ? try_take(self, (void *)(uintptr_t)lock, NULL) : pthread_spin_trylock(lock);
}

int thread_spin_unlock(pthread_spinlock_t *lock)
{
	struct thread *self = thread_self();

	return self ? thread_give(self, (void *)(uintptr_t)lock) : pthread_spin_unlock(lock);
}

/* ---- conditions ---- */

static int wait_cond(struct thread *self, pthread_cond_t *cond, pthread_mutex_t *mutex,
		     ps_t deadline)
{
	int ret = thread_give(self, mutex);
	bool woken;

	if (ret)
		return ret;
	woken = thread_wait(self, cond, deadline);
	ret = thread_take(self, mutex, mutex, PS_NEVER);
	return ret ? ret : woken ? 0 : ETIMEDOUT;
}

int thread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	struct thread *self = thread_self();

	return self ? wait_cond(self, cond, mutex, PS_NEVER) : pthread_cond_wait(cond, mutex);
}

int thread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			  const struct timespec *until)
{
	struct thread *self = thread_self();

	return self ? wait_cond(self, cond, mutex, thread_time_of(until))
		    : pthread_cond_timedwait(cond, mutex, until);
}

int thread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
			  const struct timespec *until)
{
	(void)clock;
	return thread_cond_timedwait(cond, mutex, until);
}

int thread_cond_signal(pthread_cond_t *cond)
{
	struct thread *self = thread_self();
	struct thread *first = self ? thread_waiting(self->threads, cond) : NULL;

	if (!self)
		return pthread_cond_signal(cond);
	if (first)
		thread_wake(first);
	return 0;
}

int thread_cond_broadcast(pthread_cond_t *cond)
{
	struct thread *self = thread_self(), *next;

	if (!self)
		return pthread_cond_broadcast(cond);
	while ((next = thread_waiting(self->threads, cond)) != NULL)
		thread_wake(next);
	return 0;
}

/* ---- one who writes, or many who read ---- */

static bool may_have(const struct thread *self, const struct thread_object *object, bool writes)
{
	return !object ||
	       (!writes && !object->owner && !thread_waiting(self->threads, object->address));
}

static int rw_take(struct thread *self, const void *lock, bool writes, bool waits)
{
	struct thread_object *object = thread_object(self->threads, lock);

	if (!may_have(self, object, writes)) {
		if (!waits)
			return EBUSY;
		if (object->owner == self)
			return EDEADLK;
		self->writes = writes;
		thread_wait(self, lock, PS_NEVER);
		return 0;
	}
	object = object ? object : thread_object_add(self->threads, lock);
	if (!object)
		return ENOMEM;
	object->owner = writes ? self : NULL;
	object->count++;
	return 0;
}

int thread_rdlock(pthread_rwlock_t *lock)
{
	struct thread *self = thread_self();

	return self ? rw_take(self, lock, false, true) : pthread_rwlock_rdlock(lock);
}

int thread_wrlock(pthread_rwlock_t *lock)
{
	struct thread *self = thread_self();

	return self ? rw_take(self, lock, true, true) : pthread_rwlock_wrlock(lock);
}

int thread_tryrdlock(pthread_rwlock_t *lock)
{
	struct thread *self = thread_self();

	return self ? rw_take(self, lock, false, false) : pthread_rwlock_tryrdlock(lock);
}

int thread_trywrlock(pthread_rwlock_t *lock)
{
	struct thread *self = thread_self();

	return self ? rw_take(self, lock, true, false) : pthread_rwlock_trywrlock(lock);
}

int thread_rwlock_unlock(pthread_rwlock_t *lock)
{
	struct thread *self = thread_self(), *next;
	struct thread_object *object = self ? thread_object(self->threads, lock) : NULL;

	if (!self)
		return pthread_rwlock_unlock(lock);
	if (!object)
		return EPERM;
	if (--object->count > 0)
		return 0;
	object->owner = NULL;
	/* The next one, and if that one reads all who read up to the next one who writes. */
	while ((next = thread_waiting(self->threads, lock)) != NULL &&
	       (object->count == 0 || !next->writes)) {
		object->owner = next->writes ? next : NULL;
		object->count++;
		thread_wake(next);
		if (next->writes)
			break;
	}
	if (object->count == 0)
		thread_object_drop(self->threads, lock);
	return 0;
}

/* ---- once ---- */

int thread_once(pthread_once_t *once, void (*fn)(void))
{
	enum { NOT_YET, NOW, DONE = 2 }; /* as the C libraries have it */
	struct thread *self = thread_self(), *next;

	if (!self)
		return pthread_once(once, fn);
	if (*once == NOT_YET) {
		*once = NOW;
		fn();
		*once = DONE;
		while ((next = thread_waiting(self->threads, once)) != NULL)
			thread_wake(next);
	} else if (*once == NOW) {
		thread_wait(self, once, PS_NEVER);
	}
	return 0;
}

/* ---- semaphores ---- */

static int minus_one(int error)
{
	errno = error;
	return error ? -1 : 0;
}

int thread_sem_init(sem_t *sem, int shared, unsigned value)
{
	struct thread *self = thread_self();
	struct thread_object *object;

	if (!self)
		return sem_init(sem, shared, value);
	if (value > SEM_VALUE_MAX)
		return minus_one(EINVAL);
	thread_object_drop(self->threads, sem);
	object = thread_object_add(self->threads, sem);
	if (!object)
		return minus_one(ENOSPC);
	object->count = value;
	return 0;
}

/* NULL, and it is the system's, or errno says what is wrong. */
static struct thread_object *sem_of(const struct thread *self, const sem_t *sem)
{
	struct thread_object *object = self ? thread_object(self->threads, sem) : NULL;

	errno = EINVAL;
	return object;
}

int thread_sem_destroy(sem_t *sem)
{
	struct thread *self = thread_self();

	if (!sem_of(self, sem))
		return self ? -1 : sem_destroy(sem);
	thread_object_drop(self->threads, sem);
	return 0;
}

static int take_sem(struct thread *self, sem_t *sem, ps_t deadline)
{
	struct thread_object *object = sem_of(self, sem);

	if (!object)
		return -1;
	if (object->count > 0) {
		object->count--;
		return 0;
	}
	return minus_one(thread_wait(self, sem, deadline) ? 0 : ETIMEDOUT);
}

int thread_sem_wait(sem_t *sem)
{
	struct thread *self = thread_self();

	return self ? take_sem(self, sem, PS_NEVER) : sem_wait(sem);
}

int thread_sem_timedwait(sem_t *sem, const struct timespec *until)
{
	struct thread *self = thread_self();

	return self ? take_sem(self, sem, thread_time_of(until)) : sem_timedwait(sem, until);
}

int thread_sem_trywait(sem_t *sem)
{
	struct thread *self = thread_self();
	struct thread_object *object = sem_of(self, sem);

	if (!object)
		return self ? -1 : sem_trywait(sem);
	if (object->count == 0)
		return minus_one(EAGAIN);
	object->count--;
	return 0;
}

int thread_sem_post(sem_t *sem)
{
	struct thread *self = thread_self(), *next;
	struct thread_object *object = sem_of(self, sem);

	if (!object)
		return self ? -1 : sem_post(sem);
	next = thread_waiting(self->threads, sem);
	if (next)
		thread_wake(next);
	else
		object->count++;
	return 0;
}

int thread_sem_getvalue(sem_t *sem, int *ret_value)
{
	struct thread *self = thread_self();
	const struct thread_object *object = sem_of(self, sem);

	if (!object)
		return self ? -1 : sem_getvalue(sem, ret_value);
	*ret_value = (int)object->count;
	return 0;
}

/* ---- barriers ---- */

int thread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr,
			unsigned count)
{
	struct thread *self = thread_self();
	struct thread_object *object;

	if (!self)
		return pthread_barrier_init(barrier, attr, count);
	if (count == 0)
		return EINVAL;
	thread_object_drop(self->threads, barrier);
	object = thread_object_add(self->threads, barrier);
	if (!object)
		return ENOMEM;
	object->all = count;
	return 0;
}

int thread_barrier_destroy(pthread_barrier_t *barrier)
{
	struct thread *self = thread_self();

	if (!self)
		return pthread_barrier_destroy(barrier);
	thread_object_drop(self->threads, barrier);
	return 0;
}

int thread_barrier_wait(pthread_barrier_t *barrier)
{
	struct thread *self = thread_self(), *next;
	struct thread_object *object = self ? thread_object(self->threads, barrier) : NULL;

	if (!self)
		return pthread_barrier_wait(barrier);
	if (!object)
		return EINVAL;
	if (++object->count < object->all) {
		thread_wait(self, barrier, PS_NEVER);
		return 0;
	}
	object->count = 0;
	while ((next = thread_waiting(self->threads, barrier)) != NULL)
		thread_wake(next);
	return PTHREAD_BARRIER_SERIAL_THREAD;
}
