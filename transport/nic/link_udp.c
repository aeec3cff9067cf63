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
 * The socket is bound to one address, so the destination of all that comes is known. Multicast
 * comes to other sockets, one a group, bound to its address: as many processes as want to may have
 * that, of any user, and the system gives each of them a copy, on the loopback interface as well.
 */
#include "transport/nic/link_udp.h"

#include "util/check.h"
#include "util/units.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES (16 << 20)

static struct link_udp *to_udp(struct nic_link *link)
{
	return container_of(link, struct link_udp, link);
}

/* Of RoCE's port; @scope_id: of the interface, where the address needs one. */
static socklen_t to_sockaddr(uint32_t scope_id, const uint8_t ip[16], bool ipv6,
			     union nic_link_address *ret_address)
{
	const uint16_t port = htons(WIRE_UDP_PORT);

	if (ipv6) {
		ret_address->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
		memcpy(&ret_address->v6.sin6_addr, ip, 16);
		if (IN6_IS_ADDR_LINKLOCAL(&ret_address->v6.sin6_addr) ||
		    IN6_IS_ADDR_MC_LINKLOCAL(&ret_address->v6.sin6_addr))
			ret_address->v6.sin6_scope_id = scope_id;
		return sizeof(ret_address->v6);
	}
	ret_address->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
	memcpy(&ret_address->v4.sin_addr, ip + 12, 4);
	return sizeof(ret_address->v4);
}

static void from_sockaddr(const union nic_link_address *address, uint8_t ret_ip[16],
			  uint16_t *ret_port)
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

void nic_link_udp_path(const union nic_link_address *from, const uint8_t to[16],
		       struct msghdr *message, struct wire_path *ret_path)
{
	const uint8_t tclass = traffic_class(message);

	*ret_path = (struct wire_path){
		.dscp = tclass >> 2, .ecn = tclass & 3, .priority = tclass >> 5, .ttl = 64};
	from_sockaddr(from, ret_path->src_ip, &ret_path->udp_sport);
	memcpy(ret_path->dst_ip, to, 16);
}

/* What has come to the socket that is bound to @ip. */
static uint32_t take_from(struct link_udp *udp, int fd, const uint8_t ip[16],
			  struct nic_slot *slots, uint32_t count)
{
	int got;

	CHECK(count <= NIC_BATCH);
	for (uint32_t i = 0; i < count; i++) {
		udp->iovecs[i] = (struct iovec){slots[i].buf, NIC_SLOT_BYTES};
		udp->messages[i].msg_hdr =
			(struct msghdr){.msg_name = &udp->peers[i],
					.msg_namelen = sizeof(udp->peers[i]),
					.msg_iov = &udp->iovecs[i],
					.msg_iovlen = 1,
					.msg_control = udp->control[i],
					.msg_controllen = NIC_LINK_CONTROL_BYTES};
	}
	got = recvmmsg(fd, udp->messages, count, MSG_DONTWAIT, NULL);
	if (got <= 0)
		return 0;
	for (uint32_t i = 0; i < (uint32_t)got; i++) {
		struct msghdr *message = &udp->messages[i].msg_hdr;

		nic_link_udp_path(&udp->peers[i], ip, message, &slots[i].path);
		slots[i].bytes = slots[i].buf;
		slots[i].length = udp->messages[i].msg_len;
		slots[i].truncated = (message->msg_flags & MSG_TRUNC) != 0;
	}
	return (uint32_t)got;
}

uint32_t nic_link_udp_recv(struct nic_link *link, struct nic_slot *slots, uint32_t count)
{
	struct link_udp *udp = to_udp(link);

	return take_from(udp, link->fd, udp->ip, slots, count);
}

uint32_t nic_link_udp_recv_mcast(struct nic_link *link, struct nic_slot *slots, uint32_t count)
{
	struct link_udp *udp = to_udp(link);
	uint32_t got = 0;

	for (uint32_t i = 0; i < udp->group_count && got < count; i++)
		got += take_from(udp, udp->groups[i].fd, udp->groups[i].ip, slots + got,
				 count - got);
	return got;
}

enum wire_verdict nic_link_udp_parse(struct nic_link *link, struct nic_slot *slot,
				     struct wire_pkt *pkt)
{
	(void)link;
	return wire_udp_parse(&slot->path, pkt, slot->bytes, slot->length);
}

void nic_link_udp_emit(struct nic_link *link, const struct wire_pkt *pkt, struct nic_slot *slot)
{
	(void)link;
	slot->path.udp_sport = WIRE_UDP_PORT;
	slot->path.ip_id = 0;
	slot->length = (uint32_t)wire_udp_emit(&slot->path, pkt, slot->buf, NIC_SLOT_BYTES);
	CHECK(slot->length > 0);
}

void nic_link_udp_prepare(struct link_udp *udp, uint32_t i, const struct nic_slot *slot)
{
	struct msghdr *message = &udp->messages[i].msg_hdr;
	int tclass = slot->path.dscp << 2 | slot->path.ecn;
	struct cmsghdr *c;

	memset(udp->control[i], 0, NIC_LINK_CONTROL_BYTES);
	udp->iovecs[i] = (struct iovec){slot->buf, slot->length};
	*message = (struct msghdr){.msg_name = &udp->peers[i],
				   .msg_iov = &udp->iovecs[i],
				   .msg_iovlen = 1,
				   .msg_control = udp->control[i],
				   .msg_controllen = CMSG_SPACE(sizeof(tclass))};
	message->msg_namelen =
		to_sockaddr(udp->scope_id, slot->path.dst_ip, udp->ipv6, &udp->peers[i]);
	c = CMSG_FIRSTHDR(message);
	c->cmsg_len = CMSG_LEN(sizeof(tclass));
	c->cmsg_level = udp->ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
	c->cmsg_type = udp->ipv6 ? IPV6_TCLASS : IP_TOS;
	memcpy(CMSG_DATA(c), &tclass, sizeof(tclass));
}

uint32_t nic_link_udp_send(struct nic_link *link, const struct nic_slot *slots, uint32_t count)
{
	struct link_udp *udp = to_udp(link);
	uint32_t done = 0;

	CHECK(count <= NIC_BATCH);
	for (uint32_t i = 0; i < count; i++)
		nic_link_udp_prepare(udp, i, &slots[i]);
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

int nic_link_udp_resolve(struct nic_link *link, struct wire_path *path, bool ask)
{
	struct link_udp *udp = to_udp(link);

	(void)ask;
	if (wire_path_is_ipv4(path) == udp->ipv6)
		return -ENETUNREACH;
	return 0; /* the kernel knows */
}

static int udp_leave(struct link_udp *udp, const uint8_t ip[16])
{
	uint32_t i = 0;

	while (i < udp->group_count && memcmp(udp->groups[i].ip, ip, 16) != 0)
		i++;
	if (i == udp->group_count)
		return -ENOENT;
	close(udp->groups[i].fd); /* and so the system leaves it, and the epoll forgets it */
	udp->groups[i] = udp->groups[--udp->group_count];
	return 0;
}

int nic_link_udp_hear(struct nic_link *link, const uint8_t ip[16], bool hears)
{
	struct link_udp *udp = to_udp(link);
	struct epoll_event event = {.events = EPOLLIN};
	struct nic_link_group *group = &udp->groups[udp->group_count];
	int fd;

	if (!hears)
		return udp_leave(udp, ip);
	if (udp->group_count == NIC_MCAST_MAX)
		return -ENOSPC;
	if (link->mcast_fd < 0)
		link->mcast_fd = epoll_create1(EPOLL_CLOEXEC);
	if (link->mcast_fd < 0)
		return -errno;
	fd = nic_link_udp_group(&udp->params, ip);
	if (fd < 0)
		return fd;
	if (epoll_ctl(link->mcast_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
		const int error = errno;

		close(fd);
		return -error;
	}
	group->fd = fd;
	memcpy(group->ip, ip, 16);
	udp->group_count++;
	return 0;
}

void nic_link_udp_fini(struct link_udp *udp)
{
	while (udp->group_count > 0)
		(void)udp_leave(udp, udp->groups[0].ip);
	if (udp->link.mcast_fd >= 0)
		close(udp->link.mcast_fd);
}

static void udp_close(struct nic_link *link)
{
	struct link_udp *udp = to_udp(link);

	nic_link_udp_fini(udp);
	free(udp);
}

static const struct nic_link_ops udp_ops = {
	.name = "udp",
	.recv = nic_link_udp_recv,
	.parse = nic_link_udp_parse,
	.emit = nic_link_udp_emit,
	.send = nic_link_udp_send,
	.resolve = nic_link_udp_resolve,
	.hear = nic_link_udp_hear,
	.recv_mcast = nic_link_udp_recv_mcast,
	.close = udp_close,
};

static bool has_address(const uint8_t own[16], const struct sockaddr *addr)
{
	const bool ipv6 = !wire_ip_is_ipv4(own);
	uint8_t ip[16];
	uint16_t port;
	union nic_link_address a;

	if (!addr || addr->sa_family != (ipv6 ? AF_INET6 : AF_INET))
		return false;
	memcpy(&a, addr, ipv6 ? sizeof(a.v6) : sizeof(a.v4));
	from_sockaddr(&a, ip, &port);
	/* The loopback interface answers for all of 127.0.0.0/8. */
	if (!ipv6 && ip[12] == 127 && own[12] == 127)
		return true;
	return memcmp(ip, own, 16) == 0;
}

static uint32_t mtu_of(const char *name)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {0};
	uint32_t mtu = 0;

	strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
	if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0)
		mtu = (uint32_t)request.ifr_mtu;
	if (fd >= 0)
		close(fd);
	return mtu;
}

void nic_link_udp_interface(const struct nic_params *params, char ret_name[16], uint32_t *ret_mtu)
{
	struct ifaddrs *all, *a;

	memset(ret_name, 0, 16);
	*ret_mtu = 0;
	if (getifaddrs(&all) != 0)
		return;
	for (a = all; a && !has_address(params->addr[0], a->ifa_addr); a = a->ifa_next)
		;
	if (a) {
		strncpy(ret_name, a->ifa_name, 15);
		*ret_mtu = mtu_of(ret_name);
	}
	freeifaddrs(all);
}

static int link_udp_set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

static int set_options(int fd, bool ipv6)
{
	/* As large as allowed; root may pass the limit. */
	if (link_udp_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES) != 0)
		(void)link_udp_set(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
	if (link_udp_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES) != 0)
		(void)link_udp_set(fd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
	if (!ipv6)
		return link_udp_set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO) != 0 ||
		       link_udp_set(fd, IPPROTO_IP, IP_RECVTOS, 1) != 0;
	return link_udp_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) != 0 ||
	       link_udp_set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) != 0 ||
	       link_udp_set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) != 0 ||
	       /* rxe sends and takes checksum 0: the ICRC covers more. */
	       link_udp_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, 1) != 0 ||
	       link_udp_set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1) != 0;
}

/* The number of the interface that has the address; 0: the system's choice. */
static uint32_t interface_of(const struct nic_params *params)
{
	uint32_t mtu;
	char name[16];

	if (params->scope_id != 0)
		return params->scope_id;
	nic_link_udp_interface(params, name, &mtu);
	return if_nametoindex(name);
}

/* Multicast goes out where the address is, and back to whoever listens on this machine. */
static int set_way_out(int fd, const struct nic_params *params)
{
	const uint8_t *ip = params->addr[0];
	struct ip_mreqn own = {.imr_ifindex = 0};

	if (!wire_ip_is_ipv4(ip))
		return link_udp_set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface_of(params));
	memcpy(&own.imr_address, ip + 12, 4);
	return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof(own));
}

static int link_udp_join(int fd, const struct nic_params *params, const uint8_t group[16])
{
	struct ip_mreqn v4 = {.imr_ifindex = 0};
	struct ipv6_mreq v6 = {.ipv6mr_interface = 0};

	if (wire_ip_is_ipv4(group)) {
		memcpy(&v4.imr_multiaddr, group + 12, 4);
		memcpy(&v4.imr_address, params->addr[0] + 12, 4);
		return link_udp_set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0) != 0 ||
		       setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof(v4)) != 0;
	}
	v6.ipv6mr_interface = interface_of(params);
	memcpy(&v6.ipv6mr_multiaddr, group, 16);
	return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &v6, sizeof(v6)) != 0;
}

int nic_link_udp_socket(const struct nic_params *params, bool shares)
{
	static const uint8_t any[16]; /* all zero: of IPv4, too */
	const uint8_t *ip = params->addr[0];
	const bool ipv6 = !wire_ip_is_ipv4(ip);
	union nic_link_address own;
	const socklen_t length = to_sockaddr(params->scope_id, ip, ipv6, &own);
	int fd, error;

	if (ipv6 ? memcmp(ip, any, 16) == 0 : memcmp(ip + 12, any, 4) == 0)
		return -EINVAL; /* any address is none */
	fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (set_options(fd, ipv6) == 0 &&
	    (!shares || link_udp_set(fd, SOL_SOCKET, SO_REUSEPORT, 1) == 0) &&
	    bind(fd, &own.any, length) == 0) {
		(void)set_way_out(fd, params); /* an interface without: it sends none */
		return fd;
	}
	error = errno;
	close(fd);
	return -error;
}

int nic_link_udp_group(const struct nic_params *params, const uint8_t group[16])
{
	const bool ipv6 = !wire_ip_is_ipv4(group);
	union nic_link_address address;
	const socklen_t length = to_sockaddr(interface_of(params), group, ipv6, &address);
	int fd, error;

	fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (set_options(fd, ipv6) == 0 && link_udp_set(fd, SOL_SOCKET, SO_REUSEADDR, 1) == 0 &&
	    bind(fd, &address.any, length) == 0 && link_udp_join(fd, params, group) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

void nic_link_udp_init(struct link_udp *udp, const struct nic_link_params *params,
		       const struct nic_link_ops *ops)
{
	udp->params = *params->params;
	udp->ipv6 = !wire_ip_is_ipv4(udp->params.addr[0]);
	udp->scope_id = udp->params.scope_id;
	memcpy(udp->ip, udp->params.addr[0], 16);
	udp->link = (struct nic_link){.ops = ops,
				      .stats = params->stats,
				      .full_is_polled = true,
				      .fixed_sport = true,
				      .mcast_fd = -1,
				      .fd = params->fd};
}

int nic_link_udp_open(const struct nic_link_params *params, struct nic_link **ret_link)
{
	struct link_udp *udp = calloc(1, sizeof(*udp));

	if (!udp)
		return -ENOMEM;
	nic_link_udp_init(udp, params, &udp_ops);
	*ret_link = &udp->link;
	return 0;
}
