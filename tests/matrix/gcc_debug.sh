#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gcc, no optimisation: packet scripts and digests. How the tree is built by itself, gcc with optimisation and what
# users run linked as one, is tried by the everyday suites.
. "$(dirname "$0")/lib.sh"
need gcc
export CC=gcc
configure -Dbuildtype=debug -Doptimization=0
decides
