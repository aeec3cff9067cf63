#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tests/verbs_page.py BUILD PROGRAM [--write]: compares the tables of docs/verbs.md with what PROGRAM,
tests/outside/verbs.c, is answered in virtual time and between processes; or puts them there. Every call that libibverbs' header declares is in
the page, or is one of those below, which ask no adapter for anything or come with one that is there."""
import os
import re
import subprocess
import sys
import tempfile

HEADER = "/usr/include/infiniband/verbs.h"
BEGIN, END = "<!-- made by tests/verbs_page.py -->\n", "<!-- up to here -->\n"
# Names, numbers and sums.
PLAIN = """ibv_cq_ex_to_cq ibv_event_type_str ibv_flow_label_to_udp_sport ibv_inc_rkey ibv_is_qpt_supported
    ibv_node_type_str ibv_port_state_str ibv_qp_to_qp_ex ibv_rate_to_mbps ibv_rate_to_mult ibv_wc_status_str
    ibv_static_providers ibv_resolve_eth_l2_from_gid"""
# Told with the call that makes what they are about.
WITH = {
    "ibv_create_cq_ex": "ibv_next_poll ibv_end_poll ibv_wc_opcode ibv_wc_read_",
    "ibv_wr_send": "ibv_wr_start ibv_wr_complete ibv_wr_abort ibv_wr_set_",
    "ibv_create_flow": "ibv_destroy_flow ibv_destroy_flow_action ibv_modify_flow_action_esp",
    "ibv_create_wq": "ibv_destroy_wq ibv_modify_wq ibv_post_wq_recv ibv_destroy_rwq_ind_table",
    "ibv_create_counters": "ibv_destroy_counters ibv_attach_counters_point_flow ibv_read_counters",
    "ibv_create_srq_ex: tag matching": "ibv_post_srq_ops",
    "ibv_create_ah": "ibv_create_ah_from_wc ibv_init_ah_from_wc",
    "ibv_open_device": "ibv_get_async_event ibv_ack_async_event",
    "ibv_attach_mcast": "ibv_detach_mcast",
    "ibv_import_pd": "ibv_unimport_pd ibv_unimport_mr ibv_unimport_dm",
    "ibv_reg_mr_iova": "ibv_reg_mr_iova2",
}


def fail(*words):
    print(*words)
    sys.exit(1)


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, **more)
    if done.returncode != 0:
        fail(" ".join(words), f"exit {done.returncode}:", done.stderr[-3000:])
    return done.stderr


def answers(text):
    """{(kind, name): answer}, in their order."""
    return {(kind, name): answer for kind, name, answer in re.findall(r"rank 0: (verb|limit) (.*) (\S+)$", text, re.M)}


def ask(root, build, program):
    with tempfile.TemporaryDirectory() as folder:
        scenario, name = f"{folder}/verbs.yaml", f"{folder}/verbs"
        with open(scenario, "w", encoding="utf-8") as file:
            file.write("version: 1\ntopology: {kind: star, hosts: 2}\n"
                       f"programs: [{{run: {program}, name: it, hosts: h0}}]\n")
        env = dict(os.environ, XDG_CACHE_HOME=folder)
        virtual = run(f"{build}/verbena", "run", scenario, "--out", f"{folder}/out", env=env)
        library = f"{build}/transport/process"
        run(*os.environ.get("CC", "cc").split(), "-o", name, program, f"-I{root}/include", f"-L{library}", "-lverbena")
        processes = run(name, env=dict(env, LD_LIBRARY_PATH=library, VERBENA_ADDR="127.0.0.1"))
    return answers(virtual), answers(processes)


def cover(names):
    """Every call of the header is told of."""
    with open(HEADER, encoding="utf-8") as file:
        declared = set(re.findall(r"\b(ibv_[a-z0-9_]+) ?\(", file.read()))
    told = {name.split(":")[0] for name in names}
    for name, others in WITH.items():
        if name not in names and name not in told:
            fail(f"{name} is in no table, and others are told with it")
        told |= {call for call in declared for other in others.split() if call.startswith(other)}
    if "ibv_wr_flush" in declared: # calls of releases behind 44 are not asked for
        return
    missing = declared - told - set(PLAIN.split())
    if missing:
        fail("calls of which no table says anything:", *sorted(missing))


def shown(name):
    call, _, rest = name.partition(": ")
    return f"`{call}()`" + (f", {rest}" if rest else "")


def tables(virtual, processes):
    if list(virtual) != list(processes):
        fail("other verbs in virtual time than between processes:", *set(virtual) ^ set(processes))
    rows = ["| call | in virtual time | between processes |", "|---|---|---|"]
    limits = ["", "| limit of `struct ibv_device_attr` and its like | in virtual time | between processes |",
              "|---|---|---|"]
    for (kind, name), answer in virtual.items():
        other = processes[kind, name]
        if kind == "verb":
            rows.append(f"| {shown(name)} | {answer} | {other} |")
        else:
            limits.append(f"| {name} | {int(answer):,} | {int(other):,} |")
    return "\n".join(rows + limits) + "\n"


def main():
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    virtual, processes = ask(root, os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]))
    cover([name for kind, name in virtual if kind == "verb"])
    made = tables(virtual, processes)
    with open(f"{root}/docs/verbs.md", encoding="utf-8") as file:
        before, _, rest = file.read().partition(BEGIN)
    old, _, behind = rest.partition(END)
    if sys.argv[3:] == ["--write"]:
        with open(f"{root}/docs/verbs.md", "w", encoding="utf-8") as file:
            file.write(before + BEGIN + made + END + behind)
    elif old != made:
        for line in sorted(set(made.splitlines()) ^ set(old.splitlines())):
            print(("+ " if line in made else "- ") + line)
        fail("docs/verbs.md says otherwise: ./setup readme")


main()
