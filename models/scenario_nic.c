/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario_internal.h"

#include "util/text.h"

void scenario_read_nic(struct scenario_reader *r)
{
	const struct yaml_node *map = scenario_node(r->root, "nic");
	struct scenario_nic *nic = &r->scenario->nic;
	const struct scenario_value every = scenario_get(map, "nic.ack_every");
	const struct scenario_value ack = scenario_get(map, "nic.ack_priority");
	const struct scenario_value interval = scenario_get(map, "nic.cnp_interval");

	*nic = (struct scenario_nic){
		.mtu = 256u << scenario_get(map, "nic.mtu").word,
		.cc = (enum scenario_cc)scenario_get(map, "nic.cc").word,
		.ack_every = every.word < 0 ? (uint32_t)every.number : 0,
		.psn_window = (uint32_t)scenario_get(map, "nic.window").number,
		.retransmit = (enum hca_retransmit)scenario_get(map, "nic.retransmit").word,
		.timeout = (uint8_t)scenario_get(map, "nic.timeout").number,
		.retry_cnt = (uint8_t)scenario_get(map, "nic.retries").number,
		.ack_priority = ack.word < 0 ? (int)ack.number : -1,
		.cnp_priority = (uint8_t)scenario_get(map, "nic.cnp_priority").number,
		.loop_delay = scenario_get(map, "nic.loop_delay").number,
		.ttl = (uint8_t)scenario_get(map, "nic.ttl").number,
		.ipv6 = scenario_get(map, "nic.ip").word == 1,
	};
	nic->cnp_interval = interval.word < 0			  ? interval.number
			    : nic->cc == SCENARIO_CC_DCQCN_HPCC ? 4 * PS_US
								  : 50 * PS_US;
	util_text(nic->profile, sizeof(nic->profile), "%s",
		  scenario_get(map, "nic.profile").word == 0 ? "generic" : "none");
	scenario_hash_map(r, &r->hash, map, "nic");
}
