#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# no_fma.sh BUILD: the golden digests of BUILD, as it is, on an x86 whose C library is told that there
# is no AVX2, no FMA and nothing newer (glibc picks its variants of functions by CPU).
ROOT=${ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$1
case $(uname -m) in
x86_64) ;;
*) echo "not an x86" && exit 77 ;;
esac
tunables=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX2,-AVX,-FMA,-FMA4,-BMI2,-ERMS
loader=/lib64/ld-linux-x86-64.so.2
features() {
	"$loader" --list-diagnostics 2>/dev/null | grep 'cpu_features.*active'
}
[ "$(features)" != "$(GLIBC_TUNABLES=$tunables features)" ] || {
	echo "this C library does not heed $tunables"
	exit 77
}
export GLIBC_TUNABLES=$tunables
exec "$ROOT/tests/golden/check" "$build"
