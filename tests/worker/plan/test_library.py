"""Library steps on memory: what they give, what their list says of torch's operators, and what cannot be bound."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
import torch

from kernelwright.worker.plan import library
from kernelwright.worker.plan.library import Unfit, bind
from kernelwright.worker.plan.operators import OPERATORS
from kernelwright.worker.plan.plan import LibraryCall, Tensor, Tuple, Value, View
from kernelwright.worker.plan.schemas import fault_of, functional_of, is_writing, writing_of
from recorded import HEAD, carried_out, plan_of, refusal

X = torch.randn(4, 6, generator=torch.Generator().manual_seed(1))
SQUARE = torch.randn(6, 6, generator=torch.Generator().manual_seed(2))
WHOLE = torch.arange(24).reshape(4, 6)
BATCH = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(3))

KINDS = {
    "Tensor": {"tensor", "operand"}, "int": {"int"}, "List[int]": {"ints"}, "number": {"number"}, "bool": {"bool"},
    "float": {"number"},
}  # fmt: skip
"""What the list says for each type of torch's schemas. A dtype is an int there."""

CALLS: dict[str, tuple[str, dict[str, torch.Tensor]]] = {
    "sum.default": ("x.sum()", {"x": X}), "sum.dim_IntList": ("x.sum((0, 1), keepdim=True)", {"x": X}),
    "mean.default": ("x.mean()", {"x": X}), "mean.dim": ("x.mean(-1, dtype=torch.float64)", {"x": X}),
    "amax.default": ("x.amax(0)", {"x": X}), "amin.default": ("x.amin((0,), keepdim=True)", {"x": X}),
    "max.default": ("x.max()", {"x": X}), "max.dim": ("x.max(1)[0], x.max(1)[1]", {"x": X}),
    "min.default": ("x.min()", {"x": X}), "min.dim": ("x.min(dim=0).indices", {"x": X}),
    "argmax.default": ("x.argmax(1)", {"x": X}), "argmin.default": ("x.argmin()", {"x": X}),
    "prod.default": ("x.prod()", {"x": X}), "prod.dim_int": ("x.prod(1)", {"x": X}),
    "all.default": ("x.all()", {"x": WHOLE}), "all.dim": ("x.all(0)", {"x": WHOLE}),
    "any.default": ("x.any()", {"x": WHOLE}), "any.dim": ("x.any(1)", {"x": WHOLE}),
    "logsumexp.default": ("x.logsumexp(-1)", {"x": X}),
    "add.Tensor": ("x + 3, x + x", {"x": WHOLE}), "sub.Tensor": ("x - 3", {"x": WHOLE}),
    "mul.Tensor": ("x * 2", {"x": WHOLE}), "div.Tensor": ("x.sum() / 7", {"x": X}),
    "floor_divide.default": ("x // 5", {"x": WHOLE}), "remainder.Scalar": ("x % 5", {"x": WHOLE}),
    "remainder.Tensor": ("x % (x + 1)", {"x": WHOLE}),
    "mm.default": ("x @ y", {"x": X, "y": SQUARE}), "bmm.default": ("torch.bmm(x, x.mT)", {"x": BATCH}),
    "mv.default": ("torch.mv(x, x[0])", {"x": X}), "dot.default": ("torch.dot(x[0], x[1])", {"x": X}),
    "addmm.default": ("F.linear(x, y, y[0])", {"x": X, "y": SQUARE}),
    "addmv.default": ("torch.addmv(x[:, 0], x, x[0])", {"x": X}),
    "baddbmm.default": ("torch.baddbmm(x[:, :, :4], x, x.mT)", {"x": BATCH}),
    "convolution.default": ("F.conv1d(x, y[:, :2, :3].contiguous(), padding=1, groups=2)", {"x": BATCH, "y": BATCH}),
    "scaled_dot_product_attention.default": (
        "F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True)", {"x": BATCH}),
    "sort.default": ("x.sort(0)[0], x.sort(0)[1]", {"x": X}),
    "sort.stable": ("torch.sort(x, stable=True, dim=1, descending=True).values", {"x": X}),
    "topk.default": ("x.topk(3)[0]", {"x": X}), "cumsum.default": ("x.cumsum(1)", {"x": X}),
    "cumprod.default": ("x.cumprod(0)", {"x": X}), "cummax.default": ("x.cummax(1)[0]", {"x": X}),
    "cummin.default": ("x.cummin(1).indices", {"x": X}), "logcumsumexp.default": ("x.logcumsumexp(0)", {"x": X}),
}  # fmt: skip


def host(expression: str, arguments: str) -> str:
    return f"{HEAD}def kernel_function({arguments}):\n    copy[(1,)](x, x, 1, BLOCK=1)\n    return {expression}\n"


@pytest.mark.parametrize("operator", CALLS)
def test_a_recorded_step_gives_what_the_operator_gives(operator: str) -> None:
    expression, inputs = CALLS[operator]
    plan = plan_of(host(expression, ", ".join(inputs)), inputs, library="any")
    assert operator in {call.operator for call in plan.library_calls}
    expected = eval(expression, {"torch": torch, "F": torch.nn.functional}, dict(inputs))
    outputs = carried_out(plan, inputs)
    for output, wanted in zip(outputs, [expected] if isinstance(expected, torch.Tensor) else expected, strict=True):
        assert output.dtype == wanted.dtype
        torch.testing.assert_close(output, wanted)


def test_every_operator_that_finishing_allows_has_a_call_and_only_computes() -> None:
    assert OPERATORS.keys() <= CALLS.keys()
    assert not [(name, why) for name in CALLS if (why := fault_of(operator_of(name)))]


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_list_says_what_the_schema_says(operator: str) -> None:
    packet, _, overload = operator.partition(".")
    functional = getattr(getattr(torch.ops.aten, packet), overload)
    told = OPERATORS[operator]
    assert [argument.name for argument in functional._schema.arguments] == list(told.parameters)
    for argument, parameter in zip(functional._schema.arguments, told.parameters.values(), strict=True):
        kind = str(argument.type)
        assert parameter.optional == kind.startswith("Optional"), argument.name
        kind = kind.removeprefix("Optional[").removesuffix("]") if parameter.optional else kind
        kinds = {"dtype"} if argument.name == "dtype" else KINDS[kind.replace("SymInt", "int")]
        assert parameter.kind in kinds, argument.name


@pytest.mark.parametrize("operator", CALLS)
def test_what_writes_to_given_tensors_belongs_to_one_operator(operator: str) -> None:
    functional = operator_of(operator)
    assert functional_of(functional) is functional
    if (writing := writing_of(functional)) is not None:
        assert is_writing(writing)
        assert functional_of(writing) is functional
    assert (writing is None) == operator.startswith("scaled_dot_product_attention")


def operator_of(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload)


ROWS = torch.tensor([3, 0])

OTHERS: dict[str, tuple[str, dict[str, torch.Tensor]]] = {
    "exp.default": ("x.exp()", {"x": X}), "median.dim": ("x.median(1)[0], x.median(1)[1]", {"x": X}),
    "searchsorted.Tensor": ("torch.searchsorted(x.sort(1)[0], x, side='right')", {"x": X}),
    "avg_pool2d.default": ("F.avg_pool2d(x, 2, 1)", {"x": BATCH}),
    "index_put.default": ("torch.index_put(x, [y], x[:2], accumulate=True)", {"x": X, "y": ROWS}),
    "gelu.default": ("F.gelu(x, approximate='tanh')", {"x": X}),
    "gru.input": (
        "torch.gru(x, x[:1, :2, :2], [y, y[:, :2], y[0], y[1]], True, 1, 0.0, False, False, True)",
        {"x": BATCH, "y": SQUARE}),
    "lstm.input": (
        "torch.lstm(x, [x[:1, :, :1], x[1:, :, :1]], [y[:4], y[:4, :1]], False, 1, 0.0, False, False, False)",
        {"x": BATCH, "y": SQUARE}),
    "scatter_reduce.two": ("torch.scatter_reduce(x, 0, y[:, None], x, 'prod')", {"x": X, "y": ROWS}),
}  # fmt: skip
"""Operators that are not on the list, by their names."""


@pytest.mark.parametrize("operator", OTHERS)
def test_every_operator_of_aten_that_only_computes_is_a_step_in_mode_any(operator: str) -> None:
    expression, inputs = OTHERS[operator]
    plan = plan_of(host(expression, ", ".join(inputs)), inputs, library="any")
    assert operator in {call.operator for call in plan.library_calls}
    expected = eval(expression, {"torch": torch, "F": torch.nn.functional}, dict(inputs))
    outputs = carried_out(plan, inputs)
    for output, wanted in zip(outputs, [expected] if isinstance(expected, torch.Tensor) else expected, strict=True):
        torch.testing.assert_close(output, wanted)
    _, why = refusal(host(expression, ", ".join(inputs)), inputs, library="finish")
    assert 'or allow it: LIBRARY = "any" in the problem' in why or "aten.sort" in why


@pytest.mark.parametrize(
    ("operator", "why"),
    [
        ("nonzero.default", "takes the size of its result from data"), ("bernoulli.default", "draws random numbers"),
        ("equal.default", "reads values of tensors on the host"), ("relu_.default", "writes to its arguments"),
        ("mm.out", "writes to its arguments"), ("transpose.int", "writes to its arguments or returns them"),
        ("split.Tensor", "returns them"), ("stride.int", "returns more than tensors"),
        ("zeros.default", "reads no tensor"), ("empty_like.default", "returns memory that it did not write"),
    ],
)  # fmt: skip
def test_what_an_operator_must_not_do_follows_from_its_schema_and_tags(operator: str, why: str) -> None:
    assert why in fault_of(operator_of(operator))


def test_only_operators_of_aten_are_steps() -> None:
    for other in (torch.ops.aten, torch.ops.aten.mm, torch.ops.prims.exp.default, torch.mm, None):
        assert fault_of(other) == "is no operator of ATen"


def test_out_is_recorded_as_what_is_written() -> None:
    lines = "y = torch.empty(6, device=x.device)\n    torch.sum(x, dim=0, out=y)\n    return y\n"
    source = f"{HEAD}def kernel_function(x):\n    copy[(1,)](x, x, 1, BLOCK=1)\n    {lines}"
    plan = plan_of(source, {"x": X}, library="finish")
    (call,) = plan.library_calls
    assert call.targets == plan.outputs
    (output,) = carried_out(plan, {"x": X})
    torch.testing.assert_close(output, X.sum(0))


@pytest.mark.parametrize("mode", ["none", "finish"])
def test_a_mode_that_does_not_allow_an_operator_refuses_it_and_names_the_one_that_does(mode: str) -> None:
    _, why = refusal(host("x @ x.t()", "x"), {"x": X}, library=mode)
    assert "the host code calls aten.mm.default; it may only allocate" in why
    assert 'or allow it: LIBRARY = "any" in the problem' in why


def test_what_no_mode_allows_is_refused_in_every_mode() -> None:
    for mode, expression in itertools.product(("none", "finish", "any"), ("x.nonzero()", "x.bernoulli()")):
        _, why = refusal(host(expression, "x"), {"x": X}, library=mode)
        assert "the host code calls aten." in why
        assert "or allow it" not in why


def step(operator: str, shape: tuple[int, ...], made: str = "float32", **arguments: Any) -> LibraryCall:
    source = View(buffer=0, dtype="float32", shape=(4, 6), stride=(6, 1))
    stride = (1,) * len(shape)
    target = View(buffer=1, dtype=made, shape=shape, stride=stride)
    return LibraryCall(operator=operator, arguments={"self": Tensor(view=source), **arguments}, targets=(target,))


FULL = {"dim": Tuple(items=(Value(kind="int", text="0"),)), "keepdim": Value(kind="bool", text="False"),
        "dtype": Value(kind="none")}  # fmt: skip


def memory(view: View) -> torch.Tensor:
    return torch.zeros(view.shape, dtype=getattr(torch, view.dtype))


def test_a_step_that_would_resize_or_cast_is_unfit() -> None:
    bind(step("sum.dim_IntList", (6,), **FULL), memory)
    for forged in (step("sum.dim_IntList", (4,), **FULL), step("sum.dim_IntList", (6,), "float64", **FULL)):
        with pytest.raises(Unfit, match=r"aten\.sum\.dim_IntList gives"):
            bind(forged, memory)


@pytest.mark.parametrize(
    ("operator", "why"),
    [
        ("empty_like.default", "did not write"),
        ("relu_.default", "writes to its arguments"),
        ("__class__.x", "is no operator"),
    ],
)
def test_a_step_of_an_operator_that_does_more_than_compute_is_unfit(operator: str, why: str) -> None:
    """Whatever the recorder said of it."""
    with pytest.raises(Unfit, match=why):
        bind(step(operator, (4, 6)), memory)


def test_a_step_with_other_arguments_than_its_operator_has_is_unfit() -> None:
    with pytest.raises(Unfit, match=r"aten\.exp\.default has other arguments"):
        bind(step("exp.default", (4, 6), dim=Value(kind="none")), memory)


def test_products_are_exact() -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    library.exact_products()
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32


def test_peaks_are_measured_without_tf32_whatever_the_problem_states() -> None:
    library.allow_tf32(True)
    try:
        with library.in_ieee_precision():
            assert not torch.backends.cuda.matmul.allow_tf32
            assert not torch.backends.cudnn.allow_tf32
        assert torch.backends.cuda.matmul.allow_tf32
        assert torch.backends.cudnn.allow_tf32
    finally:
        library.exact_products()


def test_a_step_is_data() -> None:
    call = step("sum.dim_IntList", (6,), **FULL)
    assert msgspec.json.decode(msgspec.json.encode(call), type=LibraryCall) == call
