"""Which cases decide whether a kernel of a candidate contributes."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from evaluated import StartedWorker
from kernelwright.model import Candidate, Case, Loading, Status
from kernelwright.worker.plan.plan import Buffer, Launch, Plan, Tensor, View
from kernelwright.worker.stages import necessity
from kernelwright.worker.stages.necessity import leave_out, superfluous
from kernelwright.worker.stages.subject import Subject

VIEW = View(buffer=0, dtype="float32", shape=(4,), stride=(1,))
PLAN = Plan(
    buffers=(Buffer(id=0, nbytes=16, origin="scratch"),), outputs=(VIEW,), single=True,
    steps=tuple(Launch(kernel=name, grid=(1,), arguments={"p": Tensor(view=VIEW)}) for name in ("first", "second")),
)  # fmt: skip


@dataclass
class FakeSubject:
    plans: dict[str, Plan]
    idle: dict[tuple[str, bool], str] = field(default_factory=dict)

    def leased(self, name: str) -> Any:
        return contextlib.nullcontext()


@pytest.mark.parametrize(("cases", "needed_on", "decided"), [
    (["stated"], [], "stated"),
    (["stated"], ["stated"], None),
    (["derived", "stated"], ["stated"], None),
    (["derived", "stated"], ["derived"], "stated"),
    (["stated", "other stated", "derived"], ["other stated"], None),
    (["derived"], [], "derived"),
    (["derived", "other derived"], ["other derived"], None),
])  # fmt: skip
def test_a_kernel_has_to_contribute_to_a_stated_case_if_one_ran(
    monkeypatch: pytest.MonkeyPatch, cases: list[str], needed_on: list[str], decided: str | None
) -> None:
    """The second kernel is needed on the cases `needed_on`, the first on all."""

    def is_right(subject: Subject, case: str, plan: Plan) -> bool:
        return [launch.kernel for launch in plan.launches] == ["first"] and case not in needed_on

    monkeypatch.setattr(necessity, "_is_right", is_right)
    subject = cast(Subject, FakeSubject(dict.fromkeys(cases, PLAN)))
    for case in cases:
        leave_out(subject, Case(name=case, derived="derived" in case))
    found = superfluous(subject)
    assert (found.case if found is not None else None) == decided
    assert found is None or "the kernel second does not contribute" in found.reason


PROBLEM = """\
import torch
import torch.nn as nn

ROWS, COLS = 4096, 4096


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(ROWS, COLS)]


def get_init_inputs():
    return []
"""

TWO_KERNELS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def even(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    inside = lanes < cols // 2 * 2
    x = tl.load(x_ptr + tl.program_id(0) * cols + lanes, mask=inside)
    tl.store(out_ptr + tl.program_id(0) * cols + lanes, tl.where(x < 0, 0.0, x), mask=inside)


@triton.jit
def rest(x_ptr, out_ptr, cols):
    x = tl.load(x_ptr + tl.program_id(0) * cols + cols - 1, mask=cols % 2 == 1)
    tl.store(out_ptr + tl.program_id(0) * cols + cols - 1, tl.where(x < 0, 0.0, x), mask=cols % 2 == 1)


def kernel_function(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    even[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    rest[(x.shape[0],)](x, out, x.shape[1])
    return out
"""


def test_an_honest_kernel_that_changes_nothing_on_one_derived_case_is_accepted(
    shared_worker: StartedWorker, tmp_path: Path
) -> None:
    file = tmp_path / "relu.py"
    file.write_text(PROBLEM)
    worker = shared_worker()
    info = worker.load(str(file), Loading(which="derived"))
    assert [one.case.params.get("COLS", 4096) % 2 for one in info.cases] == [0, 0, 1, 1]
    found = worker.evaluate(Candidate(source=TWO_KERNELS), "verify")
    assert found.status is (Status.REJECTED if found.verified_on == "device" else Status.PASSED), found.reason
