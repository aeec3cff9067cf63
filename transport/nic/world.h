/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_WORLD_H
#define NIC_WORLD_H

/* The verbs front over an adapter in real time. */
#include "transport/nic/nic.h"
#include "transport/verbs/world.h"

/* One device, "verbena0", as the environment describes it; its socket is bound when it is first
 * listed, until the process ends. What keeps it from that is said on stderr, once. Its thread runs
 * from the first ibv_open_device() until the last context has gone, which waits for its objects.
 * For the artefact's vrb_provider().
 *
 * In other people's processes:
 *	a failed CHECK	makes the device dead: one line on stderr, IBV_EVENT_DEVICE_FATAL, all work
 *			requests flushed, -EIO from then on. VERBENA_ABORT=1: abort() instead
 *	fork()		The parent goes on. The child's device is dead: EIO, no thread, no lock that
 *			somebody holds; what it destroys goes. A child that wants a device of its
 *			own calls fork() before the parent lists them */
const struct vrb_provider *vrb_provider_nic(void);

#endif
