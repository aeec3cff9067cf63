#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# report.html with ten thousand flows, as a browser shows it: found, sorted, summed up as flows.csv says;
# and what keys do.
. "$(dirname "$0")/lib.sh"
. "$root/tests/e2e/browser.sh"

# Ten thousand flows of many sizes: all can be found, few are in the document.
python3 - >flows.txt <<'END'
print(10000)
for i in range(10000):
    s = i % 16
    print(s, (s + 1 + i // 16 % 15) % 16, 3, 100, 64 << i * 7 % 13, "%.9f" % (2 + i * 2e-6))
END
cat >many.yaml <<'END'
version: 1
name: many
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 8}
switch: {buffer: 4MB, pfc: {priorities: [3]}, ecn: {kmin: 100KB, kmax: 400KB, pmax: 20%}}
nic: {cc: dcqcn}
traffic:
  - {class: listed, file: flows.txt}
  - {class: small, pattern: ring, size: 3000B, start: 5us}
END
expect 0 run many.yaml --out many
[ "$(wc -l <many/flows.csv)" -gt 10000 ] || fail "too few flows"
page many ""
holds_in many flows
holds_in many slowdowns
holds_in many few
sed -n 's/.*data-ready="\([0-9]*\)".*/10,000 flows: ready after \1 ms/p' dom.html
page many "flows=from%3Ah3%20slowdown%3E1.5"
holds_in many flows from h3 1.5
page many "theme=dark&flows=h15%20small"
holds_in many flows words h15 small
grep -q '<html lang="en" data-theme="dark"' dom.html || fail "it is not dark"

# Keys: a copy of the page with a script of this test behind its own.
expect 0 run "$root/traces/incidents/victim.yaml" --out victim
mkdir keyed
{
	sed 's,</body>.*,,' victim/report.html
	cat <<'END'
<script>
const said = [], press = (key, target) => (target || document.body).dispatchEvent(
	new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
const is = (what, found, wanted) => { if (found !== wanted) said.push(`${what}: ${found}, not ${wanted}`); };
const drawing = document.querySelector("#drawing svg"), id = () => document.activeElement.id;
press("t"); is("t", id(), "moment");
press("/"); is("/", id(), "flow-field");
press("d", document.activeElement); is("d in a field", document.documentElement.dataset.theme, undefined);
press("Escape", document.activeElement); is("Escape", id(), "");
press("d"); is("d", document.documentElement.dataset.theme, theme.isDark() ? "dark" : "light");
press("."); press("."); is(".", moment.frame, 1);
press(","); is(",", moment.frame, 0);
press("w"); is("w", moment.frame, null);
press("t"); press("?"); is("?", document.getElementById("help").open, true); is("its focus", document.getElementById("help").contains(document.activeElement), true);
press("."); is("under the help", moment.frame, null);
press("?"); is("? again", document.getElementById("help").open, false);
press("ArrowRight", drawing); is("arrow", drawing.querySelectorAll("g.chosen").length, 1);
press("Escape", drawing); is("none", drawing.querySelectorAll("g.chosen").length, 0);
let count = 0;
for (const one of document.querySelectorAll("a, button:not(:disabled), input, select, summary, [tabindex]")) {
	if (one.offsetParent === null && one !== drawing) continue;
	one.focus();
	count++;
	is("focus of " + one.outerHTML.slice(0, 60), document.activeElement, one);
	if (!(parseFloat(getComputedStyle(one).outlineWidth) >= 2)) said.push("unseen: " + one.outerHTML.slice(0, 60));
}
if (count < 20) said.push("only " + count + " can be focused");
document.body.append(Object.assign(document.createElement("p"), {id: "said", textContent: said.join("; ") || "all well"}));
</script>
</body>
</html>
END
} >keyed/report.html
page keyed ""
grep -q '<p id="said">all well</p>' dom.html || fail "keys: $(grep -o '<p id="said">.*</p>' dom.html)"
