#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The pages in docs/samples are those that their runs write today, but for the version and the seconds that a
# run took: byte for byte. tests/e2e/samples.sh build/verbena . --remake writes those that are not.
samples=$(realpath "$2")/docs/samples
remake=${3:-}
. "$(dirname "$0")/lib.sh"

# same_part FILE: what is left when these are taken out
same_part() {
	sed -E 's,(<li>version <b>)[^<]*,\1,; s,(computing it took )[0-9.]*&#8239;[^<]*,\1,
		s,^( *"version": ")[^"]*,\1,; s,^( *"wall_s": )[0-9.e-]*,\1,' "$1"
}

all=0
for name in victim-small victim-small-cure; do
	mkdir -p docs/samples
	cp "$samples/$name.yaml" docs/samples/ # so that the page names it as one in the repository would
	expect 0 run "docs/samples/$name.yaml" --quiet
	page=verbena-out/$name/report.html
	sample=$samples/$name.html
	same_part "$page" >new
	[ "$(grep -cE '<li>version <b></b>|took </dd>|^ *"(version": "|wall_s": ,)' new)" = 4 ] || fail "$name: no version or time to leave out"
	if ! [ -e "$sample" ] || ! same_part "$sample" | cmp -s - new; then
		[ "$remake" = --remake ] ||
			fail "docs/samples/$name.html is stale; remake it: tests/e2e/samples.sh build/verbena . --remake"
		# It is made before the change that it is part of is committed: the version without where.
		sed -E 's, ?\([0-9a-z.-]*dirty\),,' "$page" >"$sample"
	fi
	! grep -qE '(version <b>|"version": ")[^<"]*dirty' "$sample" || fail "docs/samples/$name.html is of a version that nobody has"
	# Under a name of its own, or running it would write over the incident's folder.
	[ ! -e "$root/traces/incidents/$name.yaml" ] || fail "$name is the name of an incident, too"
	all=$((all + $(wc -c <"$sample")))
done
[ "$all" -le 460800 ] || fail "the samples are $all bytes: too many to carry in every clone"
echo "$all bytes"
