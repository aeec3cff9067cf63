/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_MCAST_H
#define HCA_MCAST_H

/* Multicast of datagrams (IBTA 10.5): queue pairs of UD are attached to groups, and each of those
 * of a group gets a copy of what is sent to it, the sender's own as well. A packet is for a group
 * when its destination queue pair is HCA_MCAST_QPN; which group that is its destination address
 * says, so that whoever brings it says how it came (hca_rx.path). A copy is as any datagram:
 * without a receive, or with another Q_Key, it is lost to that queue pair alone. */
#include <stdint.h>

struct hca_device;
struct hca_qp;

enum { HCA_MCAST_QPN = 0xffffff }; /* IBTA 3.5.3 */

/* @ip: of the group, as packets have it in struct wire_path. 0, also where it is attached already;
 * -EINVAL: not UD; -ENOMEM. */
int hca_mcast_attach(struct hca_device *dev, struct hca_qp *qp, const uint8_t ip[16]);
/* -EINVAL: it is not attached. */
int hca_mcast_detach(struct hca_device *dev, struct hca_qp *qp, const uint8_t ip[16]);
/* How many queue pairs of the device are in the group. */
uint32_t hca_mcast_count(const struct hca_device *dev, const uint8_t ip[16]);
/* A group that @qp is in; NULL: none. Valid until the next call. */
const uint8_t *hca_mcast_group_of(const struct hca_device *dev, const struct hca_qp *qp);

#endif
