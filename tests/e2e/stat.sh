#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Counters under the names of real machines: they agree with ports.csv and with each other.
. "$(dirname "$0")/lib.sh"

lossy_scenario 'kind: star, hosts: 9' 'faults: [{link: h2-s0, sender: h2, loss: 1%, corrupt: 1%, duplicate: 1%}]'
expect 0 run lossy.yaml --out run
python3 - <<'END' || fail "the counters are not those of the run"
import csv, json
counters = json.load(open("run/counters.json"))
result = json.load(open("run/result.json"))
ports = {}
for row in csv.DictReader(open("run/ports.csv")):
    ports.setdefault((row["node"], row["link"]), {})[int(row["priority"])] = row
assert [c["ifindex"] for c in counters] == list(range(1, 19))
assert [c["ifname"] for c in counters] == sorted(f"h{i}" for i in range(9)) + ["s0"] * 9
assert [c["port"] for c in counters] == [1] * 9 + list(range(1, 10))
assert {(c["ifname"], c["link"]) for c in counters} == set(ports)
hosts, switch = counters[:9], counters[9:]
total = lambda key, of=counters: sum(c[key] for c in of)
assert all("np_cnp_sent" in c for c in hosts) and not any("np_cnp_sent" in c for c in switch)
assert total("np_cnp_sent", hosts) == result["cnp"]["sent"] > 0
assert total("rp_cnp_handled", hosts) == result["cnp"]["handled"] > 0
assert total("packets_retransmitted", hosts) == result["flows"]["packets_retransmitted"] > 0
assert total("rx_write_requests", hosts) >= 16 and total("rx_read_requests", hosts) == 0
assert total("rdma_rx_bytes", hosts) >= result["flows"]["bytes_delivered"]
assert total("tx_prio3_ecn_marked") + total("tx_prio5_ecn_marked") == result["ecn"]["marked"]
assert total("rx_discards_phy") == result["drops"]["buffer"] > 0
assert total("rx_prio5_discards") > 0
assert sum(v for c in counters for k, v in c.items() if k.endswith("_discards")) == total("rx_discards_phy")
assert total("rx_crc_errors_phy") == result["drops"]["icrc"] > 0
assert total("rx_icrc_encapsulated", hosts) == 0
assert total("tx_prio3_pause") == result["pfc"]["pause_sent"] > 0
assert total("tx_prio3_pause_transition") == result["pfc"]["resume_sent"] > 0
assert total("rx_prio3_pause") == total("tx_prio3_pause")
assert total("rx_prio3_pause_transition") == total("tx_prio3_pause_transition")
assert not any("tx_prio1_pause" in c for c in counters)
for c in counters:
    own = ports[c["ifname"], c["link"]]
    peer = ports[own[0]["peer"], c["link"]]
    far = next(d for d in counters if d["link"] == c["link"] and d is not c)
    assert c["rx_prio3_pause_duration"] == int(own[3]["paused_ps"]) // 10**6
    assert c["tx_prio3_pause_duration"] == far["rx_prio3_pause_duration"]
    assert c["tx_prio3_pause"] == far["rx_prio3_pause"]
    assert c["tx_pause_ctrl_phy"] == c["tx_prio3_pause"] + c["tx_prio3_pause_transition"]
    assert c["tx_packets_phy"] == int(own[0]["port_sent_packets"])
    assert c["tx_bytes_phy"] == int(own[0]["port_sent_bytes"]) - 20 * c["tx_packets_phy"]
    lost = int(peer[0]["fault_lost"]) + int(peer[0]["fault_refused"]) - int(peer[0]["fault_duplicated"])
    assert c["rx_packets_phy"] == int(peer[0]["port_sent_packets"]) - lost
    for p in (0, 3, 5, 6):
        key = f"tx_prio{p}_packets"
        assert c.get(key, 0) == int(own[p]["sent_packets"])
END

# In the forms of ethtool and rdma.
expect 0 stat run h2 --json
holds out '[c["ifname"] for c in r] == ["h2"]'
expect 0 stat run s0 --json
holds out '[c["port"] for c in r] == list(range(1, 10))'
expect 0 stat run --json
python3 -c 'import json; assert json.load(open("out")) == json.load(open("run/counters.json"))' || fail "--json: others"
expect 0 stat run h0 --ethtool
[ "$(sed -n 2p out)" = "NIC statistics:" ] || fail "not as ethtool"
grep -q '^     rx_prio3_pause: [0-9]*$' out && ! grep -q np_cnp out || fail "--ethtool: other counters"
expect 0 stat run --hw
[ "$(grep -c '^link h[0-8]/1 rx_write_requests [0-9]' out)" = 9 ] && [ "$(wc -l <out)" = 9 ] ||
	fail "--hw: not a line for each host"
expect 0 stat run s0
grep -q '^s0/1 h0-s0#0$' out && ! grep -q ' 0$' out || fail "not what is not 0"
expect 2 stat run nobody
expect 2 stat nowhere
grep -q 'found "nowhere", expected the folder of a run, or a process or a host ' err || fail "what is neither"
expect 2 stat run --watch 1
expect 2 stat ./nowhere
grep -q '^./nowhere/counters.json: counters: found no such file, expected ' err || fail "another line"
expect 2 stat run --hw --json
echo '{}' >run/counters.json
expect 2 stat run
[ ! -s out ] || fail "something on stdout"

# h2 before h10, in each form; what programs read stays in the order of addresses.
cat >twelve.yaml <<'END'
version: 1
topology: {kind: star, hosts: 12}
END
expect 0 run twelve.yaml --out twelve
for form in '' --ethtool --hw; do
	expect 0 stat twelve $form
	grep -o '^\(link \)*h[0-9]*' out | sed 's/^link //' | tr '\n' ' ' >names
	grep -qx 'h0 h1 h2 h3 h4 h5 h6 h7 h8 h9 h10 h11 ' names || fail "$form: another order: $(cat names)"
done
expect 0 stat twelve --json
holds out '[c["ifname"] for c in r][:4] == ["h0", "h1", "h10", "h11"]'
