"""Messages to a process that has prepared work for timing, a judge or a bench. key: the name of that work there."""

from __future__ import annotations

from kernelwright.worker.processes.channel import Message


class Sample(Message[list[float]], frozen=True, kw_only=True, tag="sample"):
    key: str
    count: int = 1


class Call(Message[tuple[float, float]], frozen=True, kw_only=True, tag="call"):
    """Measure the host time of one synchronised call, and of issuing one, in µs."""

    key: str


class Warm(Message[float | None], frozen=True, kw_only=True, tag="warm"):
    """Measure the device time of a call with a warm cache, in µs."""

    key: str


class CaptureAgain(Message[None], frozen=True, kw_only=True, tag="capture again"):
    key: str
