/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_WORLD_H
#define NIC_WORLD_H

/* The verbs front over an adapter in real time. */
#include "transport/nic/nic.h"
#include "transport/verbs/world.h"

/* Opens a NIC as params say (observer and world are its own) and the world over it. */
int nic_world_open(const struct nic_params *params, struct vrb_world **ret_world);
void nic_world_close(struct vrb_world *world); /* NULL allowed */
struct nic *nic_world_nic(struct vrb_world *world);

/* One device, "verbena0", as the environment describes it; opened when first listed, it lives until
 * the process ends. What keeps it from opening is said on stderr, once. For the artefact's
 * vrb_provider(). Not for the child of a fork() after the device was listed: its socket and thread
 * belong to the parent. */
const struct vrb_provider *vrb_provider_nic(void);

#endif
