"""The call that the profiled program makes."""

from __future__ import annotations

from typing import Literal

import msgspec

from kernelwright.model import Case
from kernelwright.worker.plan.plan import Plan


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be called: `plan` with the machine code of its launches, `code` in `folder`, or the framework's
    `framework`.

    marks: how the profiler learns where the call begins and ends. trace: where torch's profiler leaves what it saw.
    """

    problem: str
    case: str
    dtype: str | None
    device: str
    marks: Literal["cuda", "torch", "none"]
    trace: str = ""
    framework: str = ""
    folder: str = ""
    code: tuple[str, ...] = ()
    plan: Plan | None = None
    cases: tuple[Case, ...] = ()
    """The problem's, derived ones too; () where its files state them all."""
