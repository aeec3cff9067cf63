/* SPDX-License-Identifier: BSD-2-Clause */
/* How frames of a host are addressed and marked. */
#include "models/machine/host.h"
#include "models/machine/packet.h"
#include "sim/route.h"
#include "transport/wire/mcast.h"

#include <string.h>

uint8_t host_dscp(const struct host *host, uint8_t priority)
{
	if (host->params.has_dscp)
		return host->params.dscp[priority];
	return (uint8_t)(priority << (host->params.priority_count > SIM_PRIORITIES ? 2 : 3));
}

void host_path_of_frame(const struct host *host, uint8_t priority, struct wire_path *path)
{
	if (path->priority != priority)
		path->dscp = host_dscp(host, priority);
	path->priority = priority;
	if (host->params.vlan)
		path->vlan = (uint16_t)(host->params.vlan | priority << 13);
}

struct wire_path host_path_from(const struct host *host, const struct sim_pkt *frame,
				const struct packet_sender *from)
{
	const struct host *sender = host->table->hosts[from->host];
	struct wire_path path = {.udp_sport = from->udp_sport,
				 .flow_label = from->flow_label,
				 .dscp = from->dscp,
				 .ecn = frame->ecn,
				 .ttl = frame->ttl,
				 .priority = host_priority(host, frame)};

	if (path.priority != from->priority)
		path.dscp = host_dscp(host, path.priority);
	host_ip(sender, path.src_ip);
	host_mac(sender, path.src_mac);
	if (sim_address_is_mcast(frame->dst)) {
		memcpy(path.dst_ip, from->group_ip, sizeof(path.dst_ip));
		wire_mcast_mac(path.dst_ip, path.dst_mac);
	} else {
		host_ip(host, path.dst_ip);
		host_mac(host, path.dst_mac);
	}
	return path;
}
