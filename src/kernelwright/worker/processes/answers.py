"""Checks of the answers of a compiler, a bench or an interpreter. A candidate may have forged an answer, because
compiler and interpreter execute its text.

An answer can carry machine code, whose values are verified by replay, or a failure. No answer means "passed".
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from kernelwright import codec
from kernelwright.model import KernelResources, Status
from kernelwright.worker.compile import machine_code
from kernelwright.worker.compile.messages import (
    Compile,
    Compiled,
    CountInstructions,
    FromCompiler,
    InstructionsCounted,
    ToCompiler,
)
from kernelwright.worker.processes.channel import Done, Failure, Message

T = TypeVar("T")

OF_COMPILERS = (Status.COMPILE_ERROR, Status.REJECTED)
OF_REPLAYS = (Status.COMPILE_ERROR, Status.RUNTIME_ERROR, Status.NOT_VERIFIED)
"""Statuses that a failure of a compiler, or of a process that replays plans, may have."""

REASON_LIMIT = 2000


def of_compiler(answer: object, job: ToCompiler, target: str) -> FromCompiler:
    """The checked answer to a job; a Failure with status REJECTED if it is malformed."""
    try:
        match job, codec.record(answer, FromCompiler):  # type: ignore[arg-type]
            case _, Failure() as failure:
                return _checked(failure, OF_COMPILERS)
            case Compile(launch=launch, whole=whole), Compiled() as found:
                if found.resources is not None:
                    _check_resources(found.resources, launch.kernel, target)
                if found.code is not None:
                    machine_code.check(found.code)
                if whole and (found.code is None or found.resources is None):
                    raise ValueError("it has no machine code")
                return found
            case CountInstructions(), InstructionsCounted() as found:
                return found
            case _, other:
                raise ValueError(f"it answered {type(other).__name__} to {job.verb}")
    except (ValueError, RecursionError) as error:  # msgspec's are ValueErrors
        return Failure(status=Status.REJECTED, reason=f"the compiler's answer cannot be read: {error}"[:400])


def of_replay(answer: object, message: Message[T]) -> T | Failure:
    """The checked answer of a process that ran kernels; a Failure with status RUNTIME_ERROR if it is malformed."""
    try:
        found: Done | Failure = codec.record(answer, Done | Failure)  # type: ignore[arg-type]
        return _checked(found, OF_REPLAYS) if isinstance(found, Failure) else codec.record(found.value, message.answer)
    except (ValueError, RecursionError) as error:
        reason = f"the answer of the process that ran the kernels cannot be read: {error}"[:400]
        return Failure(status=Status.RUNTIME_ERROR, reason=reason)


def _checked(failure: Failure, known: tuple[Status, ...]) -> Failure:
    if failure.status not in known:
        raise ValueError(f"its status is {failure.status.value!r}, expected {' or '.join(known)}")
    return msgspec.structs.replace(failure, reason=failure.reason[:REASON_LIMIT])


def _check_resources(found: KernelResources, kernel: str, target: str) -> None:
    """Raises ValueError for impossible resources, or for those of another kernel or target."""
    sizes = (found.registers, found.spill_bytes, found.shared_bytes, found.num_stages)
    possible = all(0 <= size < 1 << 30 for size in sizes) and 1 <= found.num_warps <= 64 and 0 <= found.occupancy <= 1
    named = (found.kernel, found.target) == (kernel, target) and re.fullmatch(r"[0-9a-f]{64}", found.cubin_sha)
    if not possible or not named:
        raise ValueError("its resources are impossible, or those of another kernel")
