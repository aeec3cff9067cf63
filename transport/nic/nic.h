/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_NIC_H
#define NIC_NIC_H

/* The adapter in real time: a struct hca_device, a link that carries its packets, and a loop that
 * moves them and watches the clock. Decides nothing about queue pairs. transport/nic/world.h puts
 * the verbs front on top of it.
 *
 * Two kinds of link:
 *	udp	one UDP socket at ADDRESS:4791, so that every emulated host on one machine takes an
 *		address of its own (127.0.0.2, 127.0.0.3, ...; all of 127.0.0.0/8 is there for it)
 *	frame	Ethernet frames in unix datagram sockets, one a side, as the dgram netdev of QEMU
 *		speaks; answers ARP and neighbour discovery for its addresses
 *
 * The environment, read by nic_params_from_env() and nowhere else:
 *	VERBENA_LINK	"udp" (default) or "frame:LOCAL,REMOTE", the paths of the two sockets
 *	VERBENA_ADDR	own addresses, IPv4 or IPv6, with commas between; udp: one for each device
 *			that the program shall have, verbena0 and on; 127.0.0.1 when there is none;
 *			fe80::1%eth0 where one needs an interface
 *	VERBENA_PROFILE	what the devices are: a name of transport/nic/kind.h
 *	VERBENA_PATH	udp: to processes of this user on this machine "auto" (default), "udp" or
 *			"shm", or "direct": see enum nic_path
 *	VERBENA_MAC	frame: own MAC address; else 02:00 and the end of the first address
 *	VERBENA_MTU	largest path MTU of the port: 256, 512, 1024, 2048 or 4096; else what
 *			fits the interface that has the address (frame: 1024)
 *	VERBENA_LOOP	udp: "io_uring", "epoll", or "auto" (default): see enum nic_loop_kind
 *	VERBENA_STATUSES	"hardware" (default) or "rxe": see enum hca_statuses
 *	VERBENA_PCAP	writes all packets to this file (pcapng), with the device's time, which
 *			begins anew every 200 days
 *	VERBENA_IMPAIR	what becomes of packets that are sent: transport/nic/impair.h
 *	VERBENA_SEED	of that, a number (1)
 *	VERBENA_FAULTS	what goes wrong in verbs, as transport/verbs/fault.h has it
 *	VERBENA_TREE	the folder of "verbena exec": counts of that go to a file there
 *	VERBENA_ABORT	1: a failed check of our own ends the process, for a core dump; else the
 *			device is dead from then on and the process goes on
 */
#include "transport/hca/device.h"
#include "transport/nic/counters.h"
#include "transport/nic/host.h"
#include "transport/wire/frame.h"

#include <stdbool.h>
#include <stdint.h>

struct nic;

enum nic_link_kind { NIC_LINK_UDP, NIC_LINK_FRAME };

/* How packets go through the socket of a udp link; all wait in ppoll().
 *	io_uring	liburing: a multishot receive into registered buffers, and a batch of sends,
 *			a system call each; Linux 6.0, where nothing forbids it (seccomp, the sysctl
 *			kernel.io_uring_disabled, which containers often set)
 *	epoll		recvmmsg() and sendmmsg(), for which nothing is needed
 *	auto		epoll: a packet in batches of 32 costs some 3.0 us there and 3.2 with
 *			io_uring, alone 5.1 and 6.3 (bench/loops.c; loopback, Linux 6.18)
 * A NIC whose process is forbidden io_uring later goes on with epoll. */
enum nic_loop_kind { NIC_LOOP_AUTO, NIC_LOOP_URING, NIC_LOOP_EPOLL };

/* How packets get to other processes of this user on this machine: transport/nic/shm.h. */
enum nic_path {
	NIC_PATH_AUTO, /* through shared memory where both ends have it, else as anywhere */
	NIC_PATH_UDP,
	NIC_PATH_SHM,	 /* through shared memory alone: what cannot is lost, but for messages of
			  * queue pair 1 and what goes to many */
	NIC_PATH_DIRECT, /* as auto; and payloads of RC from memory to memory, where both ends are
			  * direct and may read each other: transport/hca/loan.h */
};
enum { NIC_ADDR_MAX = 4, NIC_GID_MAX = NIC_ADDR_MAX + 1, NIC_GID_PLACES = 16, NIC_PATH_MAX = 108 };
struct nic_kind;

struct nic_params {
	enum nic_link_kind link;
	enum nic_loop_kind loop;	/* URING: where there is none, nic_open() fails */
	enum nic_path path;		/* of NICs that share their address alone */
	uint8_t addr[NIC_ADDR_MAX][16]; /* as in struct wire_path */
	uint32_t addr_count;
	uint32_t scope_id; /* of a link-local address; 0: none */
	char local_path[NIC_PATH_MAX], remote_path[NIC_PATH_MAX]; /* frame */
	uint8_t mac[6];	    /* zeros: from the first address */
	uint32_t mtu;	    /* 0: what fits the interface */
	char pcap[4096];    /* "": no capture */
	char impair[1024];  /* rules of transport/nic/impair.h; "": none */
	uint64_t seed;	    /* of their draws */
	char board[4096];   /* the folder of their counts, and of those of the device; "": none */
	const char *faults; /* rules of transport/verbs/fault.h, of the environment; NULL: none */
	const struct nic_kind *kind; /* transport/nic/kind.h; NULL: our own */
	/* udp: the addresses of all devices of the program, of which this one is the first. */
	uint8_t device_addr[NIC_DEVICES_MAX][16];
	uint32_t device_count;
	uint32_t device; /* its number among them: verbena0 is 0 */
	/* udp: the address is taken when nic_start() begins and given back when nic_stop() ends,
	 * and shared with other processes of this user that do the same (transport/nic/group.h). */
	bool shares;
	bool progress_thread;	    /* a thread of its own moves packets while nobody polls */
	bool aborts;		    /* where a CHECK fails in that thread; see on_fatal */
	uint32_t resolve_ms;	    /* how long to look for a peer's MAC address; 0: 5 s */
	enum hca_statuses statuses; /* of nic_profile_default() */
	struct hca_profile profile; /* line_rate_bps 0: nic_profile_default() */
	const struct hca_observer *observer; /* NULL: nobody listens */
	void *world;			     /* handed to it */
	/* From the progress thread, without the lock, as its last act: a CHECK has failed in it,
	 * and nic_kill() was called. NULL: the process is aborted. */
	void (*on_fatal)(void *world);
	/* From the progress thread, with the lock, each time around: what is due happens. How many
	 * ns until there is more; negative: never. It may end with nic_kill(), which gives the lock
	 * back. NULL: nothing has a time. */
	int64_t (*on_time)(void *world);
};

/* Who an adapter is; see nic_gid(). */
struct nic_identity {
	uint64_t guid;
	uint8_t mac[6];
	uint8_t gids[NIC_GID_MAX][16];
	uint32_t gid_count;
};

/* Every datagram that came, by verdict, and what became of those to be sent. */
struct nic_stats {
	uint64_t rx[WIRE_VERDICT_COUNT];
	uint64_t rx_not_ours; /* frame: whole, but for another address */
	uint64_t rx_stranger; /* whole, but not from the peer of its queue pair: dropped */
	uint64_t rx_neigh;    /* frame: ARP and neighbour discovery */
	uint64_t rx_bytes;    /* of those that were WIRE_OK; udp: from BTH to ICRC */
	uint64_t tx_packets, tx_bytes;
	uint64_t tx_full; /* times that a packet had to wait for room in the socket */
	uint64_t tx_lost; /* the system refused it for good: no route, too long, no peer; or its
			   * ring was full too long */
	uint64_t rx_rings, tx_rings; /* of these those that came and went by shared memory */
};

/* 0, or -EINVAL with the variable's name in *ret_bad. The progress thread is on. */
int nic_params_from_env(struct nic_params *ret_params, const char **ret_bad);
/* By its name in VERBENA_PATH; -EINVAL: it is none. */
int nic_path_find(const char *name, enum nic_path *ret_path);
/* Those of the @device-th of them. */
void nic_params_of_device(const struct nic_params *params, uint32_t device,
			  struct nic_params *ret_params);
struct hca_profile nic_profile_default(uint32_t mtu, bool ipv6);
/* The same with the limits of a kind. */
struct hca_profile nic_profile_of(const struct nic_kind *kind, uint32_t mtu, bool ipv6);

/* Of the adapter that these parameters make; nothing is opened. */
void nic_identity(const struct nic_params *params, struct nic_identity *ret_identity);

/* 0 or -errno: -EINVAL, also a congestion control that remembers times (hca_device_move_epoch());
 * -EADDRINUSE (another process is that host, and does not share it), -EADDRNOTAVAIL, -EACCES ... */
int nic_open(const struct nic_params *params, struct nic **ret_nic);
void nic_close(struct nic *nic); /* NULL allowed; takes the adapter along */
/* The progress thread, for who opened the NIC without: 0 or -errno, where the NIC shares also those
 * of nic_open() and -EUSERS (so many processes share no address). Both without the lock, one thread
 * at a time; there is no queue pair yet, or any more. */
int nic_start(struct nic *nic);
void nic_stop(struct nic *nic); /* not running: nothing */
/* It neither sends nor hears any more, and its thread ends. Gives the lock back where this thread
 * has it. */
void nic_kill(struct nic *nic);
bool nic_is_dead(const struct nic *nic);
/* In the child of a fork(), whose parent held the lock: the NIC is the parent's, here it is dead.
 */
void nic_forked(struct nic *nic);
/* The same where the NIC was not started and had nothing: the child has one of its own. 0 or
 * -errno, when nic_forked() is to be called. */
int nic_forked_idle(struct nic *nic);

/* In such a child: @nic, which is new, goes on with what its parent's captured, if anything. */
void nic_inherit_capture(struct nic *nic, struct nic *parents);
/* Whether this build, this system and this process have that loop: 0 or -errno. */
int nic_loop_check(enum nic_loop_kind loop);
/* The one that is in use: URING or EPOLL; AUTO while there is none. */
enum nic_loop_kind nic_loop_in_use(struct nic *nic);

struct hca_device *nic_device(const struct nic *nic);
const char *nic_netdev(const struct nic *nic); /* the interface: "lo", "eth0", "verbena" */
uint64_t nic_guid(const struct nic *nic);
void nic_stats(struct nic *nic, struct nic_stats *ret_stats);
/* Since nic_open(), or since the device's time began anew: it does after 200 days, since ps_t ends
 * after 213. That happens only where the lock is taken by nic_turn(), nic_mind_epoch() and the
 * progress thread. */
ps_t nic_now(const struct nic *nic);
/* With the lock held: if it is time, time begins anew. Returns nic_now(). */
ps_t nic_mind_epoch(struct nic *nic);

/* One thread at a time has the adapter. Who calls hca_ functions on nic_device() holds the lock,
 * unless there is no progress thread and no other thread. */
void nic_lock(struct nic *nic);
bool nic_trylock(struct nic *nic);
/* So often, with others on the core in between: the holder may have lost its core, and who spins on
 * the lock keeps it from coming back. */
bool nic_lock_soon(struct nic *nic, int tries);
void nic_unlock(struct nic *nic);
bool nic_is_mine(const struct nic *nic); /* whether the calling thread has it */

/* One turn of the loop: takes what came, sends what is due. If nothing moved, waits for at most
 * @wait_ns (negative: without end) or until the adapter's next timer and does it again, the lock
 * being free meanwhile. Returns how many packets moved. Takes the lock itself. */
uint32_t nic_turn(struct nic *nic, int64_t wait_ns);

/* With the lock held, after posts: sends what is due and lets the progress thread know of new
 * timers, for a caller who does not turn the loop. */
void nic_flush(struct nic *nic);

/* The table of GIDs; index 1 is always the first address that was asked for.
 *	udp	0: IPv4: a link-local form of the address, which peers of this kind understand
 *		   (fe80::, the identifier made of MAC 02:00 and the IPv4 address); IPv6: as 1
 *		1: the address
 *	frame	0: link-local from the MAC address; 1 and more: the addresses
 * -ENOENT past its end. */
int nic_gid(const struct nic *nic, uint32_t index, uint8_t ret_gid[16]);

/* Fills addresses, UDP port and MACs of @path, whose dst_ip and flow_label are set; as
 * struct vrb_world_ops has it. Call with the lock held; on a frame link it may wait for the peer's
 * answer, the lock being free meanwhile. -EINVAL, -ENETUNREACH (another kind of address),
 * -EHOSTUNREACH. */
int nic_resolve(struct nic *nic, struct wire_path *path, uint32_t sgid_index, uint32_t local_qpn,
		uint32_t remote_qpn);
/* Which address packets to the multicast group @gid have. */
void nic_mcast_ip(const struct nic *nic, const uint8_t gid[16], uint8_t ret_ip[16]);
/* Those for @ip come in from now on, or not any more: 0 or -errno. With the lock held. */
int nic_hear_mcast(struct nic *nic, const uint8_t ip[16], bool hears);
/* A path that nic_resolve() has filled, for another QP pair. */
void nic_reuse_path(const struct nic *nic, struct wire_path *path, uint32_t local_qpn,
		    uint32_t remote_qpn);

#endif
