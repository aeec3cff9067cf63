/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CM_MAD_H
#define CM_MAD_H

/* Messages of communication management between value and bytes: a management datagram of class 7
 * (IBTA vol 1, 13.4 and 12.6), as it goes from queue pair 1 to queue pair 1. Values are in host
 * order. Whatever comes is well formed or refused; what a field means is cm.h's. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CM_MAD_BYTES = 256,
	CM_MAD_HEADER_BYTES = 24,
	CM_PRIVATE_MAX = 224, /* the longest private data, that of RTU and DREP */
};
#define CM_QPN 1u
#define CM_QKEY 0x80010000u /* IBTA 3.5.3: the well-known one of queue pair 1 */

/* IBTA 16.7.3: attributes of the class. */
enum cm_attr {
	CM_REQ = 0x10,
	CM_MRA = 0x11,
	CM_REJ = 0x12,
	CM_REP = 0x13,
	CM_RTU = 0x14,
	CM_DREQ = 0x15,
	CM_DREP = 0x16,
	CM_SIDR_REQ = 0x17,
	CM_SIDR_REP = 0x18,
};

/* Of REJ, IBTA 12.6.7.2. */
enum cm_reason {
	CM_REASON_TIMEOUT = 4,
	CM_REASON_COMM_ID = 6,
	CM_REASON_SERVICE_ID = 8,
	CM_REASON_CONSUMER = 28,
};

/* Which message a REJ or MRA is about. */
enum cm_message { CM_ABOUT_REQ, CM_ABOUT_REP, CM_ABOUT_OTHER };

/* Of SIDR_REP, IBTA 12.11.1.3. */
enum cm_sidr_status { CM_SIDR_VALID = 0, CM_SIDR_NO_SERVICE = 1, CM_SIDR_REFUSED = 2 };

/* REQ: the transport service, IBTA 12.6.5 and annex A14. */
enum cm_transport { CM_TRANSPORT_RC = 0, CM_TRANSPORT_UC = 1, CM_TRANSPORT_EXTENDED = 3 };
enum { CM_EXTENDED_XRC = 1 };

/* Of an attribute, only what it has is read or written. */
struct cm_mad {
	uint64_t tid;
	uint16_t attr;	    /* enum cm_attr */
	uint32_t local_id;  /* the sender's; SIDR: of the request */
	uint32_t remote_id; /* the receiver's */
	uint64_t service_id;
	uint64_t ca_guid;
	uint32_t qpn, qkey; /* the sender's; DREQ: qpn is the receiver's */
	uint32_t psn;	    /* with which the receiver of the message shall begin (IBTA 12.7.31) */
	uint8_t responder_resources; /* what the sender answers at a time */
	uint8_t initiator_depth;     /* and what it asks */
	uint8_t transport, extended_transport;
	uint8_t flow_control, srq;
	uint8_t retry_count, rnr_retry_count;
	uint8_t remote_timeout, local_timeout; /* 4.096 us * 2^n, for an answer */
	uint8_t max_cm_retries;
	uint16_t pkey;
	uint8_t mtu;			       /* enum ibv_mtu */
	uint8_t local_gid[16], remote_gid[16]; /* the primary path */
	uint32_t flow_label;
	uint8_t rate, traffic_class, hop_limit, sl, subnet_local, ack_timeout;
	uint8_t message;	 /* enum cm_message */
	uint8_t service_timeout; /* MRA: 4.096 us * 2^n more */
	uint16_t reason;
	uint8_t status; /* enum cm_sidr_status */
	uint8_t private_data[CM_PRIVATE_MAX];
};

/* False: none of these messages. @length: of @bytes. */
bool cm_mad_parse(struct cm_mad *ret_mad, const uint8_t *bytes, size_t length);
void cm_mad_emit(const struct cm_mad *mad, uint8_t ret_bytes[CM_MAD_BYTES]);
/* How long the private data of an attribute are, always; 0: no attribute of these. */
uint32_t cm_private_bytes(uint16_t attr);

/* What the IP addressing annex (A11) puts in front of the private data of REQ and SIDR_REQ. */
enum { CM_IP_BYTES = 36 };
struct cm_ip {
	bool is_ipv6;
	uint16_t port;		  /* the sender's */
	uint8_t src[16], dst[16]; /* IPv4 as ::ffff:a.b.c.d */
};
bool cm_ip_parse(struct cm_ip *ret_ip, const uint8_t bytes[CM_IP_BYTES]);
void cm_ip_emit(const struct cm_ip *ip, uint8_t ret_bytes[CM_IP_BYTES]);

#endif
