#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# report.html of large fabrics, with keys and clicks that are real ones: folded, opened, and found in.
. "$(dirname "$0")/lib.sh"
. "$root/tests/e2e/browser.sh"

# More than 200 hosts: pods, or leaf switches where there are no pods; 128 hosts are not folded.
for shape in "pods fat_tree, k: 16" "leaves leaf_spine, leaves: 20, spines: 4, hosts_per_leaf: 16" "small fat_tree, k: 8"; do
	name=${shape%% *}
	cat >"$name.yaml" <<END
version: 1
name: $name
topology: {kind: ${shape#* }}
switch: {buffer: 8MiB, pfc: {}}
traffic:
  - {class: ring, pattern: ring, size: 20KB}
  - {class: in, pattern: incast, to: h0, from: "h[40-80]", size: 100KB}
END
	expect 0 run "$name.yaml" --quiet --out "$name"
	look "fold_$name" "$name"
done
