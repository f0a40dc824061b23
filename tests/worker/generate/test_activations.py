"""Mish without a logarithm and a tangent."""

from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from kernelwright.worker.generate.activations import ACTIVATIONS, mish


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_the_function_of_the_library(dtype: torch.dtype) -> None:
    x = torch.cat([torch.linspace(-90, 90, 7001, dtype=dtype), torch.logspace(-30, 30, 500, dtype=dtype)])
    torch.testing.assert_close(mish(x), F.mish(x.double()).to(dtype), rtol=4 * torch.finfo(dtype).eps, atol=1e-37)


def test_special_values_are_those_of_the_library() -> None:
    x = torch.tensor([float("inf"), float("-inf"), float("nan"), 0.0, -0.0])
    torch.testing.assert_close(mish(x), F.mish(x), rtol=0, atol=0, equal_nan=True)


def test_it_takes_the_place_of_the_operator() -> None:
    graph = make_fx(lambda x: F.mish(x), ACTIVATIONS)(torch.randn(3))
    called = {str(node.target) for node in graph.graph.nodes if node.op == "call_function"}
    assert "aten.exp.default" in called
    assert not any("mish" in one or "tanh" in one for one in called)
