"""Linux namespaces of a sandboxed process: user, network, IPC, mount and PID.

Each is requested separately: some machines refuse some of them, and a combined request fails as a whole.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NoReturn

from kernelwright.worker.confine.libc import PR_SET_PDEATHSIG, close_all_but, libc

NEW_MOUNT, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000  # linux/sched.h, CLONE_NEW*
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000


def own_user() -> None:
    """Enter a new user namespace with the same user and group ids; it allows creating the other namespaces."""
    uid, gid = os.geteuid(), os.getegid()
    libc("unshare", NEW_USER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        Path(f"/proc/self/{name}").write_text(text)


def no_network() -> None:
    """Enter a new network namespace: its only interface is a loopback that is down."""
    libc("unshare", NEW_NET)


def own_ipc() -> None:
    """Enter new IPC and UTS namespaces: private System V shared memory and message queues, private host name."""
    libc("unshare", NEW_IPC)
    libc("unshare", NEW_UTS)


def own_mounts() -> None:
    libc("unshare", NEW_MOUNT)


def own_processes() -> None:
    """Continue in a child that is the first process of a new PID namespace: it can signal no process outside.

    The calling process waits for the child and ends with the same exit status or signal, which its parent sees.
    """
    libc("unshare", NEW_PID)
    libc("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # entering a user namespace cleared it
    child = os.fork()
    if child:
        wait_and_end_alike(child)
    libc("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a fork does not inherit it


def wait_and_end_alike(child: int) -> NoReturn:
    close_all_but({0, 1, 2})  # the channel too, so that it closes when the child ends
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)
