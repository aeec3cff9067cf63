/* SPDX-License-Identifier: BSD-2-Clause */

/* What flow control promises: with the computed headroom nothing is dropped whatever the phase,
 * with a frame less something is; pauses last as long as they say; credits never drop, and carry
 * what their buffer holds a round trip. */
#include "models/link/credit.h"
#include "sim/fault.h"
#include "sim/tap.h"
#include "tests/scenario/net.h"
#include "tests/test.h"

#include <string.h>

#define G ((uint64_t)1000000000)
enum { PHASES = 1000, XOFF_FRAMES = 6, STARTS_MAX = 1024 };

/* ---- headroom ---- */

/* Response time and twice the interface delay in bit times (upper bounds of IEEE 802.3 clauses for
 * PFC headroom: 10G 30720 + 2 * 8192, 25G 40960 + 2 * 6144, 40G 60416 + 2 * 24576, 100G 201728 +
 * 2 * 122880; 400G response alone); cable of 5 ns a metre. */
struct line {
	uint64_t rate_bps;
	uint32_t metres, frame_bytes;
	uint64_t response_bits;
};

static const struct line lines[] = {
	{10 * G, 5, 1538, 47104},     {10 * G, 300, 9238, 47104},   {25 * G, 40, 4178, 53248},
	{40 * G, 5, 1538, 109568},    {40 * G, 300, 4178, 109568},  {100 * G, 5, 1106, 447488},
	{100 * G, 100, 9238, 447488}, {100 * G, 300, 4178, 447488}, {400 * G, 100, 4178, 463360},
};

static ps_t response_of(const struct line *line)
{
	return line->response_bits * PS_S / line->rate_bps;
}

static uint32_t headroom_of(const struct line *line)
{
	return pfc_headroom_bytes(&(struct pfc_headroom){.rate_bps = line->rate_bps,
							 .delay = line->metres * 5 * PS_NS,
							 .response_delay = response_of(line),
							 .frame_bytes_max = line->frame_bytes,
							 .lossless_bytes_max = line->frame_bytes});
}

struct outcome {
	uint64_t dropped;
	uint32_t occupancy_max; /* of the shared buffer, by one ingress */
};

struct peak {
	struct sim_tap tap; /* first */
	const struct sim_fc *fc;
	uint32_t port, bytes;
};

/* As the pause leaves, the ingress holds what it ever will. */
static void on_control(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
		       const struct sim_pkt *pkt, ps_t start)
{
	struct peak *peak = (struct peak *)(void *)tap;
	const uint32_t bytes = sim_fc_class(peak->fc, peak->port, 3)->ingress_bytes;

	(void)th;
	(void)port;
	(void)start;
	if (pkt->frame == SIM_CONTROL && bytes > peak->bytes)
		peak->bytes = bytes;
}

/* h0 sends at line rate to h1, which takes next to nothing. From h2 frames go to h0 all the time,
 * so that a pause has to wait for one; they begin @phase of a frame later. */
static struct outcome pause_late(const struct line *line, uint32_t headroom, uint32_t phase)
{
	const ps_t delay = line->metres * 5 * PS_NS;
	const struct net_link links[] = {{"h0", "s0", line->rate_bps, delay},
					 {"h1", "s0", 1000000, delay},
					 {"h2", "s0", line->rate_bps, delay}};
	const struct net_params params = {
		.seed = 1,
		.fc = NET_PFC,
		.pfc = {.buffer_bytes = 12000000, /* a 32-port Trident2 has 12 MB */
			.lossless = 8,
			.xoff_bytes = XOFF_FRAMES * line->frame_bytes,
			.resume_bytes = 2 * line->frame_bytes,
			.headroom_bytes = headroom,
			.response_delay = response_of(line)}};
	const uint32_t after = headroom_of(line) / line->frame_bytes;
	const ps_t frame_time = util_tx_time(line->frame_bytes, line->rate_bps);
	const uint16_t bytes = (uint16_t)line->frame_bytes;
	struct peak peak = {.tap.on_start = on_control};
	struct outcome outcome;
	struct net net;

	net_make(&net, &params, links, 3);
	net_flow(&net, "h0", "h1", XOFF_FRAMES + after + 8, bytes, 0)->answer = false;
	net_flow(&net, "h2", "h0", XOFF_FRAMES + after + 8, bytes, phase * frame_time / PHASES)
		->answer = false;
	net_host(&net, "h2")->flows[0].priority = 0;
	peak.fc = sim_switch_fc(net.switches[0]);
	peak.port = net_port(&net, "h0");
	sim_tap_attach(&peak.tap, &sim_switch_node(net.switches[0])->ports[peak.port]);
	net_run(&net);
	assert_true(sim_fc_gate(sim_switch_fc(net.switches[0]), peak.port)->controls_sent > 0);
	outcome = (struct outcome){net_dropped(&net), peak.bytes};
	net_free(&net);
	return outcome;
}

static void headroom_is_enough_and_a_frame_less_is_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const struct line *line = &lines[i];
		const uint32_t headroom = headroom_of(line);
		uint32_t short_of = 0;

		for (uint32_t phase = 0; phase < PHASES; phase++) {
			const struct outcome enough = pause_late(line, headroom, phase);

			if (enough.dropped > 0)
				fail_msg("line %zu, phase %u: %llu dropped", i, phase,
					 (unsigned long long)enough.dropped);
			assert_in_range(enough.occupancy_max,
					XOFF_FRAMES * line->frame_bytes * 9 / 10,
					(XOFF_FRAMES + 1) * line->frame_bytes);
			short_of +=
				pause_late(line, headroom - line->frame_bytes, phase).dropped > 0;
		}
		if (short_of == 0)
			fail_msg("line %zu: a frame less is enough, too", i);
	}
}

/* The sum in bytes, rounded up; frames with preamble and gap. */
static void headroom_has_its_known_values(void **state)
{
	static const uint32_t bytes[] = {9111,	28198, 16346,  17106, 37136,
					 58857, 86996, 101876, 116360};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_int_equal(headroom_of(&lines[i]), bytes[i]);
}

/* ---- how long a pause lasts ---- */

struct starts {
	struct sim_tap tap; /* first */
	ps_t at[STARTS_MAX];
	uint32_t count, kind; /* enum sim_frame */
};

static void on_start(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
		     const struct sim_pkt *pkt, ps_t start)
{
	struct starts *starts = (struct starts *)(void *)tap;

	(void)th;
	(void)port;
	if (pkt->frame == starts->kind && starts->count < STARTS_MAX)
		starts->at[starts->count++] = start;
}

/* A6: all but the first pause frame are lost, so that it runs out: exactly quanta * 512 bits after
 * it was obeyed the sender goes on. */
static void a_pause_lasts_its_quanta(void **state)
{
	static const uint16_t quanta[] = {100, 333, 4096, 65535};
	const struct line line = {100 * G, 100, 4178, 0};

	(void)state;
	for (size_t i = 0; i < sizeof(quanta) / sizeof(*quanta); i++) {
		const struct net_link links[] = {{"h0", "s0", 100 * G, 500 * PS_NS},
						 {"h1", "s0", 1000000, 500 * PS_NS}};
		const struct net_params params = {.seed = 1,
						  .fc = NET_PFC,
						  .pfc = {.buffer_bytes = 12000000,
							  .lossless = 8,
							  .xoff_bytes = 40000,
							  .resume_bytes = 8356,
							  .headroom_bytes = headroom_of(&line),
							  .quanta = true,
							  .pause_quanta = quanta[i],
							  .response_delay = 300 * PS_NS}};
		const struct sim_fault_params lossy = {
			.from = 4300 * PS_NS, /* the first one leaves at 4,177 */
			.loss_ppb = 1000000000,
			.control = true};
		struct starts data = {.tap.on_start = on_start, .kind = SIM_DATA};
		struct starts pauses = {.tap.on_start = on_start, .kind = SIM_CONTROL};
		struct sim_fault fault;
		struct net net;
		ps_t obeyed, last;
		uint32_t n = 0;

		net_make(&net, &params, links, 2);
		net_flow(&net, "h0", "h1", 40, 4178, 0)->answer = false;
		sim_tap_attach(&data.tap, net_host(&net, "h0")->port);
		sim_tap_attach(&pauses.tap,
			       &sim_switch_node(net.switches[0])->ports[net_port(&net, "h0")]);
		sim_fault_attach(&fault,
				 &sim_switch_node(net.switches[0])->ports[net_port(&net, "h0")],
				 &lossy);
		assert_int_equal(sim_run(net.sim, 20 * PS_MS), 0);
		assert_true(pauses.at[0] < lossy.from);
		/* 84 bytes at 100 Gb/s. */
		obeyed = pauses.at[0] + 6720 + 500 * PS_NS + 300 * PS_NS;
		while (n < data.count && data.at[n] <= obeyed)
			n++;
		assert_true(n < data.count);
		last = data.at[n];
		/* 5120 ps a quantum. */
		assert_true(last == obeyed + (ps_t)quanta[i] * 5120);
		net_free(&net);
	}
}

/* A refresh comes at half the time, so nobody sends in between; a resume is obeyed at its instant.
 */
static void a_pause_is_refreshed_and_taken_back(void **state)
{
	const struct net_link links[] = {{"h0", "s0", 100 * G, 500 * PS_NS},
					 {"h1", "s0", 1 * G, 500 * PS_NS}};
	const struct net_params params = {.seed = 1,
					  .fc = NET_PFC,
					  .pfc = {.buffer_bytes = 12000000,
						  .lossless = 8,
						  .xoff_bytes = 40000,
						  .resume_bytes = 30000,
						  .headroom_bytes = 60000,
						  .quanta = true,
						  .pause_quanta = 1000}};
	struct starts data = {.tap.on_start = on_start, .kind = SIM_DATA};
	struct starts pauses = {.tap.on_start = on_start, .kind = SIM_CONTROL};
	struct net net;
	uint32_t n = 0, last;
	ps_t first, resumed;

	(void)state;
	net_make(&net, &params, links, 2);
	net_flow(&net, "h0", "h1", 40, 4178, 0)->answer = false;
	sim_tap_attach(&data.tap, net_host(&net, "h0")->port);
	sim_tap_attach(&pauses.tap, &sim_switch_node(net.switches[0])->ports[net_port(&net, "h0")]);
	net_run(&net);
	assert_int_equal(net_dropped(&net), 0);
	first = pauses.at[0] + 6720 + 500 * PS_NS;
	while (data.at[n] <= first)
		n++;
	/* From one pause frame to the next 500 quanta, until the one that takes it back. */
	for (last = 1; last < pauses.count; last++)
		if (pauses.at[last] - pauses.at[last - 1] != 500 * 5120)
			break;
	assert_true(last > 20);
	resumed = pauses.at[last] + 6720 + 500 * PS_NS;
	assert_true(data.at[n] == resumed);
	net_free(&net);
}

/* A lane is paused twice, told so again in between, and a third time that is not over. */
static void paused_times_add_up(void **state)
{
	static const struct net_link links[] = {{"h0", "s0", 100 * G, PS_US},
						{"h1", "s0", 100 * G, PS_US}};
	const struct net_params params = {.seed = 1, .buffer_bytes = 1 << 20};
	struct sim_fc *fc;
	struct net net;

	(void)state;
	net_make(&net, &params, links, 2);
	fc = sim_switch_fc(net.switches[0]);
	sim_fc_pause(fc, 1, 3, true, 100);
	sim_fc_pause(fc, 1, 3, true, 120);
	sim_fc_pause(fc, 1, 3, false, 150);
	assert_int_equal(sim_fc_paused_time(fc, 1, 3, 190), 50);
	sim_fc_pause(fc, 1, 3, true, 200);
	sim_fc_pause(fc, 1, 3, false, 207);
	assert_int_equal(sim_fc_paused_time(fc, 1, 3, 300), 57);
	sim_fc_pause(fc, 1, 3, true, 400);
	assert_int_equal(sim_fc_paused_time(fc, 1, 3, 411), 68);
	assert_int_equal(sim_fc_paused_time(fc, 1, 4, 411), 0);
	assert_int_equal(sim_fc_paused_time(fc, 0, 3, 411), 0);
	net_free(&net);
}

/* ---- credits ---- */

/* An update for every frame: floor(B / F) frames a round trip of F, the update and two delays (and
 * what the switch needs to send it on, nothing). */
static void credits_carry_a_buffer_a_round_trip(void **state)
{
	enum { FRAME = 4178, FRAMES = 4000 };
	const ps_t frame_time = util_tx_time(FRAME, 100 * G), round = 334240 + 6720 + 2 * 2 * PS_US;

	(void)state;
	assert_true(frame_time == 334240);
	for (uint32_t frames = 1; frames <= 20; frames++) {
		const struct net_link links[] = {{"h0", "s0", 100 * G, 2 * PS_US},
						 {"h1", "s0", 400 * G, 2 * PS_US}};
		const ps_t gap = round / frames > frame_time ? round / frames : frame_time;
		const struct net_params params = {.seed = 1,
						  .fc = NET_CREDIT,
						  .frame_bytes_max = FRAME,
						  .update_bytes = 1,
						  .buffer_bytes = frames * FRAME + 100};
		struct net net;
		ps_t took;

		net_make(&net, &params, links, 2);
		net_flow(&net, "h0", "h1", FRAMES, FRAME, 0)->answer = false;
		net_run(&net);
		assert_int_equal(net_dropped(&net), 0);
		assert_int_equal(net_host(&net, "h1")->received_packets, FRAMES);
		took = net_host(&net, "h1")->last_at;
		/* 13 frames fill the pipe: 4,340,960 / 334,240 = 12.99. */
		if (took > gap * FRAMES * 1005 / 1000 + 10 * PS_US ||
		    took < gap * (FRAMES - 20) * 995 / 1000)
			fail_msg("%u frames: %llu, expected about %llu", frames,
				 (unsigned long long)took, (unsigned long long)gap * FRAMES);
		net_free(&net);
	}
}

/* Frames that are too long for the switch: what their sender took of its buffer is given back, and
 * those behind them go on. */
static void a_frame_that_is_refused_gives_its_room_back(void **state)
{
	static const struct net_link links[] = {{"h0", "s0", 100 * G, PS_US},
						{"h1", "s0", 100 * G, PS_US}};
	const struct net_params params = {
		.seed = 1,
		.fc = NET_CREDIT,
		.buffer_bytes = 20000,
		.extended = true,
		.more = {.frame_limit = 5000, .frame_bytes_max = NET_FRAME_MAX}};
	struct net net;

	(void)state;
	net_make(&net, &params, links, 2);
	net_flow(&net, "h0", "h1", 100, 9100, 0)->answer = false;
	net_flow(&net, "h0", "h1", 100, 1106, 0)->answer = false;
	net_run(&net);
	assert_int_equal(net_dropped(&net), 100);
	assert_int_equal(net_host(&net, "h1")->received_packets, 100);
	net_free(&net);
}

RUN(T(headroom_is_enough_and_a_frame_less_is_not), T(headroom_has_its_known_values),
    T(a_pause_lasts_its_quanta), T(a_pause_is_refreshed_and_taken_back), T(paused_times_add_up),
    T(credits_carry_a_buffer_a_round_trip), T(a_frame_that_is_refused_gives_its_room_back))
