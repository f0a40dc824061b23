"""What a compiler or an interpreter says, read as if the candidate had written it: both execute its text.

They can name machine code, which replay judges, and failures. They cannot say that anything passed.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from kernelwright import codec
from kernelwright.model import Counter, KernelResources, Status
from kernelwright.worker.processes.outcome import Ended

OF_COMPILERS = (Status.COMPILE_ERROR, Status.REJECTED)
OF_REPLAYS = (Status.COMPILE_ERROR, Status.RUNTIME_ERROR, Status.NOT_VERIFIED)
"""How the one and the other may say that they failed."""

REASON_LIMIT = 2000


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """whole: see `Ended`."""

    status: Status
    reason: str
    whole: bool = False


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """What `compiler.compiled` says. code: for `machine_code.read`."""

    code: dict[str, Any]
    resources: KernelResources
    untrue: tuple[str, ...]
    branches: tuple[dict[str, Any], ...] = ()


class Front(msgspec.Struct, frozen=True, kw_only=True):
    branches: tuple[dict[str, Any], ...]


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    counters: tuple[Counter, ...]


def of_compiler(answer: dict[str, Any], job: dict[str, Any], target: str) -> dict[str, Any]:
    """The answer to a job, with what was asked and no more; a failure where it is something else."""
    try:
        if "status" in answer:
            return codec.plain(_failure(answer, OF_COMPILERS))  # type: ignore[no-any-return]
        if job.get("counters"):
            return codec.plain(codec.record(answer, Counted))  # type: ignore[no-any-return]
        if job.get("front"):
            return codec.plain(codec.record(answer, Front))  # type: ignore[no-any-return]
        compiled = codec.record(answer, Compiled)
        _check_resources(compiled.resources, job["launch"]["kernel"], target)
        return codec.plain(compiled)  # type: ignore[no-any-return]
    except (ValueError, RecursionError) as error:  # msgspec's are ValueErrors
        return {"status": Status.REJECTED.value, "reason": f"what the compiler said cannot be read: {error}"[:400]}


def of_replay(answer: dict[str, Any]) -> Ended:
    """How a replay ended that is not done."""
    try:
        failure = _failure(answer, OF_REPLAYS)
    except (ValueError, RecursionError) as error:
        return Ended(Status.RUNTIME_ERROR, f"what ran the kernels said cannot be read: {error}"[:400])
    return Ended(failure.status, failure.reason, whole=failure.whole)


def _failure(answer: dict[str, Any], known: tuple[Status, ...]) -> Failure:
    failure = codec.record(answer, Failure)
    if failure.status not in known:
        raise ValueError(f"it cannot say {failure.status.value!r}")
    return msgspec.structs.replace(failure, reason=failure.reason[:REASON_LIMIT])


def _check_resources(found: KernelResources, kernel: str, target: str) -> None:
    """Raises ValueError for what no kernel has, or another one's name."""
    sizes = (found.registers, found.spill_bytes, found.shared_bytes, found.num_stages)
    possible = all(0 <= size < 1 << 30 for size in sizes) and 1 <= found.num_warps <= 64 and 0 <= found.occupancy <= 1
    named = (found.kernel, found.target) == (kernel, target) and re.fullmatch(r"[0-9a-f]{64}", found.cubin_sha)
    if not possible or not named:
        raise ValueError("these are no resources of the kernel")
