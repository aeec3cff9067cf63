/* SPDX-License-Identifier: BSD-2-Clause */
/* One UDP socket at (address, 4791) for all QPs.
 *
 * What the ICRC covers and a socket does not show:
 * - The IPv4 identification. The kernel writes 0 into packets that may not be fragmented, unless
 *   the socket is connected, when it counts: so this one is never connected and has
 *   IP_PMTUDISC_DO. The receiver takes 0 for granted, which makes its check as strict as one that
 *   sees the header. A peer with a running identification (the kernel's rxe) fails the check and
 *   needs the frame link.
 * - The UDP source port. Packets leave from the socket's own, 4791, and not from one per QP pair:
 *   ports that spread flows over paths mean nothing on a socket, one socket a port would be needed
 *   to receive nothing, and a fixed port passes firewalls. The receiver believes the port that
 *   recvmsg() names, so that a peer that does spread its ports is understood, and a packet whose
 *   port was rewritten on the way is dropped.
 * The socket is bound to one address, so the destination of all that comes is known. */
#include "transport/nic/link.h"

#include "util/check.h"
#include "util/units.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONTROL_BYTES CMSG_SPACE(sizeof(int))
#define BUFFER_BYTES (16 << 20)

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct link_udp {
	struct nic_link link;
	bool ipv6;
	uint8_t ip[16]; /* own */
	uint32_t scope_id;
	struct mmsghdr messages[NIC_BATCH];
	struct iovec iovecs[NIC_BATCH];
	union address peers[NIC_BATCH];
	_Alignas(struct cmsghdr) uint8_t control[NIC_BATCH][CONTROL_BYTES];
};

static struct link_udp *to_udp(struct nic_link *link)
{
	return container_of(link, struct link_udp, link);
}

static socklen_t to_sockaddr(const struct link_udp *udp, const uint8_t ip[16], uint16_t port,
			     union address *ret_address)
{
	if (udp->ipv6) {
		ret_address->v6 =
			(struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
		memcpy(&ret_address->v6.sin6_addr, ip, 16);
		if (IN6_IS_ADDR_LINKLOCAL(&ret_address->v6.sin6_addr))
			ret_address->v6.sin6_scope_id = udp->scope_id;
		return sizeof(ret_address->v6);
	}
	ret_address->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	memcpy(&ret_address->v4.sin_addr, ip + 12, 4);
	return sizeof(ret_address->v4);
}

static void from_sockaddr(const union address *address, uint8_t ret_ip[16], uint16_t *ret_port)
{
	memset(ret_ip, 0, 16);
	if (address->any.sa_family == AF_INET6) {
		memcpy(ret_ip, &address->v6.sin6_addr, 16);
		*ret_port = ntohs(address->v6.sin6_port);
		return;
	}
	ret_ip[10] = ret_ip[11] = 0xff;
	memcpy(ret_ip + 12, &address->v4.sin_addr, 4);
	*ret_port = ntohs(address->v4.sin_port);
}

/* DSCP and ECN as the kernel reports them: one byte for IPv4, an int for IPv6. */
static uint8_t traffic_class(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
			return *(const uint8_t *)CMSG_DATA(c);
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
			int value;

			memcpy(&value, CMSG_DATA(c), sizeof(value));
			return (uint8_t)value;
		}
	}
	return 0;
}

static uint32_t udp_recv(struct nic_link *link, struct nic_slot *slots, uint32_t count)
{
	struct link_udp *udp = to_udp(link);
	int got;

	CHECK(count <= NIC_BATCH);
	for (uint32_t i = 0; i < count; i++) {
		udp->iovecs[i] = (struct iovec){slots[i].buf, NIC_SLOT_BYTES};
		udp->messages[i].msg_hdr = (struct msghdr){.msg_name = &udp->peers[i],
							   .msg_namelen = sizeof(udp->peers[i]),
							   .msg_iov = &udp->iovecs[i],
							   .msg_iovlen = 1,
							   .msg_control = udp->control[i],
							   .msg_controllen = CONTROL_BYTES};
	}
	got = recvmmsg(link->fd, udp->messages, count, MSG_DONTWAIT, NULL);
	if (got <= 0)
		return 0;
	for (uint32_t i = 0; i < (uint32_t)got; i++) {
		struct msghdr *message = &udp->messages[i].msg_hdr;
		uint8_t tclass = traffic_class(message);
		struct wire_path *path = &slots[i].path;

		*path = (struct wire_path){
			.dscp = tclass >> 2, .ecn = tclass & 3, .priority = tclass >> 5, .ttl = 64};
		from_sockaddr(&udp->peers[i], path->src_ip, &path->udp_sport);
		memcpy(path->dst_ip, udp->ip, 16);
		slots[i].length = udp->messages[i].msg_len;
		slots[i].truncated = (message->msg_flags & MSG_TRUNC) != 0;
	}
	return (uint32_t)got;
}

static enum wire_verdict udp_parse(struct nic_link *link, struct nic_slot *slot,
				   struct wire_pkt *pkt)
{
	(void)link;
	return wire_udp_parse(&slot->path, pkt, slot->buf, slot->length);
}

static void udp_emit(struct nic_link *link, const struct wire_pkt *pkt, struct nic_slot *slot)
{
	(void)link;
	slot->path.udp_sport = WIRE_UDP_PORT;
	slot->path.ip_id = 0;
	slot->length = (uint32_t)wire_udp_emit(&slot->path, pkt, slot->buf, NIC_SLOT_BYTES);
	CHECK(slot->length > 0);
}

static void prepare(struct link_udp *udp, uint32_t i, const struct nic_slot *slot)
{
	struct msghdr *message = &udp->messages[i].msg_hdr;
	int tclass = slot->path.dscp << 2 | slot->path.ecn;
	struct cmsghdr *c;

	memset(udp->control[i], 0, CONTROL_BYTES);
	udp->iovecs[i] = (struct iovec){slot->buf, slot->length};
	*message = (struct msghdr){.msg_name = &udp->peers[i],
				   .msg_iov = &udp->iovecs[i],
				   .msg_iovlen = 1,
				   .msg_control = udp->control[i],
				   .msg_controllen = CMSG_SPACE(sizeof(tclass))};
	message->msg_namelen = to_sockaddr(udp, slot->path.dst_ip, WIRE_UDP_PORT, &udp->peers[i]);
	c = CMSG_FIRSTHDR(message);
	c->cmsg_len = CMSG_LEN(sizeof(tclass));
	c->cmsg_level = udp->ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
	c->cmsg_type = udp->ipv6 ? IPV6_TCLASS : IP_TOS;
	memcpy(CMSG_DATA(c), &tclass, sizeof(tclass));
}

static uint32_t udp_send(struct nic_link *link, const struct nic_slot *slots, uint32_t count)
{
	struct link_udp *udp = to_udp(link);
	uint32_t done = 0;

	CHECK(count <= NIC_BATCH);
	for (uint32_t i = 0; i < count; i++)
		prepare(udp, i, &slots[i]);
	while (done < count) {
		int sent = sendmmsg(link->fd, udp->messages + done, count - done, MSG_DONTWAIT);

		if (sent > 0) {
			done += (uint32_t)sent;
			link->stats->tx_packets += (uint32_t)sent;
		} else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) {
			break;
		} else if (errno != EINTR) {
			link->stats->tx_lost++; /* the first of them; the adapter's timers know */
			done++;
		}
	}
	return done;
}

static int udp_resolve(struct nic_link *link, struct wire_path *path, bool ask)
{
	struct link_udp *udp = to_udp(link);

	(void)ask;
	if (wire_path_is_ipv4(path) == udp->ipv6)
		return -ENETUNREACH;
	return 0; /* the kernel knows */
}

static void udp_close(struct nic_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	free(to_udp(link));
}

static const struct nic_link_ops udp_ops = {
	.name = "udp",
	.recv = udp_recv,
	.parse = udp_parse,
	.emit = udp_emit,
	.send = udp_send,
	.resolve = udp_resolve,
	.close = udp_close,
};

static bool has_address(const struct link_udp *udp, const struct sockaddr *addr)
{
	uint8_t ip[16];
	uint16_t port;
	union address a;

	if (!addr || addr->sa_family != (udp->ipv6 ? AF_INET6 : AF_INET))
		return false;
	memcpy(&a, addr, udp->ipv6 ? sizeof(a.v6) : sizeof(a.v4));
	from_sockaddr(&a, ip, &port);
	/* The loopback interface answers for all of 127.0.0.0/8. */
	if (!udp->ipv6 && ip[12] == 127 && udp->ip[12] == 127)
		return true;
	return memcmp(ip, udp->ip, 16) == 0;
}

/* Where none is found (a transparent or freebind setup), name and MTU stay unknown. */
static void find_interface(struct link_udp *udp)
{
	struct ifaddrs *all, *a;
	struct ifreq request = {0};

	if (getifaddrs(&all) != 0)
		return;
	for (a = all; a && !has_address(udp, a->ifa_addr); a = a->ifa_next)
		;
	if (a) {
		strncpy(udp->link.netdev, a->ifa_name, sizeof(udp->link.netdev) - 1);
		strncpy(request.ifr_name, a->ifa_name, sizeof(request.ifr_name) - 1);
		if (ioctl(udp->link.fd, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0)
			udp->link.netdev_mtu = (uint32_t)request.ifr_mtu;
	}
	freeifaddrs(all);
}

static int link_udp_set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

static int set_options(const struct link_udp *udp)
{
	int fd = udp->link.fd;

	/* As large as allowed; root may pass the limit. */
	if (link_udp_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES) != 0)
		(void)link_udp_set(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
	if (link_udp_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES) != 0)
		(void)link_udp_set(fd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
	if (!udp->ipv6)
		return link_udp_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO) != 0 ||
		       link_udp_set(fd, IPPROTO_IP, IP_RECVTOS, 1) != 0;
	return link_udp_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) != 0 ||
	       link_udp_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) != 0 ||
	       link_udp_set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) != 0 ||
	       /* rxe sends and takes checksum 0: the ICRC covers more. */
	       link_udp_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, 1) != 0 ||
	       link_udp_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1) != 0;
}

int nic_link_udp_open(const struct nic_link_params *params, struct nic_link **ret_link)
{
	static const uint8_t any[16]; /* all zero: of IPv4, too */
	struct link_udp *udp = calloc(1, sizeof(*udp));
	union address own;
	socklen_t length;
	int ret;

	if (!udp)
		return -ENOMEM;
	udp->link = (struct nic_link){.ops = &udp_ops,
				      .stats = params->stats,
				      .full_is_polled = true,
				      .fixed_sport = true,
				      .fd = -1};
	memcpy(udp->ip, params->params->addr[0], 16);
	udp->ipv6 = !wire_ip_is_ipv4(udp->ip);
	udp->scope_id = params->params->scope_id;
	ret = -EINVAL; /* any address is none */
	if (udp->ipv6 ? memcmp(udp->ip, any, 16) == 0 : memcmp(udp->ip + 12, any, 4) == 0)
		goto err;
	udp->link.fd = socket(udp->ipv6 ? AF_INET6 : AF_INET,
			      SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (udp->link.fd < 0 || set_options(udp) != 0)
		goto err_errno;
	length = to_sockaddr(udp, udp->ip, WIRE_UDP_PORT, &own);
	if (bind(udp->link.fd, &own.any, length) != 0)
		goto err_errno;
	find_interface(udp);
	*ret_link = &udp->link;
	return 0;
err_errno:
	ret = -errno;
err:
	udp_close(&udp->link);
	return ret;
}
