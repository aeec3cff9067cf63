#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# groff and mandoc have nothing to say about the manual page, but that a line of its source is long.
. "$(dirname "$0")/files.sh"
judges=
page=$ROOT/docs/verbena.1
if command -v groff >/dev/null; then
	said=$(groff -man -ww -b -z "$page" 2>&1)
	[ -z "$said" ] || { echo "$said" && exit 1; }
	judges=groff
fi
if command -v mandoc >/dev/null; then
	said=$(mandoc -Tlint "$page" 2>&1 | grep -v 'STYLE: input text line longer than')
	[ -z "$said" ] || { echo "$said" && exit 1; }
	judges="$judges mandoc"
fi
[ -n "$judges" ] || { echo "neither groff nor mandoc" && exit 77; }
