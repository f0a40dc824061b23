"""A plan carried out: every kind of argument and step, with Python functions in place of kernels."""

from __future__ import annotations

import inspect
import types
from pathlib import Path
from typing import Any

import pytest
import torch
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from kernelwright.worker.compile.kernels import arguments, given, interpreted, load_kernels
from kernelwright.worker.plan.layout import Layout
from kernelwright.worker.plan.plan import (
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
from kernelwright.worker.plan.replay import Replay
from recorded import Kernel

WHOLE = View(buffer=0, dtype="float32", shape=(4, 4), stride=(4, 1))
ROW = View(buffer=0, dtype="float32", shape=(4,), stride=(1,), offset=8)


def replayed(*steps: Fill | Copy | Launch, kernels: dict[str, Kernel] | None = None) -> torch.Tensor:
    """The 4 × 4 matrix of buffer 0 after `steps`; it begins as 0 … 15."""
    plan = Plan(buffers=(Buffer(id=0, nbytes=64, origin="scratch"),), steps=steps, outputs=(WHOLE,), single=True)
    layout = Layout(plan.buffers)
    arena = torch.zeros(layout.nbytes, dtype=torch.uint8)
    start = layout.offsets[0]
    matrix = arena[start : start + 64].view(torch.float32).view(4, 4)
    matrix.copy_(torch.arange(16.0).view(4, 4))
    Replay(plan, interpreted(types.SimpleNamespace(**(kernels or {}))), arena, layout).run()  # type: ignore[arg-type]
    return matrix


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0.0), ("-2.5", -2.5), ("True", 1.0), ("inf", float("inf")), ("-inf", float("-inf")), ("1e-07", 1e-7)],
)
def test_a_fill_sets_the_view_and_nothing_else(text: str, number: float) -> None:
    matrix = replayed(Fill(view=ROW, value=text))
    expected = torch.arange(16.0).view(4, 4)
    expected[2] = number
    assert torch.equal(matrix, expected)


def test_a_fill_with_nan_is_nan() -> None:
    assert replayed(Fill(view=ROW, value="nan"))[2].isnan().all()


def test_steps_run_in_their_order() -> None:
    def doubled(x: torch.Tensor) -> None:
        x *= 2

    launch = Launch(kernel="k", grid=(1,), arguments={"x": Tensor(view=ROW)})
    after = replayed(Fill(view=ROW, value="3"), launch, kernels={"k": Kernel(doubled)})
    before = replayed(launch, Fill(view=ROW, value="3"), kernels={"k": Kernel(doubled)})
    assert after[2].tolist() == [6.0] * 4
    assert before[2].tolist() == [3.0] * 4


def test_a_copy_casts_on_its_way() -> None:
    integers = View(buffer=0, dtype="int32", shape=(4,), stride=(1,), offset=0)
    matrix = replayed(Copy(target=integers, source=ROW))
    assert matrix.view(torch.int32)[0].tolist() == [8, 9, 10, 11]


def test_a_kernel_gets_its_grid_and_arguments_each_time() -> None:
    seen: list[dict[str, Any]] = []
    kernel = Kernel(lambda **values: seen.append(values))
    launch = Launch(kernel="k", grid=(3, 2), arguments={"x": Tensor(view=ROW), "n": Value(kind="int", text="4")},
                    options={"num_warps": 2})  # fmt: skip
    replayed(launch, launch, kernels={"k": kernel})
    assert kernel.calls == [(3, 2), (3, 2)]
    assert [values["n"] for values in seen] == [4, 4]
    assert seen[0]["num_warps"] == 2
    assert seen[0]["x"].tolist() == [8.0, 9.0, 10.0, 11.0]


@pytest.mark.parametrize("grid", [(0,), (2, 0), (1, 1, 0)])
def test_a_launch_without_blocks_runs_nothing(grid: tuple[int, ...]) -> None:
    def never(**values: Any) -> None:
        raise AssertionError("launched")

    replayed(Launch(kernel="k", grid=grid, arguments={}), kernels={"k": Kernel(never)})


def value_of(argument: Argument) -> Any:
    kernels = types.SimpleNamespace(helper="the helper")
    launch = Launch(kernel="k", grid=(1,), arguments={"a": argument})
    return arguments(launch, kernels, lambda view: torch.empty(view.shape))["a"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        (Value(kind="int", text="-7"), -7),
        (Value(kind="float", text="1e-05"), 1e-5),
        (Value(kind="float", text="-inf"), float("-inf")),
        (Value(kind="bool", text="False"), False),
        (Value(kind="none"), None),
        (Value(kind="str", text="7"), "7"),
        (Value(kind="dtype", text="bf16"), tl.bfloat16),
        (Value(kind="dtype", text="fp8e4nv"), tl.float8e4nv),
        (Value(kind="kernel", text="helper"), "the helper"),
        (Tuple(items=(Value(kind="int", text="1"), Tuple(items=(Value(kind="none"),)))), (1, (None,))),
    ],
)
def test_a_value_is_read_as_its_kind_says(argument: Argument, value: object) -> None:
    got = value_of(argument)
    assert got == value
    assert type(got) is type(value)


def test_a_descriptor_is_made_over_its_view() -> None:
    view = View(buffer=0, dtype="float32", shape=(8, 16), stride=(16, 1))
    made = value_of(Descriptor(view=view, block_shape=(4, 8)))
    assert isinstance(made, TensorDescriptor)
    assert (list(made.shape), list(made.strides), list(made.block_shape)) == ([8, 16], [16, 1], [4, 8])


@pytest.mark.parametrize(
    ("options", "args", "kwargs"),
    [
        ({}, [1, 4], {}),
        ({"num_warps": 2}, [1, 4], {"num_warps": 2}),
        ({"num_stages": 4}, [], {"x": 1, "num_stages": 4}),
    ],
)
def test_a_parameter_with_an_options_name_is_no_option(
    options: dict[str, Any], args: list[int], kwargs: dict[str, int]
) -> None:
    launch = Launch(kernel="k", grid=(1,), arguments={}, options=options)
    assert given(launch, {"x": 1, "num_stages": 4}) == (args, kwargs)


def test_ordinary_arguments_go_by_name() -> None:
    launch = Launch(kernel="k", grid=(1,), arguments={}, options={"num_warps": 8})
    assert given(launch, {"x": 1, "n": 2}) == ([], {"x": 1, "n": 2, "num_warps": 8})


def test_a_broken_text_raises_as_python_does(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        load_kernels("value = [1 / 0]", tmp_path)
    assert load_kernels("value = [1]", tmp_path).value == [1]


def test_what_triton_reads_of_a_kernel_is_what_was_checked(tmp_path: Path) -> None:
    """It reads a kernel's source again when it compiles, and by then the file could be another."""
    kernels = load_kernels("def kernel():\n    return 'as extracted'\n", tmp_path)
    (tmp_path / "kernels.py").write_text("def kernel():\n    return 'forged'\n")
    assert "as extracted" in inspect.getsource(kernels.kernel)
