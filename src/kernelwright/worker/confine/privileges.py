"""Capabilities and the no_new_privs flag: a sandboxed process drops all privileges and cannot gain any."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

from kernelwright.worker.confine.libc import PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, libc

CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h


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
