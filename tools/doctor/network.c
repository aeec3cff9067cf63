/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/doctor/doctor.h"

#include "transport/wire/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ARRIVES_MS = 1000 };

/* 127.0.0.2, or what lies further where that is taken: a socket that shares it, or -errno. */
static int bound_socket(struct sockaddr_in *address)
{
	const int one = 1;
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) == 0 &&
	    bind(fd, (struct sockaddr *)address, sizeof(*address)) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

static bool hears_itself(int fd, const struct sockaddr_in *address)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	return sendto(fd, "", 1, 0, (const struct sockaddr *)address, sizeof(*address)) == 1 &&
	       poll(&wait, 1, ARRIVES_MS) == 1;
}

static struct sockaddr_in loopback(uint32_t last, uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr.s_addr = htonl(0x7f000000 + last)};
}

void doctor_udp(struct doctor_row *row)
{
	struct sockaddr_in address;
	int fd = -EADDRINUSE;
	uint32_t last;

	for (last = 2; last < 255 && fd == -EADDRINUSE; last++) {
		address = loopback(last, WIRE_UDP_PORT);
		fd = bound_socket(&address);
	}
	if (fd < 0) {
		doctor_found(row, DOCTOR_NO, "UDP port %d of 127.0.0.%u: %s", WIRE_UDP_PORT,
			     last - 1, strerror(-fd));
		doctor_fix(row, "%s",
			   fd == -EADDRINUSE
				   ? "somebody has that port of all addresses, as the module "
				     "rdma_rxe does: \"rdma link delete NAME\", or \"modprobe -r "
				     "rdma_rxe\""
				   : "\"ip link set lo up\" in this network namespace");
		return;
	}
	if (hears_itself(fd, &address)) {
		doctor_found(row, DOCTOR_OK, "port %d of 127.0.0.%u sends and hears", WIRE_UDP_PORT,
			     last - 1);
	} else {
		doctor_found(row, DOCTOR_NO, "what is sent to 127.0.0.%u does not arrive",
			     last - 1);
		doctor_fix(row,
			   "\"ip link set lo up\"; a filter may drop it (\"nft list ruleset\", "
			   "\"iptables -S\")");
	}
	close(fd);
}

/* What processes of one host share: two sockets, one address, and a program that chooses. */
void doctor_group(struct doctor_row *row)
{
	struct sock_filter program[] = {BPF_STMT(BPF_RET | BPF_K, 1)};
	const struct sock_fprog all = {.len = 1, .filter = program};
	struct sockaddr_in address = loopback(2, 0);
	socklen_t length = sizeof(address);
	const int first = bound_socket(&address);
	int second = -1;
	bool works = false;

	if (first >= 0 && getsockname(first, (struct sockaddr *)&address, &length) == 0 &&
	    (second = bound_socket(&address)) >= 0 &&
	    setsockopt(first, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &all, sizeof(all)) == 0)
		works = sendto(first, "", 1, 0, (struct sockaddr *)&address, length) == 1 &&
			poll(&(struct pollfd){.fd = second, .events = POLLIN}, 1, ARRIVES_MS) == 1;
	if (works) {
		doctor_found(row, DOCTOR_OK, "SO_REUSEPORT with a classic BPF program");
	} else {
		doctor_found(row, DOCTOR_NO, "SO_REUSEPORT with a classic BPF program: %s",
			     errno ? strerror(errno) : "the program is not asked");
		doctor_fix(row, "a kernel from 4.5 on, and a sandbox that knows it (gVisor does "
				"not)");
	}
	if (first >= 0)
		close(first);
	if (second >= 0)
		close(second);
}

void doctor_unix(struct doctor_row *row)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
				    "verbena-doctor/%d", (int)getpid());

	if (fd >= 0 &&
	    bind(fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0) {
		doctor_found(row, DOCTOR_OK, "names in the abstract namespace");
	} else {
		doctor_found(row, DOCTOR_NO, "names in the abstract namespace: %s",
			     strerror(errno));
		doctor_fix(row, "a sandbox that allows AF_UNIX sockets with abstract names");
	}
	if (fd >= 0)
		close(fd);
}
