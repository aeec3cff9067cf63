#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Multicast between emulated hosts, with rdma_cm's own program for it. $3: the folder of the build.
. "$(dirname "$0")/exec_lib.sh"
for tool in mckey tshark; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
group=239.${net}.9
hex=$(printf '%02X%02X%02X%02X' 9 "${net#*.}" "${net%.*}" 239)

# How many processes of this machine hear the group: the kernel's list, in hexadecimal, last byte first.
heard() {
	awk -v group="$hex" '$1 == group {count += $2} END {print count + 0}' /proc/net/igmp
}

# heard_by COUNT: until so many do
heard_by() {
	for _ in $(seq 200); do
		[ "$(heard)" != "$1" ] || return 0
		sleep 0.05
	done
	fail "$(heard) processes hear $group, expected $1"
}

# What is in the capture of host $1 of it in UD packets for queue pair 0xffffff, each once.
captured() {
	tshark -r "127.$net.$1.pcapng" -T fields -e infiniband.bth.psn -e infiniband.deth.srcqp \
		"ip.src == 127.$net.3 && ip.dst == $group && infiniband.bth.destqp == 0xffffff && infiniband.deth.q_key == 0x01234567" \
		2>/dev/null | sort -u | wc -l
}

for host in 1 2; do
	on $host mckey -m "$group" -b "127.$net.$host" -c 2 -C 7 -S 200 >host$host.out 2>&1 &
	eval "receiver$host=$!"
done
heard_by 2
on 3 mckey -s -m "$group" -b "127.$net.3" -c 2 -C 7 -S 200 >sender.out 2>&1 || fail "sender: $(cat sender.out)"
# shellcheck disable=SC2154
for host in 1 2; do
	eval "wait \$receiver$host" || fail "host $host: $(cat host$host.out)"
	grep -q "joined dgid: ::ffff:$group" host$host.out || fail "host $host: $(cat host$host.out)"
	# It leaves when each of its queue pairs has had 7, of whichever sender: maybe before the second one's come in.
	[ "$(captured $host)" -ge 7 ] || fail "host $host: $(captured $host) datagrams, expected at least 7 of 2 times 7"
done
[ "$(captured 3)" = 14 ] || fail "sender: $(captured 3) datagrams, expected 7 of each of 2 queue pairs"
heard_by 0
