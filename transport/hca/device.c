/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/device.h"

#include "transport/hca/shared.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>
#include <string.h>

enum { PURPOSE_RKEY = 1, PURPOSE_TIES = 2 };

static uint64_t derive(const struct hca_device *dev, uint64_t purpose, uint64_t index)
{
	const uint64_t words[] = {purpose, index};

	return util_hash_words((struct util_key){dev->key[0], dev->key[1]}, words, 2);
}

struct hca_device *hca_device_create(const struct hca_device_params *params)
{
	const uint32_t priorities =
		params->priority_count > 0 ? params->priority_count : HCA_PRIORITY_COUNT;
	struct hca_device *dev = util_calloc(1, sizeof(*dev) + priorities * sizeof(dev->ready[0]));

	CHECK(priorities <= HCA_PRIORITY_COUNT_MAX);
	if (!dev)
		return NULL;
	CHECK(params->profile.cc != NULL);
	CHECK(params->profile.psn_window > 0);
	CHECK(params->profile.psn_window < 1u << 23);
	CHECK(params->profile.ack_priority < priorities);
	CHECK(params->profile.cnp_priority < priorities);
	dev->priority_count = priorities;
	dev->profile = params->profile;
	dev->selective = params->profile.retransmit == HCA_SELECTIVE;
	dev->restarts = params->profile.retransmit == HCA_GO_BACK_0;
	dev->takes_rtt = params->profile.cc->takes_acks;
	dev->dma = params->dma;
	dev->full_path =
		dev->selective || dev->takes_rtt || hca_framing_is_set(&dev->profile.framing);
	dev->wire_overhead = dev->profile.wire_overhead;
	CHECK(!dev->selective || params->profile.psn_window <= HCA_SELECTIVE_WINDOW_MAX);
	CHECK(!dev->selective ||
	      (params->profile.rto_low > 0 && params->profile.rto_low <= params->profile.rto_high));
	if (!dev->profile.cc_params.line_rate_bps)
		dev->profile.cc_params.line_rate_bps = dev->profile.line_rate_bps;
	dev->psn_window = params->profile.psn_window;
	dev->ack_every = params->profile.ack_every;
	dev->request_ecn = params->profile.cc->listens ? WIRE_ECT0 : WIRE_NOT_ECT;
	dev->observer = params->observer;
	dev->world = params->world;
	dev->room = params->room;
	dev->lender = params->lender;
	dev->key[0] = params->key[0];
	dev->key[1] = params->key[1];
	dev->qpn_slot = params->qpn_slot;
	dev->qpn_slot_bits = params->qpn_slot_bits;
	dev->agenda.wake_at = PS_NEVER;
	for (uint32_t i = 0; i < 4; i++)
		dev->mr_keys[i] = (uint32_t)derive(dev, PURPOSE_RKEY, i);
	dev->paced.key = dev->timers.key = derive(dev, PURPOSE_TIES, 0);
	for (uint32_t i = 0; i < priorities; i++) {
		hca_list_init(&dev->ready[i][0]);
		hca_list_init(&dev->ready[i][1]);
	}
	hca_list_init(&dev->pd_list);
	hca_list_init(&dev->cq_list);
	hca_list_init(&dev->srq_list);
	hca_list_init(&dev->xrcd_list);
	hca_list_init(&dev->mw_list);
	hca_list_init(&dev->dm_list);
	hca_list_init(&dev->mcast_list);
	return dev;
}

void hca_device_set_qpn_slot(struct hca_device *dev, uint32_t slot, uint32_t slot_bits)
{
	CHECK(dev->qps.count == 0);
	CHECK(slot_bits < HCA_QPN_BITS);
	CHECK(slot < 1u << slot_bits);
	dev->qpn_slot = slot;
	dev->qpn_slot_bits = slot_bits;
}

void hca_device_watch(struct hca_device *dev, struct hca_watcher *watcher)
{
	dev->watcher = watcher;
}

void hca_device_destroy(struct hca_device *dev)
{
	if (!dev)
		return;
	hca_qp_destroy_all(dev);
	hca_mw_destroy_all(dev);
	while (!hca_list_is_empty(&dev->srq_list))
		hca_srq_free(dev, container_of(dev->srq_list.next, struct hca_srq, node));
	while (!hca_list_is_empty(&dev->cq_list))
		hca_cq_free(dev, container_of(dev->cq_list.next, struct hca_cq, node));
	while (!hca_list_is_empty(&dev->xrcd_list))
		hca_xrcd_free(dev, container_of(dev->xrcd_list.next, struct hca_xrcd, node));
	hca_mem_fini(dev);
	hca_dm_destroy_all(dev);
	hca_pool_fini(&dev->requesters);
	hca_pool_fini(&dev->responders);
	hca_pool_fini(&dev->regions);
	while (!hca_list_is_empty(&dev->pd_list)) {
		struct hca_pd *pd = container_of(dev->pd_list.next, struct hca_pd, node);

		hca_list_remove(&pd->node);
		util_free(pd);
	}
	util_idmap_fini(&dev->qps);
	util_idmap_fini(&dev->cqs);
	util_idmap_fini(&dev->srqs);
	hca_heap_fini(&dev->paced);
	hca_heap_fini(&dev->timers);
	util_free(dev);
}

const struct hca_counters *hca_device_counters(const struct hca_device *dev)
{
	return &dev->counters;
}

void hca_device_starve(struct hca_device *dev, uint64_t nth, uint64_t count)
{
	dev->starve_after = nth > 0 ? nth - 1 : 0;
	dev->starve_count = count | (dev->starve_count & HCA_STORM);
}

void hca_device_storm(struct hca_device *dev, bool begins)
{
	if (begins)
		dev->starve_count |= HCA_STORM;
	else
		dev->starve_count &= ~HCA_STORM;
}

void hca_device_set_port(struct hca_device *dev, bool is_down)
{
	dev->port_is_down = is_down;
}

bool hca_device_port_is_down(const struct hca_device *dev)
{
	return dev->port_is_down;
}

uint32_t hca_device_qp_count(const struct hca_device *dev)
{
	return dev->qp_count;
}

uint32_t hca_device_priorities(const struct hca_device *dev)
{
	return dev->priority_count;
}

const struct hca_profile *hca_device_profile(const struct hca_device *dev)
{
	return &dev->profile;
}

int hca_pd_create(struct hca_device *dev, struct hca_pd **ret_pd)
{
	struct hca_pd *pd;

	if (dev->pd_count == dev->profile.pd_max)
		return -ENOMEM;
	pd = util_calloc(1, sizeof(*pd));
	if (!pd)
		return -ENOMEM;
	hca_list_add_tail(&dev->pd_list, &pd->node);
	dev->pd_count++;
	*ret_pd = pd;
	return 0;
}

int hca_pd_destroy(struct hca_device *dev, struct hca_pd *pd)
{
	if (pd->use_count)
		return -EBUSY;
	hca_list_remove(&pd->node);
	dev->pd_count--;
	util_free(pd);
	return 0;
}

/* Opcodes besides those of RC that an RC queue pair hears. */
static bool is_of_rc(const struct hca_device *dev, const struct wire_op *op, uint8_t opcode)
{
	return op && opcode >= WIRE_IRN && opcode < WIRE_AGENT && dev->selective;
}

/* Heard in the same states as requests, by who has sent something. */
static __attribute__((noinline, cold)) void cnp_input(struct hca_qp *qp, const struct wire_pkt *pkt,
						      const struct wire_op *op, ps_t now)
{
	struct hca_counters *counters = &qp->dev->counters;

	if (!hca_pkt_is_sound(pkt, op))
		counters->rx_dropped++;
	else if (qp->state < HCA_QPS_RTR || qp->state > HCA_QPS_SQD)
		counters->rx_wrong_state++;
	else
		hca_cnp_on_cnp(qp, now);
}

/* False: for no group, or for none that a queue pair is in. */
static bool mcast_input(struct hca_device *dev, const struct wire_pkt *pkt, const struct hca_rx *rx,
			ps_t now)
{
	const struct wire_op *op = wire_op_find(pkt->opcode);
	bool is_heard = false;

	if (pkt->dest_qpn != HCA_MCAST_QPN || !rx->path)
		return false;
	for (struct hca_list *n = dev->mcast_list.next; n != &dev->mcast_list; n = n->next) {
		const struct hca_member *m = container_of(n, struct hca_member, node);

		if (memcmp(m->ip, rx->path->dst_ip, sizeof(m->ip)) != 0)
			continue;
		is_heard = true;
		hca_unreliable_input(m->qp, pkt, op, *rx, now);
	}
	return is_heard;
}

/* It is for a group of them, or its queue pair is gone, or never was. (@rx as it is, since one that
 * somebody has the address of has to be in memory, for 6 instructions a packet.) */
static __attribute__((noinline, cold)) void
input_unknown(struct hca_device *dev, const struct wire_pkt *pkt, struct hca_rx rx, ps_t now)
{
	if (mcast_input(dev, pkt, &rx, now))
		return;
	dev->counters.rx_unknown_qp++;
	dev->counters.rp_cnp_ignored += pkt->opcode == WIRE_CNP; /* it came too late */
}

void hca_input(struct hca_device *dev, const struct wire_pkt *pkt, const struct hca_rx *rx,
	       ps_t now)
{
	const struct wire_op *op = wire_op_find(pkt->opcode);
	struct wire_pkt as_rc;
	struct hca_qp *qp;

	if (dev->agenda.wake_at <= now)
		hca_sched_wake(dev, now);
	dev->counters.rx_packets++;
	dev->counters.rx_bytes += pkt->length;
	qp = util_idmap_find(&dev->qps, pkt->dest_qpn);
	if (!qp) {
		input_unknown(dev, pkt, *rx, now);
		return;
	}
	if (__builtin_expect(pkt->opcode >= qp->opcodes_end, false)) {
		if (!hca_is_reliable(qp)) {
			hca_unreliable_input(qp, pkt, op, *rx, now);
			return;
		}
		if (op && op->cnp) {
			cnp_input(qp, pkt, op, now);
			return;
		}
		if (qp->type != HCA_QPT_RC) {
			if (!hca_xrc_admits(qp, pkt, op, *rx, &as_rc, now))
				return;
			pkt = &as_rc;
			op = wire_op_find(as_rc.opcode);
			goto admitted;
		}
		if (!is_of_rc(dev, op, pkt->opcode))
			op = NULL;
	}
	if (!hca_pkt_is_sound(pkt, op)) {
		dev->counters.rx_dropped++;
		return;
	}
	if (!(qp->hears & (op->response ? HCA_HEARS_RESPONSES : HCA_HEARS_REQUESTS))) {
		dev->counters.rx_wrong_state++;
		return;
	}
	if (rx->ecn == WIRE_CE)
		hca_cnp_on_ce(qp, now);
admitted: /* each is called from here alone, and so becomes part of this function */
	if (op->request)
		hca_responder_input(qp, pkt, op, now);
	else
		hca_completer_input(qp, pkt, op, now);
}
