/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_IMPAIR_RULE_H
#define NIC_IMPAIR_RULE_H

/* A rule of transport/nic/impair.h, as it was written. */
#include "transport/nic/impair.h"

/* Probabilities: of 2^64; UINT64_MAX is certain. */
struct nic_rule_draw {
	uint64_t chance, correlation;
};

enum nic_rule_kind { NIC_RULE_DATA = 1, NIC_RULE_ACKS = 2, NIC_RULE_CNPS = 4 };

struct nic_rule {
	bool has_peer, has_qpn, is_gemodel, is_normal;
	uint8_t peer[16];
	uint32_t qpn;
	uint32_t kinds; /* of enum nic_rule_kind */
	uint32_t limit;
	uint32_t gap; /* 0: nothing is reordered */
	uint64_t rate_bps;
	ps_t delay, jitter;
	uint64_t delay_correlation;
	struct nic_rule_draw loss, corrupt, duplicate, reorder, ecn;
	uint64_t good_to_bad, bad_to_good, lost_in_bad, lost_in_good; /* @is_gemodel */
};

/* As nic_impair_check(). */
int nic_rules_parse(const char *text, struct nic_rule ret_rules[NIC_RULES_MAX],
		    struct nic_impair_bad *ret_bad);

#endif
