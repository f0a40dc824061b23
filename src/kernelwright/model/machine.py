"""The machine and software of a measurement, and the capabilities of a worker's machine."""

from __future__ import annotations

from typing import Literal

from kernelwright.model.base import Record


class Environment(Record, frozen=True, kw_only=True):
    """The machine and software of a measurement. device: the GPU's name; None on a machine without a GPU."""

    device: str | None
    target: str
    """Compile target, such as "sm_90"."""
    python: str
    torch: str
    triton: str
    driver: str | None = None
    kernelwright: str = ""
    date: str = ""
    peaks: dict[str, float] = {}
    """Measured peaks: copy_bytes_per_s, read_bytes_per_s, write_bytes_per_s, <dtype>_flop_per_s."""
    peaks_source: str = ""
    gpu: str = ""
    """The UUID of the GPU; "" without one."""
    sandbox: str = ""
    """What of a candidate's sandbox is in force and what is not, in one line; "" where it was not tried."""
    refusal: str = ""
    """Why no candidate may run on the machine; "" if one may."""


class Attempt(Record, frozen=True, kw_only=True):
    """An escape attempt: an action that the sandbox must refuse, tried on this machine. how: what stopped it.

    role: the process whose sandbox was tried: recorder, compiler or interpreter.
    """

    what: str
    refused: bool
    how: str
    role: str = "recorder"


class Machine(Record, frozen=True, kw_only=True):
    """Capabilities that a worker found on its machine by trying them. Each text says what is available, or why not.

    measures: by name of a sandbox measure, "in force" or the reason why not.
    """

    gpu: str
    nvml: str
    profiler: str
    measures: dict[str, str]
    attempts: tuple[Attempt, ...]


class LaneChange(Record, frozen=True, kw_only=True):
    """A change of the state of a lane: the worker on one of several GPUs that a run uses. lane: its name, as in
    `Evaluation.lane`. what: "up": its worker is ready, also after a loss. "lost": its worker is gone. "quarantined": it
    was lost too often and is not used for some time. "left out": it failed at something that the other lanes can do,
    and is not used again.

    device, gpu, host: for "up", where the lane is. evaluations: for "lost", number of running evaluations; seconds: how
    long they had run, an upper limit of the lost GPU time.
    """

    lane: str
    what: Literal["up", "lost", "quarantined", "left out"]
    reason: str = ""
    device: str | None = None
    gpu: str = ""
    host: str = ""
    evaluations: int = 0
    seconds: float = 0.0
