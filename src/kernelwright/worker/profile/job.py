"""The job of the profiled program: which call it makes, and how it marks the call for the profiler."""

from __future__ import annotations

from typing import Literal

import msgspec

from kernelwright.model import Case
from kernelwright.worker.plan.plan import Plan


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One call: `plan`, with the machine code of its launches (files `code` in `folder`), or the framework's own
    implementation `framework`.

    marks: how the profiler learns where the call begins and ends. trace: file for the trace of torch's profiler.
    """

    problem: str
    case: str
    device: str
    marks: Literal["cuda", "torch", "none"]
    trace: str = ""
    framework: str = ""
    folder: str = ""
    code: tuple[str, ...] = ()
    plan: Plan | None = None
    cases: tuple[Case, ...] = ()
    """The problem's cases, derived ones too; () if its files state them all."""
