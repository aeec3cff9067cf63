#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# report.html as a person has it in front of them, with keys and clicks that are real ones: on a phone and on a
# desk, packets opened, one scale of colours, help that keeps the place.
. "$(dirname "$0")/lib.sh"
. "$root/tests/e2e/browser.sh"

# Three tiers: seven lanes.
cat >tiers.yaml <<'END'
version: 1
name: tiers
topology: {kind: fat_tree, k: 4}
traffic: [{class: far, pattern: permutation, size: 100KB}]
END
expect 0 report tiers.yaml --out tiers
expect 0 report "$root/traces/incidents/victim.yaml" --flows 8,4 --out victim
for run in tiers victim; do
	look phone $run
done
look headers tiers
look scale victim
look help victim
