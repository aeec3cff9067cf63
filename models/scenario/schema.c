/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/schema.h"

#include "models/traffic/traffic.h"
#include "util/check.h"
#include "util/units.h"

#include <stdio.h>
#include <string.h>

enum { LIST_MAX = 10000 }; /* blocks, programs, expectations: more come from files and loads */

#define KB 1000ull
#define KIB 1024ull
#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define MBPS 1000000ull
#define TBPS 1000000000000ull

/* clang-format off */

/* What a switch is, in general and for some of them. */
#define SWITCH_ROWS(P)                                                                             \
	{P ".buffer", SCENARIO_BYTES, "32MiB", KIB, GIB, NULL, .help = "shared by all ports"},    \
	{P ".mode", SCENARIO_WORD, "store_and_forward", 0, 0, "store_and_forward cut_through",    \
	 .help = "when a frame goes on: once it is there, or once its headers are"},              \
	{P ".latency", SCENARIO_TIME, "0s", 0, PS_MS, NULL,                                       \
	 .help = "from the end of a frame (cut_through: of its headers) until it is in its queue"}, \
	{P ".alpha", SCENARIO_RATIO, "1/8", 1, 128000000, NULL,                                   \
	 .help = "pause when a port and priority holds more than this share of what is free"},    \
	{P ".xoff", SCENARIO_BYTES, NULL, 1, GIB, NULL,                                           \
	 .help = "pause at this many bytes instead of a share"},                                  \
	{P ".xon", SCENARIO_BYTES, NULL, 0, GIB, NULL,                                            \
	 .help = "and resume at this many; two frames below xoff by default"},                    \
	{P ".reserve", SCENARIO_BYTES, "0B", 0, GIB, NULL,                                        \
	 .help = "of each port and lossless priority, beside what is shared"},                    \
	{P ".classes", SCENARIO_LIST, NULL, 0, 0, NULL,                                           \
	 .help = "priorities that differ in what they may hold"},                                 \
	{P ".classes[].priorities", SCENARIO_PRIORITIES, NULL, 0, 15, NULL, .help = "which",      \
	 .required = true, .of_fabric = true},                                                                       \
	{P ".classes[].alpha", SCENARIO_RATIO, NULL, 1, 256000000, NULL,                          \
	 .help = "a port may hold this share of what is free; lossless ones pause, others drop"}, \
	{P ".classes[].xoff", SCENARIO_BYTES, NULL, 1, GIB, NULL, .help = "so many bytes instead"}, \
	{P ".classes[].xon", SCENARIO_BYTES, NULL, 0, GIB, NULL,                                  \
	 .help = "and resume at this many; two frames below by default"},                         \
	{P ".classes[].reserve", SCENARIO_BYTES, NULL, 0, GIB, NULL,                              \
	 .help = "of each port, beside what is shared"},                                          \
	{P ".classes[].queue_alpha", SCENARIO_RATIO, NULL, 1, 256000000, NULL,                    \
	 .help = "a queue longer than this share of what is free drops"},                         \
	{P ".ets", SCENARIO_MAP, NULL, 0, 0, NULL,                                                \
	 .help = "priorities that take turns; without it, and in hosts, the highest goes first",  \
	 .block = true},                                                                          \
	{P ".ets.weights", SCENARIO_TEXTS, NULL, 0, 0, NULL,                                      \
	 .help = "a number up to 255 for each priority, from 0 on: their shares; 0: strict",      \
	 .required = true},                                                                       \
	{P ".balance", SCENARIO_WORD, "ecmp", 0, 0,                                               \
	 "ecmp spray flowlet shortest conweave",                                                   \
	 .help = "which of equal ways: one a flow, a packet, a flowlet; the shortest queues; or another "  \
	 "when a flow's is slow, with order restored at the last switch (ConWeave, SIGCOMM 2023)"}, \
	{P ".flowlet_gap", SCENARIO_TIME, "100us", 1, PS_S, NULL,                                 \
	 .help = "so long without a packet begins a flowlet"},                                    \
	{P ".conweave", SCENARIO_MAP, NULL, 0, 0, NULL,                                           \
	 .help = "of balance: conweave; defaults as in its authors' simulations of two tiers"},   \
	{P ".conweave.reply", SCENARIO_TIME, "4us", 0, PS_S, NULL,                                \
	 .help = "an answer that takes so much longer than the quickest so far is late"},         \
	{P ".conweave.path_busy", SCENARIO_TIME, "16us", 0, PS_S, NULL,                           \
	 .help = "a way is not taken so long after a frame that came by it was marked"},          \
	{P ".conweave.resume", SCENARIO_TIME, "200us", PS_NS, PS_S, NULL,                         \
	 .help = "frames are not kept longer than this after the last of the old way"},           \
	{P ".conweave.inactive", SCENARIO_TIME, "300us", PS_NS, PS_S, NULL,                       \
	 .help = "a flow without a frame for so long begins anew, by any way"},                   \
	{P ".conweave.flows", SCENARIO_COUNT, "32768", 64, 1u << 20, NULL,                        \
	 .help = "flows that a switch knows at once (its authors' Tofino2 program: 65536); others stay on their " \
	 "way, and arrive as they come: reroutes.untracked counts their frames"},                 \
	{P ".mtu", SCENARIO_COUNT, NULL, 68, 65000, NULL,                                         \
	 .help = "bytes of an IP packet; longer ones are dropped"},                               \
	{P ".dscp", SCENARIO_LIST, NULL, 0, 0, NULL,                                              \
	 .help = "priorities by DSCP, as hosts send it (nic.dscp); of others DSCP / 8"},           \
	{P ".dscp[].values", SCENARIO_TEXTS, NULL, 0, 0, NULL, .help = "a list of DSCPs, 0 to 63", \
	 .required = true},                                                                       \
	{P ".dscp[].priority", SCENARIO_COUNT, NULL, 0, 7, NULL, .help = "their queue here",      \
	 .required = true},                                                                       \
	{P ".pcp", SCENARIO_LIST, NULL, 0, 0, NULL,                                               \
	 .help = "instead of dscp, with nic.vlan: priorities by the PCP of the tag; of others that PCP"}, \
	{P ".pcp[].values", SCENARIO_PRIORITIES, NULL, 0, 7, NULL, .help = "a list of PCPs, 0 to 7", \
	 .required = true},                                                                       \
	{P ".pcp[].priority", SCENARIO_COUNT, NULL, 0, 7, NULL, .help = "their queue here",       \
	 .required = true},                                                                       \
	{P ".ecn", SCENARIO_MAP, NULL, 0, 0, NULL, .help = "marks congestion; without it nothing is marked", \
	 .block = true},                                                                          \
	{P ".ecn.kmin", SCENARIO_BYTES, "400KB", 0, GIB, NULL, .help = "no mark up to this queue"}, \
	{P ".ecn.kmax", SCENARIO_BYTES, "1600KB", 0, GIB, NULL,                                   \
	 .help = "always a mark above this queue"},                                               \
	{P ".ecn.mark", SCENARIO_WORD, "dequeue", 0, 0, "dequeue enqueue",                        \
	 .help = "by the queue that a frame leaves behind, or by the one that it finds"},         \
	{P ".ecn.pmax", SCENARIO_RATIO, "20%", 0, 1000000, NULL, .help = "chance of a mark at kmax"}, \
	{P ".pfc", SCENARIO_MAP, NULL, 0, 0, NULL,                                                \
	 .help = "pauses by priority; without it a full buffer drops", .block = true},            \
	{P ".pfc.priorities", SCENARIO_PRIORITIES, "3", 0, 7, NULL, .help = "that lose nothing"}, \
	{P ".pfc.headroom", SCENARIO_BYTES, "auto", 1, GIB, "auto",                               \
	 .help = "of each port and priority; auto: what can still come, by the link"},            \
	{P ".pfc.headroom_pool", SCENARIO_BYTES, NULL, 1, GIB, NULL,                              \
	 .help = "that all headrooms share; by default each has its own"},                        \
	{P ".pfc.mode", SCENARIO_WORD, "resume", 0, 0, "resume quanta",                           \
	 .help = "resume: a pause lasts until it is taken back; quanta: it runs out after 65535 quanta and is " \
	 "refreshed at half of that"}, \
	{P ".pfc.response_delay", SCENARIO_TIME, "0s", 0, PS_MS, NULL,                            \
	 .help = "until the other end obeys, interfaces included"},                               \
	{P ".pfc.watchdog", SCENARIO_MAP, NULL, 0, 0, NULL, .help = "for pauses without end",     \
	 .block = true},                                                                          \
	{P ".pfc.watchdog.detection", SCENARIO_TIME, "200ms", 1, 1000 * PS_S, NULL,               \
	 .help = "a port and priority with frames that is paused for so long is in a storm"},     \
	{P ".pfc.watchdog.restoration", SCENARIO_TIME, "200ms", 1, 1000 * PS_S, NULL,             \
	 .help = "without a pause for so long it is well again"},                                 \
	{P ".pfc.watchdog.poll", SCENARIO_TIME, "200ms", 1, 1000 * PS_S, NULL,                    \
	 .help = "between two looks"},                                                            \
	{P ".pfc.watchdog.action", SCENARIO_WORD, "drop", 0, 0, "drop forward",                   \
	 .help = "in a storm: frames are dropped, or sent in spite of pauses"},                   \
	{P ".credit", SCENARIO_MAP, NULL, 0, 0, NULL, .help = "credits instead of pauses",        \
	 .block = true},                                                                          \
	{P ".credit.buffer", SCENARIO_BYTES, "64KiB", KIB, GIB, NULL,                             \
	 .help = "of each port and priority, at both ends of a link; an update goes back when a quarter " \
	 "of it is free again"},                                                                  \
	{P ".credit.classes", SCENARIO_LIST, NULL, 0, 0, NULL,                                    \
	 .help = "priorities whose buffer is another"},                                           \
	{P ".credit.classes[].priorities", SCENARIO_PRIORITIES, NULL, 0, 15, NULL, .help = "which", \
	 .required = true, .of_fabric = true},                                                                       \
	{P ".credit.classes[].buffer", SCENARIO_BYTES, NULL, KIB, GIB, NULL,                      \
	 .help = "of each port", .required = true},                                               \
	{P ".credit.response_delay", SCENARIO_TIME, "0s", 0, PS_MS, NULL,                         \
	 .help = "until the other end knows"}

static const struct scenario_row rows[] = {
	{"version", SCENARIO_COUNT, NULL, 1, 1, NULL, .help = "of this format", .required = true},
	{"name", SCENARIO_NAME, NULL, 0, 0, NULL, .help = "of the run; the file's by default"},
	{"seed", SCENARIO_COUNT, "1", 0, 0, NULL, .help = "of everything random; --seed goes before it"},
	{"until", SCENARIO_TIME, NULL, 1, 1000 * PS_S, NULL,
	 .help = "end of the run; without it, when nothing is left to do"},
	{"oob_delay", SCENARIO_TIME, "20us", 1, PS_S, NULL,
	 .help = "of what programs tell each other out of band"},
	{"memory", SCENARIO_BYTES, "4GiB", 64 * KIB, 1024 * GIB, NULL,
	 .help = "for packets under way, of all hosts; a run that needs more ends there, with status 3"},

	{"priorities", SCENARIO_WORD, "8", 0, 0, "8 16",
	 .help = "of the fabric. 16, as InfiniBand has virtual lanes: with switch.credit, or where nothing is "
	 "lossless, for PFC, PCP and DSCP know eight"},

	{"profiles", SCENARIO_TEXTS, NULL, 0, 0, NULL,
	 .help = "known switches and adapters, whose keys hold where the scenario says nothing: verbena "
	 "profiles"},

	{"topology", SCENARIO_MAP, NULL, 0, 0, NULL,
	 .help = "a kind, a file, or lists of hosts, switches and links", .required = true},
	{"topology.kind", SCENARIO_WORD, NULL, 0, 0,
	 "star leaf_spine fat_tree clos rail dumbbell torus dragonfly full_mesh",
	 .help = "star: hosts h0.. on s0; leaf_spine: h0.. on leaf0.., each joined to each of spine0..; "
	 "fat_tree: k pods; clos: three tiers of any width; rail: the NICs of a rail share a leaf; "
	 "dumbbell: two switches and one link; torus, dragonfly, full_mesh: hosts on every switch (with "
	 "PFC the loops of a torus, dragonfly or mesh can deadlock)"},
	{"topology.file", SCENARIO_FILE, NULL, 0, 0, NULL,
	 .help = "a topology.txt of the HPCC simulator, in which node 5 is called n5, or a .topo of htsim"},
	{"topology.format", SCENARIO_WORD, NULL, 0, 0, "auto hpcc htsim",
	 .help = "of the file; auto, as by default: by its first word", .reading = true},
	{"topology.hosts", SCENARIO_NAMES, NULL, 0, 0, NULL,
	 .help = "star: how many; without a kind: their names"},
	{"topology.switches", SCENARIO_NAMES, NULL, 0, 0, NULL,
	 .help = "full_mesh: how many; without a kind: their names"},
	{"topology.nics", SCENARIO_COUNT, "1", 1, TOPOLOGY_NICS_MAX, NULL,
	 .help = "adapters a machine, each with a link of its own to the same switch: h0, which is also "
	 "h0.nic0, h0.nic1 ...; rail: as many as rails, and server S is the machine hS"},
	{"topology.leaves", SCENARIO_COUNT, NULL, 1, 16384, NULL,
	 .help = "leaf_spine: leaf switches; clos: p0e0.. of a pod"},
	{"topology.spines", SCENARIO_COUNT, NULL, 1, 16384, NULL,
	 .help = "leaf_spine, rail: spine switches; clos: p0a0.. of a pod"},
	{"topology.hosts_per_leaf", SCENARIO_COUNT, NULL, 1, 16384, NULL, .help = "leaf_spine, clos"},
	{"topology.oversubscription", SCENARIO_RATIO, NULL, 1000, 1000000000, NULL,
	 .help = "leaf_spine, rail: what a leaf's hosts can send, over what its links to spines carry "
	 "(2:1); gives the spines, or beside spines the fabric_rate"},
	{"topology.pods", SCENARIO_COUNT, NULL, 1, 4096, NULL, .help = "clos"},
	{"topology.cores", SCENARIO_COUNT, NULL, 1, 65536, NULL,
	 .help = "clos: each spine of a pod is joined to its share of them"},
	{"topology.servers", SCENARIO_COUNT, NULL, 1, 65536, NULL, .help = "rail: servers"},
	{"topology.rails", SCENARIO_COUNT, NULL, 1, 64, NULL,
	 .help = "rail: NICs of a server; that of server 2 on rail 5 is the host h2g5"},
	{"topology.servers_per_unit", SCENARIO_COUNT, NULL, 1, 16384, NULL,
	 .help = "rail: servers that share leaves (su0r0: unit 0, rail 0); all by default"},
	{"topology.hosts_per_switch", SCENARIO_COUNT, "1", 1, 16384, NULL,
	 .help = "dumbbell, torus, full_mesh"},
	{"topology.dims", SCENARIO_COUNTS, NULL, 2, 1024, NULL,
	 .help = "torus: two or three sizes, [4, 4, 2]; switch s0_0_0.."},
	{"topology.a", SCENARIO_COUNT, NULL, 1, 1024, NULL,
	 .help = "dragonfly: routers of a group, g0r0..; 2 h by default"},
	{"topology.p", SCENARIO_COUNT, NULL, 1, 1024, NULL,
	 .help = "dragonfly: hosts of a router; h by default"},
	{"topology.h", SCENARIO_COUNT, NULL, 1, 1024, NULL,
	 .help = "dragonfly: links of a router to other groups"},
	{"topology.groups", SCENARIO_COUNT, NULL, 2, 1048577, NULL,
	 .help = "dragonfly: groups; a h + 1 by default, which is the most"},
	{"topology.k", SCENARIO_COUNT, NULL, 2, 64, NULL,
	 .help = "fat_tree: ports of a switch, even; k*k*k/4 hosts"},
	{"topology.host_rate", SCENARIO_RATE, "100Gbps", MBPS, 10 * TBPS, NULL,
	 .help = "of a kind's links to hosts"},
	{"topology.fabric_rate", SCENARIO_RATE, "100Gbps", MBPS, 10 * TBPS, NULL,
	 .help = "of a kind's links between switches"},
	{"topology.delay", SCENARIO_TIME, "1us", 1, PS_S, NULL, .help = "of each of a kind's links, one way"},
	{"topology.links", SCENARIO_LIST, NULL, 0, 0, NULL, .help = "without a kind"},
	{"topology.links[].a", SCENARIO_NAMES, NULL, 0, 0, NULL,
	 .help = "one end; of several names each is joined to each of b", .required = true},
	{"topology.links[].b", SCENARIO_NAMES, NULL, 0, 0, NULL, .help = "the other end", .required = true},
	{"topology.links[].port_a", SCENARIO_NAME, NULL, 0, 0, NULL,
	 .help = "name of a's port; with port_b: the link is called A.port_a-B.port_b"},
	{"topology.links[].port_b", SCENARIO_NAME, NULL, 0, 0, NULL, .help = "name of b's port"},
	{"topology.links[].rate", SCENARIO_RATE, "100Gbps", MBPS, 10 * TBPS, NULL, .help = "both ways"},
	{"topology.links[].delay", SCENARIO_TIME, "1us", 1, PS_S, NULL, .help = "one way"},
	{"topology.links[].error", SCENARIO_CHANCE_PPT, "0", 0, 1000000000, NULL,
	 .help = "chance of each bit to be wrong, up to 0.001"},

	{"routing", SCENARIO_MAP, NULL, 0, 0, NULL, .help = "beside shortest ways and ECMP"},
	{"routing.weighted", SCENARIO_WORD, "no", 0, 0, "no yes",
	 .help = "ECMP takes ports by their rates"},
	{"routing.hash", SCENARIO_WORD, "own", 0, 0, "own same",
	 .help = "by which ECMP chooses: one of its own for each switch, or the same for all"},
	{"routing.reconverge", SCENARIO_TIME, "off", 0, 1000 * PS_S, "off",
	 .help = "so long after the ends of a link between switches have noticed that it is down, or up "
	 "again, all switches have the shortest ways without it, or with it; off: only its ends avoid it"},
	{"routing.ways", SCENARIO_LIST, NULL, 0, 0, NULL,
	 .help = "ways that are not the shortest, loops among them"},
	{"routing.ways[].at", SCENARIO_NODE, NULL, 0, 0, NULL, .help = "a switch sends",
	 .required = true},
	{"routing.ways[].to", SCENARIO_NODE, NULL, 0, 0, NULL,
	 .help = "what is for this host, and for all hosts of its switch, or of this switch",
	 .required = true},
	{"routing.ways[].via", SCENARIO_NODE, NULL, 0, 0, NULL, .help = "to this neighbour",
	 .required = true},

	{"switch", SCENARIO_MAP, NULL, 0, 0, NULL, .help = "every switch"},
	SWITCH_ROWS("switch"),
	{"switches", SCENARIO_LIST, NULL, 0, 0, NULL,
	 .help = "some switches, which differ from the others in these keys"},
	{"switches[].names", SCENARIO_NAMES, NULL, 0, 0, NULL, .help = "of the switches",
	 .required = true},
	SWITCH_ROWS("switches[]"),

	{"nic", SCENARIO_MAP, NULL, 0, 0, NULL, .help = "every host's adapter"},
	{"nic.mtu", SCENARIO_WORD, "4096", 0, 0, "256 512 1024 2048 4096 1000",
	 .help = "payload of a packet; 1000 with headers: ns3 only"},
	{"nic.cc", SCENARIO_WORD, "none", 0, 0, "none dcqcn dcqcn_hpcc dcqcn_nv timely timely_patched swift "
	 "dctcp hpcc",
	 .help = "congestion control: DCQCN as in the paper, as in the HPCC simulator, as NVIDIA's adapters "
	 "have it; by round trips; by marks on ACKs"},
	{"nic.cc_params", SCENARIO_MAP, NULL, 0, 0, NULL, .help = "of nic.cc, by their published names"},
	{"nic.cc_params.min_rate", SCENARIO_RATE, NULL, 1, 10 * TBPS, NULL,
	 .help = "dcqcn, dcqcn_hpcc, timely, timely_patched, dctcp, hpcc: never below"},
	{"nic.cc_params.rate_ai", SCENARIO_RATE, NULL, 0, 10 * TBPS, NULL,
	 .help = "dcqcn, dcqcn_hpcc, dctcp: additive step"},
	{"nic.cc_params.rate_hai", SCENARIO_RATE, NULL, 0, 10 * TBPS, NULL,
	 .help = "dcqcn, dcqcn_hpcc: hyper step"},
	{"nic.cc_params.g_shift", SCENARIO_COUNT, NULL, 1, 16, NULL,
	 .help = "dcqcn, dcqcn_hpcc (8), dctcp (4): g is 2 to the power of minus this"},
	{"nic.cc_params.alpha_period", SCENARIO_TIME, NULL, PS_NS, PS_S, NULL,
	 .help = "dcqcn, dcqcn_hpcc: of the decay of alpha"},
	{"nic.cc_params.increase_period", SCENARIO_TIME, NULL, PS_NS, PS_S, NULL,
	 .help = "dcqcn, dcqcn_hpcc: of the increase timer"},
	{"nic.cc_params.decrease_period", SCENARIO_TIME, NULL, PS_NS, PS_S, NULL,
	 .help = "dcqcn_hpcc: between two cuts"},
	{"nic.cc_params.byte_counter", SCENARIO_BYTES, NULL, KB, GIB, NULL,
	 .help = "dcqcn: bytes of a stage"},
	{"nic.cc_params.fast_recovery", SCENARIO_COUNT, NULL, 0, 1000, NULL,
	 .help = "dcqcn, dcqcn_hpcc: stages of it"},
	{"nic.cc_params.clamp_tgt_rate", SCENARIO_COUNT, "0", 0, 1, NULL,
	 .help = "dcqcn_nv: the target falls with every cut"},
	{"nic.cc_params.clamp_tgt_rate_after_time_inc", SCENARIO_COUNT, "1", 0, 1, NULL,
	 .help = "dcqcn_nv: and after an increase by the timer"},
	{"nic.cc_params.rpg_time_reset", SCENARIO_TIME, "300us", PS_NS, PS_S, NULL,
	 .help = "dcqcn_nv: increase timer"},
	{"nic.cc_params.rpg_byte_reset", SCENARIO_COUNT, "32767", 0, 32767, NULL,
	 .help = "dcqcn_nv: byte counter, in 64 bytes; 0: none"},
	{"nic.cc_params.rpg_threshold", SCENARIO_COUNT, "1", 1, 31, NULL,
	 .help = "dcqcn_nv: stages of fast recovery"},
	{"nic.cc_params.rpg_max_rate", SCENARIO_RATE, NULL, MBPS, 10 * TBPS, NULL,
	 .help = "dcqcn_nv: never above; that of the link by default"},
	{"nic.cc_params.rpg_ai_rate", SCENARIO_RATE, "5Mbps", 0, 10 * TBPS, NULL,
	 .help = "dcqcn_nv: additive step"},
	{"nic.cc_params.rpg_hai_rate", SCENARIO_RATE, "50Mbps", 0, 10 * TBPS, NULL,
	 .help = "dcqcn_nv: hyper step"},
	{"nic.cc_params.rpg_gd", SCENARIO_COUNT, "11", 10, 15, NULL,
	 .help = "dcqcn_nv: a cut takes alpha (in 1/1024) shifted right by this"},
	{"nic.cc_params.rpg_min_dec_fac", SCENARIO_COUNT, "50", 1, 100, NULL,
	 .help = "dcqcn_nv: percent that a cut leaves at least"},
	{"nic.cc_params.rpg_min_rate", SCENARIO_RATE, "1Mbps", 1, 10 * TBPS, NULL,
	 .help = "dcqcn_nv: never below"},
	{"nic.cc_params.rate_to_set_on_first_cnp", SCENARIO_RATE, NULL, MBPS, 10 * TBPS, NULL,
	 .help = "dcqcn_nv: as it is by default"},
	{"nic.cc_params.dce_tcp_g", SCENARIO_COUNT, "1019", 0, 1024, NULL,
	 .help = "dcqcn_nv: 1024ths of alpha that stay each period"},
	{"nic.cc_params.dce_tcp_rtt", SCENARIO_TIME, "1us", PS_NS, PS_S, NULL,
	 .help = "dcqcn_nv: that period"},
	{"nic.cc_params.rate_reduce_monitor_period", SCENARIO_TIME, "4us", 0, PS_S, NULL,
	 .help = "dcqcn_nv: between two cuts at least"},
	{"nic.cc_params.initial_alpha_value", SCENARIO_COUNT, "1023", 0, 1023, NULL,
	 .help = "dcqcn_nv: alpha at the first CNP, in 1/1024"},
	{"nic.cc_params.base_rtt", SCENARIO_TIME, NULL, PS_NS, PS_S, NULL,
	 .help = "hpcc: T; the longest idle round trip by default"},
	{"nic.cc_params.eta", SCENARIO_RATIO, "0.95", 1, 1000000, NULL,
	 .help = "hpcc: use of a link to aim at"},
	{"nic.cc_params.max_stage", SCENARIO_COUNT, "0", 0, 1000, NULL,
	 .help = "hpcc: additive steps in a row; 0 in the published figures, 5 in the text"},
	{"nic.cc_params.w_ai", SCENARIO_BYTES, NULL, 1, MIB, NULL,
	 .help = "hpcc: additive step; first window * 5% / 100 by default"},
	{"nic.cc_params.t_low", SCENARIO_TIME, "50us", PS_NS, PS_S, NULL,
	 .help = "timely, timely_patched: below it the rate always grows"},
	{"nic.cc_params.t_high", SCENARIO_TIME, "500us", PS_NS, PS_S, NULL,
	 .help = "timely, timely_patched: above it the rate always falls"},
	{"nic.cc_params.min_rtt", SCENARIO_TIME, "20us", PS_NS, PS_S, NULL,
	 .help = "timely, timely_patched: unit of the gradient"},
	{"nic.cc_params.delta", SCENARIO_RATE, "10Mbps", 1, 10 * TBPS, NULL,
	 .help = "timely, timely_patched: additive step"},
	{"nic.cc_params.ewma_alpha", SCENARIO_RATIO, "0.875", 1, 1000000, NULL,
	 .help = "timely, timely_patched: weight of a new difference"},
	{"nic.cc_params.beta", SCENARIO_RATIO, NULL, 1, 1000000, NULL,
	 .help = "timely (0.8), timely_patched (0.008), swift (0.8): of a decrease"},
	{"nic.cc_params.hai_after", SCENARIO_COUNT, "5", 1, 1000, NULL,
	 .help = "timely: steps until hyper increase, which is so many steps"},
	{"nic.cc_params.segment", SCENARIO_BYTES, "16KB", 1, GIB, NULL,
	 .help = "timely, timely_patched: acknowledged between two updates"},
	{"nic.cc_params.base_target", SCENARIO_TIME, NULL, PS_NS, PS_S, NULL,
	 .help = "swift: target delay; 1.5 of the longest idle round trip by default"},
	{"nic.cc_params.fs_range", SCENARIO_TIME, NULL, 0, PS_S, NULL,
	 .help = "swift: what small windows add to it at most; an idle round trip by default"},
	{"nic.cc_params.ai", SCENARIO_RATIO, "1", 1, 1000000000, NULL,
	 .help = "swift: packets that a round trip adds"},
	{"nic.cc_params.max_mdf", SCENARIO_RATIO, "0.5", 1, 1000000, NULL,
	 .help = "swift: largest decrease at once"},
	{"nic.cc_params.fs_min_cwnd", SCENARIO_RATIO, "0.1", 1000, 4096000000, NULL,
	 .help = "swift: window with all of fs_range"},
	{"nic.cc_params.fs_max_cwnd", SCENARIO_RATIO, "100", 1000, 4096000000, NULL,
	 .help = "swift: window with nothing of fs_range, and the first"},
	{"nic.cc_params.min_cwnd", SCENARIO_RATIO, "0.001", 1000, 4096000000, NULL,
	 .help = "swift: packets; below one they are paced"},
	{"nic.cc_params.max_cwnd", SCENARIO_RATIO, "4096", 1000, 4096000000, NULL,
	 .help = "swift: packets"},
	{"nic.cnp_interval", SCENARIO_TIME, "auto", 0, PS_S, "auto",
	 .help = "between two CNPs of a queue pair; auto: 50us, for dcqcn_hpcc and dcqcn_nv 4us"},
	{"nic.cnp_marks", SCENARIO_WORD, "forget", 0, 0, "forget keep",
	 .help = "that come less than cnp_interval after a CNP: make none, or make one at its end, as the paper of "
	 "DCQCN says"},
	{"nic.cnp_gaps", SCENARIO_WORD, "no", 0, 0, "no yes",
	 .help = "a packet that comes before its turn makes a CNP, too, as adapters do (Song et al., SIGCOMM 2023)"},
	{"nic.statuses", SCENARIO_WORD, "hardware", 0, 0, "hardware rxe",
	 .help = "of completions that fail: a message too long for its receive, for instance, gives the receiver "
	 "LOC_LEN_ERR on adapters, REM_INV_REQ_ERR on the kernel's rxe"},
	{"nic.cnp_priority", SCENARIO_COUNT, "6", 0, 15, NULL, .help = "of CNPs", .of_fabric = true},
	{"nic.ack_every", SCENARIO_COUNT, "auto", 1, 1u << 23, "message auto",
	 .help = "an ACK at least every so many packets; message: at its end only; auto: 64, but 1 with retransmit: "
	 "selective and where cc goes by ACKs (timely, timely_patched, swift, dctcp, hpcc)"},
	{"nic.ack_priority", SCENARIO_COUNT, "data", 0, 15, "data", .help = "of ACKs; data: as the data",
	 .of_fabric = true},
	{"nic.window", SCENARIO_COUNT, "1048576", 1, (1u << 23) - 1, NULL,
	 .help = "packets without an ACK that a queue pair may have; with selective by default what fits into "
	 "the longest round trip"},
	{"nic.qp", SCENARIO_WORD, "per-flow", 0, 0, "per-flow per-pair",
	 .help = "per-flow: each a fresh queue pair; per-pair: flows of one source, destination and priority "
	 "share one, in the order of their starts"},
	{"nic.headers", SCENARIO_WORD, "roce", 0, 0, "roce ns3",
	 .help = "what packets take on links besides their payload; ns3: as in the simulator of the HPCC "
	 "authors, 48 bytes of data and 60 of ACKs, without preamble and gap"},
	{"nic.transport", SCENARIO_WORD, "rc", 0, 0, "rc uc",
	 .help = "of flows; uc: nothing is acknowledged or sent again, a flow ends when it is there, and "
	 "one that lacks a packet is lost"},
	{"nic.retransmit", SCENARIO_WORD, "go_back_n", 0, 0, "go_back_n go_back_0 selective",
	 .help = "after a loss: from the lost packet on; the whole message anew; or the lost packets "
	 "alone, with a NAK for each that comes before its turn (IRN)"},
	{"nic.rto_low", SCENARIO_TIME, "100us", PS_NS, PS_S, NULL,
	 .help = "selective: timeout with at most three packets under way"},
	{"nic.rto_high", SCENARIO_TIME, "320us", PS_NS, PS_S, NULL,
	 .help = "selective: and with more"},
	{"nic.timeout", SCENARIO_COUNT, "14", 0, 31, NULL,
	 .help = "of flows: 4.096us * 2^N until a packet is sent again (after twice that); 0: never"},
	{"nic.retries", SCENARIO_COUNT, "7", 0, 7, NULL, .help = "of flows, before they fail"},
	{"nic.ttl", SCENARIO_COUNT, "64", 1, 255, NULL, .help = "of flows: switches that a packet may pass"},
	{"nic.ip", SCENARIO_WORD, "4", 0, 0, "4 6", .help = "version"},
	{"nic.vlan", SCENARIO_COUNT, "0", 0, 4094, NULL,
	 .help = "802.1Q tag of all that hosts send, with its priority as PCP: 4 bytes more a packet; 0: none"},
	{"nic.dscp", SCENARIO_TEXTS, NULL, 0, 0, NULL,
	 .help = "eight DSCPs, 0 to 63, of what hosts send in priorities 0 to 7; by default 8 times the priority"},
	{"nic.loop_delay", SCENARIO_TIME, "100ns", 1, PS_MS, NULL,
	 .help = "of what a host sends to itself, besides its time on the wire"},
	{"nic.rx", SCENARIO_MAP, NULL, 0, 0, NULL, .help = "hosts that take what they receive slowly",
	 .block = true},
	{"nic.rx.hosts", SCENARIO_NAMES, NULL, 0, 0, NULL, .help = "which; all by default"},
	{"nic.rx.rate", SCENARIO_RATE, "100Gbps", MBPS, 10 * TBPS, NULL, .help = "at this rate"},
	{"nic.rx.buffer", SCENARIO_BYTES, "256KiB", 16 * KIB, GIB, NULL,
	 .help = "where it waits; headroom comes on top"},
	{"nic.rx.xoff", SCENARIO_BYTES, "128KiB", KIB, GIB, NULL,
	 .help = "pause when so much of a lossless priority waits"},
	{"nic.rx.mtt_entries", SCENARIO_COUNT, "0", 0, 1u << 24, NULL,
	 .help = "pages whose translations are at hand; 0: all"},
	{"nic.rx.page", SCENARIO_BYTES, "4KiB", 4 * KIB, GIB, NULL, .help = "a power of two"},
	{"nic.rx.memory", SCENARIO_BYTES, NULL, 4 * KIB, (uint64_t)1 << 50, NULL,
	 .help = "what is received goes to pages of so much memory, at random; by default each page is another one"},
	{"nic.rx.mtt_miss", SCENARIO_TIME, "1us", 0, PS_MS, NULL,
	 .help = "what another page costs"},
	{"nic.profile", SCENARIO_WORD, "generic", 0, 0, "generic none",
	 .help = "what the calls of programs cost; none: nothing"},

	{"traffic", SCENARIO_LIST, NULL, 0, 0, NULL, .count_max = LIST_MAX,
	 .help = "blocks of flows, each one RDMA WRITE; at most 10000"},
	{"traffic[].class", SCENARIO_NAME, NULL, 0, 0, NULL,
	 .help = "name in the results; that of the pattern by default"},
	{"traffic[].pattern", SCENARIO_WORD, NULL, 0, 0, "incast permutation all_to_all ring",
	 .help = "incast: each of from to to; permutation: each of hosts to another, by the seed; "
	 "all_to_all: each to each; ring: each to the next by name"},
	{"traffic[].file", SCENARIO_FILE, NULL, 0, 0, NULL,
	 .help = "instead of a pattern: a flow.txt of the HPCC simulator (PowerTCP, ConWeave) or a .cm of "
	 "htsim"},
	{"traffic[].format", SCENARIO_WORD, NULL, 0, 0, "auto hpcc htsim",
	 .help = "of the file; auto, as by default: by its first word", .reading = true},
	{"traffic[].load", SCENARIO_RATIO, NULL, 1, 2000000, NULL,
	 .help = "instead of a pattern: each of hosts sends to the others, at random, this share of the "
	 "rate of its link in payload, in flows of size or cdf"},
	{"traffic[].cdf", SCENARIO_FILE, NULL, 0, 0, NULL,
	 .help = "of a load's sizes: websearch, fb_hadoop, alistorage2019, solar2022, google_rpc, or a file "
	 "of lines BYTES PERCENT"},
	{"traffic[].until", SCENARIO_TIME, NULL, 1, 1000 * PS_S, NULL,
	 .help = "load: flows start before then; the scenario's until by default"},
	{"traffic[].stream", SCENARIO_WORD, "auto", 0, 0, "auto always never",
	 .help = "load: whether its flows are made when they start and forgotten when they have ended, so "
	 "that memory does not depend on how many there are; auto: where more than 100000 are expected",
	 .reading = true},
	{"traffic[].to", SCENARIO_NAMES, NULL, 0, 0, NULL, .help = "incast: the one that gets it all"},
	{"traffic[].from", SCENARIO_NAMES, NULL, 0, 0, NULL, .help = "incast; all others by default"},
	{"traffic[].hosts", SCENARIO_NAMES, NULL, 0, 0, NULL,
	 .help = "of other patterns and of loads; all by default"},
	{"traffic[].rails", SCENARIO_WORD, "no", 0, 0, "no yes",
	 .help = "of a pattern: it is over machines, once on each rail, between their adapters of one "
	 "number"},
	{"traffic[].size", SCENARIO_BYTES, NULL, 1, TRAFFIC_BYTES_MAX, NULL,
	 .help = "of a flow; patterns need it, and loads without cdf"},
	{"traffic[].start", SCENARIO_TIME, "0s", 0, 1000 * PS_S, NULL,
	 .help = "of a flow; of a file's, later by this"},
	{"traffic[].spread", SCENARIO_TIME, "0s", 0, 1000 * PS_S, NULL,
	 .help = "starts are up to this much later, by the seed"},
	{"traffic[].repeat", SCENARIO_COUNT, "1", 1, 1000000, NULL, .help = "so often"},
	{"traffic[].every", SCENARIO_TIME, "0s", 0, 1000 * PS_S, NULL, .help = "one after another"},
	{"traffic[].priority", SCENARIO_COUNT, "3", 0, 15, NULL,
	 .help = "of the flows, where a file does not say", .of_fabric = true},

	{"programs", SCENARIO_LIST, NULL, 0, 0, NULL, .count_max = LIST_MAX,
	 .help = "verbs programs on hosts; at most 10000"},
	{"programs[].run", SCENARIO_TEXT, NULL, 0, 0, NULL, .help = "the program", .required = true},
	{"programs[].name", SCENARIO_NAME, NULL, 0, 0, NULL, .help = "in the results; run by default"},
	{"programs[].hosts", SCENARIO_NAMES, NULL, 0, 0, NULL, .help = "of rank 0, 1, ...",
	 .required = true},
	{"programs[].args", SCENARIO_TEXTS, NULL, 0, 0, NULL, .help = "given to it"},
	{"programs[].start", SCENARIO_TIME, "0s", 0, 1000 * PS_S, NULL, .help = "of all ranks"},

	{"faults", SCENARIO_LIST, NULL, 0, 0, NULL, .help = "what goes wrong on links"},
	{"faults[].link", SCENARIO_TEXT, NULL, 0, 0, NULL,
	 .help = "its name: A-B#k by names and order of parameters (#0 may be left out), or A.port-B.port",
	 .required = true},
	{"faults[].sender", SCENARIO_NODE, NULL, 0, 0, NULL,
	 .help = "the end whose frames it happens to; both by default"},
	{"faults[].loss", SCENARIO_RATIO, NULL, 0, 1000000, NULL, .help = "chance of a frame to be lost"},
	{"faults[].corrupt", SCENARIO_RATIO, NULL, 0, 1000000, NULL,
	 .help = "chance of a frame to have a wrong bit"},
	{"faults[].duplicate", SCENARIO_RATIO, NULL, 0, 1000000, NULL,
	 .help = "chance of a frame to come twice"},
	{"faults[].reorder", SCENARIO_RATIO, NULL, 0, 1000000, NULL,
	 .help = "chance of a frame to be held back"},
	{"faults[].down", SCENARIO_WORD, "no", 0, 0, "no yes",
	 .help = "the link is down: nothing gets through, pauses across it are forgotten, switches take other ways"},
	{"faults[].detect", SCENARIO_TIME, "1us", 0, PS_S, NULL,
	 .help = "down: so long until switches know, and until they know that it is up again"},
	{"faults[].rate", SCENARIO_RATE, NULL, MBPS, 10 * TBPS, NULL,
	 .help = "the link is no faster than this"},
	{"faults[].pause", SCENARIO_PRIORITIES, NULL, 0, 7, NULL,
	 .help = "sender, a host, pauses these priorities all the time"},
	{"faults[].delay", SCENARIO_TIME, NULL, 1, PS_S, NULL, .help = "more delay for every frame"},
	{"faults[].drop_nth", SCENARIO_COUNTS, NULL, 1, 0, NULL,
	 .help = "exactly these frames are lost, counted from 1"},
	{"faults[].frames", SCENARIO_WORD, "data", 0, 0, "data all",
	 .help = "what it happens to: data; all: pause and resume frames too, which are counted then"},
	{"faults[].by", SCENARIO_TIME, "1us", 1, PS_S, NULL,
	 .help = "how far a second copy is behind, and a frame is held back"},
	{"faults[].from", SCENARIO_TIME, "0s", 0, 1000 * PS_S, NULL, .help = "from then on"},
	{"faults[].until", SCENARIO_TIME, NULL, 1, 1000 * PS_S, NULL, .help = "until then; always by default"},

	{"expect", SCENARIO_TEXTS, NULL, 0, 0, NULL, .count_max = LIST_MAX,
	 .help = "jq expressions over result.json that must be true after the run; "
	 "units ns us ms s KB KiB MB MiB GB GiB Mbps Gbps Tbps are defined: .fct.a.p99_ps < (2|ms)"},
};
/* clang-format on */

uint32_t scenario_row_count(void)
{
	return sizeof(rows) / sizeof(rows[0]);
}

const struct scenario_row *scenario_row_at(uint32_t i)
{
	return &rows[i];
}

const struct scenario_row *scenario_row(const char *path)
{
	for (uint32_t i = 0; i < scenario_row_count(); i++)
		if (strcmp(rows[i].path, path) == 0)
			return &rows[i];
	return NULL;
}

const char *scenario_row_key(const struct scenario_row *row)
{
	const char *dot = strrchr(row->path, '.');

	return dot ? dot + 1 : row->path;
}

bool scenario_row_in(const struct scenario_row *row, const char *prefix)
{
	const size_t length = strlen(prefix);
	const char *rest = row->path;

	if (length > 0) {
		if (strncmp(rest, prefix, length) != 0 || rest[length] != '.')
			return false;
		rest += length + 1;
	}
	return strchr(rest, '.') == NULL;
}

/* Letters to change, add, drop or exchange with a neighbour. */
static uint32_t distance(const char *a, const char *b)
{
	enum { LENGTH_MAX = 32 };
	const size_t n = strlen(a), m = strlen(b);
	uint32_t d[LENGTH_MAX + 1][LENGTH_MAX + 1];

	if (n > LENGTH_MAX || m > LENGTH_MAX)
		return UINT32_MAX;
	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			uint32_t least;

			if (i == 0 || j == 0) {
				d[i][j] = (uint32_t)(i + j);
				continue;
			}
			least = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			least = d[i - 1][j] + 1 < least ? d[i - 1][j] + 1 : least;
			least = d[i][j - 1] + 1 < least ? d[i][j - 1] + 1 : least;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < least)
				least = d[i - 2][j - 2] + 1;
			d[i][j] = least;
		}
	return d[n][m];
}

const char *scenario_nearest_key(const char *prefix, const char *key)
{
	const char *nearest = NULL;
	uint32_t best = (uint32_t)(strlen(key) + 2) / 3 + 1;

	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		const uint32_t d = scenario_row_in(&rows[i], prefix)
					   ? distance(key, scenario_row_key(&rows[i]))
					   : UINT32_MAX;

		if (d >= best)
			continue;
		best = d;
		nearest = scenario_row_key(&rows[i]);
	}
	return nearest;
}

const char *scenario_keys(const char *prefix, struct bad_text *text)
{
	const char *between = "one of ";
	size_t at = 0;

	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		if (!scenario_row_in(&rows[i], prefix))
			continue;
		at += (size_t)snprintf(text->text + at, sizeof(text->text) - at, "%s%s", between,
				       scenario_row_key(&rows[i]));
		CHECK(at < sizeof(text->text));
		between = ", ";
	}
	return text->text;
}
