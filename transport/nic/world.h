/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_WORLD_H
#define NIC_WORLD_H

/* The verbs front over an adapter in real time. */
#include "transport/nic/nic.h"
#include "transport/verbs/world.h"

/* One device, "verbena0", as the environment describes it; opened when first listed, it lives until
 * the process ends. What keeps it from opening is said on stderr, once. For the artefact's
 * vrb_provider(). Not for the child of a fork() after the device was listed: its socket and thread
 * belong to the parent. */
const struct vrb_provider *vrb_provider_nic(void);

#endif
