"""seccomp filter of a sandboxed process: it allows only the system calls of `syscalls`.

A refused call fails with EPERM instead of killing the process, so that a candidate's author reads a Python exception
with a line number. The filter is classic BPF over `struct seccomp_data` (linux/seccomp.h).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

from kernelwright.worker.confine.libc import PR_SET_SECCOMP, libc
from kernelwright.worker.confine.syscalls import FCNTL_COMMANDS, IOCTL_REQUESTS, Architecture, architecture

FILTER_MODE = 2

# ld [k], jeq #k, jge #k, jset #k, ret #k (linux/filter.h)
LOAD, IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
ARGUMENT_0, ARGUMENT_1 = 16, 24  # their low halves: both architectures are little-endian
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EPERM
UNKNOWN = 0x00050000 | errno.ENOSYS


class Filter(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


NAMESPACES = 0x7E020000
"""Every CLONE_NEW… flag that `clone` takes (linux/sched.h)."""


def only_these_calls(may_start_programs: bool) -> None:
    """Install the filter for this process. Needs `no_new_privileges` or CAP_SYS_ADMIN."""
    known = architecture()
    instructions = program(known, os.getpid(), known.starting if may_start_programs else frozenset())
    text = b"".join(instructions)
    whole = Filter(len(instructions), text)
    libc("prctl", PR_SET_SECCOMP, FILTER_MODE, ctypes.addressof(whole), 0, 0)


def program(known: Architecture, pid: int, more: frozenset[int] = frozenset()) -> list[bytes]:
    """The filter program for one architecture. The process with this pid may signal itself (as `abort` does), but no
    other process.

    more: further calls, for starting programs and threads; then `clone` is allowed if it creates no namespace.
    """
    parts = [
        step(LOAD, ARCHITECTURE), step(IF_EQUAL, known.audit, then=1), step(RETURN, REFUSE),
        step(LOAD, NUMBER),
        step(IF_EQUAL, known.clone3, otherwise=1), step(RETURN, UNKNOWN),
        step(IF_AT_LEAST, known.newest + 1, otherwise=1), step(RETURN, UNKNOWN),
        *argument_among(known.fcntl, ARGUMENT_1, FCNTL_COMMANDS),
        *argument_among(known.ioctl, ARGUMENT_1, IOCTL_REQUESTS),
        *argument_among(known.tgkill, ARGUMENT_0, (pid,)),
        *argument_among(known.prlimit64, ARGUMENT_0, (0, pid)),
    ]  # fmt: skip
    if more:
        parts += [step(IF_EQUAL, known.clone, otherwise=4), step(LOAD, ARGUMENT_0),
                  step(IF_ANY_BIT, NAMESPACES, otherwise=1), step(RETURN, REFUSE), step(RETURN, ALLOW)]  # fmt: skip
    for number in sorted(known.allowed | more):
        parts += [step(IF_EQUAL, number, otherwise=1), step(RETURN, ALLOW)]
    return [*parts, step(RETURN, REFUSE)]


def argument_among(call: int, offset: int, values: Iterable[int]) -> list[bytes]:
    """Instructions that allow one call only with certain values of one argument. For any other call, its number stays
    loaded for the instructions that follow."""
    tests = [part for value in values for part in (step(IF_EQUAL, value, otherwise=1), step(RETURN, ALLOW))]
    body = [step(LOAD, offset), *tests, step(RETURN, REFUSE)]
    return [step(IF_EQUAL, call, otherwise=len(body)), *body]


def step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One instruction (struct sock_filter). then, otherwise: how many instructions to skip after a test."""
    return struct.pack("=HBBI", code, then, otherwise, value)
