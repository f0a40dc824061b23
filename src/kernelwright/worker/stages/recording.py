"""The supervisor's side of a recording: start a recorder, and check its answer before the plans are replayed.

A candidate may have forged the answer, because the recorder runs its host code. The answer can contain plans, whose
values are verified by replay, and failures. No answer means "passed".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import msgspec

from kernelwright import codec
from kernelwright.errors import WorkerError
from kernelwright.model import CaseResult, Property, Status, TensorSpec
from kernelwright.text.escape import legible
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.faults import Expected, faults
from kernelwright.worker.plan.plan import ITEMSIZE, Plan, Recorded, Recording, View, end_bytes
from kernelwright.worker.processes.channel import ChannelClosed, ChannelTimeout
from kernelwright.worker.processes.children import ChildDied, ChildTimeout
from kernelwright.worker.processes.outcome import Ended, Lost, Stopped
from kernelwright.worker.processes.processes import Processes
from kernelwright.worker.record.messages import Confined, RecordCases

FAILURES = (Status.REJECTED, Status.RUNTIME_ERROR, Status.COMPILE_ERROR)
"""Statuses that a recorder may report for a case without a plan."""

MAX_CONFIGS = 4096
"""Maximum number of configs of one autotuned kernel."""

REASON_LIMIT = 800


@dataclass
class RecorderRun:
    """Result of one run of a recorder. answer: not checked yet; None if the process failed (see `ended`)."""

    confinement: dict[str, str]
    answer: object
    log: str
    ended: Stopped | None = None


def run_recorder(processes: Processes, job: RecordCases) -> RecorderRun:
    """Start a recorder in a sandbox, give it one job, and kill it."""
    limit_s = processes.limits.record_s
    recorder = processes.spawn("recorder", log=True)
    found = RecorderRun(confinement={}, answer=None, log="")
    try:
        found.confinement = codec.record(recorder.channel.receive(limit_s), Confined).measures
        found.answer = recorder.ask(job, limit_s)
    except ChannelClosed:
        found.ended = Lost(Status.CRASHED, f"the recorder did not start: {recorder.printed(800)}")
    except ChannelTimeout as error:
        raise WorkerError("the recorder did not start", recorder.printed(800)) from error
    except ChildTimeout:
        found.ended = Ended(Status.TIMEOUT, f"the host code did not finish in {limit_s:g} s")
    except ChildDied as error:
        found.ended = Lost(Status.CRASHED, f"the host code's process {error.how}")
    finally:
        recorder.kill()
        found.log = recorder.printed()
        recorder.discard()
    return found


def read(answer: object, cases: list[str]) -> Recorded:
    """Parse the recorder's answer: a recording for each of `cases`, in this order. Raises Ended if it is malformed."""
    try:
        recorded = codec.record(answer, Recorded)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Ended(Status.REJECTED, f"the recorder's answer cannot be read: {error}"[:400]) from error
    wrong = [name for name, count in recorded.autotune.items() if not 0 < count <= MAX_CONFIGS]
    if wrong:
        raise Ended(Status.REJECTED, f"{wrong[0]} has {recorded.autotune[wrong[0]]} configs, at most {MAX_CONFIGS}")
    if not all(name.isidentifier() for name in recorded.autotune):
        raise Ended(Status.REJECTED, "the recorder's answer contains a kernel name that is no Python identifier")
    missing = Recording(case="", status=Status.REJECTED, reason="the recorder's answer lacks this case")
    found = zip_longest(cases, recorded.recordings[: len(cases)], fillvalue=missing)
    every = tuple(one if one.case == case else msgspec.structs.replace(missing, case=case) for case, one in found)
    return Recorded(recordings=every, autotune=recorded.autotune, constants=recorded.constants)


def accepted(recording: Recording, expected: Expected) -> Plan | CaseResult:
    """The plan if it may be replayed, otherwise a failed result with the reason."""
    if recording.plan is None:
        status = recording.status if recording.status in FAILURES else Status.REJECTED
        reason = legible(recording.reason[:REASON_LIMIT]) or "no plan"
        refused = (Property(name="sized", shown_by="refused", detail=reason),) if recording.refused else ()
        return CaseResult(case=recording.case, status=status, reason=reason, serves=refused)
    found = faults(recording.plan, expected)
    if found:
        return CaseResult(case=recording.case, status=Status.REJECTED, reason="; ".join(found[:3])[:REASON_LIMIT])
    return recording.plan


def given(shape: CaseShape) -> dict[tuple[str, str], int]:
    """Size of the storage in bytes of every input and parameter of a case, by (origin, name)."""
    inputs = zip(shape.input_names, shape.inputs, strict=True)
    tensors = [("input", name, spec) for name, spec in inputs if isinstance(spec, TensorSpec)]
    tensors += [("parameter", name, spec) for name, spec in shape.parameters.items()]
    return {(origin, name): _storage_bytes(spec) for origin, name, spec in tensors}


def _storage_bytes(spec: TensorSpec) -> int:
    if spec.dtype not in ITEMSIZE:
        raise WorkerError(f"a plan cannot hold a tensor of {spec.dtype}", f"known: {', '.join(ITEMSIZE)}")
    return end_bytes(View(buffer=0, dtype=spec.dtype, shape=spec.shape, stride=spec.stride, offset=spec.offset))
