# SPDX-License-Identifier: BSD-2-Clause
"""no_uring.py COMMAND...: runs it where io_uring_setup() fails with EPERM, as containers have it (a seccomp filter)."""
import ctypes
import errno
import os
import struct
import sys

# linux/filter.h, linux/seccomp.h, linux/prctl.h; the call has one number on every processor.
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
IO_URING_SETUP = 425
ALLOW, FAIL = 0x7FFF0000, 0x00050000 | errno.EPERM
SET_NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2

program = b"".join(struct.pack("=HBBI", *line) for line in (
    (LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, IO_URING_SETUP), (RETURN, 0, 0, FAIL), (RETURN, 0, 0, ALLOW)))
lines = ctypes.create_string_buffer(program, len(program))
head = struct.pack("@HP", len(program) // 8, ctypes.addressof(lines))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(SET_SECCOMP, FILTER, head, 0, 0) != 0:
    sys.exit(f"no_uring: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
