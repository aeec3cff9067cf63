/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_THREAD_CALLS_H
#define TOOLS_THREAD_CALLS_H

/* What modules get in place of calls of libc that make threads, wait and tell the time: as these,
 * in virtual time; outside of ranks they are these. tools/thread_calls.c has their names. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>

int thread_create(pthread_t *ret_id, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
int thread_join(pthread_t id, void **ret_result);
int thread_detach(pthread_t id);
_Noreturn void thread_exit(void *result);
_Noreturn void thread_exit_process(int status);
pthread_t thread_self_id(void);
int thread_key_create(pthread_key_t *ret_key, void (*end)(void *));
int thread_key_delete(pthread_key_t key);
void *thread_get_value(pthread_key_t key);
int thread_set_value(pthread_key_t key, const void *value);

int thread_mutex_lock(pthread_mutex_t *mutex);
int thread_mutex_trylock(pthread_mutex_t *mutex);
int thread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until);
int thread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until);
int thread_mutex_unlock(pthread_mutex_t *mutex);
int thread_spin_lock(pthread_spinlock_t *lock);
int thread_spin_trylock(pthread_spinlock_t *lock);
int thread_spin_unlock(pthread_spinlock_t *lock);
int thread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int thread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			  const struct timespec *until);
int thread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
			  const struct timespec *until);
int thread_cond_signal(pthread_cond_t *cond);
int thread_cond_broadcast(pthread_cond_t *cond);
int thread_rdlock(pthread_rwlock_t *lock);
int thread_wrlock(pthread_rwlock_t *lock);
int thread_tryrdlock(pthread_rwlock_t *lock);
int thread_trywrlock(pthread_rwlock_t *lock);
int thread_rwlock_unlock(pthread_rwlock_t *lock);
int thread_once(pthread_once_t *once, void (*fn)(void));
int thread_sem_init(sem_t *sem, int shared, unsigned value);
int thread_sem_destroy(sem_t *sem);
int thread_sem_wait(sem_t *sem);
int thread_sem_trywait(sem_t *sem);
int thread_sem_timedwait(sem_t *sem, const struct timespec *until);
int thread_sem_post(sem_t *sem);
int thread_sem_getvalue(sem_t *sem, int *ret_value);
int thread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr,
			unsigned count);
int thread_barrier_destroy(pthread_barrier_t *barrier);
int thread_barrier_wait(pthread_barrier_t *barrier);

unsigned thread_sleep(unsigned seconds);
int thread_usleep(useconds_t us);
int thread_nanosleep(const struct timespec *time, struct timespec *ret_left);
int thread_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *ret_left);
int thread_clock_gettime(clockid_t clock, struct timespec *ret_time);
int thread_gettimeofday(struct timeval *ret_time, void *zone);
time_t thread_time(time_t *ret_time);
clock_t thread_clock(void);
int thread_yield(void);
int thread_poll(struct pollfd *fds, nfds_t count, int ms);
int thread_select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *time);

#endif
