"""Calls of C library functions and system calls that Python does not offer: a failed call raises an OSError that names
it. A sandboxed process closes inherited file descriptors, drops all privileges and cannot gain any."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 22, 24  # linux/prctl.h
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h


def libc(function: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Call a C function and return its result; a negative result means failure. Integers are passed as C long."""
    library = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    called = getattr(library, function, None)
    if called is None:
        raise OSError(f"this C library has no {function}")
    result = int(called(*words))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")
    return result


def system_call(number: int, name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make a system call that the C library does not wrap. name: for the error message."""
    try:
        return libc("syscall", number, *arguments)
    except OSError as error:
        raise OSError(error.errno, f"{name}: {os.strerror(error.errno or 0)}") from error


def close_all_but(kept: set[int]) -> None:
    """Close every open file descriptor except `kept`; without /proc, every possible number is tried."""
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        numbers = list(range(os.sysconf("SC_OPEN_MAX")))
    for number in numbers:
        if number not in kept:
            with contextlib.suppress(OSError):  # no longer open, such as the one that listed the folder
                os.close(number)


def no_capabilities() -> None:
    """Drop all capabilities, and the bounding set too if this process has the right to."""
    last = Path("/proc/sys/kernel/cap_last_cap")
    for number in range(int(last.read_text()) + 1 if last.exists() else 0):
        try:
            libc("prctl", PR_CAPBSET_DROP, number, 0, 0, 0)
        except PermissionError:
            break  # a process without the right to drop has no capabilities to lose
    header = ctypes.create_string_buffer(struct.pack("Ii", CAPABILITY_VERSION_3, 0))
    libc("capset", header, ctypes.create_string_buffer(24))


def no_new_privileges() -> None:
    """Set no_new_privs: a set-user-id program gives no privileges. Landlock and seccomp need it without root."""
    libc("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
