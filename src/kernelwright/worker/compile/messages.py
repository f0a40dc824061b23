"""Messages between the supervisor and a compiler."""

from __future__ import annotations

from typing import Any

import msgspec

from kernelwright.model import Counter, KernelResources
from kernelwright.worker.compile.machine_code import MachineCode
from kernelwright.worker.plan.plan import Launch
from kernelwright.worker.processes.channel import Answer, Failure, Message


class Compile(Message, frozen=True, kw_only=True, tag="compile"):
    """Machine code of a launch. kernels: the extracted module. branches: also report them, for the interpreter."""

    kernels: str
    launch: Launch
    branches: bool = False


class ReadBranches(Message, frozen=True, kw_only=True, tag="branches"):
    """The branches of a launch that only the interpreter runs; no machine code is made."""

    kernels: str
    launch: Launch


class CountInstructions(Message, frozen=True, kw_only=True, tag="instructions"):
    """What the machine code of a launch holds."""

    kernels: str
    launch: Launch


ToCompiler = Compile | ReadBranches | CountInstructions


class Specialised(msgspec.Struct, frozen=True, kw_only=True):
    """One specialisation of a function: what its expressions are (see `branches.Kind`).

    arguments: the kind of each parameter. ways: (index of an expression in `instrument.Sites`, its kind) for each
    different iteration of the unrolled loops. paths: the iteration of each unrolled loop, and the index of its way.
    """

    function: str
    arguments: tuple[Any, ...]
    ways: tuple[tuple[tuple[int, Any], ...], ...]
    paths: tuple[tuple[tuple[tuple[int, int], ...], int], ...]


Branches = tuple[Specialised, ...]
"""What a compiler reports of one launch."""


class Compiled(Answer, frozen=True, kw_only=True, tag="compiled"):
    """untrue: what the kernel does that Triton's interpreter computes otherwise. branches: () where not asked for."""

    code: MachineCode
    resources: KernelResources
    untrue: tuple[str, ...]
    branches: Branches = ()


class BranchesRead(Answer, frozen=True, kw_only=True, tag="branches"):
    branches: Branches


class InstructionsCounted(Answer, frozen=True, kw_only=True, tag="instructions"):
    counters: tuple[Counter, ...]


class TooLarge(Failure, frozen=True, kw_only=True, tag="too large"):
    """A launch that compiles and that no device of the target can run. Triton's autotuner goes on to another config."""


FromCompiler = Compiled | BranchesRead | InstructionsCounted | TooLarge | Failure


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled launch. code: the name of the file with its machine code (see `machine_code.store`)."""

    code: str
    resources: KernelResources
    untrue: tuple[str, ...]
    branches: Branches


Outcome = Stored | BranchesRead | InstructionsCounted | Failure
"""What the supervisor keeps of a compiler's answer."""
