"""What makes library steps unfit, on plans as a recorder could have forged them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kernelwright.worker.plan.faults import Expected, faults
from kernelwright.worker.plan.library_faults import Library, budget
from kernelwright.worker.plan.plan import (
    Buffer,
    Copy,
    Fill,
    LibraryCall,
    Plan,
    PlanStep,
    Tensor,
    TritonLaunch,
    Tuple,
    Value,
    View,
)

X = View(buffer=0, dtype="float32", shape=(64,), stride=(1,))
PARTIAL = View(buffer=1, dtype="float32", shape=(8,), stride=(1,))
OUT = View(buffer=2, dtype="float32", shape=(), stride=())
BUFFERS = (
    Buffer(id=0, nbytes=256, origin="input", name="x"),
    Buffer(id=1, nbytes=32, origin="scratch"),
    Buffer(id=2, nbytes=4, origin="scratch"),
)
LAUNCH = TritonLaunch(kernel="k", grid=(8,), arguments={"x": Tensor(view=X), "y": Tensor(view=PARTIAL)})


def call(operator: str = "sum.default", target: View = OUT, **arguments: Any) -> LibraryCall:
    given = arguments or {"self": Tensor(view=PARTIAL), "dtype": Value(kind="none")}
    return LibraryCall(operator=operator, arguments=given, targets=(target,))


def found(*steps: PlanStep, mode: str = "finish", budget_bytes: int | None = None) -> str:
    plan = Plan(buffers=BUFFERS, steps=steps, outputs=(OUT,), single=True)
    allowed = Library(mode, budget_bytes)
    return "; ".join(faults(plan, Expected({"k": {"x": False, "y": False}}, {("input", "x"): 256}, library=allowed)))


def summed(view: View) -> LibraryCall:
    return call(self=Tensor(view=view), dtype=Value(kind="none"))


def part(view: View, start: int, size: int) -> View:
    return msgspec.structs.replace(view, shape=(size,), offset=start)


def test_a_sum_of_what_a_kernel_wrote_is_fit() -> None:
    assert found(LAUNCH, call()) == ""
    assert found(LAUNCH, call(), mode="any") == ""
    assert "which the problem does not allow" in found(LAUNCH, call(), mode="none")


def test_finishing_reads_only_what_a_kernel_wrote() -> None:
    assert "reads the input 'x'" in found(LAUNCH, summed(X))
    assert found(LAUNCH, summed(X), mode="any") == ""
    assert "reads memory that no kernel wrote" in found(call(), LAUNCH)
    assert "reads memory that no kernel wrote" in found(msgspec.structs.replace(LAUNCH, grid=(0,)), LAUNCH.__class__(
        kernel="k", grid=(8,), arguments={"x": Tensor(view=X), "y": Tensor(view=OUT)}), call())  # fmt: skip
    assert "reads memory that no kernel wrote" in found(Fill(view=PARTIAL, value="0"), call(), LAUNCH)


def test_what_was_copied_from_an_input_stays_the_inputs() -> None:
    whole, half = Copy(target=PARTIAL, source=part(X, 0, 8)), Copy(target=part(PARTIAL, 4, 4), source=part(X, 0, 4))
    for steps in ((whole, LAUNCH), (LAUNCH, whole), (half, LAUNCH)):
        assert "what host code copied from an input" in found(*steps, call())
    assert found(half, LAUNCH, summed(part(PARTIAL, 0, 4))) == ""
    onwards = Copy(target=OUT, source=msgspec.structs.replace(PARTIAL, shape=(), stride=()))
    last = call(target=part(PARTIAL, 7, 1), self=Tensor(view=OUT), dtype=Value(kind="none"))
    assert "what host code copied from an input" in found(half, LAUNCH, Copy(target=part(PARTIAL, 0, 1),
                                                          source=part(X, 0, 1)), onwards, last)  # fmt: skip


def test_bytes_are_counted_over_all_steps() -> None:
    assert found(LAUNCH, call(), call(), budget_bytes=72) == ""
    assert "read and write 72 bytes, and LIBRARY = 'finish' allows 71" in found(LAUNCH, call(), call(), budget_bytes=71)
    repeated = msgspec.structs.replace(PARTIAL, shape=(100,), stride=(0,))
    assert "read and write 404 bytes" in found(LAUNCH, summed(repeated), budget_bytes=100)


def test_the_budget_is_a_part_of_the_compulsory_bytes_where_a_case_is_timed() -> None:
    assert budget("finish", 1600, is_small=False) == 100
    assert budget("finish", 1600, is_small=True) is None
    assert budget("any", 1600, is_small=False) is None


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (call("exp.default", self=Tensor(view=PARTIAL)), "'exp.default', which LIBRARY = 'finish' does not allow"),
        (call("sum"), "'sum', which LIBRARY = 'finish' does not allow"),
        (call("sum.out"), "'sum.out', which LIBRARY = 'finish' does not allow"),
        (call("__class__.default"), "which LIBRARY = 'finish' does not allow"),
        (call("mm.default", self=Tensor(view=PARTIAL), mat2=Tensor(view=PARTIAL)),
         "'mm.default', which LIBRARY = 'finish' does not allow"),
        (call(self=Tensor(view=PARTIAL)), "other arguments than it has"),
        (call(self=Value(kind="int", text="1"), dtype=Value(kind="none")), "argument self is no tensor"),
        (call(self=Tensor(view=PARTIAL), dtype=Value(kind="dtype", text="Generator")), "argument dtype is no dtype"),
        (call(self=Tensor(view=PARTIAL), dtype=Value(kind="str", text="float32")), "argument dtype is no dtype"),
        (call("amax.default", self=Tensor(view=PARTIAL), dim=Tuple(items=(Value(kind="int", text="9" * 30),)),
              keepdim=Value(kind="bool", text="False")), "argument dim is no ints"),
        (call("amax.default", self=Tensor(view=PARTIAL), dim=Tuple(items=()),
              keepdim=Value(kind="bool", text="exit()")), "argument keepdim is no bool"),
        (call("mul.Tensor", target=PARTIAL, self=Tensor(view=PARTIAL), other=Value(kind="float", text="0.5")),
         "aten.mul of many floating-point elements"),
        (call(target=msgspec.structs.replace(X, shape=(), stride=())), "aten.sum writes into the input 'x'"),
        (call(target=msgspec.structs.replace(PARTIAL, shape=(), stride=())), "writes to memory that it reads"),
        (call(target=msgspec.structs.replace(OUT, shape=(3,), stride=(0,))), "whose elements share memory"),
        (call(target=msgspec.structs.replace(OUT, shape=(9,), stride=(1,))), "a view outside its buffer"),
    ],
)  # fmt: skip
def test_a_forged_step_is_unfit(forged: LibraryCall, why: str) -> None:
    assert why in found(LAUNCH, forged)


def test_in_mode_any_the_process_that_replays_a_step_knows_its_operator() -> None:
    step = call("exp.default", target=msgspec.structs.replace(OUT, shape=(), stride=()), self=Tensor(view=PARTIAL))
    assert "which LIBRARY = 'finish' does not allow" in found(LAUNCH, step)
    assert found(LAUNCH, step, mode="any") == ""
    for name in ("exp", "exp.default.x", "__class__.default", "é.default"):
        assert "which is no name of an operator" in found(
            LAUNCH, msgspec.structs.replace(step, operator=name), mode="any"
        )
    for value in (Value(kind="str", text="'tanh'"), Value(kind="none"), Value(kind="dtype", text="float64")):
        more = {**step.arguments, "other": Tuple(items=(value,))}
        assert found(LAUNCH, msgspec.structs.replace(step, arguments=more), mode="any") == ""
    for value in (
        Value(kind="str", text="open('x')"),
        Value(kind="str", text="'/etc'"),
        Value(kind="int", text="exit()"),
    ):
        more = {**step.arguments, "other": Tuple(items=(value,))}
        why = found(LAUNCH, msgspec.structs.replace(step, arguments=more), mode="any")
        assert "aten.exp's argument other is no tensor, number or word" in why


def test_attention_and_recurrent_layers_with_dropout_are_random() -> None:
    none = Value(kind="none")
    arguments: dict[str, Any] = {key: Tensor(view=PARTIAL) for key in ("query", "key", "value")}
    arguments |= {"attn_mask": none, "is_causal": Value(kind="bool", text="False"), "scale": none,
                  "enable_gqa": Value(kind="bool", text="False")}  # fmt: skip
    for text, why in (("0.0", ""), ("0.5", "draws random numbers"), ("nan", "draws random numbers")):
        attention = call("scaled_dot_product_attention.default", **arguments, dropout_p=Value(kind="float", text=text))
        assert why in found(LAUNCH, attention, mode="any")
        assert bool(found(LAUNCH, attention, mode="any")) == bool(why)
        layer = call("gru.input", input=Tensor(view=PARTIAL), dropout=Value(kind="float", text=text))
        assert why in found(LAUNCH, layer, mode="any")


def test_many_small_steps_are_a_loop() -> None:
    assert found(LAUNCH, *[call()] * 16) == ""
    assert "17 library steps, at most 16" in found(LAUNCH, *[call()] * 17)
    assert "257 library steps, at most 256" in found(LAUNCH, *[call()] * 257, mode="any")


def test_a_plan_of_library_steps_alone_is_unfit() -> None:
    assert "no kernel is launched" in found(summed(X), mode="any")
