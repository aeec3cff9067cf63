#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run.py --verbena COMMAND --root REPOSITORY [--column NAME]... [--only REGEX] [--lanes N] [--write FILE]:
runs the rows of rows.py on every way that this verbena has, in lanes side by side, each row on hosts of its own, in the
current folder, as whom $AS says. A row is right if both ends say so and end well, and where packets go over UDP if the
capture of who sends has the data, in at least as many packets as it takes, and --impair counts as many. Prints a table;
--write: a page of it, docs/clients.md.
Exit status 1: a row is wrong, or works that unable.list says cannot; 77: a tool is missing."""
import argparse
import collections
import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time

import capture
import rows as table

HERE = os.path.dirname(os.path.abspath(__file__))
MTU_MAX = 4096
LOSS = "loss 1%"
LOSSY = ["--impair", LOSS, "--seed", "7"]

Column = collections.namedtuple("Column", "name needs options wrapper core lossy wire")
NO_URING = ["/usr/bin/python3", HERE + "/no_uring.py"]
# needs: options of "verbena exec" without which there is no such way. The last ones are for the few rows marked core.
COLUMNS = [
    Column("udp", [], ["--path", "udp"], [], False, False, True),
    Column("udp, loss 1%", ["--impair"], ["--path", "udp"] + LOSSY, [], False, True, True),
    Column("shm", ["--path"], ["--path", "shm"], [], False, False, False),
    Column("shm, loss 1%", ["--path", "--impair"], ["--path", "shm"] + LOSSY, [], False, True, False),
    Column("direct", ["--direct"], ["--direct"], [], True, False, False),
    Column("io_uring", ["--loop"], ["--path", "udp", "--loop", "io_uring"], [], True, False, True),
    Column("epoll", ["--loop"], ["--path", "udp", "--loop", "epoll"], [], True, False, True),
    Column("no io_uring", ["--loop"], ["--path", "udp"], NO_URING, True, False, True),
]


class Wrong(Exception):
    pass


def known_options(verbena):
    return set(re.findall(r"^  (--[a-z-]+)", subprocess.run([verbena, "exec", "--help"], capture_output=True, text=True,
                                                             check=True).stdout, re.M))


def options_of(column, known):
    """Without those that this verbena lacks and the column does not need: where there is one way only."""
    options, at = [], 0
    while at < len(column.options):
        width = 1 if column.options[at] == "--direct" else 2
        if column.options[at] in known:
            options += column.options[at:at + width]
        at += width
    return options


class Place:
    """Where a row runs: two addresses and a port that nobody else has, and files of its own."""

    next_number = os.getpid() % 50 * 7

    def __init__(self, row, column, context):
        Place.next_number += 1
        number = Place.next_number
        self.row, self.column, self.context = row, column, context
        self.folder = f"r{number}"
        self.net = f"{os.getpid() % 100 + 20 + number // 250}.{number % 250}"
        self.port = free_port(12000 + number * 13 % 19000)
        self.server, self.client = f"127.{self.net}.1", f"127.{self.net}.2"
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o777)

    def fill(self, text):
        return text.format(s=self.server, c=self.client, p=self.port, here=HERE, rspreload=self.context.rspreload)

    def start(self, who, host, command):
        env = dict(os.environ, **{key: self.fill(value) for key, value in (self.row.env or {}).items()})
        # What is to be before the program only must not be before verbena and what runs it.
        preload = env.pop("LD_PRELOAD", None)
        words = shlex.split(os.environ.get("AS", "")) + self.column.wrapper
        words += ["env", f"LD_PRELOAD={preload}"] if preload else []
        options = self.context.options[self.column.name]
        words += [self.context.verbena, "exec", "--host", host] + [self.rules() if word == LOSS else word for word in options]
        if self.column.wire:
            words += ["--pcap", f"{who}.pcapng"]
        words += ["--"] + shlex.split(self.fill(command))
        with open(f"{self.folder}/{who}.out", "w") as out, open(f"{self.folder}/{who}.err", "w") as err:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd=self.folder,
                                    start_new_session=True)

    def rules(self):
        """Pingpongs go as soon as they have what they wait for: an acknowledgement that the other one lacks is not made
        up for by who has gone."""
        return f"only data {LOSS}" if self.row.tool.startswith("ibv_") else LOSS

    def said(self, who, what="out"):
        with open(f"{self.folder}/{who}.{what}", errors="replace") as file:
            return file.read()

    def told(self):
        return "; ".join(f"{who}: {' / '.join((self.said(who) + self.said(who, 'err')).splitlines()[-16:])}"
                         for who in ("client", "server") if os.path.exists(f"{self.folder}/{who}.out"))

    def listens(self):
        with open("/proc/net/unix") as file:
            asks = "7f%02x%02x01" % tuple(int(part) for part in self.net.split("."))
            if re.search(rf"@verbena/[0-9]+/[0-9a-f]*{asks}%[0-9]+/cm/port/", file.read()):
                return True
        for family in ("tcp", "tcp6"):
            if os.path.exists(f"/proc/net/{family}"):
                with open(f"/proc/net/{family}") as file:
                    if re.search(rf":{self.port:04X} [0-9A-F]+:0000 0A", file.read()):
                        return True
        return False


def free_port(port):
    while True:
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind(("0.0.0.0", port))
                return port
            except OSError:
                port += 1


def threads_of(process):
    """Of all its group: state and processor's time of each."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/task/[0-9]*/stat"):
        try:
            with open(path) as file:
                words = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[2]) == process.pid:
            found[path] = words[0], words[11], words[12]
    return found


def sleeps(process):
    """Whether it does nothing for a while."""
    before = threads_of(process)
    time.sleep(0.15)
    return all(state == "S" for state, _, _ in before.values()) and threads_of(process) == before


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def finish(place, who, process, seconds):
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        end(process)
        raise Wrong(f"{who}: not ended after {seconds} s; {place.told()}") from None
    if status != 0:
        raise Wrong(f"{who}: exit status {status}; {place.told()}")


def run_pair(place):
    row = place.row
    server = place.start("server", place.server, row.server) if row.server else None
    try:
        limit = time.monotonic() + 10
        while server and row.waits in ("tcp", "cm") and not place.listens():
            if time.monotonic() > limit or server.poll() is not None:
                raise Wrong(f"the server does not listen; {place.told()}")
            time.sleep(0.02)
        time.sleep(1 if row.waits == "second" else 0)
        # Who has bound a port of rdma_cm is about to listen at it, and then sleeps.
        while row.waits == "cm" and time.monotonic() < limit and not sleeps(server):
            pass
        client = place.start("client", place.client, row.client)
        try:
            finish(place, "client", client, row.seconds)
        finally:
            end(client)
        if server and not row.stays:
            finish(place, "server", server, 20)
        elif server:
            # It may write its capture.
            server.terminate()
            time.sleep(0.1)
    finally:
        if server:
            end(server)


def check_output(place):
    for who, finds in (("client", place.row.finds), ("server", place.row.server_finds)):
        for find in finds:
            find = re.sub(r"\{[scp]\}", lambda found: re.escape(place.fill(found[0])), find)
            if not re.search(find, place.said(who), re.M):
                raise Wrong(f"{who}: nothing like \"{find}\"; {place.told()}")


def check_wire(place):
    """The capture of who sends holds the data; with --impair, as many packets as its counts say."""
    row = place.row
    sent = {who: capture.read(f"{place.folder}/{who}.pcapng", getattr(place, who))
            for who in ("client", "server") if os.path.exists(f"{place.folder}/{who}.pcapng")}
    if row.messages and not sent:
        raise Wrong(f"no capture; {place.told()}")
    if row.sender == "any":
        senders = [max(sent, key=lambda who: sent[who].bytes)]
    else:
        senders = ["client", "server"] if row.sender == "both" else [row.sender]
    for who in senders if row.messages else []:
        if who not in sent:
            raise Wrong(f"{who}: no capture; {place.told()}")
        packets = row.messages * -(-row.size // MTU_MAX)
        if sent[who].data < packets or sent[who].bytes < row.messages * row.size:
            raise Wrong(f"{who}: {sent[who].data} packets with {sent[who].bytes} bytes, "
                        f"expected {packets} with {row.messages * row.size}")
        if row.atomics and sent[who].atomics < row.messages:
            raise Wrong(f"{who}: {sent[who].atomics} atomics, expected {row.messages}")
    lost = 0
    for who in sent if place.column.lossy else []:
        if who == "server" and row.stays:
            continue
        told = re.search(rf'--impair "{place.rules()}": (\d+) packets[:,](?:.*?(\d+) lost)?', place.said(who, "err"))
        if not told:
            raise Wrong(f"{who}: --impair says nothing; {place.told()}")
        lost += int(told[2] or 0)
        packets = sent[who].packets if place.rules() == LOSS else sent[who].data
        if int(told[1]) - int(told[2] or 0) != packets:
            raise Wrong(f"{who}: {packets} packets in the capture, by --impair {told[1]}, of which {told[2]} lost")
    return lost


def run_mpi(place, kind):
    """Four ranks, each a host, as tests/e2e/exec_mpi.c checks them."""
    verbena, options = place.context.verbena, shlex.join(place.context.options[place.column.name])
    with open(f"{place.folder}/rank", "w") as file:
        pcap = "--pcap $OMPI_COMM_WORLD_RANK.pcapng" if place.column.wire else ""
        file.write(f"#!/bin/sh\nexec {shlex.join(place.column.wrapper)} {verbena} exec --host 127.{place.net}."
                   f"$((OMPI_COMM_WORLD_RANK + 1)) {options} {pcap} -- ../ranks\n")
    os.chmod(f"{place.folder}/rank", 0o755)
    env = dict(os.environ, UCX_TLS=f"{kind},self", UCX_NET_DEVICES="verbena0:1")
    words = shlex.split(os.environ.get("AS", "")) + shlex.split(
        "mpirun --allow-run-as-root --oversubscribe -n 4 --mca pml ucx --mca btl self --mca oob_tcp_if_include lo "
        "--mca mpi_yield_when_idle 1 -x UCX_TLS -x UCX_NET_DEVICES ./rank")
    with open(f"{place.folder}/client.out", "w") as out, open(f"{place.folder}/client.err", "w") as err:
        ranks = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd=place.folder,
                                 start_new_session=True)
    try:
        finish(place, "client", ranks, place.row.seconds)
    finally:
        end(ranks)
    if place.said("client") != "4 ranks, 0 wrong\n":
        raise Wrong(f"mpirun: {place.told()}")
    if place.column.wire:
        got = sum(capture.read(f"{place.folder}/{rank}.pcapng", f"127.{place.net}.{rank + 1}").bytes for rank in (1, 2, 3))
        if got < place.row.size:
            raise Wrong(f"mpirun: {got} bytes in packets, expected {place.row.size}")


def run_row(row, column, context):
    """None, or what is wrong; and how many packets were lost."""
    place, lost = Place(row, column, context), 0
    began = time.monotonic()
    try:
        if row.extra.startswith("mpi "):
            run_mpi(place, row.extra.split()[1])
        else:
            if row.extra == "copied":
                with open(f"{place.folder}/source.bin", "wb") as file:
                    file.write(os.urandom(3000000))
                os.chmod(f"{place.folder}/source.bin", 0o644)
            run_pair(place)
            check_output(place)
            if column.wire:
                lost = check_wire(place)
            if row.extra == "copied" and subprocess.run(["cmp", f"{place.folder}/source.bin",
                                                         f"{place.folder}/copied.{place.port}"], check=False).returncode:
                raise Wrong("another file")
        return None, lost, time.monotonic() - began
    except (Wrong, AssertionError) as wrong:
        return str(wrong), lost, time.monotonic() - began
    finally:
        if not context.keep:
            shutil.rmtree(place.folder)


def read_unable(names):
    unable = {}
    with open(HERE + "/unable.list") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                column, name, reason = (part.strip() for part in line.split("|", 2))
                if name not in names:
                    sys.exit(f"unable.list: no row is called \"{name}\"")
                for one in [c.name for c in COLUMNS] if column == "*" else [column]:
                    unable[one, name] = reason
    return unable


def table_of(rows, columns, cells, unable):
    """In markdown, reasons below."""
    reasons = []

    def short(cell):
        if cell.startswith(("no: ", "not run: ", "second try: ")):
            word, reason = cell.split(": ", 1)
            if reason not in reasons:
                reasons.append(reason)
            return f"{word} ({reasons.index(reason) + 1})"
        return cell
    lines = ["| tool | options | " + " | ".join(c.name for c in columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for row in rows:
        lines.append(f"| {row.tool} | {'`' + row.options + '`' if row.options else ''} | " +
                     " | ".join(short(cells[c.name, row.name]) for c in columns) + " |")
    lines += [""] + [f"{number + 1}. {reason}" for number, reason in enumerate(reasons)]
    return "\n".join(lines).rstrip() + "\n"


PAGE = """# Other people's programs on Verbena

Every row is a program as Debian packages it, unmodified, run under `verbena exec` without a device, a kernel module or
root, its two ends on two emulated hosts (`--host`). The columns are the ways that data can go: `udp` RoCEv2 packets
through sockets, `shm` sealed rings in shared memory, `direct` straight between the processes' memory; each of the first
two also with one packet in a hundred lost; and the loops of `udp` (io_uring; epoll; epoll where a seccomp filter refuses
io_uring), which a few rows pass. `ok`: both ends say that they did what they were asked for and end well, and where packets
go through sockets, the capture has the data. This page is made: `tests/clients/run.sh` writes it with `--write`.

{packages}.

{table}
{runs} runs of {rows} rows, {wrong} wrong.
"""


def versions():
    names = ["rdmacm-utils", "ibverbs-utils", "perftest", "ucx-utils", "libfabric-bin", "openmpi-bin"]
    said = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}, "] + names, capture_output=True, text=True, check=False)
    return "Packages: " + (said.stdout.rstrip(", ") or "not Debian's")


# perftest measures the processor's clock against the time of day before it reports, and gives up where somebody
# else had the processor meanwhile.
BUSY = "Correlation coefficient r^2"
# With its last message.
LEFT = "Failed to close connection between server and client"


def judge(row, column, context, unable):
    """The cell of a row, and whether it is as it should be."""
    reason = unable.get((column.name, row.name))
    wrong, lost, seconds = run_row(row, column, context)
    context.lost[column.name] += lost
    context.spent.append((seconds, row.name, column.name))
    if reason:
        return f"no: {reason}", None if wrong else "works, although unable.list says that it cannot"
    races = row.races
    if wrong and BUSY in wrong:
        races = "perftest could not measure the clock"
    elif wrong and LEFT in wrong and "loss" in column.name:
        races = table.ENDS_FIRST
    if wrong and races:
        print(f"{column.name}: {row.name}: once more, after {wrong}", flush=True)
        wrong, lost, _ = run_row(row, column, context)
        context.lost[column.name] += lost
        return (f"second try: {races}", None) if not wrong else ("WRONG", wrong)
    return ("ok", None) if not wrong else ("WRONG", wrong)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--verbena", "--root"):
        parser.add_argument(name, required=True)
    parser.add_argument("--column", action="append")
    parser.add_argument("--only")
    parser.add_argument("--lanes", type=int, default=int(os.environ.get("LANES", "3")))
    parser.add_argument("--write")
    parser.add_argument("--keep", action="store_true")
    context = parser.parse_args()
    rows = [row for row in table.rows() if not context.only or re.search(context.only, row.name)]
    names = [row.name for row in table.rows()]
    assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]
    unable = read_unable(names)
    known = known_options(context.verbena)
    context.options = {column.name: options_of(column, known) for column in COLUMNS}
    context.rspreload = next((path for path in ("/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so",
                                                f"/usr/lib/{os.uname().machine}-linux-gnu/rsocket/librspreload.so")
                              if os.path.exists(path)), "")
    context.lost, context.spent = collections.Counter(), []
    missing = sorted({row.tool for row in rows if not shutil.which(row.tool) and not (row.tool == "librspreload" and
                                                                                     context.rspreload)})
    columns, bad, cells = [], [], {}
    for column in COLUMNS:
        if context.column and column.name not in context.column:
            continue
        if not set(column.needs) <= known:
            print(f"not run: {column.name}: this verbena has no {' and no '.join(set(column.needs) - known)}")
            continue
        columns.append(column)
    if any(row.extra.startswith("mpi ") and row.tool not in missing for row in rows):
        subprocess.run(["mpicc", "-o", "ranks", HERE + "/../e2e/exec_mpi.c"], check=True)
        os.chmod("ranks", 0o755)
    jobs = {}
    with concurrent.futures.ThreadPoolExecutor(context.lanes) as lanes:
        for column in columns:
            for row in rows:
                cell = column.name, row.name
                if row.tool in missing:
                    cells[cell] = "not run: the tool is not installed"
                elif column.core and not row.core:
                    cells[cell] = ""
                elif column.lossy and row.lossy:
                    cells[cell] = f"not run: {row.lossy}"
                else:
                    jobs[lanes.submit(judge, row, column, context, unable)] = cell
        for job in concurrent.futures.as_completed(jobs):
            cells[jobs[job]], wrong = job.result()
            if wrong:
                bad.append(jobs[job])
                print(f"{jobs[job][0]}: {jobs[job][1]}: {wrong}", flush=True)
    for column in columns:
        if column.lossy and column.wire and context.lost[column.name] == 0 and len(rows) > 10:
            bad.append((column.name, "no packet was lost in all of its rows"))
            print(*bad[-1])
    text = table_of(rows, columns, cells, unable)
    print(text)
    if context.write:
        with open(context.write, "w") as file:
            file.write(PAGE.format(table=text, packages=versions(), rows=len(rows), runs=len(jobs), wrong=len(bad)))
    print("the slowest:", ", ".join(f"{name} ({column}) {seconds:.1f} s" for seconds, name, column in
                                    sorted(context.spent, reverse=True)[:6]))
    if missing:
        print("missing:", *missing)
    print(f"{len(jobs)} runs of {len(rows)} rows, {len(bad)} wrong")
    sys.exit(1 if bad else 77 if missing else 0)


main()
