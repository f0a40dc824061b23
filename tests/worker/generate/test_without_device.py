"""Subscripts by other operators give what subscripts give."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernelwright.worker.generate.without_device import WithoutDevice, subscript

X = torch.arange(3 * 5 * 7).view(3, 5, 7)
ROWS = torch.tensor([2, 0])
MASK = torch.tensor([True, False, True])

INDICES: list[Any] = [
    1, slice(1, 3), None, Ellipsis, (slice(None), 2), (..., 3), (0, ..., slice(1, None, 2)), (None, 1, None, slice(2)),
    (slice(-2, None), ..., None), ROWS, (slice(None), ROWS), (1, ROWS), (ROWS, slice(1, 4), ROWS), MASK,
    (MASK, 2), (..., ROWS), (None, ROWS, None), (slice(2), X[0] > 20),
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


@pytest.mark.parametrize("index", [[0, 2], True, "name"])
def test_other_subscripts_are_left_to_torch(index: Any) -> None:
    assert subscript(X, index) is None


def test_what_is_written_to_a_subscript_changes_the_tensor() -> None:
    x, y = X.clone(), X.clone()
    y[1:, ..., 2] = X[:2, :, 0]
    y[0] = 9
    with WithoutDevice():
        x[1:, ..., 2] = X[:2, :, 0]
        x[0] = 9
    assert torch.equal(x, y)


def test_a_number_as_a_tensor_keeps_its_dtype() -> None:
    with WithoutDevice():
        found = [torch.tensor(0.5), torch.tensor(3), torch.tensor(True), torch.tensor(1, dtype=torch.float16)]
    assert [one.dtype for one in found] == [torch.float32, torch.int64, torch.bool, torch.float16]
    assert [one.item() for one in found] == [0.5, 3, True, 1.0]
