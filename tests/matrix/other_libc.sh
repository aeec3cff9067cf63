#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# other_libc.sh BUILD: a program that sends addresses of all its memory has the same digest with a newer C
# library than this machine's: the one of a later Debian, unpacked in the user's cache and run by its own
# loader, without touching this machine's package system.
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
	echo "$*"
	exit 77
}

verbena=$build/verbena
module=$build/tests/programs/addresses.so
! nm "$verbena" | grep -qE '__(asan|tsan)_init' || skip "a sanitizer has plans of its own for addresses"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip "no apt-get and dpkg-deb"
[ -e $keys ] || skip "no keys of Debian's archive in $keys"
own=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
cache=${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/verbena
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=$work

# fetch SUITE DIRECTORY
fetch() {
	rm -rf "$work/apt"
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
	echo "deb [signed-by=$keys] http://deb.debian.org/debian $1 main" >"$work/apt/sources"
	options="-o Dir::Etc::SourceList=$work/apt/sources -o Dir::Etc::SourceParts=/dev/null
		-o Dir::Cache=$work/apt/cache -o Dir::State::lists=$work/apt/lists
		-o Dir::State::status=/dev/null -o Acquire::Languages=none -o APT::Sandbox::User=root"
	# shellcheck disable=SC2086
	(cd "$work/apt" && apt-get $options update && apt-get $options download libc6) >"$work/log" 2>&1 ||
		return 1
	dpkg-deb -x "$work"/apt/libc6_*.deb "$work/apt/new" && rm -rf "$2" && mv "$work/apt/new" "$2"
}

# Of a newer one: what was built here may ask for all that is in this machine's.
for suite in trixie forky; do
	other=$cache/libc-$suite-$(uname -m)
	libc=$(find "$other" -name libc.so.6 2>/dev/null | head -n 1)
	[ -n "$libc" ] || ! fetch $suite "$other" || libc=$(find "$other" -name libc.so.6 | head -n 1)
	[ -n "$libc" ] || continue
	version=$(strings -a "$libc" | sed -n 's/^GNU C Library .*version \([0-9.]*[0-9]\).*/\1/p' | head -n 1)
	[ "$version" = "$own" ] || [ "$(printf '%s\n' "$own" "$version" | sort -V | tail -n 1)" = "$own" ] || break
	libc=
done
[ -n "$libc" ] || skip "no newer C library than $own could be had"
folder=$(dirname "$libc")
loader=$(find "$folder" -name 'ld*.so.[0-9]' | head -n 1)

cat >"$work/addresses.yaml" <<END
version: 1
topology: {kind: star, hosts: 3}
programs:
  - {run: "$module", name: one, hosts: [h0, h1], args: [show=1]}
  - {run: "$module", name: two, hosts: [h2, h0]}
END
system=$(dirname "$(ldd "$verbena" | sed -n 's/.*libjansson.* => \([^ ]*\) .*/\1/p')")

# run NAME COMMAND...
run() {
	name=$1
	shift
	"$@" run "$work/addresses.yaml" --out "$work/$name.run" >"$work/$name" 2>"$work/$name.err" || {
		cat "$work/$name.err"
		exit 1
	}
}
run own "$verbena"
run other "$loader" --library-path "$folder:$system" "$verbena"
digest=$(sed -n 's/^digest: //p' "$work/own")
cmp "$work/own.err" "$work/other.err"
[ "$(grep -c ': 0x' "$work/own.err")" -ge 50 ]
[ "$(sed -n 's/^digest: //p' "$work/other")" = "$digest" ] || {
	echo "another digest with glibc $version than $digest with $own"
	exit 1
}
echo "digest $digest with glibc $own and $version"
