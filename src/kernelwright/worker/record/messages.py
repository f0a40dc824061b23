"""Messages between the supervisor and a recorder process, which answers RecordCases with `plan.Recorded`."""

from __future__ import annotations

from typing import Literal

from kernelwright.model import LibraryMode
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.plan import Recorded
from kernelwright.worker.processes.channel import Answer, Message

NOT_HERE = ", a package that is not here"
"""The end of a refusal of host code that depends on a stand-in."""


Surroundings = Literal["usual", "training", "inference"]
"""What host code can read of torch and of its inputs beside shapes, dtypes and strides. usual: without gradients.
training: gradients are recorded, and inputs are parameters that have a gradient, as weights are. inference: inference
mode, on the second of several GPUs; inputs are parts of larger tensors, aligned to single elements only. Each has
another name for the candidate's module and folder."""


class RecordCases(Message[Recorded], frozen=True, kw_only=True, tag="record"):
    """Record a launch plan of the host code in `source` for each case.

    autotune: index of the config of each kernel under `triton.autotune`, 0 for kernels that are missing. target: such
    as sm_90. library: which operators of the framework the plan may contain. constants: module-level names whose values
    the answer is to contain. surroundings: in which every case is recorded, one after the other.
    """

    source: str
    autotune: dict[str, int]
    target: str
    cases: tuple[CaseShape, ...]
    library: LibraryMode = "none"
    constants: tuple[str, ...] = ()
    surroundings: tuple[Surroundings, ...] = ("usual",)


class Confined(Answer, frozen=True, kw_only=True, tag="confined"):
    """The recorder's first message. measures: each measure of its sandbox, and how far it is in force."""

    measures: dict[str, str]
