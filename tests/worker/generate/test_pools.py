"""Large windows of average pools, side by side."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from kernelwright.worker.generate.pools import POOLS

POOL_2D, POOL_3D = POOLS.values()


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": [7, 5]},
        {"kernel_size": [6]},
        {"kernel_size": [7, 9], "stride": [2, 3], "padding": [3, 4]},
        {"kernel_size": [3, 4], "stride": [2, 1], "padding": [1, 2]},
    ],
)
def test_they_give_the_mean_of_the_window(options: dict[str, Any]) -> None:
    x = torch.randn(2, 3, 31, 29, dtype=torch.float64)
    torch.testing.assert_close(POOL_2D(x, **options), F.avg_pool2d(x, **options))


def test_they_give_it_in_three_dimensions() -> None:
    x = torch.randn(2, 3, 9, 8, 11, dtype=torch.float64)
    found = POOL_3D(x, [3, 3, 4], [2, 2, 2], [1, 1, 2])
    torch.testing.assert_close(found, F.avg_pool3d(x, [3, 3, 4], [2, 2, 2], [1, 1, 2]))


@pytest.mark.parametrize(
    "rest", [([5, 5],), ([26, 1],), ([7, 7], [2, 2], [1, 1], False, False), ([7, 7], [2, 2], [0, 0], True)]
)
def test_windows_that_inductor_takes_and_those_that_are_no_mean_of_means_stay(rest: tuple[Any, ...]) -> None:
    assert POOL_2D(torch.randn(1, 1, 30, 30), *rest) is NotImplemented


def test_a_window_with_padding_is_divided_by_a_number() -> None:
    """Inductor would compute how many elements it has, for every output."""
    graph = make_fx(lambda x: F.avg_pool3d(x, 3, 2, 1), POOLS)(torch.randn(1, 1, 8, 9, 7))
    assert [node.args[-1] for node in graph.graph.nodes if "avg_pool3d" in str(node.target)] == [3, 3, 3]
    graph = make_fx(lambda x: F.avg_pool2d(x, 3, 2, 1), POOLS)(torch.randn(1, 1, 8, 9))
    assert [node.args[-1] for node in graph.graph.nodes if "avg_pool2d" in str(node.target)] == [9]
