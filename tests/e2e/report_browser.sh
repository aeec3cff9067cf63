#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# report.html as a browser shows it: what stands in the page after its scripts have run is what the other
# files and the trace of the run say.
. "$(dirname "$0")/lib.sh"

browser=
for name in chromium chromium-browser google-chrome; do
	[ -n "$browser" ] || browser=$(command -v "$name" || true)
done
[ -n "$browser" ] || {
	echo "no chromium on this machine"
	exit 77
}

# page DIR STATE: the document of DIR/report.html#STATE, once its scripts have run, into dom.html
page() {
	HOME=$work timeout 100 "$browser" --headless --no-sandbox --disable-gpu \
		--user-data-dir="$work/profile" --dump-dom "file://$work/$1/report.html#$2" >dom.html 2>chrome.err ||
		{
			tail -n 5 chrome.err
			fail "$browser failed"
		}
	grep -q 'data-ready="[0-9]' dom.html || fail "$1#$2: a script has failed"
}

# holds_in DIR PART [ARG...]: dom.html agrees with the files in DIR
holds_in() {
	python3 "$root/tests/e2e/report_browser.py" "$@" || fail "$*"
}

# Pauses that spread, and a storm that no buffer asked for.
for run in victim pfc_storm; do
	expect 0 run "$root/traces/incidents/$run.yaml" --out $run --trace all
	mv out $run/trace.txt
	page $run ""
	holds_in $run whole
	holds_in $run pauses
	holds_in $run flows
	case $run in
	victim) holds_in victim cure nic.cc dcqcn ;;
	*)
		holds_in $run cure switch.pfc.watchdog.detection 1ms
		grep -q 'did not complete, such as flow 0 .*explain RUN 0 --why slow' dom.html || fail "nothing to ask about flow 0"
		;;
	esac
done
for t in 100000000 3000000000 9750000000 13100000000; do
	page victim "t=$t"
	holds_in victim moment $t
done
page pfc_storm "t=20000000"
holds_in pfc_storm moment 20000000

# Where nothing happens no panel is empty without a word.
printf 'version: 1\ntopology: {kind: star, hosts: 2}\n' >none.yaml
expect 0 run none.yaml --out none
page none ""
grep -q 'Nothing was recorded over time' dom.html || fail "nothing about what is not there"

# A host that is slow has no queue to blame.
expect 0 run "$root/traces/incidents/slow_receiver.yaml" --out slow
page slow ""
grep -q 'it took packets in more slowly than its link brought them' dom.html || fail "h0 is not slow"

# The packets of flows, which take another run.
expect 0 report victim --flows 8,4
page victim "ladder=8"
holds_in victim ladder 8 0
page victim "ladder=4&packet=1800"
holds_in victim ladder 4 1800
expect 0 run "$root/traces/incidents/retry_exceeded.yaml" --out exceeded
expect 0 report exceeded
page exceeded ""
grep -q 'id="qp-states" data-requester="RTS gone" data-responder="RTR">.*ended retry_exc_err' dom.html ||
	fail "the states of the queue pairs: $(grep -o 'id="qp-states".*</p>' dom.html | cut -c1-200)"

# What was lost is what h1 has sent more often than leaf0 has handed on.
printf 'faults: [{link: h1-leaf0, sender: h1, drop_nth: [20]}]\n' | cat small.yaml - >lossy.yaml
expect 0 run lossy.yaml --until 1s --out lossy --trace all
mv out lossy/trace.txt
flow=$(awk -F, 'NR > 1 && $12 > 0 { print $1; exit }' lossy/flows.csv)
expect 0 report lossy --flows "$flow"
mkdir all
{
	sed 's,</body>.*,,' lossy/report.html
	cat <<'END'
<script>
const next = [...document.querySelectorAll("#ladder button")].find(one => one.textContent === "Later"), lost = new Map();
for (;;) {
	for (const one of document.querySelectorAll('#ladder [data-lost="true"]')) lost.set(one.dataset.i, one.dataset.psn);
	if (next.disabled) break;
	next.click();
}
document.body.append(Object.assign(document.createElement("p"), {id: "said", textContent: "lost: " + [...lost.values()].join(" ")}));
</script>
</body>
</html>
END
} >all/report.html
page all ""
wanted=$(python3 - lossy/trace.txt "$flow" <<'END'
import collections, re, sys
came = collections.Counter()
for line in open(sys.argv[1], encoding="utf-8"):
    match = re.search(r"us  (\S+) > (\S+)  (RC_WRITE\S*) psn (\d+) .* flow " + sys.argv[2] + ",", line)
    if match and match.group(1) == "h1":
        came[match.group(4)] += 1
    elif match and match.group(1) == "leaf0":
        came[match.group(4)] -= 1
print(*[psn for psn, n in came.items() for _ in range(n)])
END
)
[ -n "$wanted" ] || fail "nothing was lost: a poor test"
grep -q "<p id=\"said\">lost: $wanted</p>" dom.html || fail "not $wanted: $(grep -o '<p id="said">.*</p>' dom.html)"

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
press("?"); is("?", document.getElementById("keys").open, true); is("its focus", id(), "keys-head");
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
