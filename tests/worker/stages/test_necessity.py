"""Copies and fills in place of kernels: which plans stand for a plan with library steps."""

from __future__ import annotations

from kernelwright.worker.plan.plan import (
    Buffer,
    Copy,
    Fill,
    Launch,
    LibraryCall,
    Plan,
    PlanStep,
    Tensor,
    TritonLaunch,
    Value,
    View,
)
from kernelwright.worker.stages.necessity import MOST_STAND_INS, stand_ins

X = View(buffer=0, dtype="float32", shape=(4, 6), stride=(6, 1))
Y = View(buffer=1, dtype="float32", shape=(4, 6), stride=(6, 1))
Z = View(buffer=2, dtype="float32", shape=(6, 4), stride=(4, 1))
OUT = View(buffer=3, dtype="float32", shape=(), stride=())
BUFFERS = (
    Buffer(id=0, nbytes=96, origin="input", name="x"),
    *(Buffer(id=number, nbytes=96, origin="scratch") for number in (1, 2, 3)),
)


def launch(kernel: str, *views: View) -> TritonLaunch:
    return TritonLaunch(
        kernel=kernel, grid=(1,), arguments={f"p{i}": Tensor(view=view) for i, view in enumerate(views)}
    )


def total(view: View) -> LibraryCall:
    arguments = {"self": Tensor(view=view), "dtype": Value(kind="none")}
    return LibraryCall(operator="sum.default", arguments=arguments, targets=(OUT,))


def replaced(*steps: PlanStep) -> list[tuple[PlanStep, ...]]:
    found = [plan.steps for plan in stand_ins(Plan(buffers=BUFFERS, steps=steps, outputs=(OUT,), single=True))]
    assert not any(isinstance(step, Launch) for steps in found for step in steps)
    return found


def test_a_kernel_is_replaced_by_a_copy_a_fill_and_nothing() -> None:
    found = replaced(launch("k", X, Y), total(Y))
    for stand_in in ([Copy(target=Y, source=X)], [Fill(view=Y, value="0")], [Fill(view=Y, value="1")], []):
        assert (*stand_in, total(Y)) in found


def test_a_copy_may_transpose_and_reshape() -> None:
    found = replaced(launch("k", X, Z), total(Z))
    transposed = View(buffer=0, dtype="float32", shape=(6, 4), stride=(1, 6))
    reshaped = View(buffer=2, dtype="float32", shape=(4, 6), stride=(6, 1))
    assert (Copy(target=Z, source=transposed), total(Z)) in found
    assert (Copy(target=reshaped, source=X), total(Z)) in found


def test_a_fill_leaves_what_the_kernel_reads() -> None:
    first = LibraryCall(operator="sum.default", arguments={}, targets=(Y,))
    found = replaced(first, launch("k", Y, Z), total(Z))
    assert (first, Fill(view=Z, value="0"), total(Z)) in found
    assert (first, Fill(view=Y, value="0"), total(Z)) in found


def test_kernels_are_replaced_together_each_in_the_same_way_wherever_it_is_launched() -> None:
    found = replaced(launch("a", X, Y), launch("b", Y, Z), total(Z))
    assert any(len(steps) == 3 and all(isinstance(step, Copy) for step in steps[:2]) for steps in found)
    for steps in replaced(launch("a", X, Y), launch("a", X, Y), total(Y)):
        assert steps[-1] == total(Y)
        assert len(steps) % 2 == 1
        assert all(steps[:-1].count(step) == 2 for step in steps[:-1])


def test_no_more_are_tried_than_is_cheap() -> None:
    steps = [launch(f"k{number}", X, Y, Z) for number in range(6)]
    assert len(replaced(*steps, total(Z))) == MOST_STAND_INS
