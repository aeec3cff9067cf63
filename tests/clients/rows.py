# SPDX-License-Identifier: BSD-2-Clause
"""The rows of the suite "clients": which program runs with which options, what of its output says that it did what it
was asked for, and how much data has to have gone over the wire. Every tool is as Debian packages it.

In commands {s} and {c} are the addresses of server and client, {p} is a port. A row's name is TOOL OPTIONS."""
import dataclasses
import typing

CLOSES_UNREAD = ("libfabric's rxm closes an endpoint as soon as it hears that the other end has, with the completion of its own "
                 "last message unread where a busy machine has both come at once (prov/rxm/src/rxm_conn.c, rxm_close_conn())")
ENDS_FIRST = "whoever has all that it waits for ends, and then nobody acknowledges again what is sent again for a lost acknowledgement"
NEVER_SENT_AGAIN = "what is lost of UC and UD nobody sends again, and the program waits for it"


@dataclasses.dataclass
class Row:
    tool: str
    options: str
    client: str
    server: str = ""
    waits: str = "tcp"  # for what, before the client begins: tcp, cm (a port of rdma_cm) or nothing
    messages: int = 0  # that the sender has to have sent at least, each of so many bytes
    size: int = 0
    sender: str = "client"  # or server, or both
    finds: tuple = ()  # in the client's output
    server_finds: tuple = ()
    lossy: str = ""  # why not with losses
    races: str = ""  # why the program itself may lose now and then, and has a second try
    core: bool = False  # of the few that run on every way
    stays: bool = False  # a server that does not end by itself
    env: typing.Optional[dict] = None
    atomics: bool = False  # of the messages; they have 8 bytes
    extra: str = ""  # what the runner does besides, by name
    seconds: int = 60

    @property
    def name(self):
        return f"{self.tool} {self.options}".strip()


def devices():
    yield Row("ibv_devices", "", "ibv_devices", waits="", finds=(r"^ +verbena0\s+[0-9a-f]{16}$",), core=True)
    yield Row("ibv_devinfo", "", "ibv_devinfo", waits="", finds=(r"state:\s+PORT_ACTIVE", r"link_layer:\s+Ethernet"))
    yield Row("ibv_devinfo", "-v", "ibv_devinfo -v", waits="", core=True,
              finds=(r"GID\[ *1\]:\s+::ffff:{c}, RoCE v2", r"max_mr_size:\s+0x[0-9a-f]+", r"state:\s+PORT_ACTIVE"))
    yield Row("ibv_devinfo", "-l", "ibv_devinfo -l", waits="", finds=(r"^1 HCA found:", r"verbena0"))
    yield Row("ibv_devinfo", "-d verbena0 -i 1", "ibv_devinfo -d verbena0 -i 1", waits="", finds=(r"port:\s+1",))


# ibv_*_pingpong: options beside "-g 1 -n 50", and what they change.
PINGPONG = [
    # options, size, who has it
    ("-c", 4096, "rc uc ud srq"),
    ("-s 1 -c", 1, "rc uc srq"),
    ("-s 2000 -c", 2000, "ud"),
    ("-s 100000 -c", 100000, "rc uc srq"),
    ("-m 256 -c", 4096, "rc uc srq"),
    ("-m 512 -c", 4096, "rc uc srq"),
    ("-m 2048 -c", 4096, "rc uc srq"),
    ("-m 4096 -c", 4096, "rc uc srq"),
    ("-r 20 -c", 4096, "rc uc ud srq"),
    ("-n 300 -c", 4096, "rc uc ud srq"),
    ("-l 3 -c", 4096, "rc uc ud srq"),
    ("-e -c", 4096, "rc uc ud srq"),
    ("-g 0 -c", 4096, "rc uc ud srq"),
    ("-i 1 -d verbena0 -c", 4096, "rc uc ud srq"),
    ("-o -c", 4096, "rc srq"),
    ("-O -c", 4096, "rc"),
    ("-o -P -c", 4096, "rc"),
    ("-j -c", 4096, "rc"),
    ("-t -c", 4096, "rc"),
    ("-N -c", 4096, "rc"),
    ("-N -t -j -c", 4096, "rc"),
    ("-q 4 -c", 4096, "srq"),
    ("-q 1 -c", 4096, "srq"),
]


def pingpongs():
    for kind in ("rc", "uc", "ud", "srq"):
        for options, size, kinds in PINGPONG:
            if kind not in kinds.split():
                continue
            tool = f"ibv_{kind}_pingpong"
            count = 300 if "-n 300" in options else 50
            gid = "" if "-g" in options else "-g 1 "
            number = "" if "-n" in options else "-n 50 "
            command = f"{tool} {gid}{number}{options} -p {{p}}"
            if kind == "ud" and "-s" not in options:
                size = 1024  # whatever its help says
            # Of -q queue pairs, 16 unless it says otherwise, all have so many together.
            yield Row(tool, options, command + " {s}", command, messages=count, size=size, sender="both",
                      finds=(rf"^{count} iters in", r"Mbit/sec"),
                      lossy=NEVER_SENT_AGAIN if kind in ("uc", "ud") else "", core=options in ("-c", "-e -c"))
    for options, size in (("", 4096), ("-s 64", 64), ("-m 1024", 4096), ("-n 40", 4096), ("-l 3", 4096), ("-e", 4096),
                          ("-o", 4096), ("-i 1 -d verbena0", 4096)):
        command = f"ibv_xsrq_pingpong -g 1 {options} -p {{p}}"
        count = 40 if "-n" in options else 5
        yield Row("ibv_xsrq_pingpong", options, command + " {s}", command, messages=count, size=size, sender="client",
                  finds=(r"^success",), server_finds=(r"^success",), core=options == "")


# perftest: tool, connection, options, iterations, size, who sends what counts
def perf(what, options, size, count=100, sender="client", shown="", **more):
    tool = f"ib_{what}"
    command = f"{tool} {shown} {options} -p {{p}}"
    unreliable = "-c UC" in options or "-c UD" in options
    over_cm = "-R" in options.split()
    if what.startswith("read"):
        sender = {"client": "server", "server": "client"}.get(sender, sender)
    find = rf"^ {size} +{count} "
    return Row(tool, options, " ".join(f"{command} {{s}}".split()), " ".join(command.split()), messages=count, size=size,
               sender=sender, finds=more.pop("finds", (find,)), waits="cm" if over_cm else "tcp",
               lossy=NEVER_SENT_AGAIN if unreliable else "", atomics=what.startswith("atomic"), **more)


def perftest():
    connections = {"write": "RC UC XRC", "read": "RC XRC", "send": "RC UC UD XRC", "atomic": "RC XRC"}
    for operation, kinds in connections.items():
        for measure in ("bw", "lat"):
            what = f"{operation}_{measure}"
            size = 8 if operation == "atomic" else 4096 if measure == "bw" else 64
            length = "" if operation == "atomic" else f"-s {size} "
            for kind in kinds.split():
                yield perf(what, f"-c {kind}", size, shown=f"-n 100 {length}", core=kind in ("RC", "UD"))
            yield perf(what, "-R", size, shown=f"-n 100 {length}")
            yield perf(what, "-x 1 -m 1024", size, shown=f"-n 100 {length}")
            yield perf(what, "-u 18 -S 3", size, shown=f"-n 100 {length}")
            if measure == "bw":
                yield perf(what, "-b", size, shown=f"-n 100 {length}", sender="both")
                yield perf(what, "-q 16", size, shown=f"-n 100 {length}", finds=(rf"^ {size} +1600 ",))
                yield perf(what, "-q 16 -R", size, shown=f"-n 100 {length}", finds=(rf"^ {size} +1600 ",))
                yield perf(what, "-l 10", size, shown=f"-n 100 {length}")
                yield perf(what, "-Q 10 -t 20", size, shown=f"-n 100 {length}")
                yield perf(what, "-N", size, shown=f"-n 100 {length}")
            if operation != "write":
                yield perf(what, "-e", size, shown=f"-n 100 {length}")
            if measure == "lat":
                yield perf(what, "-H", size, shown=f"-n 100 {length}", finds=(r"^# *, *cycles|^#, *usec", rf"^ {size} +100 "))
            if operation != "atomic":
                if measure == "bw" or operation == "send":
                    yield perf(what, "-a", 1 << 23, count=5, shown="-n 5", seconds=120, core=what == "write_bw",
                               finds=tuple(rf"^ {1 << i} +5 " for i in range(1, 24)))
                yield perf(what, "-s 1000000 -n 10", 1000000, count=10)
                yield perf(what, "--odp", size, shown=f"-n 100 {length}")
    for operation in ("write", "send"):
        yield perf(f"{operation}_lat", "-I 64", 64, shown="-n 100 -s 64")
        yield perf(f"{operation}_lat", "-I 0", 64, shown="-n 100 -s 64")
        yield perf(f"{operation}_bw", "-I 128", 100, shown="-n 100 -s 100")
    for measure in ("bw", "lat"):
        yield perf(f"send_{measure}", "-r 64", 1000, shown="-n 100 -s 1000")
        yield perf(f"send_{measure}", "--use-srq", 1000, shown="-n 100 -s 1000")
        yield perf(f"send_{measure}", "-c UD -R", 1000, shown="-n 100 -s 1000")
        yield perf(f"atomic_{measure}", "-A CMP_AND_SWAP", 8, shown="-n 100")
    yield perf("send_bw", "--use-srq -q 16", 1000, shown="-n 100 -s 1000", finds=(r"^ 1000 +1600 ",))
    yield perf("send_bw", "-c UD -q 16", 1000, shown="-n 100 -s 1000", finds=(r"^ 1000 +1600 ",))
    yield perf("send_bw", "-e -b", 1000, shown="-n 100 -s 1000", sender="both")
    yield perf("send_bw", "-c XRC -q 4", 1000, shown="-n 100 -s 1000", finds=(r"^ 1000 +400 ",))
    yield perf("write_bw", "--mr_per_qp -q 4", 1000, shown="-n 100 -s 1000", finds=(r"^ 1000 +400 ",))
    yield perf("write_bw", "--report-both -b", 1000, shown="-n 100 -s 1000", sender="both")
    yield perf("write_bw", "--reversed", 1000, shown="-n 100 -s 1000", sender="server", finds=())
    yield perf("write_bw", "-R -T 104", 1000, shown="-n 100 -s 1000")
    yield perf("read_bw", "-o 4", 1000, shown="-n 100 -s 1000")
    yield perf("write_bw", "-D 1", 4096, shown="-s 4096", finds=(r"^ 4096 +[0-9]+ ",))
    # Of GIDs that perftest takes for one kind: that of its group looks to it like IPv6.
    yield perf("send_bw", "-c UD -g -x 0", 1000, shown="-n 100 -s 1000", sender="client", finds=(r"^ 1000 +100 ",))


def cm(tool, options, server, client, program="", server_tool="", waits="cm", **more):
    program = program or tool
    return Row(tool, options, f"{program} {client}", f"{server_tool or program} {server}", waits=waits, **more)


def connected():
    lines = r"^ping data: rdma-ping-9: JKLM"
    yield cm("rping", "-v -C 10", "-s -a {s} -v -C 10", "-c -a {s} -v -C 10", messages=10, size=64, sender="both",
             finds=(lines,), core=True)
    yield cm("rping", "-V -S 60000 -C 20", "-s -a {s} -V -S 60000 -C 20", "-c -a {s} -V -S 60000 -C 20", messages=20,
             size=60000, sender="both", core=True)
    yield cm("rping", "-q", "-s -a {s} -q -V -C 10", "-c -a {s} -q -v -V -C 10", messages=10, size=64, sender="both",
             finds=(lines,))
    yield cm("rping", "-p 7200 -I", "-s -a {s} -p 7200 -V -C 10", "-c -I {c} -a {s} -p 7200 -v -V -C 10", messages=10,
             size=64, sender="both", finds=(lines,))
    yield cm("rping", "-P", "-s -a {s} -P", "-c -a {s} -v -V -C 10", messages=10, size=64, sender="client",
             finds=(lines,), stays=True)
    yield cm("ucmatose", "-c 5 -C 20 -S 3000", "-b {s} -c 5 -C 20 -S 3000", "-s {s} -c 5 -C 20 -S 3000", messages=100,
             size=3000, sender="both", finds=(r"return status 0",), core=True)
    yield cm("ucmatose", "-t 104 -a 14", "-b {s} -t 104 -a 14", "-s {s} -t 104 -a 14", messages=10, size=100,
             sender="both", finds=(r"return status 0",))
    yield cm("ucmatose", "-f ip -p 7300", "-b {s} -p 7300 -f ip", "-s {s} -p 7300 -f ip", messages=10, size=100,
             sender="both", finds=(r"return status 0",))
    yield cm("ucmatose", "-m", "-b {s} -m", "-s {s} -m", messages=10, size=100, sender="both",
             finds=(r"return status 0",))
    yield cm("udaddy", "-C 20 -S 1000", "-b {s} -C 20 -S 1000", "-s {s} -C 20 -S 1000", messages=20, size=1000,
             sender="both", finds=(r"return status 0",), lossy=NEVER_SENT_AGAIN, core=True)
    yield cm("udaddy", "-c 3", "-b {s} -c 3", "-s {s} -c 3", messages=30, size=100, sender="both",
             finds=(r"return status 0",), lossy=NEVER_SENT_AGAIN)
    yield Row("mckey", "-m 239.1.1.1", "mckey -m 239.1.1.1 -s -b {c} -C 20 -S 100",
              "mckey -m 239.1.1.1 -b {s} -C 20 -S 100", waits="second", messages=20, size=100,
              finds=(r"return status 0",), lossy=NEVER_SENT_AGAIN)
    yield cm("cmtime", "-c 20", "-b {s} -c 20", "-s {s} -c 20", finds=(r"^connect *:|connect",), stays=True)
    yield cm("rdma_client", "", "", "-s {s}", server_tool="rdma_server", messages=1, size=16, sender="both",
             finds=(r"rdma_client: end 0",), core=True)
    for kind in ("r", "x"):
        yield cm("rdma_xclient", f"-c {kind}", f"-c {kind}", f"-s {{s}} -c {kind}", server_tool="rdma_xserver",
                 messages=1, size=16, sender="client", finds=(r"rdma_xclient: end 0",))
    for tool, kinds in (("rstream", "b n r v"), ("riostream", "b a n v")):
        for kind in kinds.split():
            # Not rstream -T a: it takes the end of a peer that is through before it for a failure.
            test = ("" if kind == "v" else "-T v ") + f"-T {kind} -S 4096 -C 20"
            yield cm(tool, f"-T {kind}", f"-b {{s}} {test}", f"-s {{s}} {test}", messages=20, size=4096, sender="client",
                     finds=(r"^custom +4k +20 ",), core=kind == "b")
        yield cm(tool, "-S 1000000 -C 4 -T v", "-b {s} -S 1000000 -C 4 -T v", "-s {s} -S 1000000 -C 4 -T v", messages=4,
                 size=1000000, finds=(r"^custom +[0-9.k]+ +4 +",))
    yield Row("udpong", "-S 1000 -C 50", "udpong -s {s} -S 1000 -C 50", "udpong -b {s} -S 1000 -C 50", waits="second",
              messages=50, size=1000, lossy=NEVER_SENT_AGAIN, stays=True)
    yield cm("rcopy", "a file", "-p 7427", "source.bin {s}:copied.{p} -p 7427", messages=1, size=3000000, stays=True,
             extra="copied")
    # Programs of sockets: TCP without librspreload. A server that forks has its connections moved to RDMA behind that.
    yield cm("librspreload", "rstream -T s", "-b {s} -T s -T v -S 4096 -C 20", "-s {s} -T s -T v -S 4096 -C 20",
             program="rstream", messages=20, size=4096, sender="both", finds=(r"^custom +4k +20 ",),
             env={"LD_PRELOAD": "{rspreload}"}, core=True)
    test = "-T f -T v -S 4096 -C 20"
    yield cm("librspreload", "rstream -T f", f"-b {{s}} {test}", f"-s {{s}} {test}", program="rstream", waits="second",
             messages=20, size=4096, sender="both", finds=(r"^custom +4k +20 ",),
             env={"LD_PRELOAD": "{rspreload}", "RDMAV_FORK_SAFE": "1"})


def ucx_row(kind, test, messages, size, sender="client", **more):
    test_name = test.split(" ")[0]
    env = {"UCX_TLS": f"{kind},self", "UCX_NET_DEVICES": "verbena0:1", "UCX_WARN_UNUSED_ENV_VARS": "n"}
    command = f"ucx_perftest -p {{p}} -n 50 -w 5 -t {test}"
    return Row("ucx_perftest", f"{kind}: {test}", command + " {s}", command, messages=messages, size=size, sender=sender,
               finds=(r"^Final: *50 ",), env=env, core=test_name in ("put_bw", "tag_bw", "cswap"), **more)


def ucx():
    yield Row("ucx_info", "-d", "ucx_info -d", waits="", finds=(r"Transport: rc_verbs", r"Transport: ud_verbs"), core=True,
              env={"UCX_NET_DEVICES": "verbena0:1"})
    yield Row("ucx_info", "-v", "ucx_info -v", waits="", finds=(r"^# Version [0-9.]+",))
    raw = "-x rc_verbs -d verbena0:1"
    yield ucx_row("rc", f"am_lat {raw}", 50, 8)
    yield ucx_row("rc", f"am_bw {raw} -D zcopy -s 4000", 50, 4000)
    yield ucx_row("rc", f"am_bw {raw} -D bcopy -s 4000", 50, 4000)
    yield ucx_row("rc", f"put_lat {raw}", 50, 8)
    yield ucx_row("rc", f"put_bw {raw} -D zcopy -s 65536", 50, 65536)
    yield ucx_row("rc", f"get {raw} -D zcopy -s 70000", 50, 70000, sender="server")
    for test in ("add_lat", "add_mr", "fadd", "cswap"):
        yield ucx_row("rc", f"{test} {raw}", 50, 8, atomics=True)
    yield ucx_row("rc", "tag_lat", 50, 8)
    yield ucx_row("rc", "tag_bw -s 3000", 50, 3000)
    yield ucx_row("rc", "tag_bw -s 1000000", 50, 1000000, sender="any")
    yield ucx_row("rc", "tag_sync_lat", 50, 8)
    yield ucx_row("rc", "ucp_put_lat", 50, 8)
    yield ucx_row("rc", "ucp_put_bw -s 100000", 50, 100000)
    yield ucx_row("rc", "ucp_get -s 300000", 50, 300000, sender="server")
    for test in ("ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap"):
        yield ucx_row("rc", test, 50, 8, sender="any")
    yield ucx_row("rc", "stream_bw -s 3000", 50, 3000)
    yield ucx_row("rc", "stream_lat", 50, 8)
    yield ucx_row("rc", "ucp_am_lat", 50, 8)
    yield ucx_row("rc", "ucp_am_bw -s 3000", 50, 3000)
    udp = "-x ud_verbs -d verbena0:1"
    yield ucx_row("ud", f"am_lat {udp}", 50, 8)
    yield ucx_row("ud", f"am_bw {udp} -D zcopy -s 2000", 50, 2000)
    yield ucx_row("ud", "tag_lat", 50, 8)
    yield ucx_row("ud", "tag_bw -s 3000", 50, 3000)
    yield ucx_row("ud", "stream_lat", 50, 8)
    yield ucx_row("ud", "stream_bw -s 3000", 50, 3000)
    yield ucx_row("ud", "ucp_am_lat", 50, 8)
    yield ucx_row("ud", "ucp_put_lat", 50, 8)


def fabrics():
    yield Row("fi_info", "-p verbs", "fi_info -p verbs", waits="", core=True,
              finds=("FI_PROTO_IB_UD", "FI_PROTO_RDMA_CM_IB_RC", "FI_PROTO_RXD", "FI_PROTO_RXM"))
    for kind, provider, domain in (("msg", "verbs", "verbena0"), ("rdm", "verbs;ofi_rxm", "verbena0"),
                                   ("dgram", "verbs", "verbena0-dgram")):
        # That the data is right: -c.
        options = f"-e {kind} -p '{provider}' -d {domain} -c -I 20"
        for size, shown in ((1024, "1k"), (262144, "256k")):
            if kind == "dgram" and size > 4096:
                continue
            command = f"fi_pingpong {options} -S {size}"
            yield Row("fi_pingpong", f"{kind} -S {size}", f"{command} -P {{p}} {{s}}", f"{command} -B {{p}}", messages=20,
                      size=size, sender="both", finds=(rf"^{shown} +20 ",), core=size == 1024,
                      lossy=NEVER_SENT_AGAIN if kind == "dgram" else "", races={"rdm": CLOSES_UNREAD, "msg": ENDS_FIRST}.get(kind, ""))
    for kind in ("rc", "ud"):
        yield Row("mpirun", f"-n 4, {kind}", "", waits="", extra=f"mpi {kind}", messages=1, size=1200000, sender="rank 0",
                  seconds=110, core=kind == "rc")


def rows():
    for part in (devices, pingpongs, perftest, connected, ucx, fabrics):
        yield from part()
