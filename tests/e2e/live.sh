#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena devices and verbena stat: who has a device now and what it has counted, exactly, also in the files under
# /sys; what is killed is gone. exec --devices and --profile: several devices, and whose limits they have.
# $4: tests/e2e/pair.c, built.
. "$(dirname "$0")/lib.sh"
pair=$4
unset LD_LIBRARY_PATH VERBENA VERBENA_ADDR VERBENA_LINK VERBENA_PCAP VERBENA_TREE VERBENA_IMPAIR VERBENA_SEED \
	VERBENA_PROFILE
net=$(($$ % 200 + 20)).$(($$ / 200 % 250)) # addresses that nobody else is likely to have
port1=/sys/class/infiniband/verbena0/ports/1

starts() { # NAME ARG...: exec in the background; its number is in "pid", that of its program in "child"
	name=$1
	shift
	rm -f "$name.in"
	mkfifo "$name.in"
	"$verbena" exec "$@" <"$name.in" >"$name.out" 2>"$name.err" 7>&- 8>&- &
	pid=$!
	exec 8>"$name.in"
	for _ in $(seq 200); do
		grep -q ready "$name.out" && break
		sleep 0.05
	done
	grep -q ready "$name.out" || fail "$name: $(cat "$name.out" "$name.err")"
	child=$(ps -o pid= --ppid $pid | tr -d ' ')
}

# 50 requests, one after the other, of 1000 bytes: a packet there and an ACK back each, which is 12 (BTH) + 1000 + 4
# (ICRC) and 12 + 4 (AETH) + 4 bytes; in words of four.
packets=100 words=$((50 * (1016 + 20) / 4))
starts one --host "127.$net.1" -- "$pair" -n 50 -s 1000 -k
expect 0 devices --json
holds out "[d for d in r['devices'] if d['host'] == '127.$net.1'] == [dict(host='127.$net.1', device='verbena0', pid=$child,
	command='pair', slot=0, qps=2, profile='generic', age_s=r['devices'][0]['age_s'] * 0 + [d for d in r['devices']
	if d['pid'] == $child][0]['age_s'], gids=[d for d in r['devices'] if d['pid'] == $child][0]['gids'])]"
holds out "[d['gids'][1] for d in r['devices'] if d['pid'] == $child] == \
	['0000:0000:0000:0000:0000:ffff:7f%02x:%02x01' % ($(echo "$net" | tr . ,))]"
holds out "{'generic', 'generic2a', 'connectx4', 'connectx5', 'connectx6dx'} == {p['name'] for p in r['profiles']}"
expect 0 devices
grep -qE "^127\.$net\.1 +verbena0 +$child pair +0 +2 +[0-9]+s  generic$" out || fail "devices: $(cat out)"
expect 0 stat "127.$net.1" --json
holds out "len(r) == 1 and r[0]['port_xmit_packets'] == r[0]['port_rcv_packets'] == $packets"
holds out "r[0]['port_xmit_data'] == r[0]['port_rcv_data'] == $words and r[0]['qps'] == 2"
holds out "r[0]['ifname'] == 'verbena0' and r[0]['pid'] == $child and r[0]['processes'] == 1"
cp out of_host
expect 0 stat "$child" --json
cmp -s out of_host || fail "stat PID is not stat HOST: $(cat out)"
expect 0 stat "127.$net.1"
grep -qx '  port_xmit_packets  *100' out || fail "stat: $(cat out)"
expect 0 stat "127.$net.1" --hw
grep -qE '^link verbena0/1 rx_write_requests 0 .* np_cnp_sent 0 ' out || fail "stat --hw: $(cat out)"
# A second process of the host is counted in.
first=$pid
exec 7>&8
starts two --host "127.$net.1" -- "$pair" -n 10 -s 8 -o write -k
expect 0 stat "127.$net.1" --json
holds out "r[0]['processes'] == 2 and r[0]['port_xmit_packets'] == 120 and r[0]['rx_write_requests'] == 10"
expect 0 devices --json
holds out "sorted(d['slot'] for d in r['devices'] if d['host'] == '127.$net.1') == [0, 1]"
# Whoever is stopped is seen, whoever is killed is gone.
kill -STOP "$child"
expect 0 stat "$child" --json
holds out "r[0]['rx_write_requests'] == 10"
kill -KILL "$child"
status=0
wait $pid || status=$?
[ "$status" = 137 ] || fail "the killed one: $status"
expect 2 stat "$child"
expect 0 stat "127.$net.1" --json
cmp -s out of_host || fail "after the other one was killed: $(cat out)"
# Again and again, until it ends.
"$verbena" stat "127.$net.1" --watch 0.1 --json >watched 7>&- 8>&- &
watcher=$!
for _ in $(seq 100); do
	[ "$(wc -l <watched)" -lt 3 ] || break
	sleep 0.05
done
[ "$(wc -l <watched)" -ge 3 ] || fail "--watch: $(cat watched)"
exec 7>&- 8>&-
wait $first || fail "the first one: $?"
wait $watcher || fail "--watch: exit $?"
tail -n 1 watched >last
holds last "r[0]['port_xmit_packets'] == 100"
expect 2 stat "127.$net.1"
expect 0 devices --json
holds out "not [d for d in r['devices'] if d['host'] == '127.$net.1']"
for words_of in "--watch 0" "--watch 1e3" "--watch" "a b" "--ethtool a" "--hw --json a" "nobody"; do
	# shellcheck disable=SC2086
	expect 2 stat $words_of
	[ "$(wc -l <err)" = 1 ] || fail "stat $words_of: not one line"
done

# Files: of all processes of the command, those that have ended too; marks and CNPs of a network that is bad.
expect 0 exec --host "127.$net.2" -- sh -c "'$pair' -n 50 -s 1000 -f $port1/counters/port_xmit_data; '$pair' -n 5;
	cat $port1/counters/port_xmit_packets; ls $port1/hw_counters | wc -l; cat $port1/hw_counters/lifespan"
cat >want <<END
done 50, states 3 3, port 4
$words
done 5, states 3 3, port 4
110
26
1
END
diff want out || fail "files of counters"
expect 0 exec --host "127.$net.2" --impair 'only data ecn 100%' -- "$pair" -n 20 -s 1000 \
	-f $port1/hw_counters/np_ecn_marked_roce_packets
[ "$(tail -n 1 out)" = 20 ] || fail "marks: $(cat out)"
expect 0 exec --host "127.$net.2" -- sh -c "'$pair' -n 3 -r; cat $port1/hw_counters/rnr_nak_retry_err $port1/hw_counters/out_of_buffer \
	$port1/hw_counters/req_rnr_retries_exceeded"
printf '%s\n' 'send 2 13 0' 'send 3 5 0' 'done 1, states 6 3, port 4' 4 4 1 >want
sed -i 's/0x[0-9a-f]*$/0/' out
diff want out || fail "receives that are not there"

# Several devices, each a host of its own, and what verbs and files say of them.
expect 0 exec --host a --devices 3 -- ibv_devices
[ "$(grep -o 'verbena[0-9]' out | tr -d '\n')" = verbena0verbena1verbena2 ] || fail "three devices: $(cat out)"
expect 0 exec --host a --devices 2 -- cat $port1/gids/1 /sys/class/infiniband/verbena1/ports/1/gids/1
cp out two
for host in a.nic0 a.nic1; do
	expect 0 exec --host $host -- cat $port1/gids/1
	cat out
done >each
diff two each || fail "--devices 2 are not a.nic0 and a.nic1"
expect 0 exec --host "127.$net.3,127.$net.4" -- sh -c "'$pair' -d 1 -n 5 -s 8;
	cat $port1/counters/port_xmit_packets /sys/class/infiniband/verbena1/ports/1/counters/port_xmit_packets
	realpath /sys/class/infiniband/verbena1/device; cat /sys/bus/pci/devices/5645:00:02.0/infiniband/verbena1/node_desc"
printf '%s\n' 'done 5, states 3 3, port 4' 0 10 /sys/devices/pci5645:00/5645:00:02.0 verbena1 >want
diff want out || fail "the second device"
# Captures of each device have what all processes of the command sent, and nothing from before.
sections() { # FILE: of pcapng
	od -An -v -tx4 -w4 "$1" | grep -c 0a0d0d0a
}
for _ in 1 2; do
	expect 0 exec --host "127.$net.3,127.$net.4" --pcap two.pcapng -- sh -c "'$pair' -d 1 -n 5 -s 8; '$pair' -d 1 -n 5 -s 8"
	[ "$(sections two.pcapng) $(sections two.pcapng.verbena1)" = "2 2" ] || fail "captures of two devices, of two processes each"
done
starts both --host "127.$net.3" --devices 2 --profile connectx5 -- "$pair" -d 1 -k
expect 0 devices --json
holds out "[(d['device'], d['profile']) for d in r['devices'] if d['pid'] == $child] == [('verbena1', 'connectx5')]"
exec 8>&-
wait $pid
for words_of in "--devices 0" "--devices 9" "--devices x" "--profile nothing" "--host a,b --devices 1" "--host ,"; do
	# shellcheck disable=SC2086
	expect 2 exec $words_of -- true
	[ "$(wc -l <err)" = 1 ] || fail "exec $words_of: not one line: $(cat err)"
done
VERBENA_PROFILE=mlx5 expect 2 exec -- true
grep -q VERBENA_PROFILE err || fail "VERBENA_PROFILE=mlx5: $(cat err)"

# Profiles: as ibv_devinfo has them, and no maker's vendor id.
expect 0 profiles
awk '{ print $1 }' out >adapters
for kind in generic generic2a connectx4 connectx5 connectx6dx; do
	case $kind in generic*) ;; *) grep -qx $kind adapters ;; esac || fail "$kind is no profile of a scenario"
	expect 0 exec --profile $kind -- ibv_devinfo -v
	cp out $kind
	grep -qE 'vendor_id:.*0x20000$' out || fail "$kind: $(grep vendor_id out)"
done
has() { # KIND NAME VALUE
	grep -qE "^[[:space:]]+$2:[[:space:]]+$3\$" "$1" || fail "$1: $(grep "$2" "$1"), expected $3"
}
has connectx6dx max_qp 131072
has connectx6dx max_sge 30
has connectx6dx max_qp_wr 32768
has connectx6dx max_cqe 4194303
has connectx6dx fw_ver '22\.35\.2000'
has connectx6dx board_id verbena-connectx6dx
has connectx6dx active_speed '50.0 Gbps \(64\)'
has connectx6dx max_mtu '4096 \(5\)'
has connectx4 active_speed '25.0 Gbps \(32\)'
has generic max_sge 16
has generic board_id verbena
for window in generic:B generic2a:A; do
	[ "$(grep -o 'MEM_WINDOW_TYPE_2.' "${window%:*}")" = "MEM_WINDOW_TYPE_2${window#*:}" ] || fail "windows of $window"
done
expect 0 exec --profile connectx5 -- cat $port1/rate /sys/class/infiniband/verbena0/fw_ver
printf '%s\n' '100 Gb/sec (4X EDR)' 16.35.2000 | diff - out || fail "files of a profile"
