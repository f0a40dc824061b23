"""Mish decomposed for Inductor: one exponential in place of two, a logarithm and a tangent.

tanh(log(1 + e)) = (e^2 + 2e) / (e^2 + 2e + 2) for e = exp(x). In a kernel that computes mish twice after a convolution,
and in one with mish and tanh, these functions took a third of the time (H100, KernelBench's level 2, files 4 and 47).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

LIMIT = 20.0
"""From here on tanh(log(1 + exp(x))) is 1 in any precision."""


def mish(x: Tensor) -> Tensor:
    """The decomposition of `aten.mish`."""
    power = torch.exp(torch.clamp(x, max=LIMIT))
    part = power * (power + 2)
    return x * (part / (part + 2))


ACTIVATIONS: dict[Any, Callable[..., Any]] = {torch.ops.aten.mish.default: mish}
