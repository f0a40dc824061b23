"""Messages between the supervisor and a recorder. It answers `plan.Recorded`."""

from __future__ import annotations

from kernelwright.model import LibraryMode
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.processes.channel import Answer, Message


class RecordCases(Message, frozen=True, kw_only=True, tag="record"):
    """Run the host code in `source` once for each case.

    autotune: which config to take for a kernel under `triton.autotune`, the first where not stated. target: such as
    sm_90. library: which operators of the framework the plan may hold. constants: names of the module whose values are
    wanted.
    """

    source: str
    autotune: dict[str, int]
    target: str
    cases: tuple[CaseShape, ...]
    library: LibraryMode = "none"
    constants: tuple[str, ...] = ()


class Confined(Answer, frozen=True, kw_only=True, tag="confined"):
    """measures: each measure of the sandbox, and how far it is in force."""

    measures: dict[str, str]
