#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every optional dependency left out.
. "$(dirname "$0")/lib.sh"
need gcc
export CC=gcc
configure -Dauto_features=disabled
everyday
