#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What is read back from the folder of a run, by whoever reads it: anybody may have written into it since.
# And nothing of it, nor of a path, is said to a terminal in a way that it obeys.
. "$(dirname "$0")/lib.sh"

expect 0 run small.yaml --out run --quiet
edit() { # FILE SED: a copy of the folder, in which FILE is another
	rm -rf odd
	cp -r run odd
	sed "$2" "run/$1" >"odd/$1"
	! cmp -s "run/$1" "odd/$1" || fail "$1: $2 changes nothing"
}
refused() { # LINE ARG...
	line=$1
	shift
	expect 2 "$@"
	grep -qxF "$line" err || fail "$*: no line: $line"
	[ ! -s out ] || fail "$*: something on stdout"
	[ ! -e odd/report.html ] || cmp -s run/report.html odd/report.html || fail "$*: written all the same"
}
everywhere() { # LINE: refused by all that run it again
	refused "$1" explain odd --why pfc
	refused "$1" report odd
	refused "$1" diff run odd
	refused "$1" diff odd run
}

for seed in -5 1.5 '"7"' true 9223372036854775808; do
	edit run.json "s/\"seed\": null/\"seed\": $seed/"
	case $seed in
	9*) everywhere "odd: run: found a run.json that is no JSON, expected the folder of a run, or a scenario" ;;
	*) everywhere "odd/run.json:1: seed: found $seed, expected null or a number from 0 to 2^63 - 1" ;;
	esac
done
edit run.json 's/"set": \[\]/"set": [7]/'
everywhere 'odd/run.json:1: set: found 7, expected a text such as "until=1ms"'
edit run.json 's/"scenario": .*,/"scenario": 5,/'
everywhere 'odd/run.json:1: scenario: found 5, expected a file'
edit run.json 's/^ "hash": ".*"/ "hash": "0123456789ABCDEF"/' # the scenario's, not a copy's
everywhere 'odd/run.json:1: hash: found "0123456789ABCDEF", expected 16 hexadecimal digits'
edit run.json 's/"seed": null/"seed": 7/'
expect 0 explain odd --why pfc
for seed in -5 1.5 '"7"'; do
	edit result.json "s/\"seed\": 1/\"seed\": $seed/"
	everywhere "odd/result.json:1: seed: found $seed, expected a number from 0 to 2^63 - 1"
done
edit result.json 's/"schema": 2/"schema": 3/'
everywhere 'odd/result.json:1: schema: found 3, expected 1 or 2'
edit result.json 's/"digest": "./"digest": "X/'
refused "$(sed -n 's/ *"digest": \(".*"\),/odd\/result.json:1: digest: found \1, expected 16 hexadecimal digits/p' odd/result.json)" explain odd --why pfc
edit result.json 's/"partial": false/"partial": "no"/'
everywhere 'odd/result.json:1: partial: found "no", expected true or false'
for addresses in 5 '"somewhere"'; do
	edit result.json "s/\"addresses\": \"[a-z]*\"/\"addresses\": $addresses/"
	everywhere "odd/result.json:1: addresses: found $addresses, expected \"fixed\" or \"anywhere\""
done
edit result.json '1s/{/[/'
expect 2 explain odd --why pfc
grep -q '^odd/result.json:[0-9]*: result: found .*, expected the result of a run$' err || fail "no JSON: another line"

for id in abc -5 1.5 '' 99999999999999999999; do
	edit flows.csv "3s/^[0-9]*/$id/"
	found="\"$id\""
	[ -n "$id" ] || found=nothing
	refused "odd/flows.csv:3: id: found $found, expected the number of a flow" explain odd --why slow
done
edit flows.csv '4s/[0-9]\.[0-9]*,0,ok/much,0,ok/'
refused 'odd/flows.csv:4: slowdown: found "much", expected a number, or nothing' explain odd --why slow
edit flows.csv '5s/,ok$//'
refused 'odd/flows.csv:5: status: found nothing, expected a row of 13 columns' explain odd --why slow
edit flows.csv 1d
refused 'odd/flows.csv:1: id: found nothing, expected the flows of a run' explain odd --why slow
expect 0 explain run --why slow
for id in abc -5 1.5 99999999999999999999; do
	expect 2 explain run "$id" --why slow
done

# Counters: names and numbers, and nothing that a terminal obeys.
for value in -5 1.5 '"7"' null; do
	edit counters.json "0,/\"tx_packets_phy\": [0-9]*/s//\"tx_packets_phy\": $value/"
	refused "odd/counters.json:1: tx_packets_phy: found $value, expected a count" stat odd
done
edit counters.json '0,/"ifname": "h0"/s//"ifname": 5/'
refused 'odd/counters.json:1: ifname: found 5, expected a name' stat odd --ethtool
edit counters.json '0,/"ifname": "h0",/s///'
refused 'odd/counters.json:1: ifname: found nothing, expected the name of a port' stat odd --hw
edit counters.json 's/"h0"/"h0\\u001b[2J\\u009b1m"/; s/"tx_packets_phy"/"tx\\u001b]0;x\\u0007"/; s/h0-leaf0/\\r\\n\\u007f/'
for how in --ethtool --hw ''; do
	# shellcheck disable=SC2086
	expect 0 stat odd $how
	! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" out || fail "stat $how: a control character"
	! LC_ALL=C grep -q "$(printf '\302\233')" out || fail "stat $how: a control character of C1"
	grep -qF '\x1b[2J\xc2\x9b1m' out || fail "stat $how: not shown as it should be"
done
evil=$(printf 'a\033[31m\nverbena: good \233\302\205\342\200\256\303\251')
shown='a\x1b[31m\x0averbena: good \x9b\xc2\x85\xe2\x80\xae'
plain() { # WHERE ARG...: says the path, in one line
	where=$1
	shift
	"$verbena" "$@" >out 2>err || true
	grep -qF "$shown" "$where" || fail "$*: not shown as it should be"
	! LC_ALL=C grep -q "$(printf '[\033\233]')" out err || fail "$*: a control character"
}
plain err run "$evil"
plain err check "$evil.yaml"
plain err stat "$evil"
plain err explain "$evil" --why pfc
plain err diff "$evil" "$evil"
plain err topo "$evil"
plain err sweep "$evil"
plain err "$evil"
plain err run small.yaml --set "$evil"
plain err run small.yaml "--$evil"
plain err run small.yaml --trace "kind=$evil"
plain err run small.yaml --junit "$evil/x.xml" --json
plain err stat run "$evil"
plain out run small.yaml --out "$evil"
plain out report "$evil"
sed -i 's/"digest": "[0-9a-f]*"/"digest": "0123456789abcdef"/' "$evil/result.json"
plain out diff "$evil" "$evil"
cp small.yaml "$evil.yaml"
plain out check "$evil.yaml"
sed "s,run: ring,run: \"./\\\\e[31m\"," small.yaml >program.yaml
expect 2 check program.yaml
! LC_ALL=C grep -q "$(printf '\033')" err || fail "a program's path: a control character"

# What is no regular file is refused, and not waited for.
not_waited() { # FILE ARG...
	file=$1
	shift
	rm -rf odd
	cp -r run odd
	rm "odd/$file"
	mkfifo "odd/$file"
	status=0
	timeout 60 "$verbena" "$@" >out 2>err || status=$?
	[ $status = 2 ] || fail "$*: exit $status with a FIFO as $file"
	[ "$(cat err)" = "odd/$file: file: found a FIFO, expected a regular file" ] || fail "$*: $file: another line"
}
for file in run.json result.json; do
	not_waited "$file" explain odd --why pfc
	not_waited "$file" report odd
	not_waited "$file" diff run odd
	not_waited "$file" diff odd run
done
not_waited flows.csv explain odd --why slow
not_waited counters.json stat odd
rm odd/counters.json
mkdir odd/counters.json
expect 2 stat odd
[ "$(cat err)" = "odd/counters.json: file: found a folder, expected a regular file" ] || fail "stat: a folder: another line"
