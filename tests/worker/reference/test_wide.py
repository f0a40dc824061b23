"""What `forward` makes and casts where the reference is computed in float64."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from kernelwright.worker.reference.wide import computed_in

THIRD = torch.full((4,), 1 / 3, dtype=torch.float64)

ASKED: dict[str, Callable[[Tensor], Tensor]] = {
    "float": lambda x: x.float(),
    "to": lambda x: x.to(torch.float32),
    "to, by name": lambda x: x.to(dtype=torch.float32),
    "type": lambda x: x.type(torch.float32),
    "an operator's dtype": lambda x: torch.sum(x, dtype=torch.float32) / 4,
    "a new tensor": lambda x: x + torch.zeros(4, dtype=torch.float32),
    "a new tensor, all by name": lambda x: x + 0 * torch.arange(start=0, end=4, dtype=torch.float32),
    "a float of halves": lambda x: (x.half().float() - x.half()) + x,
}


@pytest.mark.parametrize("how", ASKED)
def test_float32_is_what_to_compute_in_and_leaves_no_digits_out(how: str) -> None:
    with computed_in(torch.float64):
        made = ASKED[how](THIRD)
    assert made.dtype == torch.float64
    assert float((made - THIRD).abs().max()) == 0.0


def test_a_cast_to_fewer_digits_than_float32_stays() -> None:
    with computed_in(torch.float64):
        made = THIRD.to(torch.float16).float()
    assert float(made[0]) == float(torch.tensor(1 / 3, dtype=torch.float16))


def test_bits_are_those_of_float32() -> None:
    with computed_in(torch.float64):
        bits = THIRD.float().view(torch.int32)
        same = bits.view(torch.float32)
    assert torch.equal(bits, THIRD.float().view(torch.int32))
    assert torch.equal(same, THIRD.float())


def test_a_cast_is_a_copy_that_may_be_changed() -> None:
    x = THIRD.clone()
    with computed_in(torch.float64):
        x.float().add_(1)
    assert torch.equal(x, THIRD)


def test_a_reference_may_ask_which_dtype_two_dtypes_have_together() -> None:
    with computed_in(torch.float64):
        assert torch.promote_types(THIRD.dtype, torch.float32) == torch.float64


@pytest.mark.parametrize("dtype", [None, torch.float32])
def test_where_the_reference_is_not_computed_in_float64_a_cast_is_one(dtype: torch.dtype | None) -> None:
    with computed_in(dtype):
        assert THIRD.float().dtype == torch.float32
