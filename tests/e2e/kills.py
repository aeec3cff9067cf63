#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""kills.py VERBENA KILLS [SEED]: pairs of ibv_rc_pingpong under "verbena exec", side by side, of whose four processes
each time some are ended by SIGKILL at a random instant: at start, while they connect, under traffic. After KILLS
signals nothing of them is left: no process, file, name of a unix socket, port, or segment of shared memory; and
the same hosts serve a pair that nobody disturbs. Exit status 77: no ibv_rc_pingpong here."""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BESIDE = 5  # pairs at a time
PORT = 21000


def fail(*words):
    print(*words)
    sys.exit(1)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def end_one(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def ours(env):
    """All processes that have begun here, whoever is their parent by now."""
    mark = f"TMPDIR={env['TMPDIR']}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    yield int(pid)
        except OSError:
            pass


class Pair:
    """A server and a client on two hosts."""

    def __init__(self, verbena, env, net, number, rounds):
        port = str(PORT + number)
        command = ["ibv_rc_pingpong", "-g", "1", "-n", str(rounds), "-p", port]
        hosts = [f"127.{net}.{2 * number + end + 1}" for end in (0, 1)]
        self.port = f":{PORT + number:04X} "
        self.ends = [subprocess.Popen([verbena, "exec", "--host", hosts[0], "--", *command], env=env,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)]
        self.client = [verbena, "exec", "--host", hosts[1], "--", *command, "127.0.0.1"]
        self.env = env
        self.programs = set()

    def join(self):
        self.ends.append(subprocess.Popen(self.client, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))

    def kill(self, draw):
        """Ends some of the processes; how many."""
        for end in self.ends:
            self.programs.update(children(end.pid))
        return sum(end_one(pid) for pid in [end.pid for end in self.ends if end.poll() is None] + sorted(self.programs)
                   if draw.random() < 0.5)

    def await_server(self):
        for _ in range(1000):
            with open("/proc/net/tcp", encoding="ascii") as file:
                if any(self.port in line and " 0A " in line for line in file):
                    return
            time.sleep(0.02)
        fail("an undisturbed server does not listen")

    def has_ended(self):
        for end in self.ends:
            try:
                end.communicate(timeout=0.1)
            except subprocess.TimeoutExpired:
                return False
        return True


def left_of(env, net, shared):
    """What is still there, as words."""
    first, second = net.split(".")
    hosts = f"7f{int(first):02x}{int(second):02x}"
    # As the kernel writes addresses there: the first byte last.
    bound = f"{int(second):02X}{int(first):02X}7F:"
    found = [f"file {name}" for name in os.listdir(env["TMPDIR"])]
    found += [f"segment {name}" for name in os.listdir("/dev/shm") if name not in shared and "verbena" in name]
    with open("/proc/net/unix", encoding="ascii", errors="replace") as file:
        found += [f"name {line.split()[-1]}" for line in file if "verbena" in line and hosts in line]
    for protocol in ("udp", "tcp"):
        with open(f"/proc/net/{protocol}", encoding="ascii") as file:
            found += [f"port {line.split()[1]}" for line in file if bound in line.split()[1]]
    found += [f"process {pid}" for pid in ours(env)]
    return found


def disturb(verbena, env, net, draw, kills):
    done = 0
    while done < kills:
        pairs = [Pair(verbena, env, net, number, 1000000) for number in range(BESIDE)]
        time.sleep(draw.uniform(0, 0.12))
        for pair in pairs:
            pair.join()
        time.sleep(draw.uniform(0, 0.3))
        for pair in pairs:
            done += pair.kill(draw)
            time.sleep(draw.uniform(0, 0.02))
        # Some of them have only just begun, and are not seen yet.
        while (left := list(ours(env))) or not all(pair.has_ended() for pair in pairs):
            done += sum(end_one(pid) for pid in left)
    return done


def main():
    verbena, kills = os.path.realpath(sys.argv[1]), int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else os.getpid()
    if not shutil.which("ibv_rc_pingpong"):
        print("no ibv_rc_pingpong")
        sys.exit(77)
    work = tempfile.mkdtemp()
    try:
        env = {name: value for name, value in os.environ.items() if not name.startswith("VERBENA")}
        env["TMPDIR"] = f"{work}/tmp"
        os.mkdir(env["TMPDIR"])
        net = f"{os.getpid() % 200 + 20}.{os.getpid() // 200 % 250}"
        shared = set(os.listdir("/dev/shm"))
        done = disturb(verbena, env, net, random.Random(seed), kills)
        again = [Pair(verbena, env, net, number, 50) for number in range(BESIDE)]
        for pair in again:
            pair.await_server()
            pair.join()
        for pair in again:
            for end in pair.ends:
                said = end.communicate(timeout=60)[1]
                if end.returncode != 0:
                    fail(f"seed {seed}: an undisturbed pair afterwards: exit {end.returncode}:", said.decode())
        left = left_of(env, net, shared)
        if left:
            fail(f"seed {seed}: after {done} signals there is left:", *left)
        print(f"{done} signals, nothing left")
    finally:
        shutil.rmtree(work)


main()
