/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/thread_calls.h"

#include "tools/thread_wait.h"
#include "tools/threads.h"

/* What cannot be had: by name, when it is called, since libraries name more than they call. Whoever
 * is in no rank gets libc's by another way: constructors do not call these. */
#define REFUSED(name)                                                                              \
	static void refused_##name(void)                                                           \
	{                                                                                          \
		thread_refuse(#name);                                                              \
	}

REFUSED(pthread_cancel)
REFUSED(pthread_getattr_np)
REFUSED(pthread_getcpuclockid)
REFUSED(pthread_kill)
REFUSED(pthread_rwlock_timedrdlock)
REFUSED(pthread_rwlock_timedwrlock)
REFUSED(pthread_sigqueue)
REFUSED(pthread_timedjoin_np)
REFUSED(pthread_tryjoin_np)
REFUSED(thrd_create)
REFUSED(timer_create)
REFUSED(setitimer)
REFUSED(alarm)

#define CALL(name, fn)                                                                             \
	{                                                                                          \
		name, (void (*)(void))(fn)                                                         \
	}

const struct memory_call thread_calls[] = {
	CALL("pthread_create", thread_create),
	CALL("pthread_join", thread_join),
	CALL("pthread_detach", thread_detach),
	CALL("pthread_exit", thread_exit),
	CALL("exit", thread_exit_process),
	CALL("pthread_self", thread_self_id),
	CALL("pthread_key_create", thread_key_create),
	CALL("pthread_key_delete", thread_key_delete),
	CALL("pthread_getspecific", thread_get_value),
	CALL("pthread_setspecific", thread_set_value),
	CALL("pthread_mutex_lock", thread_mutex_lock),
	CALL("pthread_mutex_trylock", thread_mutex_trylock),
	CALL("pthread_mutex_timedlock", thread_mutex_timedlock),
	CALL("pthread_mutex_clocklock", thread_mutex_clocklock),
	CALL("pthread_mutex_unlock", thread_mutex_unlock),
	CALL("pthread_spin_lock", thread_spin_lock),
	CALL("pthread_spin_trylock", thread_spin_trylock),
	CALL("pthread_spin_unlock", thread_spin_unlock),
	CALL("pthread_cond_wait", thread_cond_wait),
	CALL("pthread_cond_timedwait", thread_cond_timedwait),
	CALL("pthread_cond_clockwait", thread_cond_clockwait),
	CALL("pthread_cond_signal", thread_cond_signal),
	CALL("pthread_cond_broadcast", thread_cond_broadcast),
	CALL("pthread_rwlock_rdlock", thread_rdlock),
	CALL("pthread_rwlock_wrlock", thread_wrlock),
	CALL("pthread_rwlock_tryrdlock", thread_tryrdlock),
	CALL("pthread_rwlock_trywrlock", thread_trywrlock),
	CALL("pthread_rwlock_unlock", thread_rwlock_unlock),
	CALL("pthread_once", thread_once),
	CALL("sem_init", thread_sem_init),
	CALL("sem_destroy", thread_sem_destroy),
	CALL("sem_wait", thread_sem_wait),
	CALL("sem_trywait", thread_sem_trywait),
	CALL("sem_timedwait", thread_sem_timedwait),
	CALL("sem_post", thread_sem_post),
	CALL("sem_getvalue", thread_sem_getvalue),
	CALL("pthread_barrier_init", thread_barrier_init),
	CALL("pthread_barrier_destroy", thread_barrier_destroy),
	CALL("pthread_barrier_wait", thread_barrier_wait),
	CALL("sleep", thread_sleep),
	CALL("usleep", thread_usleep),
	CALL("nanosleep", thread_nanosleep),
	CALL("clock_nanosleep", thread_clock_nanosleep),
	CALL("clock_gettime", thread_clock_gettime),
	CALL("gettimeofday", thread_gettimeofday),
	CALL("time", thread_time),
	CALL("clock", thread_clock),
	CALL("sched_yield", thread_yield),
	CALL("pthread_yield", thread_yield),
	CALL("poll", thread_poll),
	CALL("select", thread_select),
	CALL("pthread_cancel", refused_pthread_cancel),
	CALL("pthread_getattr_np", refused_pthread_getattr_np),
	CALL("pthread_getcpuclockid", refused_pthread_getcpuclockid),
	CALL("pthread_kill", refused_pthread_kill),
	CALL("pthread_rwlock_timedrdlock", refused_pthread_rwlock_timedrdlock),
	CALL("pthread_rwlock_timedwrlock", refused_pthread_rwlock_timedwrlock),
	CALL("pthread_sigqueue", refused_pthread_sigqueue),
	CALL("pthread_timedjoin_np", refused_pthread_timedjoin_np),
	CALL("pthread_tryjoin_np", refused_pthread_tryjoin_np),
	CALL("thrd_create", refused_thrd_create),
	CALL("timer_create", refused_timer_create),
	CALL("setitimer", refused_setitimer),
	CALL("alarm", refused_alarm),
};
const uint32_t thread_call_count = sizeof(thread_calls) / sizeof(thread_calls[0]);
