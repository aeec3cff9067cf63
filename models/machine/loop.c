/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/loop.h"

#include "models/machine/host.h"
#include "models/machine/packet.h"
#include "sim/order.h"
#include "sim/port.h"
#include "sim/route.h"
#include "util/check.h"

static void machine_loop_arrive(struct sim_local_event *event, void *context)
{
	struct host *host = context;
	struct host_loop *loop = &host->loop;
	struct sim_pkt frame = loop->frames[loop->first];
	uint64_t facts[2];

	CHECK(loop->count > 0);
	loop->first = (loop->first + 1) % HOST_LOOP_FRAMES;
	loop->count--;
	host->loop_open_at = loop->sent_at;
	if (loop->count > 0)
		sim_local_schedule(&host->local, event, loop->frames[loop->first].at);
	packet_body_ops.facts(&frame, facts);
	host->node.digest = sim_digest_arrival(host->node.digest, &frame, host->node.id, facts);
	host_hand_over(host, &frame);
}

void host_loop_init(struct host *host, struct sim_pkt *frames)
{
	host->loop.frames = frames;
	host->loop.event.fn = machine_loop_arrive;
	host->loop.event.phase = SIM_LOCAL_ARRIVAL;
}

void host_loop_send(struct host *host, const struct sim_pkt *frame)
{
	struct host_loop *loop = &host->loop;
	struct sim_pkt *place;

	CHECK(host->loop_open_at <= host->now);
	CHECK(loop->count < HOST_LOOP_FRAMES);
	loop->sent_at = host->now + sim_port_tx_time(host->node.ports, frame->bytes);
	place = &loop->frames[(loop->first + loop->count) % HOST_LOOP_FRAMES];
	*place = *frame;
	place->at = loop->sent_at + host->params.loop_delay;
	if (loop->count++ == 0)
		sim_local_schedule(&host->local, &loop->event, place->at);
	host->loop_open_at = loop->count < HOST_LOOP_FRAMES ? loop->sent_at : PS_NEVER;
}

void host_copy_to_groups(struct host *host, const struct sim_pkt *frame,
			 const struct wire_path *path)
{
	struct sim_pkt copy;

	if (!sim_address_is_mcast(frame->dst) || hca_mcast_count(host->hca, path->dst_ip) == 0)
		return;
	if (packet_body_ops.duplicate(host->th, frame, &copy))
		host_loop_send(host, &copy);
	else
		host_give_up(host);
}
