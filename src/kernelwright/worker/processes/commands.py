"""What a supervisor, its fork servers and a probe say to each other. Imports no torch."""

from __future__ import annotations

from kernelwright.model import Record
from kernelwright.worker.processes.channel import Message


class Options(Record, frozen=True, kw_only=True):
    """What a child is started with; each role reads some of it. scratch: a private folder of a confined one. code:
    folder of machine code. note: file in which a judge names the code of the problem that it runs."""

    scratch: str = ""
    descriptors: tuple[int, ...] = ()
    device: str = ""
    target: str = ""
    code: str = ""
    note: str = ""


NO_OPTIONS = Options()


class Spawn(Message[int], frozen=True, kw_only=True, tag="spawn"):
    """Fork a child; its channel comes as the first file descriptor. Answers its process id."""

    role: str
    options: Options
    log: str | None


class Poll(Message[int | None], frozen=True, kw_only=True, tag="poll"):
    """Answers the exit status of a child; None while it runs."""

    pid: int


class Probed(Record, frozen=True, kw_only=True):
    """The GPU and the software of this machine. device, capability, driver, uuid: None without a GPU; why_not: then the
    reason. memory_bytes, l2_bytes: sizes of the GPU's memory and L2 cache."""

    python: str
    torch: str
    device: str | None = None
    capability: int | None = None
    driver: str | None = None
    uuid: str | None = None
    why_not: str = ""
    memory_bytes: int = 0
    l2_bytes: int = 0
    multiprocessors: int = 0
