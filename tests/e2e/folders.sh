#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A run's folder holds what the run has read, so that the run can be had again where nothing else is: on
# another machine, as an artefact of a job. What was edited since is told; what was edited in it refused.
. "$(dirname "$0")/lib.sh"

# The name of a run that is taken for its folder.
printf 'version: 1\nname: called\ntopology: {kind: star, hosts: 2}\n' >called.yaml
expect 0 run called.yaml --quiet
expect 2 explain called --why pfc
grep -qx 'called: file: found no such file: "called", expected a file that can be read, or the folder of a run such as "verbena-out/called"' err ||
	fail "the folder of a run is not named"
rm -r called.yaml verbena-out

# A topology, flows, sizes and settings, each named in another way; a name that is no name for a file.
mkdir -p project/in/deep project/elsewhere
odd='project/elsewhere/../elsewhere/my "flows" %(x).txt'
cat >"$odd" <<'END'
2
0 4 3 100 200000 0.000001
1 4 3 100 300000 0.000002
END
cat >project/topology.txt <<'END'
5 1 4
4
0 4 100Gbps 1us 0
1 4 100Gbps 1us 0
2 4 100Gbps 1us 0
3 4 100Gbps 1us 0
END
sed -i 's/ 4 3 100 / 3 3 100 /' "$odd"
printf '1000 0\n20000 50\n100000 100\n' >project/in/deep/topology.txt
cat >project/in/scenario.yaml <<'END'
version: 1
topology: {file: ../topology.txt}
switch: {buffer: 1MiB, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}, pfc: {priorities: [3]}}
nic: {mtu: 1024, cc: dcqcn}
traffic:
  - {class: listed, file: "../elsewhere/../elsewhere/my \"flows\" %(x).txt", format: hpcc}
  - {class: again, file: "../elsewhere/../elsewhere/my \"flows\" %(x).txt", format: hpcc, start: 1us}
  - {class: load, load: 20%, cdf: deep/topology.txt, until: 100us}
programs:
  - {run: ring, hosts: [n0, n1, n2]}
expect: [.flows.failed == 0]
END
expect 0 run project/in/scenario.yaml --quiet --out run --seed 5 --set until=9ms
digest=$(digest_of out)
holds run/run.json '[f["copy"] for f in r["files"]] == ["inputs/0-scenario.yaml", "inputs/1-topology.txt",
	"inputs/2-my__flows____x_.txt", "inputs/3-topology.txt"]'
cmp -s run/inputs/0-scenario.yaml project/in/scenario.yaml || fail "the scenario is another one"
cmp -s run/inputs/2-* "$odd" || fail "the flows are others"
[ "$(ls run/inputs | wc -l)" = 4 ] || fail "other copies: $(ls run/inputs)"

# What the folder says where it was made, and then from elsewhere, without anything that it came from.
took() { # REPORT: without the time on the clock, and what commands name it
	sed -E 's/(<code>verbena (explain|report)) [^ <]*/\1 FOLDER/g; s/computing it took [0-9.]*&#8239;[a-zµ]*//; s/"wall_s": *[0-9.]*//g' "$1"
}
questions() { # FOLDER INTO: what is answered about it
	for why in pfc ecn drop slow deadlock cure; do
		expect 0 explain "$1" --why $why
		[ ! -s "$work/err" ] || fail "explain $1 --why $why says something beside it"
		sed -E "s,(verbena (run|report)) $1 ,\1 FOLDER ," "$work/out" >"$2.$why"
	done
	expect 0 report "$1"
	[ ! -s "$work/err" ] || fail "report $1 says something beside it"
	took "$1/report.html" >"$2.report"
	expect 0 diff "$1" "$1"
	sed "s,$1,FOLDER,g" "$work/out" >"$2.diff"
	grep -q "the same" "$work/out" || fail "diff: not the same"
}
questions run here
mkdir -p far/away
mv run far/away/artefact
mv project gone
cd /
questions "$work/far/away/artefact" "$work/there"
cd "$work"
for what in pfc ecn drop slow deadlock cure report diff; do
	cmp here.$what there.$what || fail "$what: another answer from another place"
done
grep -q "$digest" there.report || fail "another digest"
mv gone project

# A path that is no text can be shown all the same.
bytes=$(printf 'no\233text')
cp project/in/scenario.yaml "project/in/$bytes.yaml"
expect 0 run "project/in/$bytes.yaml" --quiet --out bytes
mv bytes far/away
expect 0 explain far/away/bytes --why pfc
holds far/away/bytes/run.json 'r["scenario"] == "project/in/no\\x9btext.yaml"'

# An incident, by its name: what was run is in the folder, too.
expect 0 run incast --quiet --out incident
cmp -s incident/inputs/0-incast.yaml "$root/traces/incidents/incast.yaml" || fail "no copy of the incident"

# What was edited where it lies is told, in a line each; the run is had as it was.
mv far/away/artefact run
cp run/report.html before.html
sed -i 's/200000/250000/' "$odd"
sed -i 's/100us/120us/' project/in/scenario.yaml
for command in "explain run --why pfc" "report run" "diff run run"; do
	# shellcheck disable=SC2086
	expect 0 $command
	for file in 'elsewhere/../elsewhere/my "flows" %(x).txt' in/scenario.yaml; do
		grep -qF "verbena: run: $work/project/in/" err || fail "$command: no whole path"
		grep -qF "${file#in/} was edited since; this is of the run as it was" err || fail "$command: nothing about $file"
	done
	! grep -q 'has changed since' err || fail "$command: as if it were of another run"
	# shellcheck disable=SC2086
	expect 0 $command --quiet
	[ ! -s err ] || fail "$command --quiet says something"
done
took run/report.html >after
took before.html | cmp - after || fail "another report"
grep -q "$digest" run/report.html || fail "another digest"

# A run into the same folder leaves nothing of the one before, and of nobody else's.
cp -r run again
touch again/inputs/notes
cat >project/plain.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
traffic: [{class: one, pattern: incast, to: h0, size: 10KB}]
END
expect 0 run project/plain.yaml --quiet --out again
[ "$(ls again/inputs | tr '\n' ' ')" = "0-plain.yaml notes " ] || fail "in the folder: $(ls again/inputs)"
expect 0 explain again --why pfc

# Nothing is written or read through links.
rm -rf again/inputs outside
mkdir outside
ln -s ../outside again/inputs
expect 3 run project/plain.yaml --quiet --out again
[ -z "$(ls outside)" ] || fail "written through a link"

# Copies that are not what the run has read are refused, and so is a list that names other places.
refused() { # LINE: by all that run it again; the folder is odd
	for command in "explain odd --why pfc" "report odd" "diff odd run" "diff run odd"; do
		# shellcheck disable=SC2086
		expect 2 $command
		grep -qF "$1" err || fail "$command: no line: $1"
		[ ! -s out ] || fail "$command: something on stdout"
	done
}
copy_of_run() {
	rm -rf odd
	cp -r run odd
}
copy_of_run
sed -i 's/until: 100us/until: 110us/' odd/inputs/0-scenario.yaml
refused 'odd/inputs/0-scenario.yaml:1: hash: found another file, expected the copy of "project/in/scenario.yaml" that the run has kept, unchanged'
copy_of_run
echo >>odd/inputs/3-topology.txt
refused 'odd/inputs/3-topology.txt:1: hash: found another file, expected the copy of "project/in/deep/topology.txt"'
copy_of_run
rm odd/inputs/1-topology.txt
refused 'odd/inputs/1-topology.txt: file: found No such file or directory, expected the copy of "project/in/../topology.txt" that the run has kept'
ln -s "$work/project/topology.txt" odd/inputs/1-topology.txt
refused 'odd/inputs/1-topology.txt: file: found a link, expected the copy of'
rm odd/inputs/1-topology.txt
mkfifo odd/inputs/1-topology.txt
refused 'odd/inputs/1-topology.txt:1: hash: found another file, expected the copy of'
edit() { # SED LINE: run.json so edited is refused with this line
	copy_of_run
	sed -i "$1" odd/run.json
	! cmp -s run/run.json odd/run.json || fail "$1 changes nothing"
	refused "$2"
}
edit 's,inputs/1-topology.txt,../../project/topology.txt,' \
	'odd/run.json:1: copy: found "../../project/topology.txt", expected "inputs/1-topology.txt"'
edit 's,inputs/1-topology.txt,/etc/hosts,' 'odd/run.json:1: copy: found "/etc/hosts", expected "inputs/1-topology.txt"'
edit 's,"inputs/1-topology.txt",7,' 'odd/run.json:1: copy: found 7, expected "inputs/1-topology.txt"'
edit 's/"bytes": [0-9]*/"bytes": -1/' 'odd/run.json:1: bytes: found -1, expected a number of at most 64 MiB'
edit 's/"folder": ".*"/"folder": "here"/' 'odd/run.json:1: folder: found "here", expected null or the path of a folder'
edit 's/"path": ".*txt"/"path": 5/' 'odd/run.json:1: path: found 5, expected a file'
python3 - <<'END'
import json
r = json.load(open("run/run.json"))
json.dump({**r, "files": []}, open("odd/run.json", "w"))
END
refused 'odd/run.json:1: files: found [], expected a list of files, the scenario first'

# The folder of an older version, which kept nothing: as the scenario is now, where it was named.
python3 - <<'END'
import json
r = json.load(open("run/run.json"))
del r["files"], r["folder"]
json.dump(r, open("odd/run.json", "w"))
END
rm -r odd/inputs
expect 0 explain odd --why pfc
grep -q 'its scenario or this program has changed since' err || fail "nothing about the change"

# Where all of it would be too much the first come first; it is said, and the rest is read where it lies.
{
	printf '1\n0 3 3 100 200000 0.000001\n'
	head -c 36000000 /dev/zero | tr '\0' '\n'
} >project/one.txt
cp project/one.txt project/two.txt
cat >project/large.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
traffic: [{class: one, file: one.txt, format: hpcc}, {class: two, file: two.txt, format: hpcc, start: 1us}]
END
expect 0 run project/large.yaml --out large
grep -qF 'verbena: large: project/two.txt is too large to be kept there beside the others (64 MiB in all)' err ||
	fail "nothing about what is not kept"
[ "$(ls large/inputs | tr '\n' ' ')" = "0-large.yaml 1-one.txt " ] || fail "in the folder: $(ls large/inputs)"
mv large far/large
rm project/one.txt
cd /
expect 0 explain "$work/far/large" --why pfc
rm "$work/project/two.txt"
expect 2 explain "$work/far/large" --why pfc
grep -qF 'traffic[].file: found no such file: "project/two.txt"' "$work/err" || fail "another line about what is not there"
cd "$work"

# Without files nothing is written.
mkdir empty
cd empty
expect 0 run ../project/plain.yaml --json
[ -z "$(ls)" ] || fail "--json writes files"

# The folder of a run is run again: its inputs, seed and settings, and what is set on top; into another folder.
programs=$(dirname "$verbena")/tests/programs
mkdir again10
cp -r "$work/project" again10/project
cd again10
cat >project/gate.yaml <<'END'
version: 1
topology: {file: topology.txt}
traffic: [{class: all, pattern: ring, size: 20KB}]
END
expect 0 run project/gate.yaml --quiet --out first --seed 9 --set traffic.0.size=30KB
first=$(digest_of "$work/out")
expect 0 run project/gate.yaml --quiet --out other --seed 9 --set traffic.0.size=30KB --set nic.mtu=1024
other=$(digest_of "$work/out")
expect 0 run project/gate.yaml --json --set traffic.0.size=30KB --seed 10
seed=$(sed -n 's/.*"digest": "\(.*\)",/\1/p' "$work/out")
[ "$first" != "$other" ] && [ "$first" != "$seed" ] || fail "a poor scenario"
mkdir elsewhere
mv first elsewhere
rm -rf project
cd elsewhere
expect 0 run first --quiet --out second
[ "$(digest_of "$work/out")" = "$first" ] || fail "again: another run"
expect 0 run second --quiet --out third --set nic.mtu=1024
[ "$(digest_of "$work/out")" = "$other" ] || fail "again with a setting: another run"
holds third/run.json "r['set'] == ['traffic.0.size=30KB', 'nic.mtu=1024'] and r['seed'] == 9 and r['scenario'] == 'project/gate.yaml'"
expect 0 run first --json --seed 10
grep -q "\"digest\": \"$seed\"" "$work/out" || fail "again with another seed: another run"
expect 0 report third --out page
expect 0 diff first second
for run in "run first" "run first --out ./first" "run first --json --out ../elsewhere/first"; do
	cp first/result.json kept
	# shellcheck disable=SC2086
	expect 2 $run
	grep -q '^first: run: found the folder of a run.*, expected --out DIR beside it, another one: what is in it stays$' "$work/err" ||
		fail "$run: another line"
	cmp -s kept first/result.json || fail "$run: it is written over"
done
cp "$programs/ring.so" own.so
printf 'version: 1\ntopology: {kind: star, hosts: 3}\nprograms: [{run: ./own.so, hosts: [h0, h1]}]\n' >own.yaml
expect 0 run own.yaml --quiet --out own
expect 0 run own --out second
[ "$(cat "$work/err")" = '' ] || fail "something is told of programs that are the same"
cp "$programs/pingpong_write.so" own.so
expect 0 run own --out second
grep -qx 'verbena: own: its programs are others by now' "$work/err" || fail "a program that is another is not told"
expect 2 run first --out fourth --set nic.nonsense=3
[ ! -e fourth ] || fail "bad input has written something"
echo >>first/inputs/1-topology.txt
expect 2 run first --out fourth
[ ! -e fourth ] || fail "a folder of edited copies has been run"
cd ../..
