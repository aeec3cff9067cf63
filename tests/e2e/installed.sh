# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# An installation of the build folder $build in a prefix that was empty and is not where the build thinks it is:
# sets prefix, verbena and library, the folder of libverbena, and has pkg-config find it.
# shellcheck disable=SC2034,SC2154
command -v pkg-config >/dev/null || { echo "no pkg-config" && exit 77; }
CC=${CC:-cc}
CXX=${CXX:-c++}
command -v "$CXX" >/dev/null || { echo "no $CXX" && exit 77; }
DESTDIR=$PWD/root meson install -C "$build" --no-rebuild --quiet >install.log 2>&1 ||
	{ cat install.log && fail "not installed"; }
prefix=$PWD/root$(meson introspect --buildoptions "$build" |
	python3 -c 'import json, sys; print([o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"][0])')
mv "$prefix" moved # whatever knows where it was is wrong now
prefix=$PWD/moved
verbena=$prefix/bin/verbena
library=$(dirname "$(find "$prefix" -name libverbena.so.0)")
config=$(find "$prefix" -name verbena.pc)
PKG_CONFIG_PATH=$(dirname "$config")
export PKG_CONFIG_PATH XDG_CACHE_HOME="$PWD/cache"

# pkg-config --define-variable: for build folders that were set up before the file could be moved.
flags() {
	pkg-config "--define-variable=prefix=$prefix" "$@" verbena
}

# ranks COMMAND SIZE [ARGUMENT...]: its ranks as processes, with vb_run()'s options; what they say goes to "said"
ranks() {
	command=$1 size=$2 bad=0 pids=''
	shift 2
	port=${port:-$((20000 + $$ % 20000))}
	: >said
	for rank in $(seq "$size" | sort -rn); do
		rank=$((rank - 1))
		LD_LIBRARY_PATH=$library VERBENA_ADDR=127.0.$((100 + $$ % 100)).$((rank + 2)) timeout 60 "./$command" --rank $rank \
			--size "$size" --board "127.0.0.1:$port" -- "$@" >>said 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do wait "$pid" || bad=$?; done
	return $bad
}
