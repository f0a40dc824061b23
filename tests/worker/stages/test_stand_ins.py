"""Copies and fills in place of kernels: which plans stand for a plan with library steps."""

from __future__ import annotations

import msgspec
import torch

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
    Tuple,
    Value,
    View,
)
from kernelwright.worker.stages.stand_ins import MOST_LESSENED, MOST_STAND_INS, OTHERWISE, outline, stand_ins

X = View(buffer=0, dtype="float32", shape=(4, 6), stride=(6, 1))
Y = View(buffer=1, dtype="float32", shape=(4, 6), stride=(6, 1))
Z = View(buffer=2, dtype="float32", shape=(6, 4), stride=(4, 1))
W = View(buffer=2, dtype="float32", shape=(4, 6), stride=(6, 1))
OUT = View(buffer=3, dtype="float32", shape=(), stride=())
FALSE, NONE = Value(kind="bool", text="False"), Value(kind="none")
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


def plans(*steps: PlanStep, less: bool) -> list[tuple[PlanStep, ...]]:
    """The steps of all stand-ins whose other steps are as they are, or do less."""
    every = stand_ins(Plan(buffers=BUFFERS, steps=steps, outputs=(OUT,), single=True))
    found = [one.plan.steps for one in every if bool(one.less) == less]
    assert not any(isinstance(step, Launch) for steps in found for step in steps)
    return found


def replaced(*steps: PlanStep) -> list[tuple[PlanStep, ...]]:
    return plans(*steps, less=False)


def lessened(*steps: PlanStep) -> list[tuple[PlanStep, ...]]:
    """What is left of the steps after a kernel's copy of X to Y."""
    copied = Copy(target=Y, source=X)
    return [found[1:] for found in plans(launch("k", X, Y), *steps, less=True) if found[0] == copied]


def number(text: str) -> Value:
    return Value(kind="int", text=text)


def test_a_kernel_is_replaced_by_a_copy_a_fill_and_nothing() -> None:
    found = replaced(launch("k", X, Y), total(Y))
    for stand_in in ([Copy(target=Y, source=X)], [Fill(view=Y, value="0")], [Fill(view=Y, value="1")], []):
        assert (*stand_in, total(Y)) in found


def test_a_kernel_that_writes_two_tensors_is_left_out_too() -> None:
    assert [total(Y)] in [list(steps) for steps in replaced(launch("k", Y, Z), total(Y))]


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
    sums = [total(Z)] * 30
    assert len(replaced(*steps, *sums)) == MOST_STAND_INS
    assert len(plans(*steps, *sums, less=True)) == MOST_LESSENED


def test_factors_within_a_library_step_become_1_or_0_together_and_alone() -> None:
    def added(alpha: Value, beta: Value) -> LibraryCall:
        tensors = {"self": Tensor(view=Y), "mat1": Tensor(view=X), "mat2": Tensor(view=Z)}
        return LibraryCall(operator="addmm.default", arguments={**tensors, "beta": beta, "alpha": alpha}, targets=(W,))

    found = lessened(added(Value(kind="float", text="0.5"), number("2")))
    assert (added(number("1"), number("1")),) in found
    assert (added(number("0"), number("2")),) in found
    assert (added(Value(kind="float", text="0.5"), number("0")),) in found
    as_it_is = added(Value(kind="float", text="1.0"), number("1"))
    assert not any(steps[0] in (as_it_is, added(number("1"), number("1"))) for steps in lessened(as_it_is))


def test_the_factor_of_attention_becomes_its_own() -> None:
    call = LibraryCall(
        operator="scaled_dot_product_attention.default",
        arguments={"query": Tensor(view=Y), "scale": Value(kind="float", text="0.25")},
        targets=(W,),
    )
    own = msgspec.structs.replace(call, arguments={**call.arguments, "scale": Value(kind="none")})
    assert (own,) in lessened(call)


def test_a_library_step_is_left_out_for_what_it_reads() -> None:
    stacked = View(buffer=1, dtype="float32", shape=(2, 12), stride=(12, 1))
    target = View(buffer=2, dtype="float32", shape=(12,), stride=(1,))
    arguments = {"self": Tensor(view=stacked), "dim": Tuple(items=(number("0"),)), "keepdim": FALSE, "dtype": NONE}
    mean = LibraryCall(operator="mean.dim", arguments=arguments, targets=(target,))
    found = lessened(mean)
    for offset in (0, 12):
        part = View(buffer=1, dtype="float32", shape=(12,), stride=(1,), offset=offset)
        assert (Copy(target=target, source=part),) in found
    assert (msgspec.structs.replace(mean, operator="sum.dim_IntList"),) in found


def parameters(operator: str) -> list[tuple[str, str]]:
    packet, _, overload = operator.partition(".")
    return [(one.name, str(one.type)) for one in getattr(getattr(torch.ops.aten, packet), overload)._schema.arguments]


def test_an_operator_gives_way_to_its_counterpart_with_the_same_parameters() -> None:
    for one, other in OTHERWISE.items():
        assert parameters(one) == parameters(other), (one, other)
    arguments = {"self": Tensor(view=Y), "dim": number("0"), "descending": FALSE}
    order = View(buffer=3, dtype="int64", shape=(4, 6), stride=(6, 1))
    call = LibraryCall(operator="sort.default", arguments=arguments, targets=(W, order))
    turned = msgspec.structs.replace(call, arguments={**arguments, "descending": Value(kind="bool", text="True")})
    assert (turned,) in lessened(call)
    assert (Copy(target=W, source=Y), Fill(view=order, value="0")) in lessened(call)


def test_fills_take_other_constants_and_copies_are_left_out_one_or_two_at_a_time() -> None:
    fill, copy = Fill(view=Z, value="0.5"), Copy(target=W, source=Y)
    found = lessened(fill, copy, total(Z))
    for constant in ("0", "1"):
        assert (Fill(view=Z, value=constant), copy, total(Z)) in found
    assert (fill, Fill(view=W, value="0"), total(Z)) in found
    assert (Fill(view=Z, value="1"), Fill(view=W, value="0"), total(Z)) in found


def test_the_outline_of_a_plan_has_everything_but_sizes() -> None:
    def of(*steps: PlanStep) -> object:
        return outline(Plan(buffers=BUFFERS, steps=steps, outputs=(OUT,), single=True))

    small = msgspec.structs.replace(Y, shape=(2, 3), stride=(3, 1))
    assert of(launch("k", X, Y), total(Y)) == of(launch("k", X, small), total(small))
    different = [
        of(launch("k", X, Y), total(Y)),
        of(launch("other", X, Y), total(Y)),
        of(launch("k", X, Z), total(Z)),
        of(launch("k", X, Y), Fill(view=Z, value="0.5"), total(Y)),
        of(launch("k", X, Y), Fill(view=Z, value="1"), total(Y)),
        of(launch("k", X, Y), msgspec.structs.replace(total(Y), operator="mean.default")),
        of(launch("k", X, Y), msgspec.structs.replace(total(Y), arguments={"self": Tensor(view=Y), "alpha": FALSE})),
    ]
    assert len(set(different)) == len(different)
