#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages of the committed tree: built, installed with apt into fresh roots of Debian 12 and 13 (SUITES=...),
# and used there: the command, a program from outside in a scenario and between processes, and ibv_devinfo, as nobody.
# Needs root and a mirror (MIRROR=...). BUILD_OPTIONS=nocheck: without the package's own tests.
set -eu
cd "$ROOT"
for tool in debootstrap dpkg-buildpackage dh unshare; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "not root" && exit 77; }
mirror=${MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/verbena"
git archive HEAD | tar -x -C "$work/verbena"
(cd "$work/verbena" && DEB_BUILD_OPTIONS="parallel=2 ${BUILD_OPTIONS:-}" dpkg-buildpackage -us -uc -b) >"$work/log" 2>&1 ||
	{ tail -n 40 "$work/log" && exit 1; }
rm -f "$work"/*dbgsym*

cat >"$work/use" <<'END'
set -eu
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends /packages/*.deb gcc libc6-dev meson pkg-config ibverbs-utils perl-base >/log 2>&1 ||
	{ tail -n 20 /log; exit 1; }
mkdir -p /home/nobody && chown nobody /home/nobody
cat >/as_nobody <<'INNER'
set -eu
export HOME=/home/nobody
cd
verbena --version
verbena run victim --quiet --out victim
verbena new mine
cd mine
meson setup build >/dev/null
meson test -C build --print-errorlogs
verbena exec --host "packages-$$" -- ibv_devinfo | grep -q verbena0 # an address that nobody else has
INNER
setpriv --reuid=nobody --regid=nogroup --clear-groups sh /as_nobody
apt-get purge -y -qq verbena libverbena0 libverbena-dev >/log 2>&1
left=$(find /usr -name '*verbena*' ! -path '/usr/share/doc/*')
[ -z "$left" ] || { echo "left: $left"; exit 1; }
END
for suite in ${SUITES:-bookworm trixie}; do
	place=$work/$suite
	if ! debootstrap --variant=minbase "$suite" "$place" "$mirror" >"$work/log" 2>&1; then
		tail -n 3 "$work/log"
		echo "skipped: no root of $suite: no mirror"
		[ -n "${done:-}" ] || status=77
		continue
	fi
	mkdir "$place/packages"
	cp "$work"/*.deb "$work/use" "$place/packages/"
	cp /etc/resolv.conf "$place/etc/resolv.conf"
	# The mounts are this process's own and end with it.
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount --make-rprivate / && mount -t proc proc "$1/proc" && chroot "$1" sh /packages/use' sh "$place" \
		</dev/null || { echo "$suite: the packages do not install or run" && exit 1; }
	done="${done:-} $suite"
	rm -rf "$place"
done
echo "installed and used:${done:- nowhere}"
exit "${status:-0}"
