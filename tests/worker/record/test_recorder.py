"""Host code recorded as data: what honest styles become, and what is refused for which reason."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
import triton.language as tl
from torch import Tensor

from kernelwright.model import Status
from kernelwright.source.parameter_names import as_argument, matched
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.faults import Expected, faults
from kernelwright.worker.plan.plan import KEPT, Copy, Descriptor, Fill, Launch, Plan, Tuple, Value
from kernelwright.worker.plan.plan import Tensor as Pointer
from kernelwright.worker.record import recorder
from kernelwright.worker.record.messages import RecordCases
from recorded import HEAD, carried_out, copies, plan_of, recorded, refusal, spec

X = torch.arange(24.0).reshape(4, 6) - 7.25
BIAS = torch.arange(6.0) + 100


def function(*lines: str, arguments: str = "x", head: str = HEAD) -> str:
    return head + f"def kernel_function({arguments}):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"


def copied(view: str, *before: str) -> str:
    """Host code that copies `view` to a new tensor of its shape with a kernel."""
    return function(
        *before,
        f"v = {view}",
        "y = torch.empty(v.shape, dtype=v.dtype, device=v.device)",
        "copy[(1,)](v, y, y.numel(), BLOCK=64)",
        "return y",
    )


def reason(*lines: str, arguments: str = "x", status: Status = Status.REJECTED, **more: Any) -> str:
    got, why = refusal(function(*lines, arguments=arguments), {"x": X}, **more)
    assert got is status, why
    return why


def launch_of(plan: Plan) -> Launch:
    (launch,) = plan.launches
    return launch


# --- views, copies, casts -----------------------------------------------------------------------------------


VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "x": lambda x: x,
    "x.view(-1)": lambda x: x.view(-1),
    "x.view(2, 2, 6)": lambda x: x.view(2, 2, 6),
    "x.reshape(3, 8)": lambda x: x.reshape(3, 8),
    "x.flatten()": lambda x: x.flatten(),
    "x.unflatten(1, (2, 3))": lambda x: x.unflatten(1, (2, 3)),
    "x[1:, ::2]": lambda x: x[1:, ::2],
    "x[2]": lambda x: x[2],
    "x[:, -1]": lambda x: x[:, -1],
    "x[None]": lambda x: x[None],
    "x[..., 1:3]": lambda x: x[..., 1:3],
    "x.t()": lambda x: x.t(),
    "x.T": lambda x: x.T,
    "x.mT": lambda x: x.mT,
    "x.permute(1, 0)": lambda x: x.permute(1, 0),
    "x.transpose(0, 1)": lambda x: x.transpose(0, 1),
    "x.swapaxes(0, 1)": lambda x: x.swapaxes(0, 1),
    "x.movedim(0, 1)": lambda x: x.movedim(0, 1),
    "x.unsqueeze(0).squeeze(0)": lambda x: x,
    "x[0].expand(4, 6)": lambda x: x[0].expand(4, 6),
    "x[:1].expand_as(x)": lambda x: x[:1].expand_as(x),
    "torch.broadcast_to(x[0], (3, 6))": lambda x: x[0].expand(3, 6),
    "x.narrow(1, 2, 3)": lambda x: x.narrow(1, 2, 3),
    "x.select(0, 1)": lambda x: x.select(0, 1),
    "x.chunk(2, dim=1)[1]": lambda x: x.chunk(2, dim=1)[1],
    "x.split(3, dim=0)[1]": lambda x: x.split(3, dim=0)[1],
    "x.split([1, 5], dim=1)[1]": lambda x: x.split([1, 5], dim=1)[1],
    "x.unbind(0)[3]": lambda x: x.unbind(0)[3],
    "x.diagonal()": lambda x: x.diagonal(),
    "x.unfold(1, 3, 2)": lambda x: x.unfold(1, 3, 2),
    "x.as_strided((3, 2), (6, 2), 1)": lambda x: x.as_strided((3, 2), (6, 2), 1),
    "torch.as_strided(x, (2,), (1,))": lambda x: x.as_strided((2,), (1,)),
    "x.detach()": lambda x: x,
    "x.data": lambda x: x,
    "x.view(torch.int32)": lambda x: x.view(torch.int32),
    "x.view_as(x)": lambda x: x,
    "x.contiguous()": lambda x: x,
    "x.t().contiguous()": lambda x: x.t(),
    "x.t().reshape(-1)": lambda x: x.t().reshape(-1),
    "x.clone()": lambda x: x,
    "x.t().clone(memory_format=torch.contiguous_format)": lambda x: x.t(),
    "x.half()": lambda x: x.half(),
    "x.to(torch.float16)": lambda x: x.half(),
    "x.to(torch.bfloat16).float()": lambda x: x.bfloat16().float(),
    "x.to(dtype=torch.float64)": lambda x: x.double(),
    "x.type(torch.float16)": lambda x: x.half(),
    "x.to(x.device, torch.float16)": lambda x: x.half(),
    "x.to('cuda')": lambda x: x,
    "x.to(device='cuda:0', non_blocking=True)": lambda x: x,
    "x.cuda()": lambda x: x,
    "x.to(x)": lambda x: x,
    "x.type_as(x.half())": lambda x: x.half(),
    "x.to(torch.int64)": lambda x: x.long(),
    "x.float()": lambda x: x,
    "torch.ravel(x)": lambda x: x.ravel(),
    "torch.squeeze(x[:1])": lambda x: x[0],
    "F.pad(x, (1, 2))": lambda x: torch.nn.functional.pad(x, (1, 2)),
    "F.pad(x, (1, 2, 3, 0), value=-1.5)": lambda x: torch.nn.functional.pad(x, (1, 2, 3, 0), value=-1.5),
    "F.pad(x, (0, 2), mode='constant', value=float('-inf'))": lambda x: torch.nn.functional.pad(
        x, (0, 2), value=float("-inf")
    ),
    "torch.cat([x, x[:1]])": lambda x: torch.cat([x, x[:1]]),
    "torch.cat((x[:, :2], x), dim=-1)": lambda x: torch.cat((x[:, :2], x), dim=-1),
    "torch.concat([x, x], 1)": lambda x: torch.cat([x, x], 1),
    "torch.stack([x, x])": lambda x: torch.stack([x, x]),
    "torch.stack([x[0], x[1]], dim=-1)": lambda x: torch.stack([x[0], x[1]], dim=-1),
    "torch.hstack((x, x))": lambda x: torch.hstack((x, x)),
    "torch.vstack((x, x[0]))": lambda x: torch.vstack((x, x[0])),
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_host_code_does_to_shapes_is_what_the_plan_does_to_values(view: str) -> None:
    expected = VIEWS[view](X)
    (output,) = carried_out(plan_of(copied(view), {"x": X}), {"x": X})
    assert output.dtype == expected.dtype
    assert torch.equal(output, expected)


@pytest.mark.parametrize("view", VIEWS)
def test_inference_mode_changes_nothing_in_what_is_recorded(view: str) -> None:
    source = copied(view)
    within = source.replace("def kernel_function", "@torch.inference_mode()\ndef kernel_function")
    assert plan_of(within, {"x": X}) == plan_of(source, {"x": X})


def test_inference_mode_lets_the_framework_compute_no_more() -> None:
    for compute in ("torch.matmul(x, x.t())", "F.linear(x, x)", "F.pad(x[None], (1, 1), mode='reflect')"):
        got, why = refusal(function("with torch.inference_mode():", f"    y = {compute}", "return y"), {"x": X})
        assert got is Status.REJECTED
        assert "the host code calls aten" in why


def test_views_copy_nothing() -> None:
    plan = plan_of(copied("x.view(2, 2, 6)[:, 1].t()[1:]"), {"x": X})
    assert [type(step) for step in plan.steps] == [Launch]
    assert [buffer.origin for buffer in plan.buffers] == ["input", "scratch"]


def test_an_input_that_is_not_contiguous_is_recorded_as_it_lies() -> None:
    strided = torch.arange(48.0).reshape(4, 12)[:, ::2]
    plan = plan_of(copied("x"), {"x": strided})
    pointer = launch_of(plan).arguments["x_ptr"]
    assert isinstance(pointer, Pointer)
    assert pointer.view.stride == (12, 2)
    assert torch.equal(carried_out(plan, {"x": strided})[0], strided)


ALLOCATIONS = {
    "torch.empty_like(x)": None,
    "torch.empty(x.shape, dtype=x.dtype, device=x.device)": None,
    "torch.empty(4, 6, device='cuda')": None,
    "torch.empty((4, 6), device=torch.device('cuda'))": None,
    "torch.empty((4, 6), device='cuda:0', dtype=torch.float32)": None,
    "x.new_empty(4, 6)": None,
    "x.new_empty((4, 6), dtype=torch.float32)": None,
    "torch.empty_strided((4, 6), (6, 1), device=x.device)": None,
    "torch.zeros_like(x)": 0.0,
    "torch.zeros(4, 6, device=x.device)": 0.0,
    "torch.zeros(x.size(), device=x.device, dtype=x.dtype)": 0.0,
    "x.new_zeros(x.shape)": 0.0,
    "torch.ones_like(x)": 1.0,
    "torch.full((4, 6), -2.5, device=x.device)": -2.5,
    "torch.full((4, 6), fill_value=float('-inf'), device=x.device)": float("-inf"),
    "torch.full_like(x, 3)": 3.0,
    "x.new_full((4, 6), 7.0)": 7.0,
    "torch.empty_like(x).zero_()": 0.0,
    "torch.empty_like(x).fill_(0.125)": 0.125,
    "torch.fill_(torch.empty_like(x), True)": 1.0,
}


@pytest.mark.parametrize("allocation", ALLOCATIONS)
def test_memory_is_allocated_and_filled_as_host_code_says(allocation: str) -> None:
    plan = plan_of(function(f"y = {allocation}", "copy[(1,)](x, x, 1, BLOCK=1)", "return y"), {"x": X})
    (output,) = carried_out(plan, {"x": X}, {"copy": lambda **rest: None})
    value = ALLOCATIONS[allocation]
    if value is None:
        assert output.isnan().all(), "memory that nobody wrote should still hold the poison"
    else:
        assert torch.equal(output, torch.full((4, 6), value))


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        ("y.copy_(x)", X),
        ("y.zero_()", torch.zeros(4, 6)),
        ("y[:, 0] = 0", torch.cat([torch.zeros(4, 1), torch.full((4, 5), 5.0)], 1)),
        ("y[1:3] = x[1:3]", torch.cat([torch.full((1, 6), 5.0), X[1:3], torch.full((1, 6), 5.0)])),
        ("y[:] = x", X),
        ("y[:, 1:] = x[:, :1]", torch.cat([torch.full((4, 1), 5.0), X[:, :1].expand(4, 5)], 1)),
        ("y.copy_(x[0])", X[0].expand(4, 6)),
        ("y[2].fill_(-1)", torch.cat([torch.full((2, 6), 5.0), torch.full((1, 6), -1.0), torch.full((1, 6), 5.0)])),
    ],
)
def test_writes_into_tensors_become_fills_and_copies(write: str, expected: Tensor) -> None:
    source = function("y = torch.full_like(x, 5)", "copy[(1,)](x, x, 1, BLOCK=1)", write, "return y")
    (output,) = carried_out(plan_of(source, {"x": X}), {"x": X}, {"copy": lambda **rest: None})
    assert torch.equal(output, expected)


# --- outputs ------------------------------------------------------------------------------------------------


def test_several_outputs_come_in_their_order() -> None:
    source = function(
        "a, b = torch.empty_like(x), torch.empty_like(x[0])",
        "copy[(1,)](x, a, 1, BLOCK=1)",
        "copy[(1,)](x[2], b, 1, BLOCK=1)",
        "return b, a",
    )
    plan = plan_of(source, {"x": X})
    assert not plan.single
    outputs = carried_out(plan, {"x": X})
    assert torch.equal(outputs[0], X[2])
    assert torch.equal(outputs[1], X)


def test_a_list_of_outputs_is_a_tuple_of_them() -> None:
    plan = plan_of(function("y = torch.empty_like(x)", "copy[(1,)](x, y, 1, BLOCK=1)", "return [y]"), {"x": X})
    assert len(plan.outputs) == 1
    assert not plan.single


def test_an_output_may_be_a_view() -> None:
    source = function("y = torch.empty(6, 4, device=x.device)", "copy[(1,)](x.t(), y, 1, BLOCK=1)", "return y.t()")
    assert torch.equal(carried_out(plan_of(source, {"x": X}), {"x": X})[0], X)


# --- launches -----------------------------------------------------------------------------------------------


def kernel_head(signature: str, decorators: str = "") -> str:
    return HEAD + f"{decorators}@triton.jit\ndef k({signature}):\n    pass\n\n"


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ("(4,)", (4,)),
        ("4", (4,)),
        ("[4]", (4,)),
        ("(4, 2)", (4, 2)),
        ("(4, 2, 3)", (4, 2, 3)),
        ("x.shape", (4, 6)),
        ("(triton.cdiv(x.numel(), 5),)", (5,)),
        ("lambda meta: (triton.cdiv(meta['n'], meta['BLOCK']),)", (2,)),
        ("lambda meta: (len(meta), 1)", (4, 1)),
        ("lambda args: [args['n'] // 8]", (3,)),
    ],
)
def test_a_grid_is_a_number_a_tuple_or_a_function_of_the_arguments(grid: str, expected: tuple[int, ...]) -> None:
    source = function(f"grid = {grid}", "copy[grid](x, x, x.numel(), BLOCK=16, num_warps=8)", "return x")
    assert launch_of(plan_of(source, {"x": X})).grid == expected


def test_arguments_are_recorded_by_name_with_their_kinds() -> None:
    source = function(
        "k[(1,)](x, x.shape[0], 0.5, None, True, 'relu', tl.float16, helper, BLOCK=64, num_warps=2, num_stages=4)",
        "return x",
        head=kernel_head("x, n, f, nothing, flag, name: tl.constexpr, dtype: tl.constexpr, g: tl.constexpr, "
                         "BLOCK: tl.constexpr, EPS: tl.constexpr = 1e-5")
        + "@triton.jit\ndef helper(a):\n    return a\n\n",
    )  # fmt: skip
    launch = launch_of(plan_of(source, {"x": X}))
    values = {name: (v.kind, v.text) for name, v in launch.arguments.items() if isinstance(v, Value)}
    assert values == {
        "n": ("int", "4"), "f": ("float", "0.5"), "nothing": ("none", ""), "flag": ("bool", "True"),
        "name": ("str", "relu"), "dtype": ("dtype", "fp16"), "g": ("kernel", "helper"), "BLOCK": ("int", "64"),
        "EPS": ("float", "1e-05"),
    }  # fmt: skip
    assert launch.options == {"num_warps": 2, "num_stages": 4}


def test_a_constexpr_passed_as_an_object_is_its_value() -> None:
    source = function("copy[(1,)](x, x, 1, BLOCK=tl.constexpr(32))", "return x")
    assert launch_of(plan_of(source, {"x": X})).arguments["BLOCK"] == Value(kind="int", text="32")


def test_tuples_of_arguments_are_recorded_item_by_item() -> None:
    source = function("k[(1,)]((x, (3, x[1:])), BLOCK=4)", "return x", head=kernel_head("t, BLOCK: tl.constexpr"))
    argument = launch_of(plan_of(source, {"x": X})).arguments["t"]
    assert isinstance(argument, Tuple)
    inner = argument.items[1]
    assert isinstance(inner, Tuple)
    assert inner.items[0] == Value(kind="int", text="3")
    assert isinstance(inner.items[1], Pointer)
    assert inner.items[1].view.offset == 6


@pytest.mark.parametrize("option", ["num_warps", "num_stages"])
def test_an_option_that_the_kernel_takes_too_is_both(option: str) -> None:
    head = kernel_head(f"x, {option}: tl.constexpr, BLOCK: tl.constexpr")
    keyword = launch_of(plan_of(function(f"k[(1,)](x, {option}=4, BLOCK=2)", "return x", head=head), {"x": X}))
    assert keyword.arguments[option] == Value(kind="int", text="4")
    assert keyword.options == {option: 4}
    positional = launch_of(plan_of(function("k[(1,)](x, 4, 2)", "return x", head=head), {"x": X}))
    assert positional.arguments[option] == Value(kind="int", text="4")
    assert positional.options == {}


def test_several_kernels_and_scratch_make_a_two_stage_reduction() -> None:
    head = HEAD + "@triton.jit\ndef partial(x, p, n):\n    pass\n\n@triton.jit\ndef final(p, y):\n    pass\n\n"
    source = function(
        "partials = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)",
        "y = torch.empty((), device=x.device, dtype=x.dtype)",
        "partial[(x.shape[0],)](x, partials, x.shape[1])",
        "final[(1,)](partials, y)",
        "return y",
        head=head,
    )
    plan = plan_of(source, {"x": X})
    assert [launch.kernel for launch in plan.launches] == ["partial", "final"]

    def partial(x: Tensor, p: Tensor, n: int) -> None:
        p.copy_(x.sum(1))

    def final(p: Tensor, y: Tensor) -> None:
        y.copy_(p.sum())

    assert carried_out(plan, {"x": X}, {"partial": partial, "final": final})[0] == X.sum()


def test_split_k_adds_into_zeros() -> None:
    source = function(
        "y = torch.zeros((4, 4), device=x.device, dtype=torch.float32)",
        "k[(1, 1, 3)](x, y, SPLIT=3)",
        "return y.to(torch.float16)",
        head=kernel_head("x, y, SPLIT: tl.constexpr"),
    )
    plan = plan_of(source, {"x": X})
    assert [type(step) for step in plan.steps] == [Fill, Launch, Copy]

    def k(x: Tensor, y: Tensor, SPLIT: int) -> None:
        for part in range(SPLIT):
            y += x[:, 2 * part : 2 * part + 2] @ x[:, 2 * part : 2 * part + 2].t()

    assert torch.equal(carried_out(plan, {"x": X}, {"k": k})[0], (X @ X.t()).half())


TUNED = """@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64}, num_warps=2),
        triton.Config({"BLOCK": 128}, num_warps=8, num_stages=4),
        triton.Config({"BLOCK": 256}, pre_hook=lambda args: args["y"].zero_()),
    ],
    key=["n"],
)
"""


@pytest.mark.parametrize(
    ("choice", "block", "options"),
    [
        (None, "64", {"num_warps": 2, "num_stages": 3, "num_ctas": 1}),
        (0, "64", {"num_warps": 2, "num_stages": 3, "num_ctas": 1}),
        (1, "128", {"num_warps": 8, "num_stages": 4, "num_ctas": 1}),
        (2, "256", {"num_warps": 4, "num_stages": 3, "num_ctas": 1}),
    ],
)
def test_a_config_is_chosen_by_its_index(choice: int | None, block: str, options: dict[str, int]) -> None:
    source = function(
        "y = torch.empty_like(x)",
        "k[lambda meta: (triton.cdiv(240, meta['BLOCK']) + len(meta),)](x, y, 24)",
        "return y",
        head=kernel_head("x, y, n, BLOCK: tl.constexpr", TUNED),
    )
    found = recorded(source, {"x": X}, autotune={} if choice is None else {"k": choice})
    assert found.autotune == {"k": 3}
    (recording,) = found.recordings
    assert recording.plan is not None, recording.reason
    launch = launch_of(recording.plan)
    assert launch.arguments["BLOCK"] == Value(kind="int", text=block)
    assert launch.options == options
    assert launch.grid == (-(-240 // int(block)) + 4,), "options are no arguments of a grid"
    assert len(recording.plan.steps) == (2 if choice == 2 else 1), "only the third config has a hook that fills"


def test_a_config_that_does_not_exist_is_refused() -> None:
    source = function("k[(1,)](x, x, 24)", "return x", head=kernel_head("x, y, n, BLOCK: tl.constexpr", TUNED))
    status, why = refusal(source, {"x": X}, autotune={"k": 3})
    assert status is Status.REJECTED
    assert "autotune:k = 3" in why
    assert "3 configs" in why


def test_heuristics_are_computed_from_the_arguments() -> None:
    head = kernel_head(
        "x, n, EVEN: tl.constexpr, BLOCK: tl.constexpr",
        "@triton.heuristics({'EVEN': lambda a: a['n'] % a['BLOCK'] == 0})\n",
    )
    for size, even in ((24, "True"), (23, "False")):
        launch = launch_of(plan_of(function(f"k[(1,)](x, {size}, BLOCK=8)", "return x", head=head), {"x": X}))
        assert launch.arguments["EVEN"] == Value(kind="bool", text=even)


def test_autotune_over_heuristics_works_too() -> None:
    head = kernel_head("x, y, n, EVEN: tl.constexpr, BLOCK: tl.constexpr",
                       TUNED + "@triton.heuristics({'EVEN': lambda a: a['n'] % a['BLOCK'] == 0})\n")  # fmt: skip
    found = recorded(function("k[(1,)](x, x, 128)", "return x", head=head), {"x": X}, autotune={"k": 1})
    assert found.autotune == {"k": 3}
    (recording,) = found.recordings
    assert recording.plan is not None, recording.reason
    assert launch_of(recording.plan).arguments["EVEN"] == Value(kind="bool", text="True")


def test_a_descriptor_made_on_the_host_is_recorded_with_its_block() -> None:
    source = function(
        "from triton.tools.tensor_descriptor import TensorDescriptor",
        "d = TensorDescriptor.from_tensor(x, [2, 4])",
        "e = TensorDescriptor(x, shape=[4, 4], strides=[8, 1], block_shape=[2, 2])",
        "k[(1,)](d, e)",
        "return x",
        head=kernel_head("d, e"),
    )
    arguments = launch_of(plan_of(source, {"x": torch.empty(4, 8)})).arguments
    whole, part = arguments["d"], arguments["e"]
    assert isinstance(whole, Descriptor)
    assert isinstance(part, Descriptor)
    assert (whole.view.shape, whole.block_shape) == ((4, 8), (2, 4))
    assert (part.view.shape, part.view.stride, part.block_shape) == ((4, 4), (8, 1), (2, 2))


def test_an_assertion_of_a_descriptor_refuses_the_size() -> None:
    lines = ("k[(1,)](TensorDescriptor.from_tensor(x, [2, 4]))", "return x")
    head = kernel_head("d") + "from triton.tools.tensor_descriptor import TensorDescriptor\n"
    for line, is_refused in ((lines[0], True), ("k[(1,)](x.reshape(5))", False)):
        (found,) = recorded(function(line, lines[1], head=head), {"x": torch.empty(4, 7)}).recordings
        assert found.plan is None
        assert found.refused is is_refused, found.reason


def test_an_allocator_for_descriptors_made_in_kernels_may_be_set() -> None:
    source = function(
        "def alloc(size, alignment, stream):",
        "    return torch.empty(size, device='cuda', dtype=torch.int8)",
        "triton.set_allocator(alloc)",
        "copy[(1,)](x, x, 1, BLOCK=1)",
        "return x",
    )
    assert launch_of(plan_of(source, {"x": X})).kernel == "copy"


def test_the_device_answers_for_the_target() -> None:
    source = function(
        "with torch.cuda.device(x.device):",
        "    p = torch.cuda.get_device_properties(x.device)",
        "    sms = p.multi_processor_count",
        "    same = triton.runtime.driver.active.utils.get_device_properties(0)['multiprocessor_count']",
        "    assert sms == same and x.is_cuda and x.device.type == 'cuda' and x.get_device() == 0",
        "    assert torch.cuda.get_device_capability() == (9, 0) and not x.is_cpu",
        "    copy[(min(sms, 1000),)](x, x, p.L2_cache_size, BLOCK=1)",
        "return x",
    )
    assert launch_of(plan_of(source, {"x": X})).grid == (132,)


def test_the_same_kernel_under_two_names_is_one_kernel() -> None:
    source = function("also[(1,)](x, x, 1, BLOCK=1)", "return x", head=HEAD + "also = copy\n")
    assert launch_of(plan_of(source, {"x": X})).kernel == "copy"


def test_a_launch_with_no_blocks_is_recorded() -> None:
    plan = plan_of(function("copy[(0,)](x, x, 0, BLOCK=1)", "return x"), {"x": X})
    assert launch_of(plan).grid == (0,)


def test_what_is_recorded_is_sound() -> None:
    plan = plan_of(copied("torch.cat([F.pad(x, (1, 1)), x.new_zeros(2, 8)])[1:].t()"), {"x": X})
    parameters = {"x_ptr": False, "y_ptr": False, "n": False, "BLOCK": True}
    assert faults(plan, Expected(kernels={"copy": parameters}, given={("input", "x"): X.nbytes})) == []


# --- modules and arguments ----------------------------------------------------------------------------------


def module(*forward: str, init: tuple[str, ...] = (), constructor: str = "", arguments: str = "x") -> str:
    return (
        HEAD
        + f"class ModelNew(nn.Module):\n    def __init__(self{constructor}):\n        super().__init__()\n"
        + "".join(f"        {line}\n" for line in init)
        + f"    def forward(self, {arguments}):\n"
        + "".join(f"        {line}\n" for line in forward)
    )


USE = ("y = torch.empty_like(self.{0})", "copy[(1,)](self.{0}, y, 1, BLOCK=1)", "return y")


def using(name: str) -> tuple[str, ...]:
    return tuple(line.format(name) for line in USE)


@pytest.mark.parametrize(
    ("init", "name"),
    [
        ("self.weight = nn.Parameter(torch.randn(6, 6))", "weight"),
        ("self.weight = nn.Parameter(torch.empty(6, 6, device='cuda'))", "weight"),
        ("self.register_buffer('weight', torch.zeros(6, 6))", "weight"),
        ("self.register_parameter('weight', nn.Parameter(torch.ones(6, 6)))", "weight"),
    ],
)
def test_parameters_and_buffers_are_the_references_by_name(init: str, name: str) -> None:
    weight = torch.randn(6, 6)
    plan = plan_of(module(*using(name), init=(init,)), {"x": X}, parameters={"weight": weight})
    assert torch.equal(carried_out(plan, {"x": X, "weight": weight})[0], weight)


@pytest.mark.parametrize(
    ("layer", "shapes"),
    [
        ("nn.Linear(6, 5)", {"weight": (5, 6), "bias": (5,)}),
        ("nn.Linear(6, 5).cuda()", {"weight": (5, 6), "bias": (5,)}),
        ("nn.Conv2d(3, 8, 3)", {"weight": (8, 3, 3, 3), "bias": (8,)}),
        ("nn.ConvTranspose3d(2, 4, 3)", {"weight": (2, 4, 3, 3, 3), "bias": (4,)}),
        ("nn.LayerNorm(6)", {"weight": (6,), "bias": (6,)}),
        ("nn.BatchNorm2d(3)", {"weight": (3,), "bias": (3,), "running_mean": (3,), "running_var": (3,)}),
    ],
)
def test_layers_serve_as_containers_of_parameters(layer: str, shapes: dict[str, tuple[int, ...]]) -> None:
    parameters = {f"layer.{name}": torch.randn(shape) for name, shape in shapes.items()}
    for name in shapes:
        source = module(*using(f"layer.{name}"), init=(f"self.layer = {layer}",))
        plan = plan_of(source, {"x": X}, parameters=parameters)
        expected = parameters[f"layer.{name}"]
        assert torch.equal(carried_out(plan, {"x": X, **parameters})[0], expected)


@pytest.mark.parametrize(
    ("own", "meant"),
    [
        ({"weight": (5, 6), "bias": (5,)}, {"weight": "fc.weight", "bias": "fc.bias"}),
        ({"other.weight": (5, 6), "fc_bias": (5,)}, {"other.weight": "fc.weight", "fc_bias": "fc.bias"}),
        ({"fc.weight": (5, 6), "bias": (5,)}, {"fc.weight": "fc.weight", "bias": "fc.bias"}),
        ({"weight": (6, 5), "scale": (5,)}, {}),
        ({"a.weight": (5, 6), "b.weight": (5, 6)}, {}),
        ({"weight": (5, 6), "b.weight": (6, 6)}, {"weight": "fc.weight"}),
    ],
)
def test_a_parameter_may_have_another_name_that_means_the_same(
    own: dict[str, tuple[int, ...]], meant: dict[str, str]
) -> None:
    assert matched(own, {"fc.weight": (5, 6), "fc.bias": (5,)}) == meant


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("fc.weight", "fc_weight"),
        ("0.weight", "_0_weight"),
        ("layers.0.weight", "layers_0_weight"),
        ("lambda", "_lambda"),
    ],
)
def test_a_parameter_is_an_argument_under_a_name_that_a_function_can_have(name: str, argument: str) -> None:
    assert as_argument(name) == argument
    weight = torch.randn(6, 6)
    lines = [line.replace("self.", "") for line in using(argument)]
    plan = plan_of(function(*lines, arguments=f"x, {argument}"), {"x": X}, parameters={name: weight})
    assert torch.equal(carried_out(plan, {"x": X, name: weight})[0], weight)


def test_a_parameter_of_a_layer_may_be_one_of_the_module() -> None:
    weight = torch.randn(5, 6)
    made = ("self.weight = nn.Parameter(torch.zeros(5, 6))", "self.again = self.weight")
    for name in ("weight", "again"):
        plan = plan_of(module(*using(name), init=made), {"x": X}, parameters={"layer.weight": weight})
        assert torch.equal(carried_out(plan, {"x": X, "layer.weight": weight})[0], weight)
    status, why = refusal(module(*using("weight"), init=made), {"x": X}, parameters={"layer.weight": weight.T})
    assert status is Status.REJECTED
    assert "neither an input nor a parameter or buffer of the reference (layer.weight)" in why


def test_a_parameter_under_two_names_is_one() -> None:
    weight = torch.randn(5, 6)
    source = module(*using("w"), init=("self.layer = nn.Linear(6, 5, bias=False)", "self.w = self.layer.weight"))
    plan = plan_of(source, {"x": X}, parameters={"layer.weight": weight})
    assert torch.equal(carried_out(plan, {"x": X, "layer.weight": weight})[0], weight)


def test_constructor_arguments_reach_the_module() -> None:
    source = module("copy[(self.n,)](x, x, 1, BLOCK=1)", "return x", constructor=", n, eps=1e-5", init=("self.n = n",))
    assert launch_of(plan_of(source, {"x": X}, init={"n": 9})).grid == (9,)


def test_a_tensor_among_constructor_arguments_is_one_without_values() -> None:
    table = torch.ones(6)
    keeps = ("self.register_buffer('table', table)", "self.n = table.shape[0]")
    source = module(*using("table"), init=keeps, constructor=", n, table")
    plan = plan_of(source, {"x": X}, init={"n": 9, "table": table}, parameters={"table": table})
    assert {buffer.name for buffer in plan.buffers if buffer.origin == "parameter"} == {"table"}
    source = module(*using("table"), init=("self.table = table",), constructor=", n, table")
    status, reason = refusal(source, {"x": X}, init={"n": 9, "table": table})
    assert status is Status.REJECTED
    assert "neither an input nor a parameter or buffer of the reference" in reason


def test_scalars_and_none_are_passed_as_they_are() -> None:
    source = function("assert mask is None", "copy[(n,)](x, x, eps, BLOCK=1)", "return x", arguments="x, n, mask, eps")
    launch = launch_of(plan_of(source, {"x": X, "n": 3, "mask": None, "eps": 0.5}))
    assert launch.grid == (3,)
    assert launch.arguments["n"] == Value(kind="float", text="0.5")


PARAMETERS = {"conv.weight": torch.randn(2, 2), "conv.bias": torch.randn(3), "norm.weight": torch.randn(4)}


@pytest.mark.parametrize(
    ("arguments", "used", "expected"),
    [
        ("x", "x", X),
        ("input", "input", X),
        ("x, b", "b", BIAS),
        ("b, x", "b", BIAS),
        ("anything, other", "other", BIAS),
        ("x, conv_weight", "conv_weight", PARAMETERS["conv.weight"]),
        ("x, bias", "bias", PARAMETERS["conv.bias"]),
        ("bias, x", "bias", PARAMETERS["conv.bias"]),
        ("norm_weight, y, b", "norm_weight", PARAMETERS["norm.weight"]),
        ("x, b, conv_bias, BLOCK=64", "conv_bias", PARAMETERS["conv.bias"]),
        ("x, *, b", "b", BIAS),
        ("x, *, conv_bias", "conv_bias", PARAMETERS["conv.bias"]),
        ("*args", "args[1]", BIAS),
        ("x, *rest", "rest[0]", BIAS),
        ("x, b=None", "b", BIAS),
        ("x, b, **options", "b", BIAS),
    ],
)
def test_the_arguments_of_a_function_are_bound_by_name(arguments: str, used: str, expected: Tensor) -> None:
    source = function(f"v = {used}", "y = torch.empty_like(v)", "copy[(1,)](v, y, 1, BLOCK=1)", "return y",
                      arguments=arguments)  # fmt: skip
    plan = plan_of(source, {"x": X, "b": BIAS}, parameters=PARAMETERS)
    assert torch.equal(carried_out(plan, {"x": X, "b": BIAS, **PARAMETERS})[0], expected)


def test_constructor_arguments_are_bound_by_name_too() -> None:
    source = function("copy[(stride,)](x, x, eps, BLOCK=1)", "return x", arguments="x, stride, eps=2")
    launch = launch_of(plan_of(source, {"x": X}, init={"kernel": 3, "stride": 5, "eps": 7}))
    assert launch.grid == (5,)
    assert launch.arguments["n"] == Value(kind="int", text="7")


def test_a_default_stays_where_nothing_has_the_name() -> None:
    source = function("copy[(BLOCK,)](x, x, 1, BLOCK=BLOCK)", "return x", arguments="x, BLOCK=32, *, eps=1e-5")
    assert launch_of(plan_of(source, {"x": X})).grid == (32,)


def test_an_argument_that_nothing_fits_is_refused_with_what_there_is() -> None:
    why = reason("return x", arguments="x, scale, shift", parameters={"w": BIAS})
    assert "'scale'" in why
    assert "x" in why
    assert "w" in why


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "compute",
    [
        "x + 1", "x * 2.0", "-x", "x @ x.t()", "torch.matmul(x, x.t())", "F.relu(x)", "torch.relu(x)", "x.mean()",
        "x.sum(dim=1)", "torch.softmax(x, dim=-1)", "x.softmax(-1)", "F.layer_norm(x, (6,))", "F.linear(x, x)",
        "torch.exp(x)", "x.clamp(min=0)", "x.max(dim=1).values", "x.argsort()", "x[x > 0]", "x[[1, 0]]",
        "torch.arange(4, device=x.device)", "torch.randn(4, device=x.device)", "torch.where(x > 0, x, 0)",
        "x.pow(2)", "x.sqrt_()", "x.add_(1)", "torch.einsum('ij,kj->ik', x, x)", "F.conv1d(x[None], x[None])",
        "x.cumsum(0)", "x.norm()", "nn.Linear(6, 6).cuda()(x)", "x.masked_fill(x > 0, 0)", "x.flip(0)", "x.roll(1)",
        "x.repeat(2, 1)", "torch.tril(x)", "F.pad(x[None], (1, 1), mode='reflect')", "x.index_select(0, x.long()[0])",
        "torch.special.erf(x)", "x.bool()", "torch.ops.aten.relu(x)",
    ],
)  # fmt: skip
def test_the_framework_computes_nothing(compute: str) -> None:
    source = function("copy[(1,)](x, x, 1, BLOCK=1)", f"y = {compute}", "return y")
    if compute == "x.bool()":
        assert plan_of(source, {"x": X}).outputs[0].dtype == "bool"  # a cast, which a plan may hold
        return
    status, why = refusal(source, {"x": X})
    assert status is Status.REJECTED, why
    assert "line 16: " in why or "line 15: " in why, why


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("n = x.sum().item()", "line 15"),
        ("n = x[0, 0].item()", "item()"),
        ("n = float(x[0, 0])", "reads a value"),
        ("n = int(x[0, 0])", "reads a value"),
        ("n = bool(x[0, 0])", "reads a value"),
        ("if x[0, 0] > 0: pass", "line 15"),
        ("if x.sum() > 0: pass", "line 15"),
        ("if torch.equal(x, x): pass", "line 15"),
        ("n = x.tolist()", "tolist()"),
        ("n = x.numpy()", "numpy()"),
        ("n = x.cpu()", "cpu()"),
        ("n = x.to('cpu')", "CPU"),
        ("n = x.to(device=torch.device('cpu'))", "CPU"),
        ("n = [v for v in x[0]][0] + 1", "line 15"),
        ("n = torch.empty(4)", "device="),
        ("n = torch.zeros(4, 4)", "device="),
        ("n = torch.empty(4, device='cpu')", "CPU"),
        ("n = f'{x}'", "values"),
    ],
)
def test_host_code_sees_shapes_and_no_values(line: str, word: str) -> None:
    why = reason(line, "copy[(1,)](x, x, 1, BLOCK=1)", "return x")
    assert word in why, why


@pytest.mark.parametrize(
    "grid",
    ["()", "(1, 1, 1, 1)", "(1.0,)", "('1',)", "(-1,)", "(2**31,)", "None", "(x,)", "'abc'", "(1, 65536)",
     "(1, 1, 65536)", "lambda meta: None", "x.shape[0] / 2", "(True + 0.5,)"],
)  # fmt: skip
def test_a_grid_that_no_device_takes_is_refused(grid: str) -> None:
    assert "grid of copy" in reason(f"copy[{grid}](x, x, 1, BLOCK=1)", "return x")


@pytest.mark.parametrize("argument", ["object()", "torch.float16", "[x, object()]", "lambda: 1", "{}", "3j", "torch"])
def test_an_argument_that_no_kernel_takes_is_refused(argument: str) -> None:
    assert "copy's argument n" in reason(f"copy[(1,)](x, x, {argument}, BLOCK=1)", "return x")


@pytest.mark.parametrize(
    "arguments", ["x, x", "x, x, 1, 2, 3", "x, x, 1, BLOCK=1, COLUMNS=3", "x, x, 1, BLOCK=1, debug=True"]
)
def test_a_launch_with_other_arguments_than_the_kernel_has_fails(arguments: str) -> None:
    why = reason(f"copy[(1,)]({arguments})", "return x", status=Status.RUNTIME_ERROR)
    assert why.startswith("line 15: TypeError")


def test_an_endless_number_of_launches_is_refused() -> None:
    assert "more than 4096" in reason("while True:", "    copy[(1,)](x, x, 1, BLOCK=1)")


@pytest.mark.parametrize("result", ["None", "3", "[3]", "x.shape", "{'y': x}", "(x, None)", "(x, (x, x))", "'x'"])
def test_a_call_returns_tensors(result: str) -> None:
    why = reason("copy[(1,)](x, x, 1, BLOCK=1)", f"return {result}")
    assert "a tensor or a tuple of tensors was expected" in why


def test_a_duck_with_a_tensors_methods_is_no_tensor() -> None:
    head = (
        HEAD
        + "class Lazy:\n    def __init__(self, x):\n        self.x, self.shape, self.dtype = x, x.shape, x.dtype\n\n"
    )
    status, why = refusal(function("copy[(1,)](x, x, 1, BLOCK=1)", "return Lazy(x)", head=head), {"x": X})
    assert status is Status.REJECTED
    assert "Lazy" in why


@pytest.mark.parametrize(
    "made",
    [
        "self.w = self.layer.weight.t().contiguous()",
        "self.w = self.layer.weight.detach().clone()",
        "self.w = torch.ones(6, 6, device='cuda')",
        "self.w = nn.Parameter(torch.ones(6, 6))",
    ],
)
def test_what_is_computed_at_construction_cannot_be_used(made: str) -> None:
    source = module(*using("w"), init=("self.layer = nn.Linear(6, 6)", made))
    status, why = refusal(source, {"x": X}, parameters={"layer.weight": torch.empty(6, 6), "layer.bias": BIAS})
    assert status is Status.REJECTED
    assert "neither an input nor a parameter" in why


SPARE = ("y = torch.empty_like(x)", "copy[(1,)](x, self.spare, 1, BLOCK=1)", "copy[(1,)](self.spare, y, 1, BLOCK=1)")


@pytest.mark.parametrize(
    "made",
    [
        "self.spare = torch.empty(8, 6, device='cuda')",
        "self.spare = torch.zeros((8, 6), device=torch.device('cuda'))",
        "self.spare = torch.empty(8, 6).cuda()",
        "self.spare = torch.empty(8, 6, device='cuda').zero_().view(6, 8)[1:]",
        "self.register_buffer('spare', torch.empty(8, 6, device='cuda'), persistent=False)",
    ],
)
def test_memory_that_construction_only_allocates_is_scratch_of_every_call(made: str) -> None:
    plan = plan_of(module(*SPARE, "return y", init=(made,)), {"x": X})
    assert [(one.origin, one.name, one.nbytes) for one in plan.buffers] == [
        ("input", "x", X.nbytes), ("scratch", "", X.nbytes), ("scratch", KEPT, 8 * 6 * 4),
    ]  # fmt: skip
    written, read = plan.launches[0].arguments["y_ptr"], plan.launches[1].arguments["x_ptr"]
    assert written == read
    assert isinstance(written, Pointer)
    assert written.view.buffer == 2


@pytest.mark.parametrize(
    ("made", "back", "word"),
    [
        ("torch.empty(8, 6)", "y", 'write device="cuda"'),
        ("torch.empty(4, 6, device='cuda')", "self.spare", "the next call overwrites it"),
        ("torch.empty(4, 6, device='cuda')", "self.spare.view(-1)[:24].view(4, 6)", "the next call overwrites it"),
        ("torch.empty(4, 6, device='cuda').fill_(1)", "y", "neither an input nor a parameter"),
        ("torch.zeros(4, 6, device='cuda').uniform_()", "y", "neither an input nor a parameter"),
        ("torch.full((4, 6), 0.5, device='cuda')", "y", "neither an input nor a parameter"),
        ("nn.Parameter(torch.zeros(4, 6, device='cuda'))", "y", "neither an input nor a parameter"),
    ],
)
def test_memory_of_construction_that_has_values_or_is_returned_is_refused(made: str, back: str, word: str) -> None:
    status, why = refusal(module(*SPARE, f"return {back}", init=(f"self.spare = {made}",)), {"x": X})
    assert status is Status.REJECTED
    assert word in why


def test_a_parameter_of_another_shape_is_refused_with_both() -> None:
    source = module(*using("weight"), init=("self.weight = nn.Parameter(torch.ones(3, 2))",))
    status, why = refusal(source, {"x": X}, parameters={"weight": torch.ones(6)})
    assert status is Status.REJECTED
    assert "(3, 2)" in why
    assert "(6,)" in why


@pytest.mark.parametrize(
    "lines",
    [
        ("@triton.jit", "def inner(x):", "    pass", "inner[(1,)](x)", "return x"),
        ("tl.sum[(1,)](x)", "return x"),
        ("triton.jit(copy.fn)[(1,)](x, x, 1, BLOCK=1)", "return x"),
    ],
)
def test_only_kernels_of_the_module_are_launched(lines: tuple[str, ...]) -> None:
    assert "not a module-level @triton.jit function" in reason(*lines)


def test_a_namesake_of_a_kernel_is_not_launched() -> None:
    other = "class Others:\n    @triton.jit\n    def copy(x):\n        pass\n\n\nalso = Others.copy\n"
    status, why = refusal(function("also[(1,)](x)", "return x", head=HEAD + other), {"x": X})
    assert status is Status.REJECTED
    assert "not a module-level @triton.jit function" in why


@pytest.mark.parametrize("use", ["if done: pass", "n = done.asm", "n = done == 1", "n = str(done)", "n = len(done)"])
def test_what_a_launch_returns_is_not_read(use: str) -> None:
    assert "reads what a launch returns" in reason("done = copy[(1,)](x, x, 1, BLOCK=1)", use, "return x")


def test_a_launch_returns_something() -> None:
    source = function(
        "done = copy[(1,)](x, x, 1, BLOCK=1)", "copy[(2 + (done is None),)](x, x, 1, BLOCK=1)", "return x"
    )
    assert [launch.grid for launch in plan_of(source, {"x": X}).launches] == [(1,), (2,)]


@pytest.mark.parametrize("line", [
    "n = hasattr(p, 'uuid')", "n = p.total_memory", "n = p == p", "n = str(p)",
])  # fmt: skip
def test_of_the_device_host_code_learns_what_is_the_same_everywhere(line: str) -> None:
    why = reason("p = torch.cuda.get_device_properties(0)", line, "copy[(1,)](x, x, 1, BLOCK=1)", "return x")
    assert "of the device" in why


def test_functions_about_the_device_have_their_names() -> None:
    names = ("current_device", "device_count", "get_device_name", "device")
    line = f"assert [getattr(torch.cuda, name).__name__ for name in {names}] == list({names})"
    assert plan_of(function(line, "copy[(1,)](x, x, 1, BLOCK=1)", "return x"), {"x": X})


def test_a_tensor_without_elements_may_be_anywhere_as_the_argument_of_a_launch() -> None:
    launched = ("e = torch.empty([0], device='cpu')", "y = torch.empty_like(x)", "copy[(1,)](e, y, 0, BLOCK=64)")
    assert launch_of(plan_of(function(*launched, "return y"), {"x": X}))
    for use in ("e.device", "e.is_cuda", "e.new_empty(3)", "e.cuda()", "torch.empty_like(e)", "e.T", "e.get_device()",
                "e.type()", "torch.nn.functional.pad(e, (0, 3))", "e.to(x.device)", "e + 1", "str(e)",
                "torch.stack([e])", "torch.nn.Parameter(e).device", "torch.add(input=e, other=1)"):  # fmt: skip
        assert "on the CPU" in reason(*launched, f"z = {use}", "return y"), use


def test_a_tensor_without_elements_has_no_address() -> None:
    source = function("y = torch.empty_like(x)", "n = (x[:0].data_ptr() == y[2:2].data_ptr()) + 1",
                      "copy[(n,)](x, y, 1, BLOCK=1)", "return y")  # fmt: skip
    assert launch_of(plan_of(source, {"x": X})).grid == (2,)


@pytest.mark.parametrize("view", ["z.conj()", "z.conj().imag"])
def test_a_view_that_negates_is_refused(view: str) -> None:
    why = reason("z = torch.view_as_complex(x.view(4, 3, 2))", "copy[(1,)](x, x, 1, BLOCK=1)", f"return {view}.clone()")
    assert "negates what it reads" in why


def test_a_cast_to_the_same_dtype_copies_where_a_copy_is_asked_for() -> None:
    source = function("y = x.to(torch.float32, False, True)", "z = x.to(torch.float32, False, False)",
                      "copy[(1,)](z, y, 1, BLOCK=1)", "return y")  # fmt: skip
    plan = plan_of(source, {"x": X})
    assert [type(step) for step in plan.steps] == [Copy, Launch]


@pytest.mark.parametrize("kind", ["int", "float", "str"])
def test_an_argument_is_no_number_that_shows_another(kind: str) -> None:
    other = f"class {kind}({kind}):\n    def __repr__(self):\n        return '1'\n\n\n"
    status, why = refusal(function(f"copy[(1,)](x, x, {kind}(2), BLOCK=1)", "return x", head=HEAD + other), {"x": X})
    assert status is Status.REJECTED
    assert f"argument n is a {kind}" in why


@pytest.mark.parametrize(
    "lines",
    [
        ("seen.append(torch.empty_like(x)) if not seen else None", "y = seen[0]", "copy[(1,)](x, y, 1, BLOCK=1)",
         "return y"),
        ("if not seen: copy[(1,)](x, x, 1, BLOCK=1)", "seen.append(1)", "y = torch.empty_like(x)",
         "copy[(1,)](x, y, 1, BLOCK=1)", "return y"),
        ("seen.append(1)", "copy[(len(seen),)](x, x, 1, BLOCK=1)", "return x"),
        ("seen.append(1)", "copy[(1,)](x, x, 1, BLOCK=len(seen))", "return x"),
    ],
)  # fmt: skip
def test_a_second_call_does_the_same_as_the_first(lines: tuple[str, ...]) -> None:
    status, why = refusal(function(*lines, head=HEAD + "seen = []\n"), {"x": X})
    assert status is Status.REJECTED
    assert "second call" in why or "made outside the call" in why


def test_a_kernel_that_is_only_compiled_is_no_launch() -> None:
    assert "compiled code" in reason("copy.warmup(x, x, 1, BLOCK=1, grid=(1,))", "return x")


def test_a_module_keeps_nothing_from_call_to_call() -> None:
    source = module(
        "if self.out is None:",
        "    self.out = torch.empty_like(x)",
        "    copy[(1,)](x, self.out, 1, BLOCK=1)",
        "return self.out",
        init=("self.out = None",),
    )
    status, why = refusal(source, {"x": X})
    assert status is Status.REJECTED
    assert "second call" in why or "made outside the call" in why


@pytest.mark.parametrize(
    "line",
    [
        "torch.cuda.Stream()", "torch.cuda.synchronize()", "torch.cuda.CUDAGraph()", "torch.cuda.current_stream()",
        "torch.cuda.Event()", "raise SystemExit(0)", "raise KeyboardInterrupt", "raise BaseException('x')",
        "exit(3)", "assert False, 'never'", "x.undefined", "undefined", "1 / 0", "raise ValueError('odd')",
        "kernel_function(x)",
    ],
)  # fmt: skip
def test_whatever_host_code_raises_is_a_result_with_its_line(line: str) -> None:
    if "torch.cuda" in line and torch.cuda.is_available():
        pytest.skip("a recorder finds no GPU, the process of this test does")
    status, why = refusal(function(line, "copy[(1,)](x, x, 1, BLOCK=1)", "return x"), {"x": X})
    assert status in (Status.RUNTIME_ERROR, Status.REJECTED)
    assert why.startswith("line 15: "), why


@pytest.mark.parametrize(
    ("source", "status", "word"),
    [
        ("x = (", Status.COMPILE_ERROR, "line 1"),
        ("import no_such_module", Status.RUNTIME_ERROR, "no_such_module"),
        ("1 / 0", Status.RUNTIME_ERROR, "line 1: ZeroDivisionError"),
        ("raise SystemExit", Status.RUNTIME_ERROR, "SystemExit"),
        ("x = 1", Status.REJECTED, "neither a class ModelNew nor a function kernel_function"),
        ("kernel_function = 3", Status.RUNTIME_ERROR, "3"),
        (HEAD + "def kernel_function(x):\n    return x\n", None, ""),
    ],
)
def test_a_module_that_is_no_candidate_says_why(source: str, status: Status | None, word: str) -> None:
    (found,) = recorded(source, {"x": X}).recordings
    if status is None:
        assert found.plan is not None, "a plan without a launch is a plan; that it launches nothing is a fault"
        found_faults = faults(found.plan, Expected(kernels={}, given={("input", "x"): X.nbytes}))
        assert found_faults == ["no kernel is launched on any block"]
        return
    assert found.status is status
    assert word in found.reason


def test_each_case_is_recorded_by_itself() -> None:
    source = function("assert x.shape[0] < 5, 'too long'", "y = torch.empty_like(x)",
                      "copy[(x.shape[0],)](x, y, 1, BLOCK=1)", "return y")  # fmt: skip
    cases = tuple(
        CaseShape(
            name=f"c{n}", inputs=(spec(torch.empty(n, 2)),), input_names=("x",), parameters={}, init=(), init_names=()
        )
        for n in (3, 9, 4)
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        job = RecordCases(source=source, autotune={}, target="sm_90", cases=cases)
        found = recorder.record(job, Path(folder)).recordings
    assert [recording.plan is None for recording in found] == [False, True, False]
    assert "too long" in found[1].reason
    assert found[0].plan is not None
    assert len(found[0].plan.buffers) == 2, "buffers of one case are no buffers of the next"


def test_a_plan_carried_out_with_a_wrong_kernel_gives_a_wrong_answer() -> None:
    """The tests above compare something: a kernel that does nothing leaves the poison."""
    plan = plan_of(copied("x.t()"), {"x": X})
    assert carried_out(plan, {"x": X}, {"copy": lambda **rest: None})[0].isnan().all()
    assert torch.equal(carried_out(plan, {"x": X}, {"copy": copies})[0], X.t())


@pytest.mark.parametrize(
    ("value", "said"),
    [(3, "3"), (True, "True"), (0.5, "0.5"), ("a", "'a'"), (tl.constexpr(2), "2"), (float("-inf"), "-inf"),
     (None, "None"), ([1], None), (tl.float32, None), (tl.constexpr(tl.float32), None), (print, None)],
)  # fmt: skip
def test_what_a_constant_is_bound_to_is_said_of_numbers_and_texts(value: object, said: str | None) -> None:
    assert recorder.literal_of(value) == said
