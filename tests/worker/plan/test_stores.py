"""Which plans cannot write an output, from their recorded steps and what a launch stores at most."""

from __future__ import annotations

import math

import pytest

from kernelwright.worker.plan.plan import Buffer, Copy, Fill, Launch, LibraryCall, Plan, PlanStep, Tensor, View
from kernelwright.worker.plan.stores import uncovered
from kernelwright.worker.plan.work import Work

BUFFERS = (Buffer(id=0, nbytes=400, origin="input", name="x"), Buffer(id=1, nbytes=400, origin="scratch"))
X, OUT = (View(buffer=number, dtype="float32", shape=(10, 10), stride=(10, 1)) for number in (0, 1))
HALF = View(buffer=1, dtype="float32", shape=(5, 10), stride=(10, 1), offset=50)
LAUNCH = Launch(kernel="k", grid=(1,), arguments={"x": Tensor(view=X), "out": Tensor(view=OUT)}, options={})


def why(stored: dict[str, float] | None, *more: PlanStep, output: View = OUT) -> str:
    """Of a plan of one launch that stores this much, after other steps."""
    plan = Plan(buffers=BUFFERS, steps=(*more, LAUNCH), outputs=(output,), single=True)
    return uncovered(plan, lambda launch: None if stored is None else Work(stored=stored))


def test_a_plan_that_cannot_store_as_much_as_an_output_has_is_named_with_both_numbers() -> None:
    assert why({"out": 396}) == (
        "output 0 has 100 elements, and all blocks that the launches store in its memory hold 99"
    )
    assert why({"out": 400}) == why({"out": 200, "": 200}) == ""
    assert why({"out": 196, "x": 400}) != "", "what is stored elsewhere does not count"


CALL = LibraryCall(operator="aten.mm", arguments={}, targets=(HALF,))


@pytest.mark.parametrize("step", [Fill(view=HALF, value="0"), Copy(target=HALF, source=X), CALL])
def test_other_steps_write_too(step: PlanStep) -> None:
    assert why({"out": 200}, step) == ""
    assert why({"out": 196}, step) != ""


def test_what_has_no_limit_is_never_refused() -> None:
    assert why(None) == why({"out": math.inf}) == ""


def test_an_output_in_the_memory_of_an_input_may_keep_elements() -> None:
    assert why({}, output=X) == ""


def test_elements_that_share_memory_count_once() -> None:
    windows = View(buffer=1, dtype="float32", shape=(91, 10), stride=(1, 1))
    assert why({"out": 400}, output=windows) == ""
    turned = View(buffer=1, dtype="float32", shape=(10, 10), stride=(1, 10))
    assert why({"out": 396}, output=turned) != ""
