/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_WORLD_H
#define NIC_WORLD_H

/* The verbs front over an adapter in real time. */
#include "transport/nic/nic.h"
#include "transport/verbs/world.h"

#include <stdatomic.h>

/* The devices of the environment, "verbena0" and on. Each has its address and its thread from
 * the first ibv_open_device() until the last context has gone, which waits for its objects; to list
 * it takes neither. Several processes of a user may have the same address (transport/nic/group.h).
 * What keeps it from being there is said on stderr.
 * For the artefact's vrb_provider().
 *
 * In other people's processes:
 *	a failed CHECK	makes the device dead: one line on stderr, IBV_EVENT_DEVICE_FATAL, all work
 *			requests flushed, -EIO from then on. VERBENA_ABORT=1: abort() instead
 *	fork()		The parent goes on. The child's device is dead: EIO, no thread, no lock that
 *			somebody holds; what it destroys goes. Its attributes can be asked for, and
 *			device memory is there, a copy that is the child's own. Of a list that it
 *			asks for then, each device that was open in the parent is a new one of its
 *			own; those that were not, both have */
const struct vrb_provider *vrb_provider_nic(void);
/* What its devices have counted by now is on their boards (transport/nic/board.h). */
void nic_world_publish(void);
/* How often the process has changed what it does about faults, or which signals a thread blocks: of
 * libverbena-paths.so (transport/dropin/signals.c); not there where that is not loaded. */
extern atomic_uint verbena_signal_changes __attribute__((weak));
/* Of one of its worlds. */
struct nic *nic_world_nic(struct vrb_world *world);

#endif
