#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# bash, with what "verbena completion bash" prints, completes commands, options, values, incidents,
# profiles, runs and files: by asking the command, as it is asked at a prompt.
. "$(dirname "$0")/lib.sh"

expect 0 completion bash
cp out verbena.bash
expect 0 completion zsh
grep -q '^#compdef verbena$' out || fail "zsh would not load it"
for args in "completion" "completion fish" "completion bash x" "incidents nonsense"; do
	# shellcheck disable=SC2086
	expect 2 $args
	[ ! -s out ] && [ "$(wc -l <err)" = 1 ] || fail "verbena $args: not one line on stderr"
done

# ask WORD...: what the shell has for the last one, in $work/out; what it was told about it, in how
ask() {
	PATH=$(dirname "$verbena"):$PATH bash --norc -c '
		compopt() { echo "$2" >>how; }
		. ./verbena.bash
		COMP_WORDS=(verbena "$@") COMP_CWORD=$#
		: >how
		"$(complete -p verbena | sed "s/.*-F \([^ ]*\) .*/\1/")"
		[ ${#COMPREPLY[@]} = 0 ] || printf "%s\n" "${COMPREPLY[@]}"' bash "$@" >out 2>err
	[ ! -s err ] || fail "completion of $* says something"
}

# is EXPECTED WORD...: that, in any order, is all that the last word may become
is() {
	wanted=$1
	shift
	ask "$@"
	found=$(sort -u out | tr '\n' ' ')
	[ "${found% }" = "$wanted" ] || fail "completion of $*: found \"${found% }\", expected \"$wanted\""
}

mkdir -p folder verbena-out/one verbena-out/two verbena-out/none
touch verbena-out/one/run.json verbena-out/two/run.json topology.txt

is "run" "ru"
is "profiles" "p"
is "--version" "--v"
is "--threads --through-wire" run "--th"
is "" topo "--th"
is "cure deadlock drop ecn pfc slow" explain x --why ""
is "connectx4 connectx5 connectx6dx" profiles "connectx"
is "victim victim-cure" incidents "vic"
is "1 2 3" lesson ""
is "--check" lesson "--c"
is "victim victim-cure" run "vic"
is "small.yaml" run "sm"
is "small.yaml" run --seed 3 --out=there --quiet "sm"
is "" run small.yaml --seed 3 "sm"
is "" run "top"
is "topology.txt" topo "top"
is "connectx4 connectx5 connectx6dx" exec --profile "con"
is "verbena-out/none verbena-out/one verbena-out/two" stat "verbena-out/"
is "verbena-out/one" explain "verbena-out/o"
is "verbena-out/two" diff verbena-out/one "verbena-out/t"
is "" diff a b ""
is "topology.txt" check small.yaml "topo"
is "folder" run --out "fo"
is "topology.txt" run --pcap "topo"
is "" run --seed ""
is "nic.retransmit=" run --set "nic.retra"
[ "$(cat how)" = nospace ] || fail "a value could not follow"
is "bash zsh" completion ""
is "sweep" help "sw"
is "" nonsense ""
is "" run --quiet -- "--s"

# Every command is offered, every option of each, and nothing else.
expect 0 help
sed -n 's/^  \([^ ]*\) .*/\1/p' out | sort >commands
[ "$(wc -l <commands)" -ge 11 ] || fail "help has too few commands"
ask ""
sort out | diff commands - || fail "these are the commands of help, and those of completion"
grep -v '^--' commands | while IFS= read -r command; do
	expect 0 help "$command"
	{
		sed -n 's/^  \(-., \)*\(--[^ ]*\) .*/\2/p' out
		echo --help
	} | sort >options
	ask "$command" --
	sort out | diff options - || fail "options of $command: help, and completion"
done
# What completion says an option takes is taken.
ask explain x --why ""
cp out words
[ "$(wc -l <words)" = 6 ] || fail "not six questions"
sed -i 's/^until:.*/until: 20us/' small.yaml
while IFS= read -r word; do
	expect "$([ "$word" = slow ] && echo 2 || echo 0)" explain small.yaml --why "$word" --quiet
	! grep -q 'expected --why' err || fail "--why $word is not taken"
done <words

# bash has taken these apart.
is "dcqcn_hpcc dcqcn_nv" run --set nic.cc = "dcqcn_"
is "dcqcn_hpcc dcqcn_nv" run --set = nic.cc = "dcqcn_"
is "cure deadlock drop ecn pfc slow" explain x --why = ""
is "cure deadlock drop ecn pfc slow" explain x --why =
is "folder" run --out = "fo"
grep -q filenames how || fail "a slash would not follow"
