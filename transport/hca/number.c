/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "util/siphash.h"

uint32_t hca_draw_number(struct hca_device *dev, const struct util_idmap *taken, uint64_t identity)
{
	uint32_t bits = HCA_QPN_BITS - dev->qpn_slot_bits;
	uint64_t words[3] = {identity, 0, 0};

	if (!identity)
		words[1] = ++dev->qpn_drawn;
	for (;; words[2]++) {
		uint64_t draw =
			util_hash_words((struct util_key){dev->key[0], dev->key[1]}, words, 3);
		uint32_t qpn = dev->qpn_slot << bits | ((uint32_t)draw & ((1u << bits) - 1));

		if (qpn > 1 && qpn < WIRE_U24_MAX && !util_idmap_find(taken, qpn))
			return qpn;
	}
}
