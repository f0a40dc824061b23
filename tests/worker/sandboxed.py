"""The sandbox of this machine, tried by an intruder in each role: prints a line and a refusal as JSON.

Not a test: `test_sandboxes.py` runs it under limits. It imports no torch, and forks each intruder from itself.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
from pathlib import Path
from typing import Any

from kernelwright.worker.confine import intruder
from kernelwright.worker.machine import sandbox
from kernelwright.worker.processes.channel import Channel
from kernelwright.worker.processes.commands import Options


class Forked:
    def __init__(self, channel: Channel, pid: int) -> None:
        self.channel, self.pid = channel, pid

    def printed(self, limit: int) -> str:
        return ""

    def kill(self) -> None:
        self.channel.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Place:
    """What `machine.sandbox` needs of `Processes`."""

    def __init__(self, scratch: Path) -> None:
        self.scratch, self.count = scratch, 0

    def spawn(self, role: str, log: bool, interpret: bool) -> Forked:
        self.count += 1
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            scratch = str(self.scratch / f"intruder_{self.count}")
            intruder.main(Channel(theirs), Options(scratch=scratch))
            os._exit(0)
        theirs.close()
        return Forked(Channel(ours), pid)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        place: Any = Place(Path(folder))
        print(json.dumps(sandbox(place, is_weak_allowed=False)))
