/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CM_INTERNAL_H
#define CM_INTERNAL_H

#include "transport/cm/cm.h"
#include "util/rand.h"

#include <rdma/rdma_user_cm.h>

enum {
	CM_CMA_TIMEOUT = 20, /* 4.096 us * 2^20 until an answer is overdue, as rdma_cm has it */
	CM_CMA_RETRIES = 15, /* and that often it is asked again */
	CM_MRA_TIMEOUT = 24, /* what a program may take */
	CM_TIMEWAIT = 17,    /* as rdma_cm: twice a path's 16, on Ethernet */
	CM_ACK_TIMEOUT = 17, /* of a queue pair: 537 ms */
	CM_HOP_LIMIT = 64,
	CM_RATE = 2,	   /* enum ibv_rate: 2.5 Gb/s, as good as any */
	CM_PATH_LIFE = 16, /* linux drivers/infiniband/core/cma.c, CMA_IBOE_PACKET_LIFETIME */
	CM_PKEY = 0xffff,
	CM_IP_OF_REQ = CM_IP_BYTES, /* private data that programs do not have */
	CM_INDEX_BITS = 14,
	CM_MCAST_MAX = 1024, /* groups of an id */
};
#define CM_UDP_QKEY 0x01234567u /* of who brings none: include/rdma/rdma_cm.h */
_Static_assert(CM_IDS_MAX == 1 << CM_INDEX_BITS, "an id says where it is");

/* As librdmacm numbers them (rdma/rdma_cma.h). */
enum cm_event_type {
	CM_EVENT_ADDR_RESOLVED,
	CM_EVENT_ADDR_ERROR,
	CM_EVENT_ROUTE_RESOLVED,
	CM_EVENT_ROUTE_ERROR,
	CM_EVENT_CONNECT_REQUEST,
	CM_EVENT_CONNECT_RESPONSE,
	CM_EVENT_CONNECT_ERROR,
	CM_EVENT_UNREACHABLE,
	CM_EVENT_REJECTED,
	CM_EVENT_ESTABLISHED,
	CM_EVENT_DISCONNECTED,
	CM_EVENT_DEVICE_REMOVAL,
	CM_EVENT_MULTICAST_JOIN,
	CM_EVENT_MULTICAST_ERROR,
	CM_EVENT_ADDR_CHANGE,
	CM_EVENT_TIMEWAIT_EXIT,
};

enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_ADDR_RESOLVED,
	CM_ROUTE_RESOLVED,
	CM_LISTEN,
	CM_REQ_SENT,
	CM_REQ_RCVD,
	CM_REP_SENT,
	CM_REP_RCVD,
	CM_ESTABLISHED,
	CM_DREQ_SENT,
	CM_DREQ_RCVD,
	CM_TIMEWAIT_STATE,
	CM_SIDR_SENT,
	CM_SIDR_RCVD,
	CM_SIDR_DONE,
	CM_ENDED,
};

/* enum ibv_qp_type, which rdma_cm shares */
enum { CM_QPT_RC = 2, CM_QPT_UC = 3, CM_QPT_UD = 4, CM_QPT_XRC_SEND = 9, CM_QPT_XRC_RECV = 10 };

struct cm_addr {
	uint16_t family; /* AF_INET, AF_INET6; 0: none yet */
	uint16_t port;
	uint32_t scope_id;
	uint8_t ip[16];
};

/* A multicast group that an id has joined. */
struct cm_mcast {
	struct cm_mcast *next;
	uint64_t uid; /* the program's name for it */
	uint32_t handle;
	uint32_t events_reported; /* that the program has to acknowledge */
	uint8_t gid[16];
};

struct cm_id {
	uint32_t handle, comm_id;
	struct cm_file *file;
	struct cm *cm;
	enum cm_state state;
	uint64_t uid;		  /* the program's name for it; 0: not accepted yet */
	uint32_t events_reported; /* that the program has to acknowledge */
	uint32_t listener;	  /* passive: the handle of whom the request was for */
	uint16_t space;		  /* enum rdma_ucm_port_space */
	uint8_t qp_type;
	bool has_device; /* its address is the adapter's, not any */
	bool has_port;	 /* src.port is taken (cm_port_take()) */
	bool reuses_addr, is_passive;
	struct cm_addr src, dst;
	int32_t backlog; /* LISTEN: requests that may still come */

	/* the connection */
	struct wire_path path; /* to the peer's queue pair 1 */
	uint8_t remote_gid[16];
	uint64_t tid, remote_guid;
	uint32_t remote_id, remote_qpn, qpn, sq_psn, rq_psn, qkey;
	uint8_t responder_resources, initiator_depth, retry_count, rnr_retry_count, mtu, tos;
	uint8_t ack_timeout;	       /* 0: nobody has said */
	uint8_t message[CM_MAD_BYTES]; /* the last one that waits for an answer, or may be repeated
					*/
	ps_t timer_at;		       /* PS_NEVER: none */
	ps_t repeat_after;
	uint32_t tries; /* left */
	struct cm_mcast *mcasts;
	uint32_t mcast_count;
};

struct cm_event {
	struct cm_event *next;
	struct cm_id *id;	/* whose events_reported it counts in */
	struct cm_id *child;	/* CONNECT_REQUEST: the new one; else NULL */
	struct cm_mcast *mcast; /* MULTICAST_JOIN: the group; else NULL */
	struct rdma_ucm_event_resp said;
};

struct cm_file {
	struct cm *cm;
	void *owner;
	struct cm_event *first, **last;
	struct cm_file *next;
};

/* A port that this process has, for as many ids as share it. */
struct cm_port {
	struct cm_port *next;
	uint16_t space, port;
	uint32_t users;
};

struct cm_outgoing {
	struct wire_path path;
	uint8_t bytes[CM_MAD_BYTES];
};

struct cm {
	struct cm_params params;
	struct cm_file *files;
	struct cm_port *ports;
	struct cm_id **ids; /* by handle; ids_size of them */
	uint32_t ids_size, ids_count, ids_hint;
	uint32_t slot, generation;
	uint32_t mcast_drawn; /* handles of groups so far */
	struct util_rand rand;
	ps_t next_at; /* no timer is earlier */
	struct cm_outgoing *outbox;
	uint32_t outbox_first, outbox_count;
};

/* cm.c */
/* A new one; @file NULL: not yet anybody's. NULL: no memory, or too many. */
struct cm_id *cm_id_create(struct cm *cm, struct cm_file *file);
/* Without a word to the peer; its events go. */
void cm_id_free(struct cm_id *id);
void cm_leave(struct cm_id *id, struct cm_mcast *mcast);
struct cm_id *cm_id_find(const struct cm *cm, uint32_t handle); /* NULL */
struct cm_id *cm_id_of_comm(const struct cm *cm, uint32_t comm_id);
struct cm_id *cm_id_listening(const struct cm *cm, uint16_t space, uint16_t port); /* NULL */
/* Whom a request is for that the program has not been told of yet; NULL: there is none. */
struct cm_id *cm_id_untold(const struct cm_id *listener);
void cm_timer_set(struct cm_id *id, ps_t at);
ps_t cm_timeout(uint32_t exponent); /* 4.096 us * 2^exponent */
/* Tells the program. @param NULL: nothing but @status. Nobody is told of an id without uid. */
void cm_tell(struct cm_id *id, uint32_t event, int status);
struct cm_event *cm_event_new(struct cm_id *id, uint32_t event, int status);
void cm_event_put(struct cm_event *event);
struct cm_event *cm_event_take(struct cm_file *file); /* NULL: none */
void cm_events_move(struct cm_id *id, struct cm_file *to);
int cm_port_take(struct cm_id *id, uint16_t port);
void cm_port_give(struct cm_id *id);

/* send.c: messages to the peer. */
void cm_send(struct cm *cm, const struct wire_path *path, const struct cm_mad *mad);
/* And again until the timer is stopped. */
void cm_send_until(struct cm_id *id, const struct cm_mad *mad, ps_t now);
void cm_send_again(struct cm_id *id);
struct cm_mad cm_mad_of(const struct cm_id *id, uint16_t attr);
void cm_send_req(struct cm_id *id, const struct rdma_ucm_conn_param *param, ps_t now);
void cm_send_sidr_req(struct cm_id *id, const struct rdma_ucm_conn_param *param, ps_t now);
void cm_send_rep(struct cm_id *id, const struct rdma_ucm_conn_param *param, ps_t now);
void cm_send_rej(struct cm_id *id, uint16_t reason, const uint8_t *data, uint32_t bytes);
void cm_send_dreq(struct cm_id *id, ps_t now);
void cm_send_plain(struct cm_id *id, uint16_t attr); /* RTU, DREP */
void cm_send_mra(struct cm_id *id, uint8_t message);
void cm_send_sidr_rep(struct cm_id *id, uint8_t status, const struct rdma_ucm_conn_param *param);
/* What the annex puts in front of a request. */
struct cm_ip cm_ip_of(const struct cm_id *id);
uint64_t cm_service_id(uint16_t space, uint16_t port);
/* The way back to whom a message came from. */
struct wire_path cm_way_back(const struct wire_path *path);

/* act.c: what programs ask for; 0 or -errno. */
int cm_bind(struct cm_id *id, const struct cm_addr *addr);
int cm_resolve_addr(struct cm_id *id, const struct cm_addr *src, const struct cm_addr *dst);
int cm_resolve_route(struct cm_id *id);
int cm_listen(struct cm_id *id, int32_t backlog);
int cm_connect(struct cm_id *id, const struct rdma_ucm_conn_param *param, ps_t now);
int cm_accept(struct cm_id *id, const struct rdma_ucm_conn_param *param, ps_t now);
int cm_reject(struct cm_id *id, uint8_t reason, const uint8_t *data, uint32_t bytes);
int cm_disconnect(struct cm_id *id, ps_t now);
int cm_established(struct cm_id *id);
/* Says what has to be said and frees it. */
void cm_end(struct cm_id *id, ps_t now);
bool cm_is_any(const uint8_t ip[16]);

/* mcast.c */
/* 0 or -errno; the program is told of it as MULTICAST_JOIN. */
int cm_join(struct cm_id *id, const struct cm_addr *addr, uint64_t uid, uint32_t *ret_handle);
struct cm_id *cm_id_of_mcast(const struct cm *cm, uint32_t handle,
			     struct cm_mcast **ret_mcast); /* NULL */

/* answer.c: what programs ask about. */
int cm_query_route(const struct cm_id *id, struct rdma_ucm_query_route_resp *ret);
int cm_query_addr(const struct cm_id *id, struct rdma_ucm_query_addr_resp *ret);
int cm_init_qp_attr(const struct cm_id *id, uint32_t qp_state, struct ib_uverbs_qp_attr *ret);
void cm_ah_attr(const struct cm_id *id, struct ib_uverbs_ah_attr *ret);
/* Both ways between the kernel's addresses and ours. -EINVAL, -EAFNOSUPPORT. */
int cm_addr_get(struct cm_addr *ret, const void *sockaddr, size_t bytes);
void cm_addr_put(const struct cm_addr *addr, void *ret_sockaddr, size_t bytes);

#endif
