/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_XRC_H
#define HCA_XRC_H

/* The extended reliable connected service (IBTA annex A14): a queue pair that only sends (XRC_SEND,
 * the annex' initiator) names with each request a shared receive queue of the other end, by number,
 * and one that only receives (XRC_RECV, its target) takes receives from whichever of its domain is
 * named. Completions go to the CQ of the shared queue; its protection domain is also that of the
 * memory which a request names. On the wire all is as with RC, but for the class of the opcodes and
 * the number in each request (XRCETH).
 *
 * A number that names no shared queue of XRC, or one of another domain, makes the responder refuse
 * with a NAK of remote access, and fail with IBV_EVENT_QP_ACCESS_ERR, which is what drivers of RoCE
 * adapters make of both (linux drivers/infiniband/hw/qedr/main.c). A device with HCA_SELECTIVE has
 * no XRC: its own headers have no place for the number. */
#include <stdbool.h>
#include <stdint.h>

struct hca_device;
struct hca_qp;
struct hca_xrcd;

struct hca_xrcd_init {
	bool is_shared; /* by whoever opens it with the same file: the two numbers */
	uint64_t file[2];
	bool creates, excludes; /* O_CREAT: there may be none yet; O_EXCL: there may be none */
};

/* As the kernel has it (ib_uverbs_open_xrcd()): -EAGAIN: not there, and shall not be made; -EINVAL:
 * there already, and excluded; -ENOMEM. -EOPNOTSUPP: the device has no XRC. */
int hca_xrcd_open(struct hca_device *dev, const struct hca_xrcd_init *init,
		  struct hca_xrcd **ret_xrcd);
/* Once for each time it was opened. -EBUSY: the last one, and there are still queues in it. */
int hca_xrcd_close(struct hca_device *dev, struct hca_xrcd *xrcd);

/* The XRC_RECV queue pair of that number, once more: hca_qp_destroy() has to be called as often as
 * it was made and opened. -EINVAL: there is none in @xrcd. */
int hca_qp_open(struct hca_device *dev, const struct hca_xrcd *xrcd, uint32_t qpn,
		struct hca_qp **ret_qp);

#endif
