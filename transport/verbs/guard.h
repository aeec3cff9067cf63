/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_GUARD_H
#define VERBS_GUARD_H

/* A backend in front of another one, for adapters in other people's processes: where a CHECK fails
 * inside a call, the call returns -EIO instead, and the adapter is dead from then on
 * (vrb_on_fatal()). One line on stderr says so. With world->aborts a failed CHECK ends the process
 * where it stands. Either way a dead adapter, a fork()'s copy among them, is used no more. */
#include "transport/verbs/backend.h"
#include "transport/verbs/world.h"

extern const struct vrb_backend vrb_guard;

/* @inner, handed @self, is an adapter of @world; detach() detaches it. NULL: no memory. */
void *vrb_guard_create(const struct vrb_backend *inner, void *self, struct vrb_world *world);

#endif
