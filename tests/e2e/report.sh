#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# report.html: one well-formed file that loads nothing, whose data are those of the other files, and
# in which names are only names.
. "$(dirname "$0")/lib.sh"

cat >"$work/look.py" <<'END'
"""look.py DIR [NAME...]: the report in DIR agrees with the other files there; each NAME is in it."""
import csv, html.parser, json, sys

base, names = sys.argv[1], sys.argv[2:]
text = open(base + "/report.html", encoding="utf-8").read()
result = json.load(open(base + "/result.json"))
flows = list(csv.DictReader(open(base + "/flows.csv")))
ports = list(csv.DictReader(open(base + "/ports.csv")))

VOID = {"meta", "link", "br", "img", "input", "hr"}
KNOWN = set("""html head meta link title style body header main footer nav section h1 h2 h3 p b span strong small
    ol ul li dl dt dd div table caption thead tbody tr th td details summary code pre noscript script""".split())

class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.labels, self.scripts, self.cells, self.words = [], [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        assert tag in KNOWN, "a <%s>" % tag
        assert not [k for k in a if k.startswith("on")], a
        assert "src" not in a and a.get("href", "data:,") == "data:,", a
        if "id" in a:
            assert a["id"] not in self.ids, "twice: " + a["id"]
            self.ids.append(a["id"])
        self.labels += [a["aria-labelledby"]] if "aria-labelledby" in a else []
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append([a.get("id"), ""])
        if tag in ("tr",):
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append([a.get("data-v"), ""])

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, "</%s> in %s" % (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)
            if self.cells and ("td" in self.open or "th" in self.open):
                self.cells[-1][-1][1] += data

page = Page()
page.feed(text)
page.close()
assert not page.open, page.open
assert text.startswith("<!DOCTYPE html>\n") and text.endswith("</html>\n")
assert [s[0] for s in page.scripts] == ["result", "data", None], [s[0] for s in page.scripts]
assert set(page.labels) <= set(page.ids), "a label of nothing"
assert "content=\"default-src &#39;none&#39;;" in text and "url(" not in text and "@import" not in text
words = "".join(page.words)
for name in names + [result["scenario"], result["digest"]] + list(result["fct"]):
    assert name in words, "not there: " + name

# The same data.
assert json.loads(page.scripts[0][1]) == result
data = json.loads(page.scripts[1][1])
total = lambda rows, key: sum(int(r[key]) for r in rows)
assert data["time_ps"] == result["time_ps"]
assert sorted(data["nodes"]["name"]) == sorted({p["node"] for p in ports})
assert {n: p["kind"] == "switch" for p in ports for n in [p["node"]]} == \
    {n: bool(s) for n, s in zip(data["nodes"]["name"], data["nodes"]["switch"])}
assert sorted(data["links"]["name"]) == sorted({p["link"] for p in ports})
once = [p for p in ports if p["priority"] == "0"]
column = data["ports"]
assert list(zip(column["node"], column["link"])) == [(p["node"], p["link"]) for p in once]
assert column["sent_bytes"] == [int(p["port_sent_bytes"]) for p in once]
assert column["pause_sent"] == [int(p["pause_sent"]) for p in once]
for i, p in enumerate(once):
    mine = ports[8 * i:8 * i + 8]
    assert column["queue_max_bytes"][i] == max(int(q["queue_max_bytes"]) for q in mine)
    assert column["paused_ps"][i] == max(int(q["paused_ps"]) for q in mine)
    assert column["marked"][i] == total(mine, "marked")

# Totals over time end where the counters do.
series = data["series"]
at = series["at_ps"]
assert at[0] == 0 and at[-1] == result["time_ps"] and all(a < b for a, b in zip(at, at[1:]))
assert len(at) <= 1000
for key, end in (("marked", result["ecn"]["marked"]), ("cnp_sent", result["cnp"]["sent"]),
                 ("pause_sent", result["pfc"]["pause_sent"]), ("paused_ps", result["pfc"]["paused_ps"])):
    values = series[key]
    assert len(values) == len(at) and values[-1] == end, (key, values[-1], end)
    assert all(a <= b for a, b in zip(values, values[1:])), key
if series["queues"]:
    tops = [max(q["bytes"]) for q in series["queues"]]
    assert tops[0] == result["queue"]["max_bytes"] and tops == sorted(tops, reverse=True)
for p, values in series["sent_bytes"].items():
    hosts = [q for q in ports if q["kind"] == "host" and q["priority"] == p]
    assert values[-1] == total(hosts, "sent_bytes"), p
for active in series["active"]:
    mine = [f for f in flows if f["class"] == active["class"]]
    for t, n in zip(at, active["flows"]):
        under_way = sum(int(f["start_ps"]) <= t and (not f["end_ps"] or int(f["end_ps"]) > t) for f in mine)
        assert n == under_way, (active["class"], t, n, under_way)

# Completion times, and the table of flows.
for cdf in data["cdf"]:
    mine = sorted(int(f["fct_ps"]) for f in flows if f["class"] == cdf["class"] and f["status"] == "ok")
    assert cdf["count"] == len(mine) == result["fct"][cdf["class"]]["count"]
    assert cdf["fct_ps"] == [mine[r - 1] for r in cdf["rank"]] and len(cdf["rank"]) <= 256
    assert not mine or (cdf["rank"][0], cdf["rank"][-1]) == (1, len(mine))
rows = [r for r in page.cells if len(r) == 11 and r[4][0]] # that sort by bytes: of flows
assert len(rows) == min(300, len(flows))
number = lambda cell: int(cell.replace("\u202f", ""))
for row in rows:
    f = flows[number(row[0][1])]
    assert [row[k][1] for k in (1, 2, 3)] == [f["class"], f["src"], f["dst"]]
    assert row[4][0] == f["bytes"] and row[10][1] == f["status"]
    assert row[6][0] == (f["fct_ps"] or "-1") and number(row[9][1]) == int(f["packets_retransmitted"])

# What scripts show of them: all flows, the worst first; slowdown by size, in bins of powers of two.
woe = lambda f: (f["status"] == "ok", -float(f["slowdown"] or 0), int(f["id"]))
worst = sorted(flows, key=woe)
assert [number(r[0][1]) for r in rows] == [int(f["id"]) for f in worst][:len(rows)]
known = data["flows"]
assert known["total"] == len(flows) and known["id"] == [int(f["id"]) for f in worst]
micro = lambda f: int(f["slowdown"].replace(".", "")) if f["slowdown"] else -1
assert known["slowdown_millionths"] == [micro(f) for f in worst]
assert known["fct_ps"] == [int(f["fct_ps"] or -1) for f in worst]
assert known["bytes"] == [int(f["bytes"]) for f in worst]
assert [known["hosts"][i] for i in known["src"]] == [f["src"] for f in worst]
assert [known["classes"][i] for i in known["class"]] == [f["class"] for f in worst]
assert [s or "ok" for s in known["status"]] == [f["status"] for f in worst]

def rank(values, per_cent):
    return next(v for i, v in enumerate(sorted(values), 1) if 100 * i >= per_cent * len(values))

for one in data["slowdowns"]:
    bins = {}
    for f in flows:
        if f["slowdown"] and one["class"] in (None, f["class"]):
            bins.setdefault(int(f["bytes"]).bit_length(), []).append(f)
    bins = [bins[k] for k in sorted(bins)]
    assert one["count"] == [len(b) for b in bins]
    assert one["least_bytes"] == [min(int(f["bytes"]) for f in b) for b in bins]
    assert one["most_bytes"] == [max(int(f["bytes"]) for f in b) for b in bins]
    for p in (50, 95, 99):
        assert one["p%d_millionths" % p] == [rank([micro(f) for f in b], p) for b in bins], p

# The frames of the slider hold all that the ports have counted.
frames = data["frames"]
assert set(frames["at_ps"]) <= set(at[1:]) and frames["at_ps"] == sorted(set(frames["at_ps"]))
assert frames["at_ps"][-1] == result["time_ps"] and 1 < len(frames["at_ps"]) <= 240
for i, p in enumerate(once):
    mine = ports[8 * i:8 * i + 8]
    assert sum(frames["sent_bytes"][i]) == int(p["port_sent_bytes"])
    assert sum(frames["paused_ps"][i]) == total(mine, "paused_ps")
    assert max(frames["queue_bytes"][i], default=0) <= total(mine, "queue_max_bytes")
assert max(max(q, default=0) for q in frames["queue_bytes"]) == result["queue"]["max_bytes"]
END

look() { # DIR [NAME...]
	python3 "$work/look.py" "$@" || fail "the report in $1"
	command -v xmllint >/dev/null || return 0
	# It knows HTML 4: tags of today are no errors.
	xmllint --html --noout "$1/report.html" 2>&1 | grep -E 'error' |
		grep -vE 'Tag (header|main|nav|section|footer|details|summary|figure|figcaption) invalid' >xml || true
	[ ! -s xml ] || fail "xmllint: $(cat xml)"
}

expect 0 run small.yaml --out plain
[ "$(sed -n 's/^report: //p' out)" = plain/report.html ] || fail "another report"
look plain ring
grep -q 'Everything completed' plain/report.html || fail "no verdict"

# A value that there is none of is a dash: no PFC, no ECN, no queue of a host; and one scale of colours for all.
cat >bare.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
nic: {cc: none}
traffic: [{class: in, pattern: incast, to: h0, size: 1MB}]
END
expect 0 run bare.yaml --quiet --out bare
look bare
for name in "Pause frames" "Paused time" "ECN marks" "CNPs"; do
	grep -q ">$name</dt><dd>–</dd>" bare/report.html || fail "$name: not a dash"
	grep -q ">$name</dt><dd>–</dd>" plain/report.html && fail "$name: a dash"
done
grep -q '>Longest queue</dt><dd>[0-9]' bare/report.html || fail "no queue"
grep -qE -- '--(load|pause)-[0-9]|class="[^"]*(load|pause)-[0-9]' plain/report.html && fail "a second scale"
[ "$(grep -o -- '--heat-[0-5]: #' plain/report.html | sort | uniq -c | awk '{ print $1 }' | uniq)" = 3 ] || fail "no scale of six steps"

# What is not ours is there with its licence.
for name in "Leon Sorokin" "Timmy Willison"; do
	[ "$(grep -c "Copyright.* $name" plain/report.html)" -ge 1 ] || fail "no licence of $name"
done

# The reader lets no odd names in; that of the file is anybody's. (tests/unit/test_report.c has more.)
evil='<img src=x onerror=alert(1)> & "quoted" '"'single'"' <!-- é 漢.yaml'
cp small.yaml "$evil"
expect 0 run "$evil" --out evil
look evil "$evil"

# A run that is cut off says so, and so does one with losses.
expect 1 run small.yaml --until 6us --out cut
look cut
grep -q "when the scenario’s time was over" cut/report.html || fail "it does not say why"
grep -q 'Not everything completed' cut/report.html || fail "an unfinished run looks finished"
printf 'faults: [{link: h1-leaf0, drop_nth: [20]}]\n' | cat small.yaml - >lossy.yaml
expect 0 run lossy.yaml --until 1s --out lossy
look lossy
grep -q 'packets were lost on the way' lossy/report.html || fail "a loss is not told"

# How long pauses lasted, from each XOFF to its XON, those without one until the run is cut off.
cat >pauses.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
switch: {buffer: 1MiB, pfc: {}}
traffic: [{class: in, pattern: incast, to: h0, size: 1MB}]
END
expect 0 run pauses.yaml --until 120us --quiet --out pauses --trace all
look pauses
grep -q '<tr><td class="text">h[0-9]</td><td class="text">s0</td><td>3</td><td>–</td><td>–</td>' pauses/report.html ||
	fail "a host has no queue and marks nothing"
python3 - <<'END' || fail "pauses have other lengths in the page than in the trace"
import collections, json, re
asked, wanted, lengths = {}, collections.Counter(), collections.Counter()
over = 0
for line in open("out"):
    event = re.match(r"(\d+)\.(\d{6}) us  s0 > (h\d)  (XOFF|XON), priority 3:", line)
    if event and event[4] == "XOFF":
        asked[event[3]] = int(event[1] + event[2])
    elif event:
        wanted[event[3]] += int(event[1] + event[2]) - asked.pop(event[3])
        over += 1
for host, since in asked.items():
    wanted[host] += json.load(open("pauses/result.json"))["time_ps"] - since
text = open("pauses/report.html", encoding="utf-8").read()
places = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])["pauses"]["places"]
for link, total in zip(places["link"], places["total_ps"]):
    lengths[link.split("-")[0]] += total
assert over > 0 and 0 < len(asked) < 3 and lengths == wanted, (over, asked, wanted, lengths)
END

# How to get the same again, or to try what is said, a shell can take as it stands.
expect 0 run lossy.yaml --until 1s --seed 5 --set 'faults=[{link: h1-leaf0, drop_nth: [21]}]' --set nic.mtu=1024 --out settings
again=$(sed -n 's/.*To get the same again: <code>verbena \([^<]*\).*/\1/p' settings/report.html |
	python3 -c 'import html, sys; print(html.unescape(sys.stdin.read()))')
eval "expect 0 $again --out again"
grep '"digest"' settings/result.json >one
grep '"digest"' again/result.json | cmp - one || fail "not the same again with: $again"
grep -q "To try it: <code>verbena run lossy.yaml --set" settings/report.html || fail "a try forgets what was set"

# Nothing at all.
sed '/^traffic:/,/^until/d' small.yaml >empty.yaml
if "$verbena" check empty.yaml >/dev/null 2>&1; then
	expect 0 run empty.yaml --out empty
	grep -q 'Nothing was to be sent' empty/report.html || fail "an empty run"
fi
