"""Convolutions of single channels as sums."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from kernelwright.worker.generate.depthwise import depthwise

SIZES = {1: (19,), 2: (13, 17), 3: (7, 9, 8)}
CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


@pytest.mark.parametrize(
    ("window", "stride", "padding", "dilation"),
    [
        ((4,), (1,), (3,), (1,)),
        ((3, 3), (1, 1), (0, 0), (1, 1)),
        ((3, 7), (2, 3), (1, 2), (1, 2)),
        ((1, 3), (1, 2), (0, 0), (3, 4)),
        ((2, 3, 2), (2, 1, 3), (0, 1, 2), (2, 1, 1)),
    ],
)
def test_they_are_those_of_the_library(
    window: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...]
) -> None:
    x = torch.randn(2, 5, *SIZES[len(window)], dtype=torch.float64)
    weight, bias = torch.randn(5, 1, *window, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    wanted = CONVOLUTIONS[len(window)](x, weight, bias, stride, padding, dilation, 5)  # type: ignore[operator]
    torch.testing.assert_close(depthwise(x, weight, bias, stride, padding, dilation, False, (0,), 5), wanted)


@pytest.mark.parametrize(
    ("weight", "changed"),
    [((4, 2, 3, 3), {"groups": 2}), ((4, 1, 3, 3), {"groups": 4, "transposed": True}), ((4, 1, 7, 7), {"groups": 4}),
     ((8, 1, 3, 3), {"groups": 4})],
)  # fmt: skip
def test_products_and_large_windows_stay(weight: tuple[int, ...], changed: dict[str, Any]) -> None:
    given = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "transposed": False, "output_padding": (0, 0)}
    assert depthwise(torch.randn(1, 4, 9, 9), torch.randn(*weight), None, **{**given, **changed}) is NotImplemented
