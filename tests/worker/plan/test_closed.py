"""A plan with a kind of launch or argument that the code does not know is refused wherever the plan is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kernelwright.errors import WorkerError
from kernelwright.worker.plan.faults import Expected, faults
from kernelwright.worker.plan.plan import (
    Buffer,
    Plan,
    Step,
    Tensor,
    TritonLaunch,
    View,
    argument_views,
    dtypes,
    launch_identity,
    views,
)
from kernelwright.worker.stages.necessity import leaves_unwritten
from kernelwright.worker.stages.stand_ins import outline, stand_ins

VIEW = View(buffer=0, dtype="float32", shape=(4,), stride=(1,))
BUFFERS = (Buffer(id=0, nbytes=16, origin="scratch"),)
TRITON = TritonLaunch(kernel="k", grid=(1,), arguments={"x": Tensor(view=VIEW)})


class OtherLaunch(Step, frozen=True, kw_only=True, tag="other launch"):
    """A launch in a second language, with the fields of a Triton launch."""

    kernel: str
    grid: tuple[int, ...]
    arguments: dict[str, Any]


class OtherArgument(Step, frozen=True, kw_only=True, tag="other argument"):
    view: View


def plan(*steps: Any) -> Plan:
    return Plan(buffers=BUFFERS, steps=steps, outputs=(VIEW,), single=True)


def check(read: Plan) -> object:
    return faults(read, Expected(kernels={"k": {"x": False}}, given={}))


READERS: dict[str, Callable[[Plan], object]] = {
    "views": views,
    "leaves_unwritten": leaves_unwritten,
    "outline": outline,
    "stand_ins": lambda read: list(stand_ins(read)),
    "faults": check,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_plan_with_an_unknown_launch_is_refused(reader: str) -> None:
    READERS[reader](plan(TRITON))
    other = OtherLaunch(kernel="k", grid=(1,), arguments={"x": Tensor(view=VIEW)})
    with pytest.raises(WorkerError, match=r"a plan contains OtherLaunch\(kernel='k'"):
        READERS[reader](plan(TRITON, other))


LAUNCH_READERS: dict[str, Callable[[TritonLaunch], object]] = {
    "argument_views": argument_views,
    "dtypes": dtypes,
    "launch_identity": lambda launch: launch_identity(launch, {"x": False}),
    "faults": lambda launch: check(plan(launch)),
}


@pytest.mark.parametrize("reader", LAUNCH_READERS)
def test_a_launch_with_an_unknown_argument_is_refused(reader: str) -> None:
    LAUNCH_READERS[reader](TRITON)
    arguments: dict[str, Any] = {"x": OtherArgument(view=VIEW)}
    with pytest.raises(WorkerError, match=r"a plan contains OtherArgument\(view="):
        LAUNCH_READERS[reader](msgspec.structs.replace(TRITON, arguments=arguments))
