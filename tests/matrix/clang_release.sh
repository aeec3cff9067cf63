#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# clang, -O3.
. "$(dirname "$0")/lib.sh"
need clang
export CC=clang
configure -Dbuildtype=release -Doptimization=3
everyday
