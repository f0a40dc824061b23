"""Time limits of the worker's operations: every default, with its reason."""

from __future__ import annotations

import os

from kernelwright.model import Record


class Limits(Record, frozen=True, kw_only=True):
    """Limits in seconds. The worker's option `--limits` takes other values as JSON."""

    record_s: float = 30.0
    """One recording: the host code of all cases on fake tensors. Honest candidates take milliseconds."""

    compile_s: float = 60.0
    """Compiling one launch: 0.3 to 3 s for honest kernels. Absurd tiles take minutes and are refused anyway."""

    replay_s: float = 20.0
    """One call on a GPU, loading the machine code included. Honest calls take milliseconds."""

    interpret_s: float = 120.0
    """One call on the CPU interpreter, at about 1 ms per operation and program; small cases take seconds."""

    draws_s: float = 600.0
    """Replays on all draws of a case: about twenty, each a few seconds at most on the CPU interpreter and milliseconds
    on a GPU. A candidate that takes longer is not verified."""

    suppressed_s: float = 5.0
    """One call with one kernel left out. A call that then loops over poison or never ends needed that kernel."""

    prepare_s: float = 60.0
    """One request to a bench, such as capturing and warming up a plan, or a batch of samples."""

    judge_s: float = 300.0
    """One request to a judge. The float64 reference of a 4 GB case takes seconds on a GPU; that of a small case on a
    CPU takes less. The first request for a draw runs the reference some thirty times."""

    generate_s: float = 240.0
    """Processor time of one run of a generator: Inductor takes 1 to 2 s for a softmax, and a minute for a network of
    many layers."""

    profile_s: float = 300.0
    """One run of the profiled program: imports, drawing inputs of several GB, and up to a few dozen passes of each
    kernel under a profiler."""

    ahead_s: float = 300.0
    """Compiling rows of the framework before they are timed. What is not compiled then is compiled when its row is
    prepared."""

    baseline_s: float = 900.0
    """Preparing one row of the framework: torch.compile with max-autotune took minutes for a large convolution."""


def usable_cores() -> int:
    """Number of cores that this process may run on. Many containers allow fewer cores than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
