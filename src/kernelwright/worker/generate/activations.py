"""Decompositions of functions for Inductor, with as few instructions as their precision needs.

Elementwise kernels in half precision wait for instructions, not for memory, with the library's functions for float32
(benchmarks/results/level1_bfloat16.md, GELU and SELU). A function of a half-precision tensor is computed in float32
with a relative error below 2^-14, a quarter of float16's rounding, which takes fewer instructions. Mish is decomposed
in every dtype: one exponential in place of two, a logarithm and a tangent. In a kernel that computes mish twice after a
convolution, and in one with mish and tanh, these functions took a third of the time (H100, KernelBench's level 2, files
4 and 47).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kernelwright.worker.reference.instance import HALF

LIMIT = 20.0
"""From here on tanh(log(1 + exp(x))) is 1 in any precision."""

EXP_LIMIT, TANH_LIMIT = 2.0**-7, 2.0**-5
"""Below, two terms of the series err less than a difference of exponentials: by x^2 / 6 and 2/15 x^4 of the value."""

TAIL_STEP = 0.3
TAIL = (0.12003510324110349, 0.11391509658814725, 0.144535132396015, -0.01931902794710779, 0.2194238937547077,
        -0.07859041131029447)  # fmt: skip
"""The normal distribution's tail at z >= 0 is exp(-z^2 / 2) times this polynomial of t = 1 / (1 + TAIL_STEP * z), from
t on. Fitted by weighted least squares on [0, 13.5], to 2.2e-7 and to 3.3e-5 of the value; the form is 7.1.26 of
Abramowitz and Stegun."""


def mish(x: Tensor) -> Tensor:
    """The decomposition of `aten.mish`: tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2) for e = exp(x)."""
    power = torch.exp(torch.clamp(x, max=LIMIT))
    part = power * (power + 2)
    return x * (part / (part + 2))


def expm1(x: Tensor) -> Tensor:
    return torch.where(x.abs() < EXP_LIMIT, x * (1 + x * 0.5), torch.exp(x) - 1)


def tanh(x: Tensor) -> Tensor:
    return torch.where(x.abs() < TANH_LIMIT, x * (1 - x * x * (1 / 3)), 1 - 2 / (torch.exp(2 * x) + 1))


def elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    return torch.where(x > 0, x * scale, expm1(x * input_scale) * (alpha * scale))


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        return x / (1 + torch.exp(-2 * inner))
    z = x.abs()
    t = 1 / (1 + TAIL_STEP * z)
    tail = TAIL[-1] * t
    for one in reversed(TAIL[:-1]):
        tail = (tail + one) * t
    tail = tail * torch.exp(z * z * -0.5)
    return x * torch.where(x > 0, 1 - tail, tail)


def in_half(function: Callable[..., Tensor]) -> Callable[..., Any]:
    """A decomposition that computes tensors of half precision with `function` in float32; NotImplemented for others."""

    def decomposed(x: Tensor, *args: Any, **named: Any) -> Any:
        if x.dtype not in HALF:
            return NotImplemented
        return function(x.float(), *args, **named).to(x.dtype)

    return decomposed


ACTIVATIONS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.mish.default: mish,
    torch.ops.aten.expm1.default: in_half(expm1),
    torch.ops.aten.tanh.default: in_half(tanh),
    torch.ops.aten.elu.default: in_half(elu),
    torch.ops.aten.gelu.default: in_half(gelu),
}
