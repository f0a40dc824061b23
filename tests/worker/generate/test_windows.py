"""Large windows of average pools, side by side, and convolutions of single channels as sums."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from kernelwright.worker.generate.windows import WINDOWS, added_up, depthwise

POOL_2D, POOL_3D, *_ = WINDOWS.values()


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
    graph = make_fx(lambda x: F.avg_pool3d(x, 3, 2, 1), WINDOWS)(torch.randn(1, 1, 8, 9, 7))
    assert [node.args[-1] for node in graph.graph.nodes if "avg_pool3d" in str(node.target)] == [3, 3, 3]
    graph = make_fx(lambda x: F.avg_pool2d(x, 3, 2, 1), WINDOWS)(torch.randn(1, 1, 8, 9))
    assert [node.args[-1] for node in graph.graph.nodes if "avg_pool2d" in str(node.target)] == [9]


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


@pytest.mark.parametrize(
    ("shape", "dim", "size", "step"),
    [((3, 40), 1, 8, 2), ((3, 41), 1, 8, 3), ((40, 3), 0, 5, 5), ((2, 40, 3), 1, 4, 7), ((41,), 0, 8, 3)],
)
def test_windows_that_overlap_are_added_up(shape: tuple[int, ...], dim: int, size: int, step: int) -> None:
    windows = torch.randn(torch.zeros(shape).unfold(dim, size, step).shape, dtype=torch.float64)
    expected = torch.ops.aten.unfold_backward(windows, shape, dim, size, step)
    torch.testing.assert_close(added_up(windows, shape, dim, size, step), expected)


def test_as_many_operators_add_up_windows_as_lie_on_one_another() -> None:
    """Torch's own has some for each element of a window where it does not know how many windows there are."""
    size = lambda x: [2, x.shape[1] // 2 * 32 + 64]  # noqa: E731
    call = lambda x: torch.ops.aten.unfold_backward(x, size(x), 1, 64, 16)  # noqa: E731
    table = {**torch._decomp.core_aten_decompositions(), **WINDOWS}
    graph = make_fx(call, table, tracing_mode="symbolic")(torch.randn(2, 9, 64))
    assert len(graph.graph.nodes) < 64
