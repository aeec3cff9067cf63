/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_LINK_UDP_H
#define NIC_LINK_UDP_H

/* What the two ways to move packets through a UDP socket share: link_udp.c, with recvmmsg() and
 * sendmmsg(), and link_uring.c, with io_uring. */
#include "transport/nic/link.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* DSCP and ECN. */
#define NIC_LINK_CONTROL_BYTES CMSG_SPACE(sizeof(int))

union nic_link_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct nic_link_group {
	uint8_t ip[16];
	int fd;
};

struct link_udp {
	struct nic_link link;
	struct nic_params params; /* own: what a socket is made by */
	struct nic_link_group groups[NIC_MCAST_MAX];
	uint32_t group_count;
	bool ipv6;
	uint8_t ip[16]; /* own */
	uint32_t scope_id;
	struct mmsghdr messages[NIC_BATCH];
	struct iovec iovecs[NIC_BATCH];
	union nic_link_address peers[NIC_BATCH];
	_Alignas(struct cmsghdr) uint8_t control[NIC_BATCH][NIC_LINK_CONTROL_BYTES];
};

void nic_link_udp_init(struct link_udp *udp, const struct nic_link_params *params,
		       const struct nic_link_ops *ops);
/* Leaves all groups; the link's socket stays. */
void nic_link_udp_fini(struct link_udp *udp);
/* The way that a datagram from there, with these control messages, has come to @to. */
void nic_link_udp_path(const union nic_link_address *from, const uint8_t to[16],
		       struct msghdr *message, struct wire_path *ret_path);
/* Makes messages[i], which is sent to where @slot is to go. */
void nic_link_udp_prepare(struct link_udp *udp, uint32_t i, const struct nic_slot *slot);

/* As struct nic_link_ops has them; the link is the first member of a struct link_udp. */
uint32_t nic_link_udp_recv(struct nic_link *link, struct nic_slot *slots, uint32_t count);
enum wire_verdict nic_link_udp_parse(struct nic_link *link, struct nic_slot *slot,
				     struct wire_pkt *pkt);
void nic_link_udp_emit(struct nic_link *link, const struct wire_pkt *pkt, struct nic_slot *slot);
uint32_t nic_link_udp_send(struct nic_link *link, const struct nic_slot *slots, uint32_t count);
int nic_link_udp_resolve(struct nic_link *link, struct wire_path *path, bool ask);
int nic_link_udp_hear(struct nic_link *link, const uint8_t ip[16], bool hears);
uint32_t nic_link_udp_recv_mcast(struct nic_link *link, struct nic_slot *slots, uint32_t count);

#endif
