"""The machine of a measurement, and its capabilities."""

from __future__ import annotations

from kernelwright.model.base import Record


class Environment(Record, frozen=True, kw_only=True):
    """Where something was measured. device is the GPU's name, or None on a machine without one."""

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
    """The UUID of the GPU; "" without one and in older records."""


class Attempt(Record, frozen=True, kw_only=True):
    """Something that a confined process must not be able to do, tried on this machine. how: what stopped it.

    role: the process whose confinement was tried: recorder, compiler or interpreter.
    """

    what: str
    refused: bool
    how: str
    role: str = "recorder"


class Machine(Record, frozen=True, kw_only=True):
    """What a worker found on its machine by trying. Each text says what is there, or why not.

    measures: of confinement, by name, with "in force" or why not.
    """

    gpu: str
    nvml: str
    profiler: str
    measures: dict[str, str]
    attempts: tuple[Attempt, ...]
