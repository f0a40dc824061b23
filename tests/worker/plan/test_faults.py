"""Forged plans: whatever a recorder may say, nothing unsound reaches a replay."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kernelwright.worker.plan.faults import Expected, faults
from kernelwright.worker.plan.plan import (
    MAX_STEPS,
    Argument,
    Buffer,
    Copy,
    Descriptor,
    Fill,
    Launch,
    Plan,
    Tensor,
    Tuple,
    Value,
    View,
)

EXPECTED = Expected(
    kernels={"k": {"x": False, "y": False, "n": False}, "helper": {"a": False}},
    given={("input", "x"): 128, ("parameter", "w"): 32},
)
X = View(buffer=0, dtype="float32", shape=(4, 8), stride=(8, 1))
Y = View(buffer=2, dtype="float32", shape=(4, 8), stride=(8, 1))
ARGUMENTS: dict[str, Argument] = {"x": Tensor(view=X), "y": Tensor(view=Y), "n": Value(kind="int", text="32")}
LAUNCH = Launch(kernel="k", grid=(4,), arguments=ARGUMENTS, options={"num_warps": 4})
PLAN = Plan(
    buffers=(
        Buffer(id=0, nbytes=128, origin="input", name="x"),
        Buffer(id=1, nbytes=32, origin="parameter", name="w"),
        Buffer(id=2, nbytes=128, origin="scratch"),
    ),
    steps=(Fill(view=Y, value="0.0"), LAUNCH, Copy(target=Y, source=X)),
    outputs=(Y,),
    single=True,
)


def found(**changes: Any) -> str:
    return "; ".join(faults(msgspec.structs.replace(PLAN, **changes), EXPECTED))


def launched(**changes: Any) -> str:
    return found(steps=(msgspec.structs.replace(LAUNCH, **changes),))


def passing(argument: Argument) -> str:
    return launched(arguments=ARGUMENTS | {"n": argument})


def viewing(**changes: Any) -> str:
    return found(outputs=(msgspec.structs.replace(Y, **changes),))


def test_a_sound_plan_has_no_faults() -> None:
    assert found() == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"offset": 1},
        {"offset": -1},
        {"shape": (5, 8)},
        {"shape": (4, 9)},
        {"stride": (9, 1)},
        {"stride": (-8, 1)},
        {"shape": (-4, 8)},
        {"dtype": "float64"},
        {"offset": 2**62},
        {"shape": (2**62, 8)},
        {"stride": (2**62, 2**62)},
        {"shape": (2**40, 8), "stride": (0, 1)},
    ],
)
def test_a_view_stays_inside_its_buffer(changes: dict[str, Any]) -> None:
    assert "view" in viewing(**changes)


@pytest.mark.parametrize("changes", [{"buffer": 3}, {"buffer": -1}, {"dtype": "float31"}, {"dtype": "__class__"},
                                     {"stride": (1,)}, {"shape": ()}])  # fmt: skip
def test_a_view_is_of_a_known_buffer_and_dtype(changes: dict[str, Any]) -> None:
    assert "unknown" in viewing(**changes)


@pytest.mark.parametrize(
    "end",
    [
        {"shape": (128,), "stride": (1,), "dtype": "int8"},
        {"shape": (64,), "stride": (1,), "dtype": "float16", "offset": 0},
        {"shape": (2,), "stride": (127,), "dtype": "int8"},
        {"shape": (1,), "stride": (1,), "dtype": "int8", "offset": 127},
    ],
)
def test_a_view_may_reach_the_last_byte_of_its_buffer_and_not_the_next(end: dict[str, Any]) -> None:
    assert viewing(**end) == ""
    assert "outside its buffer of 128 bytes" in viewing(**end | {"offset": end.get("offset", 0) + 1})


def test_what_is_filled_and_copied_is_checked_as_what_is_launched() -> None:
    outside = msgspec.structs.replace(Y, offset=1)
    for step in (Fill(view=outside, value="0"), Copy(target=outside, source=X), Copy(target=Y, source=outside)):
        assert "a view outside its buffer" in found(steps=(LAUNCH, step))


def test_a_view_with_no_elements_is_sound() -> None:
    assert viewing(shape=(0, 8), stride=(8, 1)) == ""


@pytest.mark.parametrize(
    "buffer",
    [
        Buffer(id=0, nbytes=127, origin="input", name="x"),
        Buffer(id=0, nbytes=129, origin="input", name="x"),
        Buffer(id=0, nbytes=128, origin="input", name="answer"),
        Buffer(id=0, nbytes=128, origin="parameter", name="x"),
        Buffer(id=0, nbytes=-1, origin="scratch"),
        Buffer(id=0, nbytes=2**60, origin="scratch"),
        Buffer(id=2, nbytes=128, origin="scratch"),
    ],
)
def test_buffers_are_what_the_problem_has_or_scratch_of_a_sane_size(buffer: Buffer) -> None:
    assert "buffer" in found(buffers=(buffer, *PLAN.buffers[1:])) or "does not have" in found(
        buffers=(buffer, *PLAN.buffers[1:])
    )


def test_a_plan_launches_something_and_returns_something() -> None:
    assert "no kernel is launched" in found(steps=PLAN.steps[:1])
    assert "nothing is returned" in found(outputs=())


def test_the_number_of_steps_is_limited() -> None:
    assert "steps" in found(steps=(*[PLAN.steps[0]] * MAX_STEPS, LAUNCH))


@pytest.mark.parametrize("kernel", ["unknown", "triton", "__builtins__", ""])
def test_only_the_candidates_kernels_are_launched(kernel: str) -> None:
    assert "not a kernel" in launched(kernel=kernel)


@pytest.mark.parametrize("grid", [(), (1, 1, 1, 1), (-1,), (2**31,), (1, 65536), (1, 1, 65536), (2**70,), (1, -1, 1)])
def test_a_grid_is_one_that_a_device_takes(grid: tuple[int, ...]) -> None:
    assert "grid" in launched(grid=grid)


@pytest.mark.parametrize("grid", [(1,), (2**31 - 1,), (1, 65535, 65535)])
def test_a_grid_may_be_as_large_as_a_device_takes(grid: tuple[int, ...]) -> None:
    assert launched(grid=grid) == ""


@pytest.mark.parametrize("grid", [(0,), (3, 0, 2)])
def test_a_launch_without_blocks_launches_nothing(grid: tuple[int, ...]) -> None:
    empty = msgspec.structs.replace(LAUNCH, grid=grid)
    assert "no kernel is launched" in found(steps=(empty,))
    assert found(steps=(empty, LAUNCH)) == ""
    assert found(steps=(empty,), outputs=(msgspec.structs.replace(Y, shape=(0, 8)),)) == "", "nothing was to be done"


@pytest.mark.parametrize(
    "extra", [{"grid": ARGUMENTS["n"]}, {"warmup": ARGUMENTS["n"]}, {"ir_override": ARGUMENTS["n"]}]
)
def test_a_kernel_gets_its_own_arguments_and_no_others(extra: dict[str, Argument]) -> None:
    assert "other arguments" in launched(arguments=ARGUMENTS | extra)
    assert "other arguments" in launched(arguments={"x": ARGUMENTS["x"]})


def test_arguments_come_in_the_order_of_the_parameters() -> None:
    """Some launches pass them by position, and machine code is named by launch whatever their order."""
    assert "another order" in launched(arguments=dict(reversed(ARGUMENTS.items())))


@pytest.mark.parametrize(
    "options",
    [{"ir_override": "/tmp/evil.ttir"}, {"debug": True}, {"num_warps": "4"}, {"num_warps": None}, {"num_warps": -4},
     {"num_stages": 2**40}, {"extern_libs": 1}],
)  # fmt: skip
def test_launch_options_are_the_compilers_and_numbers(options: dict[str, Any]) -> None:
    assert "option" in launched(options=options)


@pytest.mark.parametrize(
    "argument",
    [
        Value(kind="int", text="[1]"),
        Value(kind="int", text="1" * 400),
        Value(kind="int", text="0x10"),
        Value(kind="int", text=""),
        Value(kind="int", text="١"),
        Value(kind="float", text="__import__('os')"),
        Value(kind="float", text="1_0.0"),
        Value(kind="float", text="True"),
        Value(kind="bool", text="1"),
        Value(kind="none", text="x"),
        Value(kind="dtype", text="fp17"),
        Value(kind="str", text="%s"),
        Value(kind="kernel", text="triton"),
        Value(kind="kernel", text="__builtins__"),
        Tuple(items=(Value(kind="kernel", text="tl"),)),
        Descriptor(view=X, block_shape=(4,)),
        Descriptor(view=X, block_shape=(4, 0)),
        Descriptor(view=X, block_shape=(4, 2**40)),
    ],
)
def test_an_argument_is_what_it_says(argument: Argument) -> None:
    assert passing(argument) != ""


@pytest.mark.parametrize(
    "argument",
    [
        Value(kind="int", text="-9223372036854775808"),
        Value(kind="float", text="1e-05"),
        Value(kind="float", text="inf"),
        Value(kind="float", text="nan"),
        Value(kind="bool", text="False"),
        Value(kind="none"),
        Value(kind="str", text="anything at all"),
        Value(kind="dtype", text="bf16"),
        Value(kind="kernel", text="helper"),
        Tuple(items=()),
        Tuple(items=(Tensor(view=X), Tuple(items=(Value(kind="int", text="1"),)))),
        Descriptor(view=X, block_shape=(2, 8)),
    ],
)
def test_honest_arguments_are_sound(argument: Argument) -> None:
    assert passing(argument) == ""


def test_views_inside_tuples_and_descriptors_are_checked() -> None:
    outside = msgspec.structs.replace(X, offset=1)
    assert "view" in passing(Tuple(items=(Tensor(view=outside),)))
    assert "view" in passing(Descriptor(view=outside, block_shape=(4, 8)))


def test_tuples_are_not_nested_without_end() -> None:
    nested: Argument = Value(kind="int", text="1")
    for _ in range(50):
        nested = Tuple(items=(nested,))  # type: ignore[arg-type]
    assert "nested" in passing(nested)


@pytest.mark.parametrize("value", ["exec('1')", "[1]", "0.0.0", "", " 1", "9" * 400, "1_000"])
def test_a_fill_is_with_a_number(value: str) -> None:
    assert "not a number" in found(steps=(Fill(view=Y, value=value), LAUNCH))


@pytest.mark.parametrize("value", ["0", "-1.5", "inf", "-inf", "nan", "True", "1e-07"])
def test_a_fill_may_be_with_any_number(value: str) -> None:
    assert found(steps=(Fill(view=Y, value=value), LAUNCH)) == ""


def test_a_copy_is_between_equal_shapes() -> None:
    assert "copy" in found(steps=(LAUNCH, Copy(target=Y, source=msgspec.structs.replace(X, shape=(8, 4)))))


@pytest.mark.parametrize("shape", [(4, 1), (1, 8), (8,), (4, 8, 1), (0, 8)])
def test_a_copy_spreads_nothing_over_more_elements(shape: tuple[int, ...]) -> None:
    """PyTorch would: what is copied by a candidate's host code was expanded there, as a view."""
    source = View(buffer=0, dtype="float32", shape=shape, stride=(0,) * len(shape))
    assert f"a copy of {shape}" in found(steps=(LAUNCH, Copy(target=Y, source=source)))
