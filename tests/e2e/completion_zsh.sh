#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# zsh, with what "verbena completion zsh" prints, completes words at its prompt.
. "$(dirname "$0")/lib.sh"
command -v zsh >/dev/null || { echo "no zsh" && exit 77; }

expect 0 completion zsh
mkdir functions folder
cp out functions/_verbena

# A shell on a terminal of its own: what is typed, a tab, and what is in the line then.
cat >type.zsh <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1= PS2= RPS1=; unsetopt zle_bracketed_paste; fpath=($PWD/functions $fpath)
	autoload -U compinit && compinit -D -u; zstyle ":completion:*" menu no
	shown() { print -r -- "<<$BUFFER>>"; BUFFER= }; zle -N shown; bindkey "^X" shown; print rea""dy'
zpty -r shell line '*ready*'
zpty -w -n shell "$1"$'\t\x18'
zpty -r shell line '*<<*>>*'
print -r -- "${${line##*<<}%%>>*}"
END

# becomes TYPED EXPECTED
becomes() {
	found=$(PATH=$(dirname "$verbena"):$PATH timeout 30 zsh -f type.zsh "$1" 2>err) ||
		fail "zsh hangs at \"$1\""
	[ "$found" = "$2" ] || fail "\"$1\": found \"$found\", expected \"$2\""
}

becomes "verbena prof" "verbena profiles "
becomes "verbena run --thre" "verbena run --threads "
becomes "verbena explain x --why dea" "verbena explain x --why deadlock "
becomes "verbena explain x --why=dea" "verbena explain x --why=deadlock "
becomes "verbena profiles arista" "verbena profiles arista7050qx32 "
becomes "verbena run --set switch.buf" "verbena run --set switch.buffer="
becomes "verbena incidents vic" "verbena incidents victim"
becomes "verbena run sma" "verbena run small.yaml "
becomes "verbena run --out fol" "verbena run --out folder/"
becomes "verbena run --out=fol" "verbena run --out=folder/"
