"""Messages between the supervisor and a compiler process."""

from __future__ import annotations

from typing import Any

import msgspec

from kernelwright.model import Counter, KernelResources
from kernelwright.worker.compile.machine_code import MachineCode
from kernelwright.worker.compile.skeleton import Skeleton
from kernelwright.worker.plan.plan import Launch
from kernelwright.worker.processes.channel import Answer, Failure, Message


class Specialised(msgspec.Struct, frozen=True, kw_only=True):
    """One specialisation of a function, with the kind of each of its expressions (see `branches.Kind`).

    arguments: the kind of each parameter. ways: each different assignment of kinds to expressions, as pairs (index of
    an expression in `instrument.Sites`, its kind). paths: for each combination of unrolled iterations, the (loop,
    iteration) pairs and the index into `ways`.
    """

    function: str
    arguments: tuple[Any, ...]
    ways: tuple[tuple[tuple[int, Any], ...], ...]
    paths: tuple[tuple[tuple[tuple[int, int], ...], int], ...]


Branches = tuple[Specialised, ...]
"""A compiler's report on the branches of one launch: all specialisations that it compiled."""


class Compiled(Answer, frozen=True, kw_only=True, tag="compiled"):
    """A compiled launch. untrue: the kernel's operations that Triton's CPU interpreter computes differently. branches:
    () unless requested. doubts: what could not be judged of its offsets. code, resources: None of a launch that was not
    compiled to machine code."""

    code: MachineCode | None
    resources: KernelResources | None
    untrue: tuple[str, ...]
    skeleton: Skeleton
    branches: Branches = ()
    doubts: tuple[str, ...] = ()


class InstructionsCounted(Answer, frozen=True, kw_only=True, tag="instructions"):
    counters: tuple[Counter, ...]


class TooLarge(Failure, frozen=True, kw_only=True, tag="too large"):
    """A launch that compiles, but needs more resources than the target has. Triton's autotuner skips such a config."""


class Asserted(Failure, frozen=True, kw_only=True, tag="asserted"):
    """A launch that a `static_assert` of the kernel excludes."""


FromCompiler = Compiled | InstructionsCounted | TooLarge | Asserted | Failure


class Compile(Message[Compiled], frozen=True, kw_only=True, tag="compile"):
    """Compile one launch. kernels: source of the extracted module. branches: also report the branches that the compiler
    chose, for the interpreter. whole: to machine code; otherwise to Triton's IR (TTIR), as a launch needs that only the
    interpreter runs."""

    kernels: str
    launch: Launch
    branches: bool = False
    whole: bool = True


class CountInstructions(Message[InstructionsCounted], frozen=True, kw_only=True, tag="instructions"):
    """Compile one launch and count the instructions in its machine code by kind."""

    kernels: str
    launch: Launch


ToCompiler = Compile | CountInstructions


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """`Compiled` in the supervisor. code: name of the file with its machine code (`machine_code.store`)."""

    code: str | None
    resources: KernelResources | None
    untrue: tuple[str, ...]
    skeleton: Skeleton
    branches: Branches
    doubts: tuple[str, ...]


Outcome = Stored | InstructionsCounted | Failure
"""A compiler's answer as the supervisor stores it."""
