"""The work of a region of a graph, wherever its tensors are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.fx import Graph

from kernelwright.worker.bounds.flop import flop_of
from kernelwright.worker.models.measured import drawn
from kernelwright.worker.models.regions import Region
from kernelwright.worker.models.work import evaluated, work_of

ATEN = torch.ops.aten
THERE = torch.device("meta")
X = torch.randn(32, 16)
ENDS = torch.tensor([8, 16, 24, 32], dtype=torch.int32)


def region(target: Any, *inputs: Tensor, device: torch.device | None = None) -> Region:
    """The region of one operator, behind a constant that is added to the first input, on a device that is named."""
    graph = Graph()
    places = [graph.placeholder(f"x{number}") for number in range(len(inputs))]
    for node, tensor in zip(places, inputs, strict=True):
        node.meta["val"] = tensor
    named = {"dtype": torch.float32, "device": device}
    ones = graph.call_function(ATEN.full.default, ([*inputs[0].shape], 1.0), named)
    ones.meta["val"] = torch.ones(inputs[0].shape, device=device)
    moved = graph.call_function(torch.ops.prims.device_put.default, (ones, device or torch.device("cpu")))
    moved.meta["val"] = ones.meta["val"]
    made = graph.call_function(target, (places[0], moved) if len(inputs) == 1 else (*places,))
    made.meta["val"] = target(*(node.meta["val"] for node in made.args))
    return Region((ones, moved, made) if len(inputs) == 1 else (made,), (*places,), (made,))


def test_constants_and_inputs_of_a_region_are_on_its_device() -> None:
    assert work_of(region(ATEN.add.Tensor, X.to(THERE), device=THERE), {}).bytes == 2 * 4 * X.numel()


def test_known_values_are_computed_without_the_device() -> None:
    one = region(ATEN.add.Tensor, X.to(THERE), device=THERE)
    found = evaluated(one.outputs[0], {one.inputs[0]: X})
    assert found is not None
    assert torch.equal(found, X + 1)


@pytest.mark.parametrize(
    ("sizes", "flop"), [(((32, 16), (4, 16, 24)), 2 * 32 * 16 * 24), (((16, 32), (32, 24)), 2 * 32 * 16 * 24)]
)
def test_each_row_of_a_grouped_product_is_multiplied_once(sizes: tuple[tuple[int, ...], ...], flop: int) -> None:
    one, other = (torch.randn(size, dtype=torch.bfloat16) for size in sizes)
    made = torch.empty((4, 16, 24) if other.dim() == 2 else (32, 24))
    assert flop_of(ATEN._grouped_mm.default, (one, other, ENDS), {}, made) == flop


def test_the_groups_of_a_product_that_is_timed_alone_have_equal_parts_of_its_rows() -> None:
    weights = torch.randn(4, 16, 24, dtype=torch.bfloat16)
    product = region(ATEN._grouped_mm.default, X.bfloat16(), weights, ENDS)
    assert drawn(product, "cpu")[-1].tolist() == ENDS.tolist()
