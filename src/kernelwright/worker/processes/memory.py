"""Shared memory of judge and interpreter on a machine without a GPU: the arena, which the supervisor creates.

Imports no torch. The memory is an anonymous file (memfd). A process with its descriptor can map it and make it larger,
but not smaller (it is sealed), so that no other process loses pages of its mapping.
"""

from __future__ import annotations

import fcntl
import os
import uuid

from kernelwright.model import Record

ADD_SEALS, SEAL_SEAL, SEAL_SHRINK = 1033, 0x1, 0x2  # linux/fcntl.h


class ArenaHandle(Record, frozen=True, kw_only=True):
    """How a process opens an arena. file: of shared memory, with the memory's id. cuda: else the pickled CUDA IPC
    handle."""

    nbytes: int
    file: str = ""
    id: str = ""
    cuda: str = ""


class SharedMemory:
    """A memfd that can only grow. The judge opens it by its `handle` (`arena.attach`)."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("kernelwright-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        fcntl.fcntl(self.descriptor, ADD_SEALS, SEAL_SHRINK | SEAL_SEAL)
        self.nbytes = 0
        self.id = uuid.uuid4().hex

    def reserve(self, nbytes: int) -> ArenaHandle:
        """Grow the memory to at least nbytes; returns its handle."""
        if nbytes > self.nbytes:
            os.ftruncate(self.descriptor, nbytes)
            self.nbytes = nbytes
        return self.handle

    @property
    def handle(self) -> ArenaHandle:
        return ArenaHandle(nbytes=self.nbytes, file=f"/proc/{os.getpid()}/fd/{self.descriptor}", id=self.id)

    def close(self) -> None:
        os.close(self.descriptor)
