"""Functions with fewer instructions than the library's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from kernelwright.worker.generate.activations import ACTIVATIONS, elu, expm1, gelu, mish, tanh

HALVES = [
    (expm1, torch.expm1),
    (tanh, torch.tanh),
    (elu, F.elu),
    (partial(elu, alpha=1.6732632423543772, scale=1.0507009873554805), F.selu),
    (gelu, F.gelu),
    (partial(gelu, approximate="tanh"), partial(F.gelu, approximate="tanh")),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_mish_is_the_function_of_the_library(dtype: torch.dtype) -> None:
    x = torch.cat([torch.linspace(-90, 90, 7001, dtype=dtype), torch.logspace(-30, 30, 500, dtype=dtype)])
    torch.testing.assert_close(mish(x), F.mish(x.double()).to(dtype), rtol=4 * torch.finfo(dtype).eps, atol=1e-37)


@pytest.mark.parametrize(("ours", "theirs"), HALVES)
def test_half_precision_needs_no_more_than_a_quarter_of_its_rounding(
    ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor]
) -> None:
    """In the tails of GELU the sum with 1 cancels out, in float64 too."""
    ends = torch.logspace(-30, 1, 4000)
    x = torch.cat([torch.linspace(-12, 12, 20001), ends, -ends])
    torch.testing.assert_close(ours(x), theirs(x.double()).float(), rtol=2**-14, atol=1e-15)


@pytest.mark.parametrize(("ours", "theirs"), [(mish, F.mish), *HALVES])
def test_special_values_are_those_of_the_library(
    ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor]
) -> None:
    x = torch.tensor([float("inf"), float("-inf"), float("nan"), 0.0, -0.0])
    exact = theirs(x.double()).float()  # F.gelu of infinity is NaN on the CPU in float32
    torch.testing.assert_close(ours(x), exact, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(torch.signbit(ours(x[3:])), torch.signbit(exact[3:]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("function", [theirs for _, theirs in HALVES])
def test_it_takes_the_place_of_the_operator_in_half_precision(
    function: Callable[[Tensor], Tensor], dtype: torch.dtype
) -> None:
    graph = make_fx(lambda x: function(x), ACTIVATIONS)(torch.randn(3, dtype=dtype))
    called = {str(node.target) for node in graph.graph.nodes if node.op == "call_function"}
    assert ("aten.exp.default" in called) is (dtype is not torch.float32)
    assert any(one.startswith(("aten.expm1", "aten.tanh", "aten.elu", "aten.gelu")) for one in called) is (
        dtype is torch.float32
    )


def test_mish_is_decomposed_in_every_dtype() -> None:
    graph = make_fx(lambda x: F.mish(x), ACTIVATIONS)(torch.randn(3))
    called = {str(node.target) for node in graph.graph.nodes if node.op == "call_function"}
    assert "aten.exp.default" in called
    assert not any("mish" in one or "tanh" in one for one in called)
