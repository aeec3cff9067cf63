#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""report_browser.py DIR PART [ARG...]: dom.html, a report as a browser has made it, agrees with the other
files in DIR. Everything is computed anew from flows.csv, ports.csv and the trace."""
import csv, html.parser, json, re, sys

base, part, args = sys.argv[1], sys.argv[2], sys.argv[3:]
text = open("dom.html", encoding="utf-8").read()
result = json.load(open(base + "/result.json"))
flows = list(csv.DictReader(open(base + "/flows.csv")))
ports = list(csv.DictReader(open(base + "/ports.csv")))

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Node:
    def __init__(self, tag, attributes, parent):
        self.tag, self.a, self.parent, self.children, self.texts = tag, dict(attributes), parent, [], []

    def all(self, tag):
        for child in self.children:
            if child.tag == tag:
                yield child
            yield from child.all(tag)

    def text(self):
        return "".join(t if isinstance(t, str) else t.text() for t in self.texts)


class Tree(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = self.at = Node("", {}, None)

    def handle_starttag(self, tag, attributes):
        node = Node(tag, attributes, self.at)
        self.at.children.append(node)
        self.at.texts.append(node)
        if tag not in VOID:
            self.at = node

    def handle_endtag(self, tag):
        if self.at.tag == tag:
            self.at = self.at.parent

    def handle_data(self, data):
        self.at.texts.append(data)


tree = Tree()
tree.feed(text)
everything = [tree.root]
for node in everything:
    everything.extend(node.children)
by_id = {n.a["id"]: n for n in everything if "id" in n.a}
data = json.loads(by_id["data"].text())


def equal(what, found, wanted):
    if found != wanted:
        sys.exit("%s: found %r, expected %r" % (what, found, wanted))


# ---- flows ----

def woe(f):
    return (f["status"] == "ok", -float(f["slowdown"] or 0), int(f["id"]))


def check_flows():
    wanted = sorted(flows, key=woe)
    if args and args[0] == "from":
        wanted = [f for f in wanted if f["src"] == args[1] and f["slowdown"] and
                  float(f["slowdown"]) > float(args[2])]
        assert 0 < len(wanted) < len(flows), "a poor test"
    if args and args[0] == "words":
        wanted = [f for f in wanted
                  if all(any(w in f[k] for k in ("class", "src", "dst", "status")) for w in args[1:])]
        assert 0 < len(wanted) < len(flows), "a poor test"
    equal("the number of flows", by_id["flow-count"].a["data-count"], str(len(wanted)))
    rows = [[cell.a["data-v"] for cell in row.all("td")]
            for body in by_id["flow-table"].all("tbody") for row in body.all("tr")]
    equal("the number of rows", len(rows), min(100, len(wanted)))
    for row, f in zip(rows, wanted):
        slowdown = f["slowdown"].replace(".", "").lstrip("0") if f["slowdown"] else "-1"
        equal("flow " + f["id"], row,
              [f["id"], f["class"], f["src"], f["dst"], f["bytes"], f["start_ps"], f["fct_ps"] or "-1",
               f["ideal_ps"] or "-1", slowdown, f["packets_retransmitted"], f["status"]])


def check_few():
    assert len(everything) < 6000, "%d elements" % len(everything)
    assert len(text) < 4000000, "%d bytes" % len(text)


def rank(values, per_cent):  # the nearest rank: the smallest that at least so many are not above
    values = sorted(values)
    return next(v for i, v in enumerate(values, 1) if 100 * i >= per_cent * len(values))


def check_slowdowns():
    table = by_id["slowdown-table"]
    found = [[cell.a["data-v"] for cell in row.all("td")] for body in table.all("tbody") for row in body.all("tr")]
    bins = {}
    for f in flows:
        if f["status"] == "ok":
            bins.setdefault(int(f["bytes"]).bit_length(), []).append(f)
    wanted = []
    for _, inside in sorted(bins.items()):
        values = [int(f["slowdown"].replace(".", "")) for f in inside]
        wanted.append([str(v) for v in (min(int(f["bytes"]) for f in inside), len(inside), rank(values, 50),
                                        rank(values, 95), rank(values, 99))])
    assert len(wanted) > 10, "a poor test"
    equal("slowdown by size", found, wanted)


# ---- the drawing ----

def halves():
    lines = [n for n in by_id["drawing"].all("line") if "data-side" in n.a]
    names, links = data["nodes"]["name"], data["links"]
    made = {}
    for line in lines:
        i, side = int(line.a["data-link"]), int(line.a["data-side"])
        node = names[links["b" if side else "a"][i]]
        made[node, links["name"][i]] = [int(line.a["data-" + k]) for k in ("sent", "paused", "queue")]
    return made


def check_whole():
    wanted = {}
    for p in ports:
        here = wanted.setdefault((p["node"], p["link"]), [int(p["port_sent_bytes"]), 0, 0])
        here[1] = max(here[1], int(p["paused_ps"]))
        here[2] = max(here[2], int(p["queue_max_bytes"]))
    equal("the drawing", halves(), wanted)


LINE = re.compile(r"(\d+)\.(\d{6}) us  (\S+) > (\S+)  (.*)")


def trace():
    for line in open(base + "/trace.txt", encoding="utf-8"):
        match = LINE.match(line)
        if match:
            at, micro, node, peer, rest = match.groups()
            yield int(at) * 1000000 + int(micro), node, peer, rest


def check_moment():
    t = int(args[0])
    drawing = next(n for n in by_id["drawing"].all("svg"))
    begin, end = int(drawing.a["data-from"]), int(drawing.a["data-to"])
    assert begin < t <= end or end == result["time_ps"] or begin == 0, (begin, t, end)
    link_of = {(p["node"], p["peer"]): p["link"] for p in ports}
    total = {(p["node"], p["link"]): int(p["port_sent_bytes"]) for p in ports}
    wanted = {key: [0, 0, 0] for key in total}
    sent, controls, since = dict.fromkeys(total, 0), {}, {}
    for at, node, peer, rest in trace():
        key = node, link_of[node, peer]
        size = re.search(r", (\d+) bytes, priority", rest)
        if rest.startswith("PFC"):
            controls.setdefault(key, []).append(at)
        elif size:
            sent[key] += int(size.group(1))
            wanted[key][0] += int(size.group(1)) * (begin <= at < end)
        stop = re.match(r"(stops|goes on), priority (\d)", rest)
        if stop and stop.group(1) == "stops":
            since[key, stop.group(2)] = at
        elif stop:
            began = since.pop((key, stop.group(2)))
            wanted[key][1] += max(0, min(at, end) - max(began, begin))
    for (key, _), began in since.items():
        wanted[key][1] += max(0, end - max(began, begin))
    assert controls, "a poor test"
    for key, times in controls.items():  # what a frame of PFC takes is not in the trace
        size, odd = divmod(total[key] - sent[key], len(times))
        equal("a frame of PFC", (size, odd), (84, 0))
        wanted[key][0] += size * sum(begin <= at < end for at in times)
    found = halves()
    longest = {(p["node"], p["link"]): 0 for p in ports}
    for p in ports:
        key = p["node"], p["link"]
        longest[key] += int(p["queue_max_bytes"])
    for key in total:
        equal("sent and paused of %s at %s" % key, found[key][:2], wanted[key][:2])
        assert found[key][2] <= longest[key], key
    assert any(v[2] for v in found.values()), "no queue anywhere"


# ---- who paused whom ----

def pauses_of_trace():
    """(who, whom, priority) -> its pauses [from, until], and (node, peer, priority) -> when it stood still."""
    pauses, asked, stood, unheard, storms = {}, {}, {}, {}, set()
    for at, node, peer, rest in trace():
        match = re.match(r"(XOFF|XON|stops|goes on), priority (\d)", rest)
        if not match:
            continue
        what, priority = match.groups()
        here, there = (node, peer, priority), (peer, node, priority)
        if what == "XOFF":
            pauses.setdefault(here, []).append([at, None])
            unheard[here] = unheard.get(here, 0) + 1
            asked[here] = True
        elif what == "XON" and asked.pop(here, None):
            pauses[here][-1][1] = at
        elif what == "stops":
            stood.setdefault(here, []).append([at, None])
            if not asked.get(there) and not unheard.get(there):  # nobody has asked for it
                pauses.setdefault(there, []).append([at, None])
                storms.add(there)
                asked[there] = True
            unheard[there] = max(0, unheard.get(there, 0) - 1)
        elif what == "goes on":
            stood[here][-1][1] = at
            assert there not in storms, "this test knows only storms that last"
    return pauses, stood, storms


def check_pauses():
    pauses, stood, storms = pauses_of_trace()
    length = lambda span: (result["time_ps"] if span[1] is None else span[1]) - span[0]
    found = {}
    for item in by_id["pause-tree"].all("li"):
        key = item.a["data-node"], item.a["data-peer"], item.a["data-priority"]
        sums = found.setdefault(key, [0, 0, None])
        first = int(item.a["data-first-ps"])
        sums[0] += int(item.a["data-count"])
        sums[1] += int(item.a["data-total-ps"])
        sums[2] = first if sums[2] is None else min(first, sums[2])
        equal("a storm of %s" % key[0], item.a["data-why"] == "alone", key in storms)
        way_out = data["pauses"]["places"]["way_out"][int(item.a["data-place"])]
        above = item.parent
        while above.tag not in ("li", "div"):
            above = above.parent
        still = any(a <= first and (b is None or b > first)
                    for a, b in stood.get((key[0], way_out, key[2]), []))
        equal("%s pauses %s because it is paused" % key[:2], item.a["data-why"] == "paused",
              still and key not in storms)
        if above.tag == "li":
            equal("the cause of %s > %s" % key[:2], (above.a["data-node"], above.a["data-peer"]),
                  (way_out, key[0]))
            assert int(above.a["data-first-ps"]) < first, "an effect before its cause"
        else:
            assert item.a["data-why"] != "paused", "a root that was paused"
    equal("pauses: how many, how long, the first", found,
          {k: [len(v), sum(map(length, v)), v[0][0]] for k, v in pauses.items()})
    assert any(li for item in by_id["pause-tree"].all("li") for li in item.all("li")), "no chain: a poor test"


def check_ladder():
    """The arrows of a page are the starts of the flow's packets, as the trace has them."""
    flow, first = args[0], int(args[1])
    links, names = data["links"], data["nodes"]["name"]
    ends = {frozenset((names[a], names[b])): (rate, delay) for a, b, rate, delay in
            zip(links["a"], links["b"], links["rate_bps"], links["delay_ps"])}
    packet = re.compile(r"(\S+) psn (\d+) to qp \S+ of \S+ flow (\d+),.* (\d+) bytes, priority")
    wanted = []
    for at, node, peer, rest in trace():
        match = packet.match(rest)
        if not match or match.group(3) != flow:
            continue
        opcode, psn, _, size = match.groups()
        rate, delay = ends[frozenset((node, peer))]
        kind = "cnp" if opcode == "CNP" else "nak" if "NAK" in rest else "ack" if "ACK" in rest else \
            "again" if "sent again" in rest else "data"
        wanted.append([str(at), str(at - (-int(size) * 8 * 10**12 // rate) + delay), node, peer, psn, opcode, kind])
    wanted = wanted[first:first + 60]
    assert len(wanted) == 60, "a poor test"
    found = [[n.a["data-" + k] for k in ("at", "end", "from", "to", "psn", "opcode", "kind")]
             for n in by_id["ladder"].all("g") if "data-i" in n.a]
    equal("the ladder", found, wanted)


# ---- what would cure it ----

def shown(value, units):
    """As the page shows it: three digits and a unit."""
    name, size = next((n, z) for n, z in reversed(units) if value >= z or z == 1)
    value /= size
    return "%.*f\u202f%s" % (0 if size == 1 or value >= 100 else 1 if value >= 10 else 2, value, name)


TIMES = [("ps", 1), ("ns", 10**3), ("µs", 10**6), ("ms", 10**9), ("s", 10**12)]
BYTES = [("B", 1), ("KB", 10**3), ("MB", 10**6), ("GB", 10**9)]


def check_cure():
    section = by_id["cure"].parent
    words = next(section.all("ol")).text()
    keys = [(n.a["data-key"], n.a["data-value"]) for n in section.all("li") if "data-key" in n.a]
    assert keys == [(k, v) for k, v in keys if k in words and v in words], keys
    assert dict(keys).get(args[0]) == args[1], keys
    for option in re.findall(r"--set (\S+)", words):
        assert tuple(option.split("=")) in keys, option
    stuck = sum(p["paused_since_ps"] != "" for p in ports)
    if stuck:
        assert "(%d priorities of ports are paused at the end)" % stuck in words, (stuck, words)
        return
    node, queue, priority, peer = re.search(
        r"begins at (\S+), in the queue for (\S+): .* of priority (\d) waited there when it had (\S+) pause first",
        words).groups()
    at, held, limit = next(
        (at, *map(int, re.search(r"(\d+) bytes.*threshold is (\d+)", rest).groups())) for at, a, b, rest in trace()
        if (a, b) == (node, peer) and rest.startswith("XOFF, priority " + priority))
    assert held >= limit, "a poor test"
    equal("the first pause", "pause first, at %s, since it may hold %s from there" % (
        shown(at, TIMES), shown(limit, BYTES)) in words, True)
    pauses, _, _ = pauses_of_trace()
    length = lambda span: (result["time_ps"] if span[1] is None else span[1]) - span[0]
    total = sum(length(span) for spans in pauses.values() for span in spans)
    equal("their time", "lasted %s in all" % shown(total, TIMES) in words, True)
    equal("its queue is the way out", any(p["node"] == node and p["peer"] == queue for p in ports), True)


{"cure": check_cure, "ladder": check_ladder, "flows": check_flows, "few": check_few, "slowdowns": check_slowdowns, "whole": check_whole,
 "moment": check_moment, "pauses": check_pauses}[part]()
