#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena report A B: a table whose values are those of both results, what differs marked, and both pages
# whole, in one file. What is the same waits behind a click, and which settings differ is told.
. "$(dirname "$0")/lib.sh"

expect 0 run victim --quiet --out a
expect 0 run victim-cure --quiet --out b
expect 0 report a b --out pair
[ "$(tail -n 1 out)" = "report: pair/report.html" ] || fail "says: $(tail -n 1 out)"
python3 - <<'END' || fail "not what the results say"
import csv, html.parser, json

text = open("pair/report.html", encoding="utf-8").read()
runs = [json.load(open(f"{run}/result.json", encoding="utf-8")) for run in "ab"]

class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows, self.pages, self.frames, self.at, self.cell, self.kind = [], {}, [], None, False, ""
        self.folded, self.sets, self.texts = False, [], False

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        assert "src" not in a and a.get("href", "data:,") == "data:,", a
        self.folded |= tag == "details"
        self.texts = tag in ("td", "code") and not self.kind
        if tag == "tr":
            self.kind = a.get("class", "")
            if not self.kind:
                self.sets.append("")
            else:
                assert self.folded == (self.kind == "same"), self.rows
        if tag == "td" and self.kind:
            self.rows[-1][1].append(int(a["data-value"]))
        self.cell = tag == "th" and a.get("scope") == "row" and self.kind
        if self.cell:
            self.rows.append(("", [], self.kind))
        if tag == "iframe":
            self.frames.append(a["data-page"])
        if tag == "script":
            self.at = a.get("id")

    def handle_data(self, data):
        if self.texts:
            self.sets[-1] += data.strip() + "|"
        if self.cell:
            name, values, kind = self.rows[-1]
            self.rows[-1] = (name + data, values, kind)
        if self.at:
            self.pages[self.at] = self.pages.get(self.at, "") + data

    def handle_endtag(self, tag):
        self.cell, self.at, self.texts = False, None, False
        self.folded &= tag != "details"

page = Page()
page.feed(text)
wanted = {
    "Flows posted": [r["flows"]["posted"] for r in runs],
    "Flows completed": [r["flows"]["completed"] for r in runs],
    "Packets lost": [sum(r["drops"].values()) for r in runs],
    "Packets sent again": [r["flows"]["packets_retransmitted"] for r in runs],
    "Pause frames": [r["pfc"]["pause_sent"] for r in runs],
    "Paused time": [r["pfc"]["paused_ps"] for r in runs],
    "ECN marks": [r["ecn"]["marked"] for r in runs],
    "CNPs": [r["cnp"]["sent"] for r in runs],
    "Longest queue": [r["queue"]["max_bytes"] for r in runs],
    "Virtual time": [r["time_ps"] for r in runs],
}
for name in runs[0]["fct"]:
    of = [r["fct"][name] for r in runs]
    wanted[name + ": flows completed"] = [f["count"] for f in of]
    wanted[name + ": FCT mean"] = [f["mean_ps"] for f in of]
    wanted[name + ": FCT p99"] = [f["p99_ps"] for f in of]
    wanted[name + ": goodput"] = [f["goodput_bps"] for f in of]
    for key in ("mean", "p99"):
        wanted[f"{name}: slowdown {key}"] = [round(f["slowdown_" + key] * 1e6) for f in of]
for name in runs[0]["fct"]:
    mine = [[f for f in csv.DictReader(open(f"{run}/flows.csv")) if f["class"] == name] for run in "ab"]
    wanted[name + ": goodput of a flow"] = [sum(int(f["bytes"]) for f in fs) * 8 * 10**12 //
                                            (sum(int(f["fct_ps"]) for f in fs) // len(fs) * len(fs)) for fs in mine]
wanted["Expectations held"] = [sum(e["held"] for e in r["expect"]) for r in runs]
assert [s for s in page.sets if s] == ["switch.ecn.kmin|–|40KB|", "switch.ecn.kmax|–|200KB|", "nic.cc|–|dcqcn|"], page.sets
assert {r[0]: r[1] for r in page.rows} == wanted, page.rows
assert all(name == "Expectations held" or kind == ("same" if values[0] == values[1] else "other")
           for name, values, kind in page.rows)
assert page.frames == ["page-0", "page-1"]
for frame, run in zip(page.frames, runs):
    whole = json.loads(page.pages[frame])
    assert whole.startswith("<!DOCTYPE html>") and whole.endswith("</html>\n")
    assert run["digest"] in whole
END

# Light and dark are one for all three: as the address asks, and when one of the pages is switched.
browser=
for name in chromium chromium-browser google-chrome; do
	[ -n "$browser" ] || browser=$(command -v "$name" || true)
done
dom() { # STATE
	HOME=$work timeout 100 "$browser" --headless --no-sandbox --disable-gpu --virtual-time-budget=5000 \
		--user-data-dir="$work/profile" --dump-dom "file://$work/pair/report.html#$1" 2>/dev/null | head -n 3
}
if [ -n "$browser" ]; then
	python3 "$root/tests/e2e/report_look.py" "$browser" pair pair || fail "a column is cut off"
	dom "" | grep -q 'data-theme' && fail "colours that nobody asked for"
	dom theme=dark | grep -q '<html[^>]* data-theme="dark"' || fail "not dark"
	sed '0,/theme.listeners.push(label);/s//&setTimeout(turn, 0);/' pair/report.html >pair/turned.html
	cmp -s pair/report.html pair/turned.html && fail "nothing to switch"
	mv pair/turned.html pair/report.html
	dom theme=light | grep -q '<html[^>]* data-theme="dark"' || fail "a switch that the page around it does not see"
fi
# Settings of a file and of --set, the seed, and nothing of two that are the same.
expect 0 report victim victim --set traffic.victim.size=1MB --out pair
grep -q '<p>None\.</p>' pair/report.html || fail "what is the same differs"
expect 0 run victim --set traffic.victim.size=1MB --seed 7 --quiet --out c
expect 0 report a c --out pair
grep -q '<code>traffic.1.size</code></th><td>4MB</td><td>1MB</td>' pair/report.html || fail "not the other size"
grep -q 'seed of the run</th><td>1</td><td>7</td>' pair/report.html || fail "not the other seed"
grep -q '<title>[^<]*\ba and c\b' pair/report.html || fail "two of the same name: $(grep -o '<title>.*</title>' pair/report.html)"
# By default in a folder that has both their names, as they were given.
mkdir folders
cp "$root/traces/incidents/victim.yaml" folders/scenario.yaml
expect 0 report a/ ./folders/scenario.yaml
[ "$(tail -n 1 out)" = 'report: verbena-out/a-and-scenario/report.html' ] || fail "another folder: $(tail -n 1 out)"
cd a
expect 0 report . ../c
cd ..
[ "$(tail -n 1 out)" = 'report: verbena-out/victim-and-c/report.html' ] || fail "no name of a folder: $(tail -n 1 out)"
expect 2 report a b a
expect 2 report a nowhere --out none
[ ! -e none ] || fail "something was written"
echo "both runs on one page"
