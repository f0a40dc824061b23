"""Subscripts by other operators give what subscripts give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.worker.generate.without_device import WithoutDevice, install, subscript
from kernelwright.worker.reference.instance import Watching

X = torch.arange(3 * 5 * 7).view(3, 5, 7)
ROWS = torch.tensor([2, 0])
MASK = torch.tensor([True, False, True])

INDICES: list[Any] = [
    1, slice(1, 3), None, Ellipsis, (slice(None), 2), (..., 3), (0, ..., slice(1, None, 2)), (None, 1, None, slice(2)),
    (slice(-2, None), ..., None), ROWS, (slice(None), ROWS), (1, ROWS), (ROWS, slice(1, 4), ROWS), MASK,
    (MASK, 2), (..., ROWS), (None, ROWS, None), (slice(2), X[0] > 20),
    [0, 2], (slice(None), [0, -1]), (..., [6, 0]), (1, [0, 2]), ([2, 0], None, ..., 1), (None, [1], slice(2)),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=lambda one: str(one)[:40])
def test_a_subscript_gives_the_same_elements(index: Any) -> None:
    try:
        wanted = X[index]
    except IndexError:
        with pytest.raises((IndexError, RuntimeError)):
            subscript(X, index)
        return
    found = subscript(X, index)
    assert found is not None
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("index", [True, "name", ([0, 1], [1, 2]), (ROWS, [1, 2]), []])
def test_other_subscripts_are_left_to_torch(index: Any) -> None:
    assert subscript(X, index) is None


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The methods of tensors on the CPU are those of tensors on a device that torch does not have."""
    with monkeypatch.context() as kept:
        for name in ("__getitem__", "__setitem__", "__invert__", "copy_"):
            kept.setattr(Tensor, name, getattr(Tensor, name))
        install("cpu")
        yield


@pytest.fixture
def wanted() -> list[Tensor]:
    return [~MASK, ~ROWS, torch.zeros(2).copy_(ROWS), ROWS.new_tensor([3]), torch.as_tensor(0.5), X[[2, 0]]]


def test_what_is_written_to_a_subscript_changes_the_tensor(request: pytest.FixtureRequest) -> None:
    def write(x: Tensor) -> Tensor:
        x[1:, ..., 2] = X[:2, :, 0]
        x[0] = 9
        x[:, ROWS] = 1.5
        x[X % 5 == 0] = X[0, 0, 0].float()
        return x

    wanted = write(X.clone())
    request.getfixturevalue("installed")
    found = write(X.clone())
    assert torch.equal(found, wanted)


@pytest.mark.usefixtures("wanted", "installed")
def test_methods_that_need_a_device_guard_are_operators(wanted: list[Tensor]) -> None:
    """Torch without CUDA has no guard for these methods; what the operators return is the same."""

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(func._schema.name)
            return func(*args, **(kwargs or {}))

    called: list[str] = []
    with Recorder(), WithoutDevice():
        found = [~MASK, ~ROWS, torch.zeros(2).copy_(ROWS), ROWS.new_tensor([3]), torch.as_tensor(0.5), X[[2, 0]]]
    assert all(torch.equal(one, other) and one.dtype == other.dtype for one, other in zip(found, wanted, strict=True))
    assert {"aten::bitwise_not", "aten::copy_", "aten::full", "aten::select", "aten::stack"} <= set(called)
    assert not {"aten::index", "aten::lift_fresh"} & set(called)


NUMBERS: list[Any] = [0.5, 3, True, [1, 2.5], [[True, 0], [2, False]], [True, False], (1.0, 2.0, 3.0), [7]]


@pytest.mark.parametrize("data", NUMBERS, ids=str)
def test_numbers_as_a_tensor_keep_shape_and_dtype(data: Any) -> None:
    with WithoutDevice():
        found = [torch.tensor(data), torch.as_tensor(data, dtype=torch.float16), X.new_tensor(data)]
    wanted = [torch.tensor(data), torch.as_tensor(data, dtype=torch.float16), X.new_tensor(data)]
    assert [one.dtype for one in found] == [one.dtype for one in wanted]
    assert all(map(torch.equal, found, wanted))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_one_length_are_sums_of_rows(mode: str) -> None:
    table, rows = torch.randn(9, 4), torch.randint(9, (5, 3))
    weights = torch.randn(5, 3) if mode == "sum" else None
    given = {"mode": mode, "per_sample_weights": weights}
    with WithoutDevice():
        found = torch.nn.functional.embedding_bag(rows, table, **given)
    torch.testing.assert_close(found, torch.nn.functional.embedding_bag(rows, table, **given))


def operators_of(call: Callable[[], Tensor]) -> tuple[Tensor, list[str]]:
    """What a call gives without the device, and the operators that it calls."""
    called: list[str] = []
    with WithoutDevice(), Watching(lambda func, *_: called.append(func.__name__)):
        return call(), called


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("includes_last", [False, True])
def test_bags_that_begin_at_offsets_are_sums_of_rows(mode: str, includes_last: bool) -> None:
    table, rows = torch.randn(9, 4), torch.randint(9, (7,))
    offsets = torch.tensor([0, 2, 2, 3, 7] if includes_last else [0, 2, 2, 3])
    bags = partial(F.embedding_bag, rows, table, offsets, mode=mode, include_last_offset=includes_last)
    found, called = operators_of(bags)
    assert not any("embedding_bag" in name for name in called)
    torch.testing.assert_close(found, bags())


@pytest.mark.parametrize("order", [0.0, 1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("rows", [5, 30])
def test_distances_are_norms_of_differences(order: float, rows: int) -> None:
    distances = partial(torch.cdist, torch.randn(2, rows, 6), torch.randn(2, 4, 6), order)
    found, called = operators_of(distances)
    assert "_cdist_forward.default" not in called
    torch.testing.assert_close(found, distances())


def test_a_bilinear_layer_is_a_product_and_a_sum() -> None:
    layer, x, y = torch.nn.Bilinear(5, 3, 4), torch.randn(2, 7, 5), torch.randn(2, 7, 3)
    found, called = operators_of(lambda: layer(x, y))
    assert "_trilinear.default" not in called
    torch.testing.assert_close(found, layer(x, y))


@pytest.mark.parametrize("aligned", [True, False])
def test_samples_of_a_volume_are_sums_over_eight_corners(aligned: bool) -> None:
    volume, grid = torch.randn(2, 3, 4, 5, 6), 2.4 * torch.rand(2, 3, 2, 7, 3) - 1.2
    sample = partial(F.grid_sample, volume, grid, align_corners=aligned)
    found, called = operators_of(sample)
    assert "grid_sampler_3d.default" not in called
    torch.testing.assert_close(found, sample())


def test_resizing_to_the_size_that_is_there_is_a_copy() -> None:
    x = torch.randn(1, 2, 3, 4)
    for size, name in ((x.shape[2:], "clone"), ((3, 5), "upsample_bilinear2d")):
        _, called = operators_of(partial(F.interpolate, x, size=size, mode="bilinear"))
        assert [one.partition(".")[0] for one in called] == [name]


def test_classes_are_counted_from_values_where_no_number_is_given() -> None:
    rows = torch.tensor([[2, 0], [1, 4]])
    with WithoutDevice():
        found = [torch.nn.functional.one_hot(rows, 7), torch.nn.functional.one_hot(rows)]
    assert [one.shape[-1] for one in found] == [7, 5]
    assert torch.equal(found[0][..., :5], found[1])


def test_attention_of_rows_whose_scores_are_all_minus_infinity_gives_zeros_as_pytorch() -> None:
    key = torch.rand(1, 2, 5, 8).bfloat16() + 1
    query = torch.stack((torch.full((1, 2, 8), -torch.inf), torch.rand(1, 2, 8)), 2).bfloat16()
    wanted = torch.nn.functional.scaled_dot_product_attention(query, key, key)
    with WithoutDevice():
        made = torch.nn.functional.scaled_dot_product_attention(query, key, key)
    assert torch.equal(wanted[:, :, 0], torch.zeros_like(wanted[:, :, 0]))
    torch.testing.assert_close(made, wanted)
