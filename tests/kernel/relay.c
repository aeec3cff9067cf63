/* SPDX-License-Identifier: BSD-2-Clause */

/* A small learning switch between unix datagram sockets that carry Ethernet frames: the guest's
 * (QEMU's dgram netdev) and one a NIC.
 *	relay --guest LOCAL,REMOTE [--nic LOCAL,REMOTE ...] [--rule RULE ...] [--log F] [--pcap F]
 * Runs until SIGTERM. The log has a line for every RoCE packet (time in us from the start, which
 * way, opcode, QP, PSN, syndrome or length, what became of it); stdout says at the end how many
 * whole RoCE packets went to and came from the guest, and what became of the rules
 * (tests/kernel/impair.h). Exit status 1: a rule did not hold, 2: usage, 3: no socket.
 * Every packet is read by transport/wire: one that it finds damaged (before a rule flips a bit) is
 * in the log with the reason, counted as "bad" and passed on. A whole packet that its receiver's
 * socket did not take is counted as "lost"; one whose receiver was there and has closed its socket,
 * as a rank does that is through, as "late": what a peer sends twice is answered twice. */
#include "tests/kernel/impair.h"
#include "transport/wire/pcapng.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PORTS_MAX = 16, MACS_MAX = 32, FRAME_MAX = 65536, BUFFER_BYTES = 4 << 20 };

struct port {
	int fd;
	struct sockaddr_un local, remote;
};

struct station {
	uint8_t mac[6];
	uint32_t port;
};

struct relay {
	struct port ports[PORTS_MAX]; /* the first is the guest's */
	uint32_t port_count;
	struct station stations[MACS_MAX];
	uint32_t station_count;
	struct impair impair;
	uint64_t start_us, to_guest, from_guest, late, bad, lost;
	FILE *log, *pcap;
	uint8_t frame[FRAME_MAX], copy[FRAME_MAX], block[FRAME_MAX + 512];
};

static volatile sig_atomic_t stopped;

static void on_term(int number)
{
	(void)number;
	stopped = 1;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static bool set_path(struct sockaddr_un *address, const char *path, size_t length)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (length == 0 || length >= sizeof(address->sun_path))
		return false;
	memcpy(address->sun_path, path, length);
	return true;
}

static bool add_port(struct relay *relay, const char *text)
{
	struct port *port = &relay->ports[relay->port_count];
	const char *comma = strchr(text, ',');
	const struct timeval patience = {.tv_sec = 1};
	const int bytes = BUFFER_BYTES;

	if (!comma || relay->port_count == PORTS_MAX ||
	    !set_path(&port->local, text, (size_t)(comma - text)) ||
	    !set_path(&port->remote, comma + 1, strlen(comma + 1)))
		return false;
	port->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unlink(port->local.sun_path);
	if (port->fd < 0 ||
	    bind(port->fd, (const struct sockaddr *)&port->local, sizeof(port->local)) != 0) {
		perror(port->local.sun_path);
		exit(3);
	}
	/* A full station stops the switch for a moment, as back-pressure would. */
	setsockopt(port->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(port->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	relay->port_count++;
	return true;
}

static void learn(struct relay *relay, const uint8_t mac[6], uint32_t port)
{
	struct station *station = relay->stations;

	for (uint32_t i = 0; i < relay->station_count; i++, station++)
		if (memcmp(station->mac, mac, 6) == 0) {
			station->port = port;
			return;
		}
	if (relay->station_count == MACS_MAX)
		return;
	memcpy(station->mac, mac, 6);
	station->port = port;
	relay->station_count++;
}

static bool send_to(const struct relay *relay, uint32_t to, size_t length)
{
	const struct port *port = &relay->ports[to];

	return sendto(port->fd, relay->frame, length, MSG_NOSIGNAL,
		      (const struct sockaddr *)&port->remote, sizeof(port->remote)) >= 0;
}

/* False: nobody there, or he does not take any. */
static bool forward(const struct relay *relay, uint32_t from, size_t length)
{
	bool sent = true;

	for (uint32_t i = 0; i < relay->station_count; i++) {
		if (memcmp(relay->stations[i].mac, relay->frame, 6) != 0)
			continue;
		return relay->stations[i].port == from ||
		       send_to(relay, relay->stations[i].port, length);
	}
	for (uint32_t to = 0; to < relay->port_count; to++)
		if (to != from)
			sent &= send_to(relay, to, length);
	return sent;
}

/* The frame without what Ethernet filled it up with. */
static size_t unpadded(const struct wire_path *path, const struct wire_pkt *pkt)
{
	return WIRE_ETH_BYTES + (path->vlan ? (size_t)WIRE_VLAN_BYTES : 0) +
	       (wire_path_is_ipv4(path) ? (size_t)WIRE_IPV4_BYTES : (size_t)WIRE_IPV6_BYTES) +
	       WIRE_UDP_BYTES + wire_pkt_bytes(pkt);
}

static void log_pkt(struct relay *relay, uint32_t from, const struct wire_pkt *pkt,
		    const char *what)
{
	const struct wire_op *op = wire_op_find(pkt->opcode);

	if (!relay->log)
		return;
	fprintf(relay->log, "%llu from %u %s qp %#x psn %#x ",
		(unsigned long long)(now_us() - relay->start_us), from, op->name, pkt->dest_qpn,
		pkt->psn);
	if (op->aeth)
		fprintf(relay->log, "syndrome %#x ", wire_aeth_syndrome(pkt->word));
	fprintf(relay->log, "length %u %s\n", pkt->length, what);
}

static void capture(struct relay *relay, uint32_t from, size_t length, const char *comment)
{
	const struct wire_pcapng_pkt pkt = {.port = from,
					    .at = (now_us() - relay->start_us) * PS_US,
					    .way = WIRE_PCAPNG_IN,
					    .bytes = relay->frame,
					    .captured = (uint32_t)length,
					    .length = (uint32_t)length,
					    .comment = comment};

	if (relay->pcap)
		fwrite(relay->block, 1, wire_pcapng_pkt(&pkt, relay->block, sizeof(relay->block)),
		       relay->pcap);
}

static bool is_guests(const struct relay *relay)
{
	for (uint32_t i = 0; i < relay->station_count; i++)
		if (memcmp(relay->stations[i].mac, relay->frame, 6) == 0)
			return relay->stations[i].port == 0;
	return false;
}

/* What becomes of a RoCE packet. */
static enum impair_action roce(struct relay *relay, uint32_t from, const struct wire_path *path,
			       const struct wire_pkt *pkt)
{
	const struct impair_frame frame = {.from_guest = from == 0,
					   .now_us = now_us(),
					   .pkt = pkt,
					   .frame = relay->frame,
					   .length = unpadded(path, pkt)};
	enum impair_action action = impair_frame(&relay->impair, &frame);

	log_pkt(relay, from, pkt, impair_action_name(action));
	relay->from_guest += from == 0;
	relay->to_guest += action == IMPAIR_PASS && is_guests(relay);
	return action;
}

static void take(struct relay *relay, uint32_t from)
{
	ssize_t length = recv(relay->ports[from].fd, relay->frame, FRAME_MAX, MSG_DONTWAIT);
	enum impair_action action = IMPAIR_PASS;
	struct wire_path path;
	struct wire_pkt pkt;
	enum wire_verdict verdict;

	if (length < (ssize_t)WIRE_ETH_BYTES)
		return;
	learn(relay, relay->frame + 6, from);
	memcpy(relay->copy, relay->frame, (size_t)length);
	verdict = wire_frame_parse(&path, &pkt, relay->copy, (size_t)length);
	if (verdict == WIRE_OK)
		action = roce(relay, from, &path, &pkt);
	else if (verdict != WIRE_NOT_ROCE) {
		relay->bad++;
		if (relay->log)
			fprintf(relay->log, "bad from %u: %s\n", from, wire_verdict_name(verdict));
	}
	capture(relay, from, (size_t)length,
		action == IMPAIR_PASS ? NULL : impair_action_name(action));
	/* Questions for addresses are also asked before anybody is there. */
	if (action == IMPAIR_DROP || forward(relay, from, (size_t)length) || verdict != WIRE_OK)
		return;
	if (errno == ECONNREFUSED || errno == ENOENT) {
		relay->late++;
		return;
	}
	relay->lost++;
	fprintf(stderr, "lost from %u: %s\n", from, strerror(errno));
}

static void run(struct relay *relay)
{
	struct pollfd polls[PORTS_MAX];
	sigset_t blocked, before;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	while (!stopped) {
		for (uint32_t i = 0; i < relay->port_count; i++)
			polls[i] = (struct pollfd){.fd = relay->ports[i].fd, .events = POLLIN};
		if (ppoll(polls, relay->port_count, NULL, &before) < 0)
			continue;
		for (uint32_t i = 0; i < relay->port_count; i++)
			if (polls[i].revents != 0)
				take(relay, i);
	}
}

static bool report(struct relay *relay)
{
	for (uint32_t i = 0; i < relay->port_count; i++) {
		close(relay->ports[i].fd);
		unlink(relay->ports[i].local.sun_path);
	}
	printf("to guest %llu, from guest %llu, late %llu, bad %llu, lost %llu\n",
	       (unsigned long long)relay->to_guest, (unsigned long long)relay->from_guest,
	       (unsigned long long)relay->late, (unsigned long long)relay->bad,
	       (unsigned long long)relay->lost);
	return impair_report(&relay->impair, stdout);
}

static FILE *open_file(const char *name)
{
	FILE *file = fopen(name, "we");

	if (!file) {
		perror(name);
		exit(3);
	}
	return file;
}

static void begin_capture(struct relay *relay)
{
	char name[16];

	fwrite(relay->block, 1, wire_pcapng_section(relay->block, sizeof(relay->block)),
	       relay->pcap);
	for (uint32_t i = 0; i < relay->port_count; i++) {
		snprintf(name, sizeof(name), i == 0 ? "guest" : "nic%u", i);
		fwrite(relay->block, 1,
		       wire_pcapng_port(name, 0, 0, relay->block, sizeof(relay->block)),
		       relay->pcap);
	}
}

static bool parse(struct relay *relay, int argc, char **argv)
{
	static const struct option known[] = {
		{"guest", required_argument, NULL, 'g'}, {"nic", required_argument, NULL, 'n'},
		{"rule", required_argument, NULL, 'r'},	 {"log", required_argument, NULL, 'l'},
		{"pcap", required_argument, NULL, 'p'},	 {0}};
	bool good = true;
	int option;

	while (good && (option = getopt_long(argc, argv, "", known, NULL)) != -1)
		switch (option) {
		case 'g':
			good = relay->port_count == 0 && add_port(relay, optarg);
			break;
		case 'n':
			good = relay->port_count != 0 && add_port(relay, optarg);
			break;
		case 'r':
			good = impair_add(&relay->impair, optarg);
			break;
		case 'l':
			relay->log = open_file(optarg);
			break;
		case 'p':
			relay->pcap = open_file(optarg);
			break;
		default:
			good = false;
		}
	return good && relay->port_count != 0 && optind == argc;
}

int main(int argc, char **argv)
{
	static struct relay relay;
	const struct sigaction action = {.sa_handler = on_term};

	sigaction(SIGTERM, &action, NULL);
	relay.start_us = now_us();
	if (!parse(&relay, argc, argv)) {
		fprintf(stderr,
			"usage: %s --guest LOCAL,REMOTE [--nic LOCAL,REMOTE ...] "
			"[--rule ACTION:FROM:OPCODE:N ...] [--log FILE] [--pcap FILE]\n",
			argv[0]);
		return 2;
	}
	if (relay.pcap)
		begin_capture(&relay);
	run(&relay);
	return report(&relay) ? 0 : 1;
}
