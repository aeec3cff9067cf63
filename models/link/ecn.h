/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_ECN_H
#define MODELS_ECN_H

/* Random early detection that marks instead of dropping: by the length of the egress queue when the
 * frame has left it, or (marks_arrivals of struct sim_switch_params) when it has come. None up to
 * kmin, all above kmax, in between pmax * (q - kmin) / (kmax - kmin).
 */
#include "sim/switch.h"

struct ecn {
	struct sim_mark mark; /* first */
	uint32_t kmin_bytes, kmax_bytes;
	uint64_t pmax_q32; /* 0..2^32 */
};

/* kmin <= kmax, pmax_num <= pmax_den. */
struct ecn ecn_make(uint32_t kmin_bytes, uint32_t kmax_bytes, uint32_t pmax_num, uint32_t pmax_den);

#endif
