"""Messages between the supervisor and a compiler process."""

from __future__ import annotations

from typing import Any

import msgspec

from kernelwright.model import Counter, KernelResources
from kernelwright.worker.compile.machine_code import MachineCode
from kernelwright.worker.compile.skeleton import Skeleton
from kernelwright.worker.plan.plan import Launch
from kernelwright.worker.processes.channel import Answer, Failure, Message


class Compile(Message, frozen=True, kw_only=True, tag="compile"):
    """Compile one launch to machine code. kernels: source of the extracted module. branches: also report the branches
    that the compiler chose, for the interpreter."""

    kernels: str
    launch: Launch
    branches: bool = False


class ReadBranches(Message, frozen=True, kw_only=True, tag="branches"):
    """Report the branches of a launch that only the interpreter runs, without machine code."""

    kernels: str
    launch: Launch


class CountInstructions(Message, frozen=True, kw_only=True, tag="instructions"):
    """Compile one launch and count the instructions in its machine code by kind."""

    kernels: str
    launch: Launch


ToCompiler = Compile | ReadBranches | CountInstructions


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
    () unless requested. doubts: what could not be judged of its offsets."""

    code: MachineCode
    resources: KernelResources
    untrue: tuple[str, ...]
    skeleton: Skeleton
    branches: Branches = ()
    doubts: tuple[str, ...] = ()


class BranchesRead(Answer, frozen=True, kw_only=True, tag="branches"):
    branches: Branches


class InstructionsCounted(Answer, frozen=True, kw_only=True, tag="instructions"):
    counters: tuple[Counter, ...]


class TooLarge(Failure, frozen=True, kw_only=True, tag="too large"):
    """A launch that compiles, but needs more resources than the target has. Triton's autotuner skips such a config."""


FromCompiler = Compiled | BranchesRead | InstructionsCounted | TooLarge | Failure


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled launch in the supervisor. code: name of the file with its machine code (`machine_code.store`)."""

    code: str
    resources: KernelResources
    untrue: tuple[str, ...]
    skeleton: Skeleton
    branches: Branches
    doubts: tuple[str, ...]


Outcome = Stored | BranchesRead | InstructionsCounted | Failure
"""A compiler's answer as the supervisor stores it."""
