"""Limits that a machine puts on a sandbox, put on this process by itself: `python limited.py LIMITS COMMAND...`.

LIMITS is a name in `LIMITS`. The command then runs with a filter of system calls, and as root with Docker's
capabilities or as an ordinary user. Needs root, and x86-64.
"""

from __future__ import annotations

import ctypes
import errno
import os
import pwd
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from kernelwright.worker.confine.libc import PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, libc
from kernelwright.worker.confine.namespaces import NEW_MOUNT, NEW_USER
from kernelwright.worker.confine.root import BIND, PRIVATE, RECURSIVE, mount
from kernelwright.worker.confine.seccomp import (
    ALLOW,
    ARGUMENT_0,
    FILTER_MODE,
    IF_ANY_BIT,
    IF_EQUAL,
    LOAD,
    NAMESPACES,
    NUMBER,
    RETURN,
    Filter,
    step,
)

CLONE, PRCTL = 56, 157
MOUNTS = (155, 165, 166, 428, 429, 430, 431, 432, 442)
"""pivot_root, mount, umount2, and the calls of the newer interface."""
UNSHARE, SETNS = 272, 308
OF_DOCKER = (*MOUNTS, UNSHARE, SETNS, 248, 249, 250, 298, 304, 321, 323)
"""Mounts, namespaces, keys, perf_event_open, open_by_handle_at, bpf, userfaultfd."""
LANDLOCK, SECCOMP = (444, 445, 446), 317

DOCKER_CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)
"""chown … setfcap: what Docker leaves to root in a container (docs.docker.com, "Runtime privilege")."""

USER = 65534


class Limits(NamedTuple):
    """refused: by system call, the error. no_users: whether user namespaces do not exist. capabilities: those that root
    keeps; None for all. is_user: whether the command runs as an ordinary user."""

    refused: dict[int, int]
    no_users: bool = False
    no_filters: bool = False
    capabilities: tuple[int, ...] | None = None
    is_user: bool = False


DOCKER = dict.fromkeys(OF_DOCKER, errno.EPERM)
NO_LANDLOCK = dict.fromkeys(LANDLOCK, errno.ENOSYS)
NONE = dict.fromkeys((*MOUNTS, UNSHARE, SETNS), errno.EPERM) | NO_LANDLOCK | {SECCOMP: errno.ENOSYS}

LIMITS = {
    "Linux 6.18, root": Limits({}),
    "Linux 6.18, a user": Limits({}, is_user=True),
    "Docker's default profile, root": Limits(DOCKER, capabilities=DOCKER_CAPABILITIES),
    "Docker's default profile, a user": Limits(DOCKER, is_user=True),
    "no user namespaces, root": Limits({}, no_users=True),
    "no user namespaces, a user": Limits({}, no_users=True, is_user=True),
    "no Landlock, root": Limits(NO_LANDLOCK),
    "no Landlock, a user": Limits(NO_LANDLOCK, is_user=True),
    "no Landlock and no user namespaces, a user": Limits(NO_LANDLOCK, no_users=True, is_user=True),
    "Docker's default profile and no Landlock, root": Limits(DOCKER | NO_LANDLOCK, capabilities=DOCKER_CAPABILITIES),
    "none of it, root": Limits(NONE, no_filters=True, capabilities=DOCKER_CAPABILITIES),
    "none of it, a user": Limits(NONE, no_filters=True, is_user=True),
}
"""By the row of the table in docs/confinement.md."""


def filtered(limits: Limits) -> None:
    """Refuse the system calls; all others are allowed."""
    flags = [step(LOAD, ARGUMENT_0), step(IF_ANY_BIT, NAMESPACES, otherwise=1), step(RETURN, 0x50000 | errno.EPERM)]
    users = [step(LOAD, ARGUMENT_0), step(IF_ANY_BIT, NEW_USER, otherwise=1), step(RETURN, 0x50000 | errno.EINVAL)]
    filters = [step(LOAD, ARGUMENT_0), step(IF_EQUAL, PR_SET_SECCOMP, otherwise=1),
               step(RETURN, 0x50000 | errno.EINVAL)]  # fmt: skip
    parts = [step(LOAD, NUMBER)]
    for call, error in limits.refused.items():
        parts += [step(IF_EQUAL, call, otherwise=1), step(RETURN, 0x50000 | error)]
    blocks = [(CLONE, flags)] * (UNSHARE in limits.refused) + [(UNSHARE, users)] * limits.no_users
    for call, block in blocks + [(PRCTL, filters)] * limits.no_filters:
        parts += [step(IF_EQUAL, call, otherwise=len(block) + 1), *block, step(RETURN, ALLOW)]
    whole = Filter(len(parts) + 1, b"".join([*parts, step(RETURN, ALLOW)]))
    libc("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc("prctl", PR_SET_SECCOMP, FILTER_MODE, ctypes.addressof(whole), 0, 0)


def keep_capabilities(kept: tuple[int, ...]) -> None:
    for number in range(41):
        if number not in kept:
            libc("prctl", PR_CAPBSET_DROP, number, 0, 0, 0)
    mask = sum(1 << number for number in kept)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    libc("capset", header, ctypes.create_string_buffer(struct.pack("6I", low, low, 0, high, high, 0)))


def become_a_user() -> None:
    """An ordinary user, to whom Python is readable also where it is installed in root's home."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    if home.stat().st_mode & 0o005 != 0o005 and Path(sys.base_prefix).is_relative_to(home):
        libc("unshare", NEW_MOUNT)
        mount(None, Path("/"), None, RECURSIVE | PRIVATE)
        part = home / Path(sys.base_prefix).relative_to(home).parts[0]
        held = os.open(part, os.O_PATH)
        mount("tmpfs", home, "tmpfs", 0, "mode=755")
        part.mkdir()
        mount(f"/proc/self/fd/{held}", part, None, BIND | RECURSIVE)
        os.close(held)
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


def main(name: str, *command: str) -> None:
    limits = LIMITS[name]
    if limits.is_user:
        become_a_user()
    elif limits.capabilities is not None:
        keep_capabilities(limits.capabilities)
    filtered(limits)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
