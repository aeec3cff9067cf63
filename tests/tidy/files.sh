# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
# The repository's own files below $ROOT, one a line: those that git knows, or, in a tree without git,
# all but build folders. Sourced.
own_files() {
	cd "$ROOT" || exit 1
	if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
		git ls-files
	else
		find . -type f ! -path './build*' ! -path './.git/*' | sed 's,^\./,,'
	fi | while IFS= read -r file; do [ ! -f "$file" ] || echo "$file"; done
}

# Shell scripts: by their name or their first line.
own_scripts() {
	own_files | while IFS= read -r file; do
		case $file in
		*.sh) echo "$file" ;;
		*.*) ;;
		*) head -n 1 "$file" | grep -qE '^#!.*[/ ](ba)?sh$' && echo "$file" ;;
		esac
	done
}
