#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# clang, no optimisation: packet scripts and digests.
. "$(dirname "$0")/lib.sh"
need clang
export CC=clang
configure -Dbuildtype=debug -Doptimization=0
decides
