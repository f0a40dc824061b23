"""Sides of tensors through views and copies, and masks that leave a band, on small graphs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from kernelwright.worker.structures.masks import Band, band_of
from kernelwright.worker.structures.sides import origins


def traced(function: Callable[..., Tensor], *given: Tensor, mode: str = "fake") -> tuple[GraphModule, Node]:
    """The graph of a function, and its result."""
    graph = make_fx(function, tracing_mode=mode)(*given)
    return graph, graph.graph.output_node().args[0]  # type: ignore[return-value]


X = torch.zeros(2, 6, 4, 8)


def split(x: Tensor) -> Tensor:
    return x.transpose(1, 2).reshape(8, 6, 8)


def einsum(x: Tensor) -> Tensor:
    return x.unsqueeze(4).permute(0, 2, 1, 3, 4).contiguous().view(8, 6, 8)


def repeated(x: Tensor) -> Tensor:
    return x[:, :, :, None].expand(2, 6, 4, 3, 8).permute(0, 2, 3, 1, 4).reshape(24, 6, 8)


@pytest.mark.parametrize(
    ("function", "sides"),
    [
        (split, [[0, 2], [1], [3]]), (einsum, [[0, 2], [1], [3]]), (repeated, [[0, 2, None], [1], [3]]),
        (lambda x: x.reshape(48, 8).t().clone(), [[3], [0, 1, 2]]),
    ],
)  # fmt: skip
def test_sides_are_followed_through_views_and_copies(
    function: Callable[[Tensor], Tensor], sides: list[list[int | None]]
) -> None:
    _, result = traced(function, X)
    first = origins(result)[-1]
    assert first.base.op == "placeholder"
    assert [[part.place for part in side] for side in first.sides] == sides


def test_what_computes_or_changes_the_dtype_is_no_origin() -> None:
    _, result = traced(lambda x: (x.half() * 2).transpose(0, 1), X)
    bases = [one.base.name for one in origins(result)]
    assert bases == ["transpose", "mul"]
    _, result = traced(lambda x: x.half(), X)
    assert [one.base for one in origins(result)] == [result]


def causal(rows: int, columns: int) -> Tensor:
    return torch.ones(rows, columns).tril(columns - rows).bool()


def window(rows: int, columns: int) -> Tensor:
    apart = torch.arange(columns) - torch.arange(rows)[:, None]
    return (apart <= 0) & (apart > -16)


MASKS: dict[str, tuple[Callable[[int, int], Tensor], Band | None]] = {
    "causal": (causal, Band(None, "columns - rows + 0")), "window": (window, Band("-15", "0")),
    "all": (lambda rows, columns: torch.ones(rows, columns).bool(), Band(None, None)),
    "checkered": (lambda rows, columns: torch.arange(rows * columns).view(rows, columns) % 2 == 0, None),
    "none": (lambda rows, columns: torch.zeros(rows, columns).bool(), None),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_the_band_of_a_mask_is_read_from_its_values_at_several_sizes(name: str) -> None:
    mask, band = MASKS[name]
    check_band(mask, torch.zeros(64, 80), band)


def test_the_band_of_a_mask_too_large_to_compute_is_read_from_shorter_sides() -> None:
    check_band(causal, torch.empty(1).expand(8192, 16384), Band(None, "columns - rows + 0"))


def check_band(mask: Callable[[int, int], Tensor], shape: Tensor, band: Band | None) -> None:
    graph, result = traced(lambda x: mask(x.shape[0], x.shape[1]), shape, mode="symbolic")
    sizes = [node for node in graph.graph.nodes if node.target is torch.ops.aten.sym_size.int]
    for place, node in enumerate(sizes):  # sizes are arguments of a captured graph
        with graph.graph.inserting_before(next(iter(graph.graph.nodes))):
            given = graph.graph.placeholder(f"size_{place}")
        given.meta["val"] = node.meta["val"]
        node.replace_all_uses_with(given)
    assert band_of(graph, result, lambda values: values != 0) == band


def test_a_mask_that_depends_on_a_tensor_leaves_no_band() -> None:
    graph, result = traced(lambda x: x > 0, torch.zeros(8, 8))
    assert band_of(graph, result, lambda values: values != 0) is None
