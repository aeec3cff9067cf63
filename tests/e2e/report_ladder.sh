#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The packets of a flow in report.html, as a browser shows them: those of the trace, the lost ones among
# them; and the states of queue pairs.
. "$(dirname "$0")/lib.sh"
. "$root/tests/e2e/browser.sh"

expect 0 run "$root/traces/incidents/victim.yaml" --out victim --trace all
mv out victim/trace.txt

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
