"""Memory that the supervisor makes for a judge and an interpreter: an arena on a machine without a GPU.

Imports no torch. A file in memory without a name; who is given its descriptor can map it, and can make it larger but
never smaller, so that no mapping of another process loses its pages.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from typing import Any

ADD_SEALS, SEAL_SEAL, SEAL_SHRINK = 1033, 0x1, 0x2  # linux/fcntl.h


class SharedMemory:
    """Grows as asked. `handle` is how the judge opens it (`arena.attach`)."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("kernelwright-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        fcntl.fcntl(self.descriptor, ADD_SEALS, SEAL_SHRINK | SEAL_SEAL)
        self.nbytes = 0
        self.id = uuid.uuid4().hex

    def reserve(self, nbytes: int) -> dict[str, Any]:
        """At least nbytes; the handle."""
        if nbytes > self.nbytes:
            os.ftruncate(self.descriptor, nbytes)
            self.nbytes = nbytes
        return self.handle

    @property
    def handle(self) -> dict[str, Any]:
        path = f"/proc/{os.getpid()}/fd/{self.descriptor}"
        return {"file": path, "nbytes": self.nbytes, "id": self.id}

    def close(self) -> None:
        os.close(self.descriptor)
