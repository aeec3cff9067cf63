#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""advice.py INCIDENTS PART ARG...: what a report says would cure the run, against the scenarios and the other
files. names NAME DIR: the first item names a key that NAME-cure.yaml changes. mute NAME DIR: none does.
settings DIR: the settings that the first item has to try, a line each. same DIR TEXT: TEXT, from explain, says
what the page does. numbers DIR: its numbers are those of the results."""
import csv, html.parser, json, re, sys

incidents, part, args = sys.argv[1], sys.argv[2], sys.argv[3:]


# ---- scenarios ----

def scalar(text):
    return text.strip().strip("\"'")


def flow(text, at):
    """A value in flow style from text[at] on: what it is, and where it ends."""
    if text[at] in "{[":
        close, is_map, items = "}]"["{[".index(text[at])], text[at] == "{", []
        at += 1
        while text[at] != close:
            if text[at] in ", ":
                at += 1
                continue
            if is_map:
                colon = text.index(":", at)
                key, at = scalar(text[at:colon]), colon + 1
                at += len(text[at:]) - len(text[at:].lstrip())
            value, at = flow(text, at)
            items.append((key, value) if is_map else value)
        return (dict(items) if is_map else items), at + 1
    match = re.compile(r'"[^"]*"|[^,\]}]*').match(text, at)
    return scalar(match.group()), match.end()


def block(lines, indent):
    """A map or a list in block style, of lines [indent, text] that it takes away."""
    value = [] if lines[0][1].startswith("- ") else {}
    while lines and lines[0][0] >= indent:
        _, text = lines.pop(0)
        if isinstance(value, list):
            value.append(flow(text[2:], 0)[0] if text[2] in "{[" else scalar(text[2:]))
            continue
        key, rest = text.split(":", 1)
        rest = rest.strip()
        value[key] = (flow(rest, 0)[0] if rest[0] in "{[" else scalar(rest)) if rest else \
            block(lines, lines[0][0])
    return value


def leaves(value, path=""):
    if isinstance(value, (dict, list)) and value:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, "%s.%s" % (path, key) if path else str(key))
    else:
        yield path, str(value)


def scenario(name):
    lines = [line.rstrip("\n") for line in open("%s/%s.yaml" % (incidents, name), encoding="utf-8")]
    lines = [[len(line) - len(line.lstrip()), line.strip()] for line in lines
             if line.strip() and not line.startswith("#")]
    return dict(leaves(block(lines, 0)))


def changed(name):
    """Keys in which the cure differs; what it is called and expects does not count."""
    bad, good = scenario(name), scenario(name + "-cure")
    keys = {k for k in bad.keys() | good.keys() if bad.get(k) != good.get(k)}
    keys = {k for k in keys if k.split(".")[0] not in ("name", "expect")}
    assert keys, "%s and its cure are the same" % name
    return keys


def is_of(key, keys):
    """Whether @key is one of @keys, or one above or below it."""
    return any((key + ".").startswith(k + ".") or (k + ".").startswith(key + ".") for k in keys)


# ---- pages ----

class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.items, self.rest, self.section, self.tag = [], "", False, []

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        self.tag.append(tag)
        if tag == "section":
            self.section = a.get("aria-labelledby") == "cure"
        if not self.section:
            return
        if tag == "h3":
            self.items.append({"trouble": "", "text": "", "keys": []})
        if "data-key" in a:
            self.items[-1]["keys"].append((a["data-key"], a["data-found"], a["data-value"]))

    def handle_endtag(self, tag):
        self.tag.pop()
        self.section = self.section and tag != "section"

    def handle_data(self, data):
        if not self.section or not self.tag:
            return
        data = data.replace("\u202f", " ").replace("µs", "us")
        if self.tag[-1] == "h3":
            self.items[-1]["trouble"] += data
        elif "p" in self.tag and self.items:
            self.items[-1]["text"] += data
        elif "p" in self.tag:
            self.rest += data


def page(folder):
    found = Page()
    text = open(folder + "/report.html", encoding="utf-8").read()
    text = re.sub(r"<(meta|link)[^>]*>", "", text)
    found.feed(text[:text.index("<script")])
    assert found.items or found.rest, "nothing about cures"
    return found


def check_names(name, folder):
    items, keys = page(folder).items, changed(name)
    assert items, "no advice"
    named = [k for k, _, _ in items[0]["keys"]]
    assert any(is_of(k, keys) for k in named), "%s is named, %s is what the cure changes" % (named, sorted(keys))


def check_mute(name, folder):
    keys = changed(name)
    for item in page(folder).items:
        for key, _, _ in item["keys"]:
            assert not is_of(key, keys), "cured, and still %s" % key


def check_settings(folder):
    text = page(folder).items[0]["text"]
    for quoted, plain in re.findall(r"--set (?:'([^']*)'|(\S+))", text):
        print(quoted or plain)


def check_same(folder, said):
    found, text = page(folder), open(said, encoding="utf-8").read()
    plain = lambda words: re.sub(r"\s+", " ", words)
    if not found.items:
        assert plain(found.rest).strip() == plain(text).strip(), (found.rest, text)
    troubles = re.findall(r"^\d+\. (.*)$", text, re.M)
    assert troubles == [i["trouble"] for i in found.items], troubles
    keys = re.findall(r"^    (?:or )?(\S+): found (.*?)(?:, try (.*)|; no value to try .*)?$", text, re.M)
    assert keys == [k for i in found.items for k in i["keys"]], keys
    for item in found.items:
        assert plain(item["text"].split("To try it: ")[0]).strip() in plain(text), item["text"]


def check_numbers(folder):
    result = json.load(open(folder + "/result.json"))
    flows = list(csv.DictReader(open(folder + "/flows.csv")))
    ports = list(csv.DictReader(open(folder + "/ports.csv")))
    text = page(folder).items[0]["text"]
    again = sum(int(f["packets_retransmitted"]) for f in flows)
    dropped = sum(int(p["dropped"]) for p in ports)
    node = max(ports, key=lambda p: int(p["dropped"]))
    wanted = {
        "headroom_short": r"^%s had no room for %d packets of priority 3; %s of them came from %s\." % (
            node["node"], dropped, node["dropped"], node["peer"]),
        "dscp_mismatch": r"^leaf0 had no room for %d packets of priority 0; " % dropped,
        "lossy_optic": r"^%d packets were lost on links and %d sent again" % (result["drops"]["fault"], again),
        "go_back_0": r"^%d packets were lost on links and %d sent again" % (result["drops"]["fault"], again),
        "mtu_mismatch": r"^spine0 takes IP packets of 1500 bytes and dropped %d larger" % result["drops"]["mtu"],
        "watchdog": r"^A watchdog discarded %d packets" % result["drops"]["watchdog"],
        "ecn_off": r" lasted %.1f ms in all" % (sum(int(p["paused_ps"]) for p in ports) / 1e9),
    }[folder]
    assert re.search(wanted, text), (wanted, text)


{"names": check_names, "mute": check_mute, "settings": check_settings, "same": check_same,
 "numbers": check_numbers}[part](*args)
