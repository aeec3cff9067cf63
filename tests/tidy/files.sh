# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
# The repository's own files below $ROOT, one a line: those that git knows, or, in a tree without git,
# all but build folders. Sourced.
own_files() {
	cd "$ROOT" || exit 1
	if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
		{ git ls-files && git ls-files --deleted; } | sort | uniq -u
	else
		find . -type f ! -path './build*' ! -path './.git/*' | sed 's,^\./,,'
	fi
}

# Shell scripts: by their name or their first line.
own_scripts() {
	own_files | grep -E '\.sh$'
	own_files | grep -v '\.' | xargs awk 'FNR == 1 && /^#!.*[\/ ](ba)?sh$/ { print FILENAME } { nextfile }'
}
