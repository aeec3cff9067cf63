/* SPDX-License-Identifier: BSD-2-Clause */
/* Every key of the table: a value that holds anyway changes nothing, another one changes the hash,
 * a bad one is refused. Profiles. (Bad files: tests/bad.) */
#include "models/profiles/profile.h"
#include "models/scenario/schema.h"
#include "tests/unit/scenario_test.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

#define TOP "version: 1\n"
#define STAR TOP "topology: {kind: star, hosts: 6}\n"
#define LEAF TOP "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
#define FAT TOP "topology: {kind: fat_tree, k: 4}\n"
#define CLOS                                                                                       \
	TOP "topology: {kind: clos, pods: 2, leaves: 2, spines: 2, cores: 4, hosts_per_leaf: 2}\n"
#define RAIL TOP "topology: {kind: rail, servers: 4, rails: 2, spines: 2}\n"
#define MESH TOP "topology: {kind: full_mesh, switches: 3}\n"
#define TORUS TOP "topology: {kind: torus, dims: [3, 3]}\n"
#define DRAGONFLY TOP "topology: {kind: dragonfly, h: 1}\n"
#define LISTS                                                                                      \
	TOP "topology: {hosts: \"h[0-1]\", switches: [s0, s1], links: [{a: h0, b: s0}, "           \
	    "{a: s1, b: h1}, {a: s0, b: s1}]}\n"
#define PORTS                                                                                      \
	TOP "topology: {hosts: \"h[0-1]\", switches: s0, links: [{a: h0, b: s0, port_a: p, "       \
	    "port_b: q}, {a: h1, b: s0}]}\n"
#define PFC STAR "switch: {pfc: {}}\n"
#define DOG STAR "switch: {pfc: {watchdog: {}}}\n"
#define CLASSES STAR "switch: {pfc: {}, classes: [{priorities: [3]}]}\n"
#define CLASS_XOFF STAR "switch: {pfc: {}, classes: [{priorities: [3], xoff: 100KB}]}\n"
#define TURNS STAR "switch: {ets: {weights: [1, 1, 1, 1, 1, 1, 1, 1]}}\n"
#define PCP STAR "nic: {vlan: 7}\nswitch: {pcp: [{values: [3], priority: 2}]}\n"
#define DSCP STAR "switch: {dscp: [{values: [24], priority: 2}]}\n"
#define REWRITE "rewrite: [{in: h0, out: h1, values: [24], dscp: 32}]"
#define REWRITES STAR "switch: {" REWRITE "}\n"
#define SOME(S) STAR "switch: {" S "}\nswitches: [{names: s0, " S "}]\n"
#define ROUTES LEAF "routing: {ways: [{at: spine0, to: h3, via: leaf0}]}\n"
#define PAUSE PFC "faults: [{link: h0-s0, sender: h0, pause: [3]}]\n"
#define RX STAR "nic: {rx: {}}\n"
#define DOWN STAR "faults: [{link: h0-s0, down: yes}]\n"
#define XOFF STAR "switch: {pfc: {}, xoff: 100KB}\n"
#define ECN STAR "switch: {ecn: {}}\n"
#define RATES "ecn: {}, pfc: {}, by_rate: [{rate: 25Gbps}]"
#define BY_RATE STAR "switch: {" RATES "}\n"
#define CREDIT STAR "switch: {credit: {}}\n"
#define LANE "credit: {classes: [{priorities: [3], buffer: 8KB}]}"
#define LANES STAR "switch: {" LANE "}\n"
#define RING STAR "traffic: [{class: r, pattern: ring, size: 1KB}]\n"
#define OFTEN STAR "traffic: [{class: r, pattern: ring, size: 1KB, repeat: 2}]\n"
#define INCAST STAR "traffic: [{class: i, pattern: incast, to: h0, size: 1KB}]\n"
#define LOAD STAR "traffic: [{class: l, load: 30%, size: 1KB, until: 10us}]\n"
#define CDF STAR "traffic: [{class: l, load: 30%, cdf: websearch, until: 1ms}]\n"
#define PROGRAM STAR "programs: [{run: ring, hosts: \"h[0-2]\"}]\n"
#define FAULT STAR "faults: [{link: h0-s0, loss: 1%}]\n"
#define FORGETS LEAF "faults: [{switch: leaf0, forget: h0}]\n"
#define UNKNOWN FORGETS "switches: [{names: leaf0}]\n"
#define INSIDE                                                                                     \
	"parts: [{name: cpu0, kind: socket}, {name: cpu1, kind: socket}, {name: nic0, kind: "      \
	"nic}, "                                                                                   \
	"{name: gpu0, kind: gpu}, {name: sw0, kind: switch}], lanes: [{a: cpu0, b: nic0}, "        \
	"{a: cpu0, b: cpu1, kind: upi, rate: 160Gbps}, {a: cpu0, b: gpu0}, {a: cpu0, b: sw0}], "   \
	"faults: [{a: cpu0, b: sw0, ber: 0.000001}, {part: cpu0, late: 1us}, "                     \
	"{a: cpu0, b: sw0, gen: 3}]"
#define MACHINE STAR "machine: {" INSIDE "}\n"
#define MACHINES STAR "machines: [{hosts: h1, " INSIDE "}]\n"
#define TWICE STAR "faults: [{link: h0-s0, duplicate: 1%}]\n"

/* With a lane of NVLink beside, a switch and faults. */
#define FAULTY(before, after)                                                                      \
	before "parts: [{name: cpu0, kind: socket}, {name: sw0, kind: switch}, {name: nic0, "      \
	       "kind: nic}, {name: gpu0, kind: gpu}, {name: gpu1, kind: gpu}], lanes: [{a: cpu0, " \
	       "b: sw0}, {a: sw0, b: nic0}, {a: sw0, b: gpu0}, {a: sw0, b: gpu1}, {a: gpu0, b: "   \
	       "gpu1, kind: nvlink}], faults: [{a: cpu0, b: sw0, sender: sw0, ber: "               \
	       "0.000001}, {a: sw0, b: nic0, down: yes, from: 1us, until: 2us}, {a: sw0, b: "      \
	       "nic0, "                                                                            \
	       "width: 8}, {a: sw0, b: nic0, gen: 3}, {part: cpu0, late: 1us}, {a: gpu0, b: "      \
	       "gpu1, "                                                                            \
	       "links: [0], down: yes}]" after

struct key_case {
	const char *path; /* of the table */
	const char *base, *set;
	const char *other, *bad;
};

/* Of machine and of machines. */
#define FAULTY_CASES(path, base, set)                                                              \
	{path ".parts[].peers", base, set ".parts.0.peers", "writes", "some"},                     \
		{path ".parts[].peer_payload", base, set ".parts.0.peer_payload", "128B", "32B"},  \
		{path ".parts[].acs", base, set ".parts.1.acs", "yes", "1"},                       \
		{path ".lanes[].links", base, set ".lanes.4.links", "2", "19"},                    \
		{path ".lanes[].peer_writes", base, set ".lanes.1.peer_writes", "8Gbps", "1bps"},  \
		{path ".lanes[].peer_reads", base, set ".lanes.1.peer_reads", "8Gbps", "1bps"},    \
		{path ".faults[].a", base, set ".faults.2.a", NULL, "cpu0"},                       \
		{path ".faults[].b", base, set ".faults.2.b", "gpu0", "cpu9"},                     \
		{path ".faults[].links", base, set ".faults.5.links", NULL, "[1]"},                \
		{path ".faults[].sender", base, set ".faults.0.sender", "cpu0", "nic0"},           \
		{path ".faults[].ber", base, set ".faults.0.ber", "0.00001", "0.1"},               \
		{path ".faults[].down", base, set ".faults.0.down", NULL, "1"},                    \
		{path ".faults[].gen", base, set ".faults.3.gen", "2", "8"},                       \
		{path ".faults[].width", base, set ".faults.2.width", "4", "5"},                   \
		{path ".faults[].part", base, set ".faults.4.part", "gpu0", "cpu9"},               \
		{path ".faults[].late", base, set ".faults.4.late", "2us", "0us"},                 \
		{path ".faults[].from", base, set ".faults.4.from", "1us", "x"},                   \
	{                                                                                          \
		path ".faults[].until", base, set ".faults.1.until", "3us", "1us"                  \
	}
#define INSIDE_CASES(path, base, set)                                                              \
	{path ".memory", base, set ".memory", "cpu1", "nic0"},                                     \
		{path ".file", base, set ".file", NULL, "none.xml"},                               \
		{path ".profile", base, set ".profile", NULL, "dgx_z"},                            \
		{path ".flow_memory", base, set ".flow_memory", "gpu0", "cpu0"},                   \
		{path ".tx", base, set ".tx", "64KiB", "1KiB"},                                    \
		{path ".blueflame", base, set ".blueflame", "0B", "8KiB"},                         \
		{path ".parts[].name", base, set ".parts.1.name", NULL, "cpu0"},                   \
		{path ".parts[].kind", base, set ".parts.1.kind", "switch", "disk"},               \
		{path ".parts[].latency", base, set ".parts.0.latency", "90ns", "2ms"},            \
		{path ".parts[].tags", base, set ".parts.2.tags", "64", "-1"},                     \
		{path ".parts[].numa", base, set ".parts.1.numa", "1", "256"},                     \
		{path ".parts[].bridges", base, set ".parts.1.bridges", "each", "two"},            \
		{path ".parts[].memory", base, set ".parts.3.memory", "40GiB", "3MiB"},            \
		{path ".parts[].bar1", base, set ".parts.3.bar1", "1GiB", "1KiB"},                 \
		{path ".parts[].ordering", base, set ".parts.3.ordering", "none", "some"},         \
		{path ".parts[].address", base, set ".parts.2.address", "x", ""},                  \
		{path ".lanes[].a", base, set ".lanes.0.a", "cpu1", "cpu2"},                       \
		{path ".lanes[].b", base, set ".lanes.0.b", NULL, "cpu0"},                         \
		{path ".lanes[].kind", base, set ".lanes.0.kind", NULL, "upi"},                    \
		{path ".lanes[].gen", base, set ".lanes.0.gen", "5", "8"},                         \
		{path ".lanes[].width", base, set ".lanes.0.width", "8", "5"},                     \
		{path ".lanes[].mps", base, set ".lanes.0.mps", "512B", "100B"},                   \
		{path ".lanes[].mrrs", base, set ".lanes.0.mrrs", "1KiB", "100B"},                 \
		{path ".lanes[].dllps", base, set ".lanes.0.dllps", "no", "some"},                 \
		{path ".lanes[].ecrc", base, set ".lanes.0.ecrc", "yes", "some"},                  \
		{path ".lanes[].rate", base, set ".lanes.1.rate", "80Gbps", "1Kbps"},              \
		{path ".lanes[].payload", base, set ".lanes.1.payload", "128B", "100B"},           \
		{path ".lanes[].overhead", base, set ".lanes.1.overhead", "8B", "257B"},           \
		{path ".lanes[].delay", base, set ".lanes.0.delay", "3ns", "2ms"},                 \
		{path ".lanes[].update", base, set ".lanes.0.update", "3ns", "2ms"},               \
		{path ".lanes[].relaxed", base, set ".lanes.0.relaxed", "yes", "1"},               \
		{path ".lanes[].ph", base, set ".lanes.0.ph", "64", "70000"},                      \
		{path ".lanes[].pd", base, set ".lanes.0.pd", "1024", "15"},                       \
		{path ".lanes[].nph", base, set ".lanes.0.nph", "64", "70000"},                    \
		{path ".lanes[].cplh", base, set ".lanes.0.cplh", NULL, "8"},                      \
	{                                                                                          \
		path ".lanes[].cpld", base, set ".lanes.0.cpld", NULL, "64"                        \
	}

static const struct key_case cases[] = {
	{"version", STAR, "version", NULL, "2"},
	{"name", STAR, "name", "x", "a b"},
	{"seed", STAR, "seed", "7", "-7"},
	{"until", STAR, "until", "1ms", "1"},
	{"profiles", STAR, "profiles", "[msn2700]", "[cisco]"},
	{"oob_delay", STAR, "oob_delay", "10us", "0us"},
	{"memory", STAR, "memory", "1MiB", "1KiB"},
	{"priorities", STAR, "priorities", "16", "12"},
	{"topology.kind", FAT, "topology.kind", NULL, "ring"},
	{"topology.file", TOP, "topology.file", NULL, "none.txt"},
	{"topology.format", STAR, "topology.format", NULL, "ns3"},
	{"topology.hosts", STAR, "topology.hosts", "7", "0"},
	{"topology.switches", LISTS, "topology.switches", NULL, "\"s[\""},
	{"topology.nics", STAR, "topology.nics", "4", "65"},
	{"topology.leaves", LEAF, "topology.leaves", "3", "0"},
	{"topology.spines", LEAF, "topology.spines", "1", "x"},
	{"topology.hosts_per_leaf", LEAF, "topology.hosts_per_leaf", "3", "1.5"},
	{"topology.oversubscription", LEAF, "topology.oversubscription", "4:1", "3:1"},
	{"topology.pods", CLOS, "topology.pods", "3", "0"},
	{"topology.cores", CLOS, "topology.cores", "8", "5"},
	{"topology.servers", RAIL, "topology.servers", "5", "0"},
	{"topology.rails", RAIL, "topology.rails", "3", "65"},
	{"topology.servers_per_unit", RAIL, "topology.servers_per_unit", "2", "3"},
	{"topology.hosts_per_switch", MESH, "topology.hosts_per_switch", "2", "0"},
	{"topology.dims", TORUS, "topology.dims", "[3, 3, 3]", "[3]"},
	{"topology.a", DRAGONFLY, "topology.a", "3", "0"},
	{"topology.p", DRAGONFLY, "topology.p", "2", "x"},
	{"topology.h", DRAGONFLY, "topology.h", "2", "0"},
	{"topology.groups", DRAGONFLY, "topology.groups", "2", "4"},
	{"topology.k", FAT, "topology.k", "2", "66"},
	{"topology.host_rate", STAR, "topology.host_rate", "25Gbps", "25GB"},
	{"topology.fabric_rate", LEAF, "topology.fabric_rate", "106.25Gbps", "1Kbps"},
	{"topology.delay", STAR, "topology.delay", "500ns", "0ns"},
	{"topology.links[].a", LISTS, "topology.links.2.a", NULL, "s9"},
	{"topology.links[].b", LISTS, "topology.links.2.b", NULL, "s0"},
	{"topology.links[].port_a", PORTS, "topology.links.0.port_a", "x", "a.b"},
	{"topology.links[].port_b", PORTS, "topology.links.0.port_b", "x", ""},
	{"topology.links[].rate", LISTS, "topology.links.0.rate", "10Gbps", "11Tbps"},
	{"topology.links[].delay", LISTS, "topology.links.0.delay", "1ps", "2s"},
	{"topology.links[].error", LISTS, "topology.links.0.error", "0.000000000001", "1%"},
	{"switch.buffer", STAR, "switch.buffer", "1MiB", "2GiB"},
	{"switch.latency", STAR, "switch.latency", "500ns", "2ms"},
	{"switch.alpha", PFC, "switch.alpha", "1/4", "0"},
	{"switch.xoff", PFC, "switch.xoff", "100KB", "0B"},
	{"switch.xon", XOFF, "switch.xon", "50KB", "101KB"},
	{"switch.ecn.kmin", ECN, "switch.ecn.kmin", "0B", "2MB"},
	{"switch.ecn.kmax", ECN, "switch.ecn.kmax", "400KB", "399KB"},
	{"switch.ecn.pmax", ECN, "switch.ecn.pmax", "100%", "1.01"},
	{"switch.by_rate[].rate", BY_RATE, "switch.by_rate.0.rate", "50Gbps", "25GB"},
	{"switch.by_rate[].kmin", BY_RATE, "switch.by_rate.0.kmin", "100KB", "2MB"},
	{"switch.by_rate[].kmax", BY_RATE, "switch.by_rate.0.kmax", "2MB", "399KB"},
	{"switch.by_rate[].pmax", BY_RATE, "switch.by_rate.0.pmax", "100%", "1.01"},
	{"switch.by_rate[].alpha", BY_RATE, "switch.by_rate.0.alpha", "1/4", "0"},
	{"switch.pfc.priorities", PFC, "switch.pfc.priorities", "[0, 7]", "[8]"},
	{"switch.pfc.headroom", PFC, "switch.pfc.headroom", "100KB", "none"},
	{"switch.pfc.mode", PFC, "switch.pfc.mode", "quanta", "xon"},
	{"switch.pfc.response_delay", PFC, "switch.pfc.response_delay", "1us", "1"},
	{"switch.credit.buffer", CREDIT, "switch.credit.buffer", "32KiB", "4000B"},
	{"switch.credit.update", CREDIT, "switch.credit.update", "1B", "0B"},
	{"switch.credit.classes[].priorities", LANES, "switch.credit.classes.0.priorities", "[4]",
	 "[8]"},
	{"switch.credit.classes[].buffer", LANES, "switch.credit.classes.0.buffer", "9KB", "4197B"},
	{"switch.credit.response_delay", CREDIT, "switch.credit.response_delay", "1us", "-1us"},
	{"switch.mode", STAR, "switch.mode", "cut_through", "bridge"},
	{"switch.reserve", PFC, "switch.reserve", "2KiB", "2"},
	{"switch.classes[].priorities", CLASSES, "switch.classes.0.priorities", "[4]", "[8]"},
	{"switch.classes[].alpha", CLASSES, "switch.classes.0.alpha", "2", "0"},
	{"switch.classes[].xoff", CLASSES, "switch.classes.0.xoff", "100KB", "0B"},
	{"switch.classes[].xon", CLASS_XOFF, "switch.classes.0.xon", "50KB", "101KB"},
	{"switch.classes[].reserve", CLASSES, "switch.classes.0.reserve", "2KiB", "2GiB"},
	{"switch.classes[].queue_alpha", CLASSES, "switch.classes.0.queue_alpha", "1/2", "x"},
	{"switch.ets.weights", TURNS, "switch.ets.weights", "[0, 1, 1, 1, 1, 1, 1, 1]",
	 "[1, 1, 1, 1, 1, 1, 1, 256]"},
	{"switch.conweave", STAR, "switch.conweave", NULL, "1us"},
	{"switch.conweave.reply", STAR, "switch.conweave.reply", "8us", "x"},
	{"switch.conweave.path_busy", STAR, "switch.conweave.path_busy", "8us", "2s"},
	{"switch.conweave.resume", STAR, "switch.conweave.resume", "100us", "0us"},
	{"switch.conweave.inactive", STAR, "switch.conweave.inactive", "1ms", "0us"},
	{"switch.conweave.flows", STAR, "switch.conweave.flows", "64", "63"},
	{"switch.ecn.mark", STAR "switch: {ecn: {}}\n", "switch.ecn.mark", "enqueue", "arrival"},
	{"switch.balance", STAR, "switch.balance", "spray", "random"},
	{"switch.flowlet_gap", STAR, "switch.flowlet_gap", "10us", "0us"},
	{"switch.mtu", STAR, "switch.mtu", "1500", "67"},
	{"switch.dscp[].values", DSCP, "switch.dscp.0.values", "[16]", "[64]"},
	{"switch.dscp[].priority", DSCP, "switch.dscp.0.priority", "1", "8"},
	{"switch.unknown", FORGETS, "switch.unknown", "flood", "keep"},
	{"switch.rewrite[].in", REWRITES, "switch.rewrite.0.in", "\"h[0-1]\"", "h9"},
	{"switch.rewrite[].out", REWRITES, "switch.rewrite.0.out", "h2-s0", "s0"},
	{"switch.rewrite[].values", REWRITES, "switch.rewrite.0.values", "[16]", "[64]"},
	{"switch.rewrite[].dscp", REWRITES, "switch.rewrite.0.dscp", "40", "33"},
	{"switch.pcp[].values", PCP, "switch.pcp.0.values", "[2]", "[8]"},
	{"switch.pcp[].priority", PCP, "switch.pcp.0.priority", "1", "8"},
	{"switch.pfc.headroom_pool", PFC, "switch.pfc.headroom_pool", "1MiB", "33MiB"},
	{"switch.pfc.watchdog.detection", DOG, "switch.pfc.watchdog.detection", "1ms", "0ms"},
	{"switch.pfc.watchdog.restoration", DOG, "switch.pfc.watchdog.restoration", "1ms", "x"},
	{"switch.pfc.watchdog.poll", DOG, "switch.pfc.watchdog.poll", "1ms", "0ms"},
	{"switch.pfc.watchdog.action", DOG, "switch.pfc.watchdog.action", "forward", "stop"},
	{"switches[].buffer", SOME(""), "switches.0.buffer", "1MiB", "2GiB"},
	{"switches[].latency", SOME(""), "switches.0.latency", "500ns", "2ms"},
	{"switches[].alpha", SOME("pfc: {}"), "switches.0.alpha", "1/4", "0"},
	{"switches[].xoff", SOME("pfc: {}"), "switches.0.xoff", "100KB", "0B"},
	{"switches[].xon", SOME("pfc: {}, xoff: 100KB"), "switches.0.xon", "50KB", "101KB"},
	{"switches[].ecn.kmin", SOME("ecn: {}"), "switches.0.ecn.kmin", "0B", "2MB"},
	{"switches[].ecn.kmax", SOME("ecn: {}"), "switches.0.ecn.kmax", "400KB", "399KB"},
	{"switches[].ecn.pmax", SOME("ecn: {}"), "switches.0.ecn.pmax", "100%", "1.01"},
	{"switches[].by_rate[].rate", SOME(RATES), "switches.0.by_rate.0.rate", "50Gbps", "25GB"},
	{"switches[].by_rate[].kmin", SOME(RATES), "switches.0.by_rate.0.kmin", "100KB", "2MB"},
	{"switches[].by_rate[].kmax", SOME(RATES), "switches.0.by_rate.0.kmax", "2MB", "399KB"},
	{"switches[].by_rate[].pmax", SOME(RATES), "switches.0.by_rate.0.pmax", "100%", "1.01"},
	{"switches[].by_rate[].alpha", SOME(RATES), "switches.0.by_rate.0.alpha", "1/4", "0"},
	{"switches[].pfc.priorities", SOME("pfc: {}"), "switches.0.pfc.priorities", "[0, 7]",
	 "[8]"},
	{"switches[].pfc.headroom", SOME("pfc: {}"), "switches.0.pfc.headroom", "100KB", "none"},
	{"switches[].pfc.mode", SOME("pfc: {}"), "switches.0.pfc.mode", "quanta", "xon"},
	{"switches[].pfc.response_delay", SOME("pfc: {}"), "switches.0.pfc.response_delay", "1us",
	 "1"},
	{"switches[].credit.buffer", SOME("credit: {}"), "switches.0.credit.buffer", "32KiB",
	 "4000B"},
	{"switches[].credit.update", SOME("credit: {}"), "switches.0.credit.update", "1B", "0B"},
	{"switches[].credit.classes[].priorities", SOME(LANE),
	 "switches.0.credit.classes.0.priorities", "[4]", "[8]"},
	{"switches[].credit.classes[].buffer", SOME(LANE), "switches.0.credit.classes.0.buffer",
	 "9KB", "4197B"},
	{"switches[].credit.response_delay", SOME("credit: {}"), "switches.0.credit.response_delay",
	 "1us", "-1us"},
	{"switches[].mode", SOME(""), "switches.0.mode", "cut_through", "bridge"},
	{"switches[].reserve", SOME("pfc: {}"), "switches.0.reserve", "2KiB", "2"},
	{"switches[].classes[].priorities", SOME("pfc: {}, classes: [{priorities: [3]}]"),
	 "switches.0.classes.0.priorities", "[4]", "[8]"},
	{"switches[].classes[].alpha", SOME("pfc: {}, classes: [{priorities: [3]}]"),
	 "switches.0.classes.0.alpha", "2", "0"},
	{"switches[].classes[].xoff", SOME("pfc: {}, classes: [{priorities: [3]}]"),
	 "switches.0.classes.0.xoff", "100KB", "0B"},
	{"switches[].classes[].xon", SOME("pfc: {}, classes: [{priorities: [3], xoff: 100KB}]"),
	 "switches.0.classes.0.xon", "50KB", "101KB"},
	{"switches[].classes[].reserve", SOME("pfc: {}, classes: [{priorities: [3]}]"),
	 "switches.0.classes.0.reserve", "2KiB", "2GiB"},
	{"switches[].classes[].queue_alpha", SOME("pfc: {}, classes: [{priorities: [3]}]"),
	 "switches.0.classes.0.queue_alpha", "1/2", "x"},
	{"switches[].ets.weights", SOME("ets: {weights: [1, 1, 1, 1, 1, 1, 1, 1]}"),
	 "switches.0.ets.weights", "[0, 1, 1, 1, 1, 1, 1, 1]", "[1, 1, 1, 1, 1, 1, 1, 256]"},
	{"switches[].conweave", SOME(""), "switches.0.conweave", NULL, "1us"},
	{"switches[].conweave.reply", SOME(""), "switches.0.conweave.reply", "8us", "x"},
	{"switches[].conweave.path_busy", SOME(""), "switches.0.conweave.path_busy", "8us", "2s"},
	{"switches[].conweave.resume", SOME(""), "switches.0.conweave.resume", "100us", "0us"},
	{"switches[].conweave.inactive", SOME(""), "switches.0.conweave.inactive", "1ms", "0us"},
	{"switches[].conweave.flows", SOME(""), "switches.0.conweave.flows", "64", "63"},
	{"switches[].ecn.mark", SOME("ecn: {}"), "switches.0.ecn.mark", "enqueue", "arrival"},
	{"switches[].balance", SOME(""), "switches.0.balance", "spray", "random"},
	{"switches[].flowlet_gap", SOME(""), "switches.0.flowlet_gap", "10us", "0us"},
	{"switches[].mtu", SOME(""), "switches.0.mtu", "1500", "67"},
	{"switches[].unknown", UNKNOWN, "switches.0.unknown", "flood_lossy", "keep"},
	{"switches[].rewrite[].in", SOME(REWRITE), "switches.0.rewrite.0.in", "h2", "h9"},
	{"switches[].rewrite[].out", SOME(REWRITE), "switches.0.rewrite.0.out", "h0", "h0-h1"},
	{"switches[].rewrite[].values", SOME(REWRITE), "switches.0.rewrite.0.values", "[16]",
	 "[64]"},
	{"switches[].rewrite[].dscp", SOME(REWRITE), "switches.0.rewrite.0.dscp", "40", "64"},
	{"switches[].dscp[].values", SOME("dscp: [{values: [24], priority: 2}]"),
	 "switches.0.dscp.0.values", "[16]", "[64]"},
	{"switches[].dscp[].priority", SOME("dscp: [{values: [24], priority: 2}]"),
	 "switches.0.dscp.0.priority", "1", "8"},
	{"switches[].pcp[].values", SOME("pcp: [{values: [3], priority: 2}]") "nic: {vlan: 7}\n",
	 "switches.0.pcp.0.values", "[2]", "[8]"},
	{"switches[].pcp[].priority", SOME("pcp: [{values: [3], priority: 2}]") "nic: {vlan: 7}\n",
	 "switches.0.pcp.0.priority", "1", "8"},
	{"switches[].pfc.headroom_pool", SOME("pfc: {}"), "switches.0.pfc.headroom_pool", "1MiB",
	 "33MiB"},
	{"switches[].pfc.watchdog.detection", SOME("pfc: {watchdog: {}}"),
	 "switches.0.pfc.watchdog.detection", "1ms", "0ms"},
	{"switches[].pfc.watchdog.restoration", SOME("pfc: {watchdog: {}}"),
	 "switches.0.pfc.watchdog.restoration", "1ms", "x"},
	{"switches[].pfc.watchdog.poll", SOME("pfc: {watchdog: {}}"),
	 "switches.0.pfc.watchdog.poll", "1ms", "0ms"},
	{"switches[].pfc.watchdog.action", SOME("pfc: {watchdog: {}}"),
	 "switches.0.pfc.watchdog.action", "forward", "stop"},
	{"switches[].names", SOME(""), "switches.0.names", NULL, "s1"},
	{"routing.hash", LEAF, "routing.hash", "same", "none"},
	{"routing.weighted", LEAF, "routing.weighted", "yes", "perhaps"},
	{"routing.reconverge", LEAF, "routing.reconverge", "1ms", "soon"},
	{"routing.ways[].at", ROUTES, "routing.ways.0.at", "spine1", "h0"},
	{"routing.ways[].to", ROUTES, "routing.ways.0.to", "h0", "spine0"},
	{"routing.ways[].via", ROUTES, "routing.ways.0.via", "leaf1", "spine1"},
	{"nic.rx.hosts", RX, "nic.rx.hosts", "h[0-2]", "s0"},
	{"nic.rx.rate", RX, "nic.rx.rate", "10Gbps", "0bps"},
	{"nic.rx.buffer", RX, "nic.rx.buffer", "1MiB", "128KiB"},
	{"nic.rx.xoff", RX, "nic.rx.xoff", "64KiB", "512KiB"},
	{"nic.rx.xon", STAR "switch: {pfc: {}}\nnic: {rx: {}}\n", "nic.rx.xon", "16KiB", "129KiB"},
	{"nic.rx.mtt_entries", RX, "nic.rx.mtt_entries", "2048", "x"},
	{"nic.rx.page", RX, "nic.rx.page", "2MiB", "5KiB"},
	{"nic.rx.memory", RX, "nic.rx.memory", "8MiB", "1KiB"},
	{"nic.rx.mtt_miss", RX, "nic.rx.mtt_miss", "500ns", "2ms"},
	{"nic.ttl", STAR, "nic.ttl", "8", "256"},
	{"faults[].down", FAULT, "faults.0.down", "yes", "1"},
	{"faults[].detect", DOWN, "faults.0.detect", "2us", "x"},
	{"faults[].rate", FAULT, "faults.0.rate", "10Gbps", "10"},
	{"faults[].pause", PAUSE, "faults.0.pause", "[4]", "[9]"},
	INSIDE_CASES("machine", MACHINE, "machine"),
	INSIDE_CASES("machines[]", MACHINES, "machines.0"),
	FAULTY_CASES("machine", FAULTY(STAR "machine: {", "}\n"), "machine"),
	FAULTY_CASES("machines[]", FAULTY(STAR "machines: [{hosts: h1, ", "}]\n"), "machines.0"),
	{"machines[].hosts", MACHINES, "machines.0.hosts", "h2", "h6"},
	{"nic.mtu", STAR, "nic.mtu", "1024", "1500"},
	{"nic.cc", STAR, "nic.cc", "dcqcn", "cubic"},
	{"nic.cc_params.min_rate", STAR "nic: {cc: dcqcn, cc_params: {}}\n",
	 "nic.cc_params.min_rate", "70Mbps", "7"},
	{"nic.cc_params.rate_ai", STAR "nic: {cc: dctcp, cc_params: {}}\n", "nic.cc_params.rate_ai",
	 "70Mbps", "7"},
	{"nic.cc_params.rate_hai", STAR "nic: {cc: dcqcn, cc_params: {}}\n",
	 "nic.cc_params.rate_hai", "70Mbps", "7"},
	{"nic.cc_params.g_shift", STAR "nic: {cc: dcqcn, cc_params: {}}\n", "nic.cc_params.g_shift",
	 "6", "99999"},
	{"nic.cc_params.alpha_period", STAR "nic: {cc: dcqcn, cc_params: {}}\n",
	 "nic.cc_params.alpha_period", "7us", "7"},
	{"nic.cc_params.increase_period", STAR "nic: {cc: dcqcn, cc_params: {}}\n",
	 "nic.cc_params.increase_period", "7us", "7"},
	{"nic.cc_params.decrease_period", STAR "nic: {cc: dcqcn_hpcc, cc_params: {}}\n",
	 "nic.cc_params.decrease_period", "7us", "7"},
	{"nic.cc_params.byte_counter", STAR "nic: {cc: dcqcn, cc_params: {}}\n",
	 "nic.cc_params.byte_counter", "7KB", "7"},
	{"nic.cc_params.fast_recovery", STAR "nic: {cc: dcqcn, cc_params: {}}\n",
	 "nic.cc_params.fast_recovery", "3", "99999"},
	{"nic.cc_params.clamp_tgt_rate", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.clamp_tgt_rate", "1", "99999"},
	{"nic.cc_params.clamp_tgt_rate_after_time_inc", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.clamp_tgt_rate_after_time_inc", "0", "99999"},
	{"nic.cc_params.rpg_time_reset", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rpg_time_reset", "7us", "7"},
	{"nic.cc_params.rpg_byte_reset", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rpg_byte_reset", "100", "99999"},
	{"nic.cc_params.rpg_threshold", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rpg_threshold", "5", "99999"},
	{"nic.cc_params.rpg_max_rate", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rpg_max_rate", "70Mbps", "7"},
	{"nic.cc_params.rpg_ai_rate", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rpg_ai_rate", "70Mbps", "7"},
	{"nic.cc_params.rpg_hai_rate", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rpg_hai_rate", "70Mbps", "7"},
	{"nic.cc_params.rpg_gd", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rpg_gd", "12", "99999"},
	{"nic.cc_params.rpg_min_dec_fac", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rpg_min_dec_fac", "60", "99999"},
	{"nic.cc_params.rpg_min_rate", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rpg_min_rate", "70Mbps", "7"},
	{"nic.cc_params.rate_to_set_on_first_cnp", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rate_to_set_on_first_cnp", "70Mbps", "7"},
	{"nic.cc_params.dce_tcp_g", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.dce_tcp_g", "1000", "99999"},
	{"nic.cc_params.dce_tcp_rtt", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.dce_tcp_rtt", "7us", "7"},
	{"nic.cc_params.rate_reduce_monitor_period", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.rate_reduce_monitor_period", "7us", "7"},
	{"nic.cc_params.initial_alpha_value", STAR "nic: {cc: dcqcn_nv, cc_params: {}}\n",
	 "nic.cc_params.initial_alpha_value", "512", "99999"},
	{"nic.cc_params.base_rtt", STAR "nic: {cc: hpcc, cc_params: {}}\n",
	 "nic.cc_params.base_rtt", "9us", "9"},
	{"nic.cc_params.eta", STAR "nic: {cc: hpcc, cc_params: {}}\n", "nic.cc_params.eta", "0.9",
	 "1.1"},
	{"nic.cc_params.max_stage", STAR "nic: {cc: hpcc, cc_params: {}}\n",
	 "nic.cc_params.max_stage", "5", "-1"},
	{"nic.cc_params.w_ai", STAR "nic: {cc: hpcc, cc_params: {}}\n", "nic.cc_params.w_ai", "80B",
	 "80"},
	{"nic.cc_params.t_low", STAR "nic: {cc: timely, cc_params: {}}\n", "nic.cc_params.t_low",
	 "7us", "501us"},
	{"nic.cc_params.t_high", STAR "nic: {cc: timely, cc_params: {}}\n", "nic.cc_params.t_high",
	 "600us", "1us"},
	{"nic.cc_params.min_rtt", STAR "nic: {cc: timely, cc_params: {}}\n",
	 "nic.cc_params.min_rtt", "7us", "7"},
	{"nic.cc_params.delta", STAR "nic: {cc: timely, cc_params: {}}\n", "nic.cc_params.delta",
	 "70Mbps", "7"},
	{"nic.cc_params.ewma_alpha", STAR "nic: {cc: timely, cc_params: {}}\n",
	 "nic.cc_params.ewma_alpha", "0.5", "0"},
	{"nic.cc_params.beta", STAR "nic: {cc: timely, cc_params: {}}\n", "nic.cc_params.beta",
	 "0.4", "0"},
	{"nic.cc_params.hai_after", STAR "nic: {cc: timely, cc_params: {}}\n",
	 "nic.cc_params.hai_after", "7", "99999"},
	{"nic.cc_params.segment", STAR "nic: {cc: timely, cc_params: {}}\n",
	 "nic.cc_params.segment", "7KB", "7"},
	{"nic.cc_params.base_target", STAR "nic: {cc: swift, cc_params: {}}\n",
	 "nic.cc_params.base_target", "7us", "7"},
	{"nic.cc_params.fs_range", STAR "nic: {cc: swift, cc_params: {}}\n",
	 "nic.cc_params.fs_range", "7us", "7"},
	{"nic.cc_params.ai", STAR "nic: {cc: swift, cc_params: {}}\n", "nic.cc_params.ai", "2",
	 "0"},
	{"nic.cc_params.max_mdf", STAR "nic: {cc: swift, cc_params: {}}\n", "nic.cc_params.max_mdf",
	 "0.25", "0"},
	{"nic.cc_params.fs_min_cwnd", STAR "nic: {cc: swift, cc_params: {}}\n",
	 "nic.cc_params.fs_min_cwnd", "0.2", "0"},
	{"nic.cc_params.fs_max_cwnd", STAR "nic: {cc: swift, cc_params: {}}\n",
	 "nic.cc_params.fs_max_cwnd", "50", "0"},
	{"nic.cc_params.min_cwnd", STAR "nic: {cc: swift, cc_params: {}}\n",
	 "nic.cc_params.min_cwnd", "0.01", "4097"},
	{"nic.cc_params.max_cwnd", STAR "nic: {cc: swift, cc_params: {}}\n",
	 "nic.cc_params.max_cwnd", "500", "0.0001"},
	{"nic.start_rate", STAR "nic: {cc: dcqcn}\n", "nic.start_rate", "25Gbps", "half"},
	{"nic.cnp_interval", STAR, "nic.cnp_interval", "4us", "manual"},
	{"nic.cnp_marks", STAR, "nic.cnp_marks", "keep", "lose"},
	{"nic.statuses", STAR, "nic.statuses", "rxe", "mlx5"},
	{"nic.mw", STAR, "nic.mw", "2a", "2"},
	{"nic.cnp_gaps", STAR, "nic.cnp_gaps", "yes", "some"},
	{"nic.cnp_priority", STAR, "nic.cnp_priority", "7", "8"},
	{"nic.ack_every", STAR, "nic.ack_every", "message", "0"},
	{"nic.ack_priority", STAR, "nic.ack_priority", "0", "8"},
	{"nic.window", STAR, "nic.window", "1", "8388608"},
	{"nic.qp", STAR, "nic.qp", "per-pair", "per-host"},
	{"nic.timeout", STAR, "nic.timeout", "0", "32"},
	{"nic.retransmit", STAR, "nic.retransmit", "go_back_0", "go_back_1"},
	{"nic.headers", STAR, "nic.headers", "ns3", "ns2"},
	{"nic.transport", STAR, "nic.transport", "uc", "ud"},
	{"nic.rto_low", STAR "nic: {retransmit: selective}\n", "nic.rto_low", "50us", "400us"},
	{"nic.rto_high", STAR "nic: {retransmit: selective}\n", "nic.rto_high", "1ms", "50us"},
	{"nic.retries", STAR, "nic.retries", "0", "8"},
	{"nic.ip", STAR, "nic.ip", "6", "5"},
	{"nic.vlan", STAR, "nic.vlan", "100", "4095"},
	{"nic.dscp", STAR, "nic.dscp", "[0, 8, 16, 26, 32, 40, 48, 56]",
	 "[0, 8, 16, 64, 32, 40, 48, 56]"},
	{"nic.loop_delay", STAR, "nic.loop_delay", "1us", "0ns"},
	{"nic.profile", STAR, "nic.profile", "none", "mlx"},
	{"traffic[].class", RING, "traffic.0.class", "x", "a:b"},
	{"traffic[].pattern", RING, "traffic.0.pattern", "permutation", "star"},
	{"traffic[].file", RING, "traffic.0.file", NULL, "none.txt"},
	{"traffic[].format", RING, "traffic.0.format", NULL, "ns3"},
	{"traffic[].load", LOAD, "traffic.l.load", "20%", "0%"},
	{"traffic[].cdf", CDF, "traffic.l.cdf", "fb_hadoop", "none.txt"},
	{"traffic[].stream", LOAD, "traffic.l.stream", NULL, "no"},
	{"traffic[].until", LOAD, "traffic.l.until", "20us", "0us"},
	{"traffic[].to", INCAST, "traffic.i.to", "h1", "h6"},
	{"traffic[].from", INCAST, "traffic.i.from", "[h1, h2]", "h0"},
	{"traffic[].rails", RING, "traffic.r.rails", NULL, "all"},
	{"traffic[].hosts", RING, "traffic.r.hosts", "\"h[0-3]\"", "h1"},
	{"traffic[].size", RING, "traffic.r.size", "1B", "0B"},
	{"traffic[].start", RING, "traffic.r.start", "1us", "now"},
	{"traffic[].spread", RING, "traffic.r.spread", "1us", "1"},
	{"traffic[].repeat", RING, "traffic.r.repeat", "2", "0"},
	{"traffic[].every", OFTEN, "traffic.r.every", "1us", "1B"},
	{"traffic[].priority", RING, "traffic.r.priority", "0", "8"},
	{"programs[].run", PROGRAM, "programs.0.run", "pingpong", ""},
	{"programs[].name", PROGRAM, "programs.0.name", "x", "?"},
	{"programs[].hosts", PROGRAM, "programs.0.hosts", "[h1, h0, h2]", "h6"},
	{"programs[].args", PROGRAM, "programs.0.args", "[1, 2]", "1"},
	{"programs[].start", PROGRAM, "programs.0.start", "1us", "x"},
	{"programs[].endless", PROGRAM, "programs.0.endless", "yes", "1"},
	{"faults[].link", FAULT, "faults.0.link", "s0-h1", "h0-h1"},
	{"faults[].switch", FORGETS, "faults.leaf0.switch", NULL, "leaf1"},
	{"faults[].forget", FORGETS, "faults.leaf0.forget", "h1", "h2"},
	{"faults[].sender", FAULT, "faults.0.sender", "s0", "h1"},
	{"faults[].loss", FAULT, "faults.0.loss", "2%", "200%"},
	{"faults[].corrupt", FAULT, "faults.0.corrupt", "1/3", "x"},
	{"faults[].duplicate", FAULT, "faults.0.duplicate", "1", "-1"},
	{"faults[].reorder", FAULT, "faults.0.reorder", "0.5", "5us"},
	{"faults[].delay", FAULT, "faults.0.delay", "1us", "0us"},
	{"faults[].drop_nth", FAULT, "faults.0.drop_nth", "[1, 5]", "[0]"},
	{"faults[].frames", FAULT, "faults.0.frames", "all", "pauses"},
	{"faults[].by", TWICE, "faults.0.by", "2us", "0us"},
	{"faults[].from", FAULT, "faults.0.from", "1us", "x"},
	{"faults[].until", FAULT, "faults.0.until", "1us", "0us"},
	{"expect", STAR, "expect", "[.drops.buffer == 0]", "none"},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* ---- help ---- */

static uint64_t hash_of(const char *text, const char *set)
{
	struct scenario scenario;
	uint64_t hash;

	assert_good(text, set, &scenario);
	hash = scenario.hash;
	scenario_fini(&scenario);
	return hash;
}

static const char *set_text(const struct key_case *c, const char *value)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s=%s", c->set, value);
	return text;
}

/* ---- the table ---- */

static void every_key_has_a_case(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < scenario_row_count(); i++) {
		const struct scenario_row *row = scenario_row_at(i);
		int found = 0;

		if (row->type == SCENARIO_MAP || row->type == SCENARIO_LIST)
			continue;
		for (int c = 0; c < CASES; c++)
			found += strcmp(cases[c].path, row->path) == 0;
		if (found != 1)
			fail_msg("%s: %d cases", row->path, found);
	}
}

static void every_row_is_sound(void **state)
{
	struct bad_text text;
	uint32_t rows = scenario_row_count();

	(void)state;
	for (uint32_t i = 0; i < rows; i++) {
		const struct scenario_row *row = scenario_row_at(i);

		assert_ptr_equal(scenario_row(row->path), row);
		assert_true(strlen(row->help) > 0);
		assert_true(strlen(scenario_row_expects(row, &text)) > 0);
		assert_false(row->required && row->unset);
		scenario_value_unset(row); /* a default that is none fails its CHECK */
	}
}

static bool share_bytes(struct scenario_place a, struct scenario_place b)
{
	return a.at < b.at + b.bytes && b.at < a.at + a.bytes;
}

/* Of those in one map, which go into one structure. */
static void every_value_has_a_place_of_its_own(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < scenario_row_count(); i++)
		for (uint32_t j = 0; j < i; j++) {
			const struct scenario_row *a = scenario_row_at(i), *b = scenario_row_at(j);
			const size_t length =
				strlen(a->path) - strlen(scenario_row_key(a)); /* to the dot */

			if (strncmp(a->path, b->path, length) != 0 || strchr(b->path + length, '.'))
				continue;
			if (share_bytes(a->place, b->place) || share_bytes(a->place, b->also) ||
			    share_bytes(a->also, b->place) || share_bytes(a->also, b->also))
				fail_msg("%s is where %s is", a->path, b->path);
		}
}

static void what_holds_anyway_changes_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < CASES; i++) {
		const struct scenario_row *row = scenario_row(cases[i].path);
		char value[64];

		assert_non_null(row);
		if (!row->unset)
			continue;
		snprintf(value, sizeof(value), row->type == SCENARIO_PRIORITIES ? "[%s]" : "%s",
			 row->unset);
		if (hash_of(cases[i].base, NULL) !=
		    hash_of(cases[i].base, set_text(&cases[i], value)))
			fail_msg("%s=%s is not the default", cases[i].path, value);
	}
}

static void every_other_value_is_seen(void **state)
{
	(void)state;
	for (int i = 0; i < CASES; i++) {
		bool same;

		if (!cases[i].other)
			continue;
		same = hash_of(cases[i].base, NULL) ==
		       hash_of(cases[i].base, set_text(&cases[i], cases[i].other));
		/* Name and seed say which run it is, not of what; what is expected comes after
		 * it. */
		if (same !=
		    (strcmp(cases[i].set, "name") == 0 || strcmp(cases[i].set, "seed") == 0 ||
		     strcmp(cases[i].set, "expect") == 0))
			fail_msg("%s=%s: hash %s", cases[i].path, cases[i].other,
				 same ? "the same" : "another");
	}
}

static void every_bad_value_is_refused(void **state)
{
	struct scenario scenario = {.seed = 12345};

	(void)state;
	for (int i = 0; i < CASES; i++) {
		const int ret =
			parse_with(cases[i].base, set_text(&cases[i], cases[i].bad), &scenario);

		if (ret != -EINVAL)
			fail_msg("%s=%s: %d", cases[i].path, cases[i].bad, ret);
		assert_int_equal(scenario.seed, 12345); /* untouched */
	}
}

static void every_profile_is_good(void **state)
{
	struct scenario first, second;
	char set[64];

	(void)state;
	assert_true(profile_count() >= 8);
	for (uint32_t i = 0; i < profile_count(); i++) {
		if (profile_at(i)->is_machine) /* test_machine_profiles.c */
			continue;
		snprintf(set, sizeof(set), "profiles=[%s]", profile_at(i)->name);
		assert_true(hash_of(STAR, set) != hash_of(STAR, NULL));
	}
	/* What is said goes before a profile, the first profile before the second; maps are
	 * joined. */
	assert_good(PFC, "profiles=[dcqcn_paper, msn2700]", &first);
	assert_int_equal(first.switches.buffer_bytes, 12000000);
	assert_int_equal(first.switches.ecn.kmin_bytes, 5000);
	assert_int_equal(first.switches.lossless, 0x08);
	assert_int_equal(first.switches.weights[3], 15);
	assert_int_equal(first.nic.mtu, 1024);
	assert_good(STAR "switch: {buffer: 1GiB, pfc: {priorities: [4]}}\n",
		    "profiles=[msn2700, dcqcn_paper]", &second);
	assert_int_equal(second.switches.buffer_bytes, 1 << 30);
	assert_int_equal(second.switches.lossless, 0x10);
	assert_int_equal(second.switches.headroom_bytes, 38912);
	assert_true(second.switches.has_watchdog);
	scenario_fini(&first);
	scenario_fini(&second);
}

static void the_reference_names_every_key(void **state)
{
	char *text;

	(void)state;
	assert_int_equal(scenario_schema_text(&text), 0);
	for (uint32_t i = 0; i < scenario_row_count(); i++)
		assert_non_null(strstr(text, scenario_row_at(i)->path));
	util_free(text);
}

RUN(T(every_key_has_a_case), T(every_row_is_sound), T(every_value_has_a_place_of_its_own),
    T(what_holds_anyway_changes_nothing), T(every_other_value_is_seen),
    T(every_bad_value_is_refused), T(every_profile_is_good), T(the_reference_names_every_key))
