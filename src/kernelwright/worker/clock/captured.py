"""What the clock says of captured work and of a device's peaks. Imports no torch."""

from __future__ import annotations

from kernelwright.model import Record

REPLAY_US = 1000.0
"""Length of one graph replay: events resolve 0.5 µs and a graph launch takes about 5 µs, so both stay under 1 %."""


class Captured(Record, frozen=True, kw_only=True):
    """Captured work. method: "graph" or "events". sets: of inputs, on each of which a sample calls at least once.
    restored: whether inputs are restored before each call. steady_us: the last warm-up samples."""

    method: str
    sets: int
    restored: bool
    steady_us: list[float]

    def __str__(self) -> str:
        restored = ", restored before each call" if self.restored else ""
        return f"CUDA {self.method} over {self.sets} rotating input sets{restored}, cold cache"


class MeasuredPeaks(Record, frozen=True, kw_only=True):
    """The peaks of a device by name, and their source, such as "measured <device> <date>"."""

    peaks: dict[str, float]
    source: str
