#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gcc, no optimisation.
. "$(dirname "$0")/lib.sh"
need gcc
export CC=gcc
configure -Dbuildtype=debug -Doptimization=0
everyday
