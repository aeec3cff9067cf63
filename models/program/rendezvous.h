/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_BOARD_H
#define MODELS_BOARD_H

/* Where programs of different hosts meet before their queue pairs are connected: named byte
 * strings. What is put is visible everywhere a fixed delay later. No window of the simulation is
 * longer than that, so hosts exchange nothing within a window: puts and waits are collected by
 * thread and joined between windows. */
#include "sim/sim.h"

struct rendezvous;
struct host;
struct task;

/* @delay: no less than sim_lookahead(). NULL: no memory. */
struct rendezvous *rendezvous_create(struct sim *sim, uint32_t thread_count, ps_t delay);
void rendezvous_destroy(struct rendezvous *rendezvous); /* NULL allowed */

/* Within a window, by @task of a host that @th runs. -ENOMEM. A key that is put twice keeps what
 * was put first: the earlier time, then the host with the smaller number, a hash of its name, then
 * the earlier call. */
int rendezvous_put(struct rendezvous *rendezvous, struct sim_thread *th, uint64_t host_id,
		   const char *key, const void *bytes, size_t length, ps_t now);
/* Visible at @now: its length, the first of it copied to @ret_bytes; -ENOENT otherwise, and
 * @ret_visible_at says from when on, PS_NEVER: nothing was put before this window. */
int64_t rendezvous_get(const struct rendezvous *rendezvous, const char *key, void *ret_bytes,
		       size_t room, ps_t now, ps_t *ret_visible_at);
/* Asks that @task be woken when @key, which nobody had put before this window, becomes visible.
 * -ENOMEM. */
int rendezvous_wait(struct rendezvous *rendezvous, struct sim_thread *th, struct task *task,
		    const char *key);

/* For the simulation's between(). 0 or -ENOMEM. */
int rendezvous_between(struct rendezvous *rendezvous);

#endif
