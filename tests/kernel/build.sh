#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# build.sh CACHE: fetches a Debian kernel with rxe and unpacks what a guest needs of it, as an
# ordinary user and once for each version. Prints the folder: vmlinuz, modules/*.ko, and order, the
# modules in the order of loading. Exit status 77: it cannot be had here; why is the last line.
set -eu
cache=$1
# Not needed everywhere, or built in somewhere: what is missing of these is left out. Adding an rxe
# link fails without the crc32 of the crypto API, which no list of dependencies names.
wanted="virtio_pci virtio_net rdma_rxe ib_uverbs rdma_ucm"
welcome="crc32_generic crc32c_generic"

skip() {
	echo "$*"
	exit 77
}

for tool in apt-get apt-cache dpkg-deb tar; do
	command -v $tool >/dev/null || skip "no kernel for the guest: no $tool"
done
[ "$(uname -m)" = x86_64 ] || skip "no kernel for the guest: this machine is $(uname -m)"
mkdir -p "$cache" 2>/dev/null || skip "no kernel for the guest: cannot write to $cache"
exec 9>"$cache/lock"
flock 9

# The lists of packages that root has fetched, or else our own.
lists=
apt() {
	tool=$1
	shift
	# shellcheck disable=SC2086
	"$tool" -q $lists "$@"
}

resolve() {
	package=$(apt apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -n 1)
	version=
	[ -z "$package" ] || version=$(apt apt-cache policy "$package" 2>/dev/null |
		sed -n 's/^ *Candidate: //p')
	[ -n "$version" ] && [ "$version" != "(none)" ]
}

fetch_lists() {
	mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial"
	lists="-o Dir::State::Lists=$cache/apt/lists -o Dir::Cache=$cache/apt"
	lists="$lists -o APT::Sandbox::User=$(id -un)"
	apt apt-get update >"$cache/update.log" 2>&1 || true
}

download() {
	(cd "$new" && apt apt-get download "$package") >"$new/download.log" 2>&1
}

# A folder of before may lack what is wanted since.
is_whole() {
	[ -e "$1" ] && grep -qx rdma_ucm "$1"
}

# Perhaps there is no network; any kernel that was had before will do.
any_cached() {
	for order in "$cache"/linux-image-*/order; do
		! is_whole "$order" || { echo "${order%/order}" && exit; }
	done
}

resolve || { fetch_lists && resolve; } || {
	any_cached
	skip "no kernel for the guest: apt knows no linux-image-amd64 here"
}
# The same version under another epoch or the like never has the same folder.
dir=$cache/$(echo "$package-$version" | tr -c 'A-Za-z0-9.+~\n-' _)
if is_whole "$dir/order"; then
	echo "$dir"
	exit
fi

new=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
download || { fetch_lists && resolve && download; } || {
	any_cached
	cat "$new/download.log"
	skip "no kernel for the guest: apt cannot download it"
}
mkdir "$new/tree" "$new/modules"
dpkg-deb --fsys-tarfile "$new"/*.deb | tar -x -C "$new/tree" --wildcards './boot/vmlinuz-*' \
	'*/modules.builtin' '*/kernel/drivers/infiniband/*' '*/kernel/drivers/virtio/*' \
	'*/kernel/drivers/net/*.ko*' '*/kernel/net/*' '*/kernel/crypto/*' '*/kernel/lib/*' '*/kernel/fs/configfs/*'
mv "$new"/tree/boot/vmlinuz-* "$new/vmlinuz"
# Lines "name path"; names have no hyphens, files may.
find "$new/tree" -name '*.ko*' | while read -r path; do
	name=${path##*/}
	echo "$(echo "${name%%.ko*}" | tr - _) $path"
done >"$new/index"
find "$new/tree" -name modules.builtin -exec sed 's|.*/||; s|\.ko$||; s|-|_|g' {} + >"$new/builtin"
: >"$new/load"

# chain NAME: unpacks it and what it needs, and writes them down in the order of loading
chain() {
	! grep -qx "$1" "$new/load" "$new/builtin" || return 0
	path=$(sed -n "s/^$1 //p" "$new/index")
	case $path in
	*.ko) cp "$path" "$new/modules/$1.ko" ;;
	*.ko.xz) xz -dc "$path" >"$new/modules/$1.ko" ;;
	*.ko.zst) zstd -qdc "$path" >"$new/modules/$1.ko" ;;
	*) return 1 ;;
	esac
	for needed in $(tr '\000' '\n' <"$new/modules/$1.ko" |
		LC_ALL=C sed -n 's/^depends=//p' | tr , ' '); do
		chain "$needed" || return 1
	done
	echo "$1" >>"$new/load"
}

for module in $wanted; do
	chain "$module" || skip "no kernel for the guest: $package has no $module, or not all of it"
done
for module in $welcome; do
	chain "$module" || true
done
rm -rf "$new/tree" "$new"/*.deb "$new/index" "$new/builtin" "$new/download.log"
mv "$new/load" "$new/order"
rm -rf "$dir"
mv "$new" "$dir"
echo "$dir"
