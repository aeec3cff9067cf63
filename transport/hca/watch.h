/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_WATCH_H
#define HCA_WATCH_H

/* What becomes of the work requests of send queues, for somebody who watches: nothing depends on
 * it, and without a watcher it costs nothing. */
#include "transport/hca/wr.h"
#include "util/units.h"

struct hca_cq;
struct hca_device;

struct hca_posted {
	uint64_t wr_id;
	const struct hca_cq *send_cq;
	const struct wire_path *path; /* for this call */
	uint32_t qpn, dest_qpn;
	enum hca_wr_opcode opcode;
	uint32_t bytes;
	/* PSNs that it takes, and so do the answers of a READ; 0: it stays in the adapter. */
	uint32_t first_psn, packets;
	bool answered; /* READ, atomic: it ends with a response, not with an acknowledgement */
};

struct hca_again {
	uint32_t qpn, psn;
	bool is_answer; /* a response to a READ of the other end, @dest_qpn of @path */
	uint32_t dest_qpn;
	const struct wire_path *path; /* for this call */
};

/* Called from inside the device's functions, at the instant, and does not call back into it. The
 * requests of a queue pair end in the order in which they were posted. */
struct hca_watcher {
	void (*on_post)(struct hca_watcher *watcher, const struct hca_posted *posted, ps_t now);
	/* The oldest of @qpn that has not ended does, whether or not there is a completion. */
	void (*on_end)(struct hca_watcher *watcher, uint32_t qpn, enum hca_wc_status status,
		       ps_t now);
	/* A packet of @again->qpn is sent once more, and counts as a retransmission. */
	void (*on_again)(struct hca_watcher *watcher, const struct hca_again *again);
	/* The queue pair is reset or destroyed: what has not ended never will. */
	void (*on_gone)(struct hca_watcher *watcher, uint32_t qpn);
};

/* One at a time; NULL: nobody any more. Before queue pairs are created, of which it is to hear all.
 * The watcher stays the caller's. */
void hca_device_watch(struct hca_device *dev, struct hca_watcher *watcher);

#endif
