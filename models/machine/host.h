/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_HOST_H
#define MODELS_HOST_H

/* A host of the simulated fabric: one port, the adapter behind it, and the programs that use it.
 * This is where the fabric and the adapter meet; the same adapter runs in real time under
 * transport/nic. Where a machine has several adapters (models/machine/machine.h), each is a host of
 * its own here, and the programs are those of the first. */
#include "models/machine/dma.h"
#include "models/machine/gpus.h"
#include "models/machine/loop.h"
#include "models/machine/packet.h"
#include "models/machine/rx.h"
#include "models/program/coro.h"
#include "models/program/cost.h"
#include "sim/fc.h"
#include "sim/local.h"
#include "sim/loss.h"
#include "sim/node.h"
#include "transport/hca/device.h"

enum { HOST_MCAST_MAX = 8192 }; /* multicast groups: max_mcast_grp of a ConnectX-3 */

struct rendezvous;
struct host;
struct machine;
struct spin;
struct task;

/* All hosts of a simulation: an address is a position in this table, so that the order in which
 * hosts were created cannot be seen. First adapters of machines come first, in order of their
 * names, then all others in order of theirs: one adapter more changes nobody else's address. */
struct host_table {
	struct host **hosts;
	uint32_t count, machine_count; /* the latter: first adapters, which come first */
	struct machine *machines;      /* those with several adapters */
	bool ipv6;		       /* addresses are fd00::N instead of 10.x.y.z */
	uint32_t mcast_max; /* multicast groups that a host can hear; 0: there are none */
	struct rendezvous *rendezvous;
};

/* Somebody besides programs who posts to the adapter: told of the completions of @cq, at their
 * instant and from inside the adapter. */
struct host_client {
	const struct hca_cq *cq;
	void (*on_completion)(struct host_client *client, ps_t now);
};

/* Hears of every frame that a host's port sends or receives, at its start and at its last bit. */
struct host_tap {
	/* @path: of data that is sent, as its sender addresses it; NULL otherwise. From the thread
	 * that runs the host; the frame stays as it is. */
	void (*on_frame)(struct host_tap *tap, const struct host *host, bool sent,
			 const struct sim_pkt *frame, const struct wire_path *path, ps_t at);
};

/* Why an adapter takes nothing of a frame that has reached it, for sim_tell_loss(), at its last
 * bit. Answers that come too late are no loss. */
enum host_loss {
	HOST_LOSS_UNKNOWN = SIM_LOSS_OWN, /* there is no such queue pair, or ... */
	HOST_LOSS_STATE,		  /* ... it does not hear it in its state, or ... */
	HOST_LOSS_KEY,			  /* ... the datagram has another Q_Key, or ... */
	HOST_LOSS_RECEIVE,		  /* ... no receive is posted, and nobody is told, or ... */
	HOST_LOSS_REFUSED,		  /* ... it is nothing that it takes, or ... */
	HOST_LOSS_OTHERS, /* ... a switch has flooded it, and it is for another host or group */
	HOST_LOSSES
};

/* Hears of every placement into memory of the host's programs, from the thread that runs it. */
struct host_memory_tap {
	/* @region: the n-th of the host, from 0; @fold: what the digest takes of the bytes. */
	void (*on_place)(struct host_memory_tap *tap, const struct host *host, uint64_t region,
			 uint64_t offset, uint32_t length, uint64_t fold, ps_t at);
};

struct host_params {
	uint32_t priority_count; /* of the fabric; 0: eight */
	struct hca_profile profile;
	struct host_cost cost;
	enum coro_backend coro_backend;
	/* Of the queue pairs of flows; codes as in libibverbs. */
	bool flow_pairs; /* flows from one host to another share a queue pair, in order of their
			    starts */
	bool flow_uc;	 /* they are UC; not with flow_pairs */
	uint8_t flow_timeout, flow_retries, flow_ttl; /* ttl 0: 64 */
	uint16_t vlan;				      /* tag of all frames, for captures; 0: none */
	bool has_dscp;
	/* Of each priority, if has_dscp; else 8 times the priority, or of sixteen 4 times. */
	uint8_t dscp[SIM_PRIORITIES_MAX];
	ps_t loop_delay;    /* of what it sends to itself, beside the time on the wire */
	struct spin *spin;  /* watches programs (models/program/spin.h); NULL: nobody does */
	bool through_wire;  /* every packet to bytes and back before it is sent */
	bool through_bytes; /* every call of a program to bytes and back before it is made */
	const struct host_bus *bus; /* between adapter and memory; NULL: memory answers at once */
};

/* Of one priority, on the wire; what it sends to itself is not. */
struct host_sent {
	uint64_t bytes, packets;
};

struct host_stats {
	struct host_sent *sent; /* by priority */
	uint64_t completions, completions_failed;
	uint64_t not_mine;   /* data frames that were flooded to it, for others */
	uint64_t not_joined; /* multicast of groups that it is not in */
};

/* The embedded node is for sim_add_node(); everything else belongs to models/. First, in three
 * cache lines, what every packet touches, and what it counts. */
struct host {
	struct sim_node node;  /* first */
	struct sim_thread *th; /* while the node runs */
	ps_t now;	       /* of the last thing that happened here */
	struct hca_device *hca;
	struct sim_local local;
	ps_t fc_timer_at;  /* fc->timer_at, as it was when anybody last called into @fc */
	ps_t loop_open_at; /* the next frame, wherever it goes, may start; PS_NEVER: once one of
			    * those to itself arrives */
	ps_t asked_at;	   /* an earlier turn asked the engine for one then */
	struct packet_slab *room;      /* for the next payload */
	uint32_t address;	       /* where switches send what is for it */
	uint32_t placement_waiters;    /* tasks that wait for memory to change */
	uint16_t wire_overhead;	       /* bytes, as in the profile; or of the packet at hand */
	uint8_t control_count;	       /* of @control */
	bool parses_frames;	       /* through_wire or a framing, as in @params */
	bool fc_heads : 1, fc_all : 1; /* as in fc->ops */
	bool tapped : 1;	       /* there is a @tap */
	bool in_groups : 1;	       /* it hears multicast groups */
	bool sifts : 1;		       /* there is an @rx, or host_set_overhears(), or ... */
	bool tells_losses : 1;	       /* ... of what its adapter does not take */
	struct host_stats stats;
	uint64_t placed_bytes;

	struct host_tap *tap;
	struct host_memory_tap *memory_tap; /* NULL: nobody hears */
	struct host_rx *rx;		    /* NULL: what it receives it has */
	struct host_dma *dma;		    /* NULL: there is no bus */
	struct host_gpus *gpus;	    /* of its machine, whose first adapter it is; NULL: none */
	struct sim_fc *fc;	    /* of its port; set once the simulation is sealed */
	uint32_t packet_bytes_max;  /* on the wire */
	struct host_client *client; /* NULL: none */
	struct task *tasks;
	/* Control frames that wait for the port: of each kind and priority the latest, which says
	 * all that those before it did. */
	struct sim_pkt *control; /* HOST_CONTROLS */
	struct host_loop loop;
	struct host_params params;
	const struct host_table *table;
	uint32_t groups;  /* of multicast that it hears */
	uint32_t number;  /* position in the table */
	uint32_t machine; /* one more than its place in table->machines; 0: its only adapter */
	uint32_t place;	  /* among the adapters of its machine */
};

/* Room for frames that wait at a host. Few hosts ever need it, so it lies apart from them. */
enum { HOST_CONTROLS = SIM_PRIORITIES_MAX, HOST_FRAMES = HOST_CONTROLS + HOST_LOOP_FRAMES };

/* What a host has of its owner's memory. */
struct host_memory {
	struct sim_pkt *frames; /* HOST_FRAMES */
	struct host_sent *sent; /* of each of the fabric's priorities, zeroed */
	struct hca_room *room;	/* as in struct hca_device_params */
};

/* -ENOMEM. The name and what @memory points to stay the caller's. */
int host_init(struct host *host, const char *name, uint64_t seed, const struct host_params *params,
	      const struct host_memory *memory);
void host_fini(struct host *host);
/* After the run: gives back the payload that the host still holds. */
void host_drain(struct host *host, struct packet_pools *pools);
/* The simulation is sealed: takes @fc over, the flow control of the host's port. */
void host_attach(struct host *host, struct sim_fc *fc);

/* Before the run. */
void host_set_tap(struct host *host, struct host_tap *tap);
/* Of what its adapter does not take, too: sim_hear_losses(). */
void host_tell_losses(struct host *host);
void host_set_memory_tap(struct host *host, struct host_memory_tap *tap);
/* Frames for others may come here, since its switch floods: the adapter, which goes by the MAC,
 * discards them before they take anything. */
void host_set_overhears(struct host *host);

/* Of the fabric's addresses: the group that @gid names. @ret_ip may be @gid. */
void host_mcast_ip(const struct host *host, const uint8_t gid[16], uint8_t ret_ip[16]);
/* It hears one group more, or one less. -ENOSPC: too many. */
int host_hear_mcast(struct host *host, bool hears);

/* Of a data frame that it sends or receives. */
static inline uint8_t host_priority(const struct host *host, const struct sim_pkt *frame)
{
	return sim_pkt_priority(frame, host->fc->priority_count);
}

/* DSCP of what @host sends in @priority, unless a program says otherwise. */
uint8_t host_dscp(const struct host *host, uint8_t priority);
/* @path as the headers of a frame of @priority have it: CNPs and ACKs may be in another than
 * data. */
void host_path_of_frame(const struct host *host, uint8_t priority, struct wire_path *path);

/* How a frame of @from has come to @host. */
struct wire_path host_path_from(const struct host *host, const struct sim_pkt *frame,
				const struct packet_sender *from);

/* Nothing more happens at this host, for lack of memory: the run ends between this window and the
 * next. */
void host_give_up(struct host *host);
/* Bytes of @dma are in memory now, and seen. */
void host_note_placement(struct host *host, const struct hca_dma *dma);
/* The same of memory without bytes, at @at. */
void host_note_pattern(struct host *host, uint64_t stream, uint64_t offset, uint32_t length,
		       ps_t at);

/* A data frame has come: to the adapter with it. Its slab comes home. */
void host_deliver(struct host *host, const struct sim_pkt *frame);
/* The same, and who hears of losses is told where the adapter does not take it. */
void host_hand_over(struct host *host, const struct sim_pkt *frame);

_Static_assert(offsetof(struct host, stats) == 192, "three cache lines");

/* Puts hosts in order and gives them their numbers. Machines are joined already. */
void host_table_init(struct host_table *table, struct host **hosts, uint32_t count,
		     struct machine *machines);
/* NULL: no such host. */
struct host *host_table_find(const struct host_table *table, const char *name);
void host_ip(const struct host *host, uint8_t ret_ip[16]);
void host_mac(const struct host *host, uint8_t ret_mac[6]);
/* Fills addresses, port and link_* of @path, whose dst_ip is set. -EHOSTUNREACH. */
int host_resolve(const struct host *host, struct wire_path *path, uint32_t local_qpn,
		 uint32_t remote_qpn);

#endif
