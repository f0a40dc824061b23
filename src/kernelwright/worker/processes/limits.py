"""Time limits of the worker's operations. All defaults in one place, each with its reason."""

from __future__ import annotations

import os

from kernelwright.model import Record


class Limits(Record, frozen=True, kw_only=True):
    """Seconds. A test or a patient user gives others as JSON to the worker's `--limits`."""

    record_s: float = 30.0
    """Host code of all cases on fake tensors: honest candidates take milliseconds."""

    compile_s: float = 60.0
    """One launch: 0.3 to 3 s for honest kernels; absurd tiles take minutes and end in a refusal anyway."""

    replay_s: float = 20.0
    """One call on a GPU: honest ones take milliseconds; includes loading the machine code."""

    interpret_s: float = 120.0
    """One call on the CPU interpreter, at about 1 ms per operation and program; small cases take seconds."""

    draws_s: float = 600.0
    """Replays on all draws of a case: some twenty, of a few seconds at most on the CPU interpreter and milliseconds on
    a GPU. What takes longer is not verified."""

    suppressed_s: float = 5.0
    """One call with a kernel left out: one that then loops over poison, or waits for ever, has been missed."""

    prepare_s: float = 60.0
    """Capturing and warming up a plan, and one batch of samples."""

    judge_s: float = 300.0
    """A float64 reference of a 4 GB case takes seconds on a GPU; a CPU one of a small case less."""

    generate_s: float = 240.0
    """Inductor at five sizes: 4 s for a softmax on an idle machine, a minute for a network of many layers."""

    profile_s: float = 300.0
    """Imports, drawing inputs of several GB, and up to some dozen passes of each kernel under a profiler."""

    baseline_s: float = 900.0
    """torch.compile with max-autotune of a large convolution has taken minutes."""


def usable_cores() -> int:
    """The cores that this process may run on, which are fewer than the machine's in many containers."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
