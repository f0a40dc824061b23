"""No privileges now, and none to be had: capabilities dropped, and no program that could give them back."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

from kernelwright.worker.confine.libc import PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, libc

CAPABILITY_VERSION_3 = 0x20080522  # linux/capability.h


def no_capabilities() -> None:
    """Empty every set, the bounding set where this process may."""
    last = Path("/proc/sys/kernel/cap_last_cap")
    for number in range(int(last.read_text()) + 1 if last.exists() else 0):
        try:
            libc("prctl", PR_CAPBSET_DROP, number, 0, 0, 0)
        except PermissionError:
            break  # without the right to drop there is nothing to drop
    header = ctypes.create_string_buffer(struct.pack("Ii", CAPABILITY_VERSION_3, 0))
    libc("capset", header, ctypes.create_string_buffer(24))


def no_new_privileges() -> None:
    """A set-user-id program gives nothing; also what lets an ordinary user confine itself further."""
    libc("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
