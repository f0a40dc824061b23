"""Landlock: the Linux kernel's allow-list of files for a process, in addition to its private file tree.

It allows reading the files of `paths`, and writing in the scratch folder and to the devices of `paths`. It forbids TCP,
signals to other processes and device ioctl, as far as this kernel's Landlock version can (linux/landlock.h).
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

from kernelwright.worker.confine.libc import system_call
from kernelwright.worker.confine.paths import DEVICES, programs, readable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
VERSION, PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | 1 << 15  # execute … ioctl_dev: what a file can be granted
RIGHTS_BY_VERSION = ((1, 13), (2, 14), (3, 15), (5, 16))
"""First Landlock version and its number of file rights. The rights refer, truncate and ioctl_dev came later."""

# the shifted bits: remove and make files and folders, and rename from one folder to another
SCRATCH_RIGHTS = READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 13
NETWORK_RIGHTS, SCOPES = 0b11, 0b11
"""Restrictions: bind and connect TCP (version 4); abstract sockets and signals to other processes (version 6)."""


def version() -> int:
    """Landlock version of this kernel; raises OSError if it has none."""
    return system_call(CREATE_RULESET, "landlock_create_ruleset", None, 0, VERSION)


def only_these_files(scratch: Path, may_start_programs: bool) -> None:
    """Allow only the files of `paths` and the scratch folder from now on. Needs `no_new_privileges` or root."""
    found = version()
    handled = (1 << max(count for since, count in RIGHTS_BY_VERSION if found >= since)) - 1
    network, scopes = NETWORK_RIGHTS * (found >= 4), SCOPES * (found >= 6)
    size = 24 if found >= 6 else 16 if found >= 4 else 8
    attributes = struct.pack("QQQ", handled, network, scopes)[:size]
    ruleset = system_call(CREATE_RULESET, "landlock_create_ruleset", ctypes.create_string_buffer(attributes), size, 0)
    try:
        for path in readable():
            allow(ruleset, path, (READ_FILE | READ_DIR) & handled)
        for path in programs() if may_start_programs else ():
            allow(ruleset, path, (READ_FILE | EXECUTE) & handled)
        for device in DEVICES:
            allow(ruleset, Path(device), (READ_FILE | WRITE_FILE) & handled)
        allow(ruleset, scratch, SCRATCH_RIGHTS & handled)
        system_call(RESTRICT_SELF, "landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def allow(ruleset: int, path: Path, rights: int) -> None:
    """Grant rights to a file, or to a folder and everything below it."""
    if not path.is_dir():
        rights &= FILE_RIGHTS
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor))
        system_call(ADD_RULE, "landlock_add_rule", ruleset, PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)
