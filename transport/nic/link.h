/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_LINK_H
#define NIC_LINK_H

/* What carries packets between this NIC and others. The loop moves batches of slots; a link turns
 * slots into datagrams and back, and never waits. */
#include "transport/nic/nic.h"

enum { NIC_BATCH = 32, NIC_SLOT_BYTES = 4352 };
_Static_assert((int)NIC_SLOT_BYTES > (int)WIRE_FRAME_MAX,
	       "one byte more, so that too long is seen");

struct nic_slot {
	uint8_t *buf;	/* NIC_SLOT_BYTES */
	uint8_t *bytes; /* of one that has come: @buf, or the link's own until its next recv() */
	uint32_t length;
	bool truncated;
	struct wire_path path;
};

#define NIC_FRAME_NETDEV "verbena" /* what a frame link has for an interface */

enum { NIC_MCAST_MAX = 64 };

struct nic_link;

/* Every member is filled. */
struct nic_link_ops {
	const char *name;
	/* Takes up to @count datagrams that have come; returns how many. */
	uint32_t (*recv)(struct nic_link *link, struct nic_slot *slots, uint32_t count);
	/* Bytes to value; pkt->payload points into the slot. */
	enum wire_verdict (*parse)(struct nic_link *link, struct nic_slot *slot,
				   struct wire_pkt *pkt);
	/* Value to bytes, to travel by slot->path. */
	void (*emit)(struct nic_link *link, const struct wire_pkt *pkt, struct nic_slot *slot);
	/* Sends the first so many of @count slots and returns how many are done with: gone, or
	 * refused for good and counted in tx_lost. Fewer: no room now, come again. */
	uint32_t (*send)(struct nic_link *link, const struct nic_slot *slots, uint32_t count);
	/* The way to path->dst_ip: 0, -EAGAIN (not known; asked now, if @ask), -ENETUNREACH. */
	int (*resolve)(struct nic_link *link, struct wire_path *path, bool ask);
	/* Packets for the multicast group @ip come in from now on, or not any more: 0, -errno,
	 * -ENOSPC: NIC_MCAST_MAX are heard. */
	int (*hear)(struct nic_link *link, const uint8_t ip[16], bool hears);
	/* As recv(), what has come to groups apart from all else; see mcast_fd. */
	uint32_t (*recv_mcast)(struct nic_link *link, struct nic_slot *slots, uint32_t count);
	void (*close)(struct nic_link *link); /* accepts half-open */
};

struct nic_link {
	const struct nic_link_ops *ops;
	struct nic_stats *stats;
	int fd;
	/* Readable when recv_mcast() has something; -1: nothing comes that way. */
	int mcast_fd;
	bool carries_frames; /* whole ones, whatever is in them */
	bool full_is_polled; /* POLLOUT tells when there is room again */
	bool fixed_sport;    /* packets leave from UDP port 4791, whatever path->udp_sport says */
	bool has_ring;	     /* packets go through io_uring */
};

/* @gids: own addresses, 16 bytes each, as nic_gid() has them. */
struct nic_link_params {
	const struct nic_params *params;
	const uint8_t *gids;
	uint32_t gid_count;
	uint8_t mac[6];
	struct nic_stats *stats;
	int fd; /* udp: a socket of nic_link_udp_socket(), which stays the caller's */
};

/* A socket for this address; it @shares it with others that do. -errno. */
int nic_link_udp_socket(const struct nic_params *params, bool shares);
/* One for what comes to a multicast group, from whoever sends there. -errno. */
int nic_link_udp_group(const struct nic_params *params, const uint8_t group[16]);
/* The interface that has an address, and its MTU; "" and 0 where none is found (a transparent or
 * freebind setup). */
void nic_link_udp_interface(const struct nic_params *params, char ret_name[16], uint32_t *ret_mtu);
int nic_link_udp_open(const struct nic_link_params *params, struct nic_link **ret_link);
/* The same through io_uring. -errno: the system has none, or none for this process; or the build
 * has none (-ENOSYS). */
int nic_link_uring_open(const struct nic_link_params *params, struct nic_link **ret_link);
/* Whether that could be opened: 0 or -errno. */
int nic_link_uring_check(void);
int nic_link_frame_open(const struct nic_link_params *params, struct nic_link **ret_link);

#endif
