/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_MANAGED_H
#define MODELS_MANAGED_H

/* The managed memory of a machine, mapped twice: at its addresses, where a CPU may do what the
 * books say and faults where it may not; and somewhere else for the emulator, which may do
 * anything. */
#include "gpu/device/managed.h"

struct host;

/* The machine whose first adapter @host is, which has GPUs, has these addresses for it. */
void host_managed_at(struct host *host, uint64_t base, uint64_t bytes);
/* NULL: there is none yet. */
struct gpu_managed *host_managed_find(const struct host *host);
/* There is from now on, and all GPUs are on their bus (host_gpu()); NULL: no memory. */
struct gpu_managed *host_managed(struct host *host);
void host_managed_destroy(struct host *host);

#endif
