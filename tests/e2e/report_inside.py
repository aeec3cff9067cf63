#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""report_inside.py BROWSER DIR: DIR/report.html draws the inside of the chosen machine, in a real window."""
import csv
import json
import os
import re
import sys

sys.dont_write_bytecode = True
import chrome

browser, base = sys.argv[1:3]
page = chrome.Page(browser, os.getcwd())
address = "file://%s/%s/report.html" % (os.getcwd(), base)
data = json.loads(re.search(r'id="data">(.*?)</script>', open(base + "/report.html", encoding="utf-8").read(), re.S)[1])
rows = {(r["machine"], r["from"], r["to"]): r for r in csv.DictReader(open(base + "/lanes.csv"))}
HEAT = (0.05, 0.2, 0.4, 0.7)


def equal(what, found, wanted):
    if found != wanted:
        sys.exit("%s: found %r, expected %r" % (what, found, wanted))


def heat(share):
    return 0 if share <= 0 else 1 + sum(share > most for most in HEAT)


def check_drawn(name, share):
    """Each half of each lane has its share, in its colour."""
    machine = next(m for m in data["machines"] if m["name"] == name)
    parts = [p["name"] for p in machine["parts"]]
    equal("parts", page.value("[...document.querySelectorAll('#inside [data-part] text')].map(t => t.textContent)"), parts)
    drawn = page.value("[...document.querySelectorAll('#inside line.lane-half')].map(l => "
                       "[Number(l.dataset.lane), Number(l.dataset.side), l.dataset.busy, l.getAttribute('class')])")
    equal("halves", len(drawn), 2 * len(machine["lanes"]))
    for lane, side, busy, kind in drawn:
        ends = parts[machine["lanes"][lane]["a"]], parts[machine["lanes"][lane]["b"]]
        wanted = min(1, share(machine["lanes"][lane], side, (name, *(ends[::-1] if side else ends))))
        equal("%s, %s, %d" % (name, ends, side), abs(float(busy) - wanted) < 0.0001, True)
        equal("colour of %s, %s, %d" % (name, ends, side), "heat-%d" % heat(wanted) in kind.split(), True)


def of_run(lane, side, way):
    return int(rows[way]["busy_ps"]) / data["time_ps"]


def said():
    return page.value("document.querySelector('#inside .detail').textContent")


for width in (390, 1280):
    page.open(address, width, 844, False)
    equal("the page at %d" % width, page.value("document.documentElement.scrollWidth"), width)
check_drawn("h0", of_run)
page.click('#inside .grip[data-lane="0"]')
text = said()
assert "cpu0 – cpu1 – upi, 12.5" in text and "cpu0 → cpu1: busy 100" in text and "cpu1 → cpu0: busy 0" in text, text
page.key("ArrowDown")
assert said().startswith("cpu0 – sw0 – pcie gen 4 x16"), said()
# Another machine, which the address keeps.
page.value("(() => { const s = document.getElementById('machine'); s.value = [...s.options].find(o => o.text === 'h1').value; "
           "s.dispatchEvent(new Event('change')); })()")
equal("the address", "machine=h1" in page.value("location.hash"), True)
check_drawn("h1", of_run)
# At a moment: what the frame of it has.
times = [0] + data["frames"]["at_ps"]
for frame in (1, len(times) // 2, len(times) - 3):
    page.value("moment.set(%d)" % frame)
    check_drawn("h1", lambda lane, side, way: lane["frames"][side][frame] / (times[frame + 1] - times[frame]))
# What tags and engines did, of the part that is chosen; and why a host was the root of pauses.
page.open(address + "#machine=h1", 1280, 844, True)
page.click('#inside [data-part="%d"]' % [p["name"] for p in data["machines"][0]["parts"]].index("nic0"))
text = said()
assert text.startswith("nic0 – nic; 256 tags, a read takes ") and "reads waited for one 0" in text, text
reasons = page.value("[...document.querySelectorAll('#pause-tree .reason')].map(p => p.textContent)")
assert "since GPU h0.gpu1 is behind the socket link cpu0 > cpu1 (upi), which was busy 100.0 % of the time" in reasons[0], reasons
if len(sys.argv) > 3:
    page.open("file://%s/%s/report.html#machine=h0" % (os.getcwd(), sys.argv[3]), 1280, 844, True)
    page.click('#inside [data-part="%d"]' % page.value("data.machines[0].parts.findIndex(p => p.name === 'gpu0')"))
    text = said().replace("\u202f", " ")
    assert text.startswith("gpu0 – gpu; 256 tags, ") and "copies to the host: busy " in text and "256 of 33.6 MB in all" in text, text
page.open(address + "#machine=h3&t=%d" % times[3], 1280, 844, True)
check_drawn("h3", lambda lane, side, way: lane["frames"][side][2] / (times[3] - times[2]))
page.close()
