#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""report_look.py BROWSER PART DIR: DIR/report.html does what PART says it does, in a real window."""
import json
import os
import re
import sys

sys.dont_write_bytecode = True
import chrome

browser, part, base = sys.argv[1:4]
page = chrome.Page(browser, os.getcwd())
address = "file://%s/%s/report.html" % (os.getcwd(), base)
SIZES = ((390, 844), (1280, 900))


def equal(what, found, wanted):
    if found != wanted:
        sys.exit("%s: found %r, expected %r" % (what, found, wanted))


def check_phone():
    """Nothing is wider than the window, and what the ladder says can be read: letters as high as elsewhere,
    none of them cut off or over another."""
    for width, height in SIZES:
        for dark in (False, True):
            page.open(address, width, height, dark)
            equal("the page at %d" % width, page.value("document.documentElement.scrollWidth"), width)
            words = page.value("""[...document.querySelectorAll("#ladder svg text")].map(one => {
                const r = one.getBoundingClientRect(), s = one.closest("svg").getBoundingClientRect();
                return [one.firstChild.data, one.getAttribute("class"), r.height >= 10, r.left >= s.left && r.right <= s.right,
                    r.left, r.right, r.top, r.bottom]; })""")
            assert len(words) > 6, "a poor test: %r" % words
            for text, kind, is_high, is_inside, *_ in words:
                equal("%s, %s, at %d: high and inside" % (kind, text, width), (is_high, is_inside), (True, True))
            heads = [one for one in words if "lane-name" in one[1] or "lane-role" in one[1]]
            for i, (a, _, _, _, left, right, top, bottom) in enumerate(heads):
                for b, _, _, _, from_x, to_x, from_y, to_y in heads[:i]:
                    if left < to_x and from_x < right and top < to_y - 2 and from_y < bottom - 2:
                        sys.exit("%s is over %s at %d" % (a, b, width))
            # What holds more than it shows says so, sideways in words, and fades where there is more.
            boxes = page.value("""[...document.querySelectorAll(".scroll, .drawing, #pause-tree")].map(one => {
                const hint = one.previousElementSibling, is_hint = hint.classList.contains("sideways");
                return [one.id || one.getAttribute("aria-label"), one.scrollWidth > one.clientWidth + 1, is_hint && !hint.hidden,
                    one.scrollHeight > one.clientHeight + 1 && getComputedStyle(one).overflowY !== "visible",
                    getComputedStyle(one).maskImage.includes("to top")]; })""")
            for name, is_wide, is_told, is_high, fades in boxes:
                equal("%s at %d: told and faded" % (name, width), (is_told, fades), (is_wide, is_high))
            assert width > 390 or any(name == "drawing" and told for name, _, told, _, _ in boxes), boxes
            assert not any(wide for name, wide, *_ in boxes if name == "Expectations"), boxes
            # Where nothing is pointed at, a legend has names alone.
            legends = page.value("[...document.querySelectorAll('.u-legend')].map(one => one.innerText)")
            assert legends and not any("–" in text or "time" in text for text in legends), legends
    # Turned, it is as wide as the window then is.
    page.open(address, 390, 844)
    page.call("Emulation.setDeviceMetricsOverride", width=844, height=390, deviceScaleFactor=1, mobile=True)
    page.settle()
    page.settle()
    equal("turned", page.value("document.documentElement.scrollWidth"), 844)
    wide = page.value("document.querySelector('#ladder svg').viewBox.baseVal.width")
    assert wide > 600, wide


def check_pair():
    """Both columns of the tables are in the window."""
    for width, height in SIZES:
        page.open(address, width, height)
        equal("the page at %d" % width, page.value("document.documentElement.scrollWidth"), width)
        boxes = page.value("[...document.querySelectorAll('.scroll')].map(one => [one.scrollWidth, one.clientWidth])")
        assert len(boxes) >= 2 and all(inner <= outer for inner, outer in boxes), (width, boxes)


def rows():
    """header -> (first byte, byte behind it, [(field, bits, value, clause)]) of the open inspector"""
    return page.value("""[...document.querySelectorAll("#headers tbody")].map(one => [one.dataset.header,
        [Number(one.dataset.from), Number(one.dataset.to), [...one.querySelectorAll("[data-field]")].map(row =>
            [row.dataset.field, Number(row.dataset.bits), row.dataset.value, row.cells[2].textContent])]])""")


def unpacked(text):
    return re.sub(r"\((\d+)\)", lambda zeros: "00" * int(zeros[1]), text)


def is_open():
    return page.value("!document.getElementById('headers').hidden")


def check_headers():
    """A click, or Enter, opens the headers of a packet: each bit of them is there once, with its clause."""
    page.open(address, 1280, 900)
    packets = page.value("data.packets")
    flow = packets["flows"][0]
    equal("before a click", is_open(), False)
    seen = set()
    for i in range(0, 60):
        page.value("document.querySelector('#ladder svg').focus({preventScroll: true})")
        if i == 0:
            page.click("#ladder [data-i='0'] path")
            equal("after a click", is_open(), True)
            page.key("Enter")
            equal("Enter once more", is_open(), False)
            page.key("Enter")
        else:
            page.key("ArrowDown")
        equal("it follows the keys", (is_open(), page.value("document.getElementById('headers').dataset.i")), (True, str(i)))
        net = unpacked(flow["headers"]["nets"][flow["headers"]["net"][i]])
        transport = unpacked(flow["headers"]["transports"][flow["headers"]["transport"][i]])
        found, at, bits = rows(), 0, ""
        for header, (begin, end, fields) in found:
            equal("%s begins" % header, begin, at)
            at = end
            if header != "Payload":
                equal("bits of %s" % header, sum(f[1] for f in fields), 8 * (end - begin))
            for name, width, value, clause in fields:
                assert len(clause) > 5, (header, name, clause)
                bits += format(int(value), "0%db" % width)
        equal("all bytes", "%0*x" % (len(net + transport), int(bits, 2)), net + transport)
        frame = int(net[32:36], 16) + 14  # IPv4 and Ethernet
        equal("where it ends", at, frame)
        of = {name: {f[0]: f[2] for f in fields} for name, (_, _, fields) in found}
        equal("PSN", int(of["BTH"]["PSN"]), flow["psn"][i])
        equal("opcode", int(of["BTH"]["opcode"]), flow["opcode"][i])
        equal("what follows", [h for h, _ in found if h in ("RETH", "AETH", "CNP", "ImmDt")],
              packets["layouts"][str(flow["opcode"][i])])
        seen.add(flow["opcode"][i])
    assert len(seen) > 2, "a poor test: %s" % seen
    texts = page.value("document.getElementById('headers').textContent")
    assert "undefined" not in texts and "NaN" not in texts, texts
    before = page.value("scrollY")
    page.key("Escape")
    equal("Escape", (is_open(), page.value("scrollY"), page.value("document.activeElement.tagName")), (False, before, "svg"))
    page.key("Enter")
    page.value("document.getElementById('headers').focus()")
    page.key("Escape")
    equal("Escape among them", (is_open(), page.value("document.activeElement.tagName")), (False, "svg"))
    page.open(address, 390, 844)
    page.click("#ladder [data-i='0'] path")
    equal("open on a phone", (is_open(), page.value("document.documentElement.scrollWidth")), (True, 390))
    page.click("#headers button")
    equal("closed", is_open(), False)


# ---- one scale, and help ----

STEPS = (0, 0.05, 0.2, 0.4, 0.7, 1)


def step(share):
    return next(k for k, most in enumerate(STEPS) if share <= most + 1e-12 or k == 5)


def check_scale():
    """Lines, dashes, circles and nodes have the colours of the one legend, by their own shares."""
    for dark in (False, True):
        page.open(address, 1280, 900, dark)
        legend = page.value("[...document.querySelectorAll('#heat i')].map(one => getComputedStyle(one).backgroundColor)")
        equal("the steps of the legend", (len(set(legend)), len(page.value("[...document.querySelectorAll('#heat')].length") * "x")), (6, 1))
        data = page.value("({time: data.time_ps, links: data.links, ports: data.ports, frames: data.frames, nodes: data.nodes})")
        longest = max(data["ports"]["queue_max_bytes"])
        seen = set()
        for frame in (None, 3, 40, 100):
            page.value("moment.set(%s)" % json.dumps(frame))
            begin, end = (0, data["time"]) if frame is None else page.value("[moment.begin(%d), moment.end(%d)]" % (frame, frame))
            found = page.value("""[...document.querySelectorAll("#drawing line[data-side]")].map(one => [Number(one.dataset.link),
                Number(one.dataset.sent), Number(one.dataset.paused), one.getAttribute("class"), getComputedStyle(one).stroke])""")
            for link, sent_bytes, paused, kind, colour in found:
                k = step(sent_bytes * 8e12 / (end - begin) / data["links"]["rate_bps"][link])
                equal("load of link %d at %s" % (link, frame), (kind.split()[1], colour), ("heat-%d" % k, legend[k]))
                seen.add(("load", k))
            node = {}
            value = data["ports"] if frame is None else data["frames"]
            for i, name in enumerate(data["ports"]["node"]):
                paused = value["paused_ps"][i]
                paused = paused if frame is None else paused[frame] if frame < len(paused) else 0
                node[name] = max(node.get(name, 0), min(1, paused / (end - begin)))
            shapes = page.value("""[...document.querySelectorAll("#drawing g[data-node]")].map(one => [data.nodes.name[one.dataset.node],
                one.getAttribute("class"), getComputedStyle(one.querySelector("rect")).fill])""")
            for name, kind, colour in shapes:
                k = step(node[name])
                equal("pause of %s at %s" % (name, frame), (kind.split()[1], colour), ("heat-%d" % k, legend[k]))
                seen.add(("paused", k))
            queues = page.value("""[...document.querySelectorAll("#drawing circle")].map(one => [Number(one.getAttribute("r")),
                one.getAttribute("class"), getComputedStyle(one).fill])""")
            for radius, kind, colour in queues:
                k = step((radius / 10) ** 2) if radius else 0
                near = {step(max(0, ((radius + d) / 10) ** 2 - 1e-9)) for d in (-0.006, 0.006)} | {k}
                assert int(kind[-1]) in near and colour == legend[int(kind[-1])], (radius, kind, colour, longest)
                seen.add(("queue", int(kind[-1])))
            dashes = page.value("[...document.querySelectorAll('#drawing .pausing')].map(one => [one.getAttribute('class'), getComputedStyle(one).stroke])")
            for kind, colour in dashes:
                equal("dashes", colour, legend[int(kind[-1])])
        assert len(seen) > 8, "a poor test: %s" % seen
        words = page.value("document.querySelector('main').innerText")
        for word in ("NaN", "undefined", "null", "Infinity"):
            assert word not in words, word
    for expression in ("timeText(null)", "bytesText(NaN)", "rateText(undefined)", "percentText(0 / 0)", "plainText(null)"):
        equal(expression, page.value(expression), "–")
    equal("a node of no time", page.value("percentText(data.no_such)"), "–")


def check_help():
    """? lies over the page, which stays where it is, whatever had the focus."""
    for width, height in SIZES:
        page.open(address, width, height)
        page.value("document.getElementById('moment').focus()")
        for _ in range(7):
            page.key("ArrowRight")
        for selector in ("#moment", "#ladder svg", "#flow-table button"):
            page.value("(() => { const one = document.querySelector(%s); one.focus(); scrollBy(0, 37); })()" % json.dumps(selector))
            page.settle()
            look = """(() => { const one = document.activeElement; return [one === document.querySelector(%s), scrollX, scrollY,
                document.getElementById("moment").value, moment.frame, document.getElementById("help").open]; })()""" % json.dumps(selector)
            before = page.value(look)
            equal("before", before[0], True)
            assert before[4] is not None and before[2] > 100, "a poor test: %s" % before
            for close in (lambda: page.key("Escape"), lambda: page.key("?"), lambda: page.click("#help button")):
                page.key("?")
                page.settle()
                equal("open", page.value("[document.getElementById('help').open, scrollX, scrollY]"), [True] + before[1:3])
                assert page.value("document.getElementById('help').getBoundingClientRect().top") >= 0, "out of sight"
                close()
                page.settle()
                equal("the place of " + selector, page.value(look), before)


# ---- large fabrics ----

def shown(kind):
    return page.value("[...document.querySelectorAll('#drawing [data-%s]:not(line)')].map(one => one.dataset.%s)" % (kind, kind))


def ends():
    """The sums of what leaves each side of each line: all that ports have sent but inside of groups."""
    return page.value("[...document.querySelectorAll('#drawing line[data-side]')].reduce((n, one) => n + Number(one.dataset.sent), 0)")


def sent(inside):
    """By all ports but those of links between two nodes that @inside, name -> group, has in one group."""
    data = page.value("({ports: data.ports, nodes: data.nodes.name, links: data.links})")
    of = dict(zip(data["links"]["name"], zip(data["links"]["a"], data["links"]["b"])))
    total = 0
    for link, size in zip(data["ports"]["link"], data["ports"]["sent_bytes"]):
        a, b = (inside(data["nodes"][i]) for i in of[link])
        total += size * (a is None or a != b)
    return total


def middle():
    """How far what is chosen is from the middle of the drawing, in parts of its size."""
    return page.value("""(() => { const a = document.querySelector("#drawing g.chosen").getBoundingClientRect(),
        b = document.getElementById("drawing").getBoundingClientRect();
        return Math.max(Math.abs(a.x + a.width / 2 - b.x - b.width / 2) / b.width, Math.abs(a.y + a.height / 2 - b.y - b.height / 2) / b.height);
        })()""")


def find(name):
    page.value("document.body.focus()")
    page.key("f")
    equal("f", page.value("document.activeElement.id"), "find-node")
    page.value("document.activeElement.select()")
    page.type(name)
    page.settle()
    return page.value("document.getElementById('find-text').textContent")


def check_found(name):
    equal("found", find(name), name)
    equal("chosen", page.value("data.nodes.name[document.querySelector('#drawing g.chosen').dataset.node]"), name)
    assert middle() < 0.1, "%s is not in the middle: %s" % (name, middle())


def check_fold_pods():
    pod_of = lambda name: name[1:name.index("ea"[name.find("e") < 0])] if name[0] == "p" else \
        str(int(name[1:]) // 64) if name[0] == "h" else "top"
    page.open(address, 1280, 900)
    equal("folded", (len(shown("group")), shown("node")), (17, []))
    equal("what goes between pods", ends(), sent(pod_of))
    page.click("#drawing [data-group='3']")
    page.settle()
    names = page.value("data.nodes.name")
    equal("a pod is open", sorted({pod_of(names[int(i)]) for i in shown("node")}), ["3"])
    equal("all of it", (len(shown("node")), len(shown("group"))), (80, 16))
    equal("what goes in it and between pods", ends(), sent(lambda name: None if pod_of(name) == "3" else pod_of(name)))
    page.key("Enter")
    page.settle()
    equal("folded again", (len(shown("group")), shown("node")), (17, []))
    for name in ("h777", "p5e3", "c63"):
        check_found(name)
    equal("only what is found is open", (len(shown("node")), len(shown("group"))), (64, 16))
    equal("a name of nothing", find("xyz"), "no node of that name")
    page.click("#fold-all")
    equal("fold all", (len(shown("group")), shown("node")), (17, []))
    # Zoom and pan.
    box = "document.querySelector('[data-group=\"8\"]').getBoundingClientRect()"
    width, left = page.value(box + ".width"), page.value(box + ".x")
    page.click("button[title='Zoom in']")
    page.settle()
    assert page.value(box + ".width") > 1.3 * width, "not larger"
    x, y = page.value("(() => { const b = document.getElementById('drawing').getBoundingClientRect(); return [b.x + b.width / 2, b.y + 10]; })()")
    before = page.value(box + ".x")
    page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    for k in range(1, 6):
        page.mouse("mouseMoved", x + 10 * k, y, button="left", buttons=1)
    page.mouse("mouseReleased", x + 50, y, button="left", buttons=0, clickCount=1)
    page.settle()
    equal("dragged", round(page.value(box + ".x") - before), 50)
    equal("nothing was opened", shown("node"), [])
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120, modifiers=2)
    page.settle()
    assert page.value(box + ".width") > 1.7 * width, "the wheel does not zoom"
    page.click("button[title='See all of it']")
    page.settle()
    equal("all of it", (round(page.value(box + ".width")), round(page.value(box + ".x"))), (round(width), round(left)))
    # The moment stays what it is, whatever is open; what is looked for is in the address.
    page.value("moment.set(0)")
    page.click("#drawing [data-group='0']")
    assert page.value("document.getElementById('moment-text').textContent.startsWith('0')"), "another moment"
    page.open(address + "#node=h1000", 390, 844, True)
    equal("from the address", page.value("document.getElementById('find-text').textContent"), "h1000")
    equal("on a phone", page.value("document.documentElement.scrollWidth"), 390)


def check_fold_leaves():
    page.open(address, 1280, 900)
    equal("folded", (len(shown("group")), len(shown("node"))), (20, 4))
    equal("what goes between leaves", ends(), sent(lambda name: str(int(name[1:]) // 16) if name[0] == "h" else
                                                   name[4:] if name.startswith("leaf") else None))
    check_found("h100")
    equal("its leaf is open", len(shown("node")), 4 + 17)


def check_fold_small():
    page.open(address, 1280, 900)
    equal("not folded", (shown("group"), len(shown("node"))), ([], 208))
    check_found("h100")


{"fold_leaves": check_fold_leaves, "fold_pods": check_fold_pods, "fold_small": check_fold_small, "headers": check_headers, "help": check_help, "pair": check_pair, "phone": check_phone,
 "scale": check_scale}[part]()
equal("errors", page.errors, [])
