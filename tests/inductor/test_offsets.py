"""Kernels whose offsets have 32 bits refuse sizes that these do not reach, and no others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from generated import LAUNCH, OUT, X, library, of
from kernelwright.inductor import NotConverted, candidate_text
from kernelwright.inductor.offsets import guard, product
from kernelwright.model import Allocation, Launch, Step, View


def asked(*steps: Step, **others: Any) -> str:
    """What the host code compares with 2**31, "" for nothing. steps: after the allocation of the output."""
    made = candidate_text(of(steps=(OUT, *(steps or (LAUNCH,))), **others), "any")
    return made.partition(" >= 2**31")[0].rpartition("    if ")[2] if "2**31" in made else ""


def test_what_a_kernel_is_launched_with_counts() -> None:
    assert asked() == "rows * dim"


def test_a_kernel_with_offsets_of_64_bits_takes_any_size() -> None:
    assert asked(change=lambda text: text.replace("'grid_type'", "'xnumel': 'i64', 'grid_type'")) == ""


def launch(*arguments: str) -> Launch:
    return msgspec.structs.replace(LAUNCH, arguments=arguments)


def test_an_input_that_only_a_library_call_reads_does_not_count() -> None:
    made = Allocation(name="buf1", shape=("rows", "rows"), stride=None, dtype="torch.float32")
    call = library("mm", X, X, out=View(tensor="buf1"))
    assert asked(made, call, launch("buf1", "buf0", "rows", "rows", "rows", "rows")) == "rows * rows"


def test_a_tensor_that_a_library_call_makes_counts() -> None:
    call = library("convolution", X, X, "None", result="buf1", shape=("rows", "rows", "dim"))
    reads = launch("buf1", "buf0", "dim", "rows", "rows", "dim")
    assert asked(call, reads) == "rows * rows * dim"
    with pytest.raises(NotConverted, match="the size of buf1 is not known"):
        asked(msgspec.structs.replace(call, shape=None), reads)


def test_the_launch_counts_where_it_goes_over_more_than_a_tensor_has() -> None:
    assert asked(launch("x", "buf0", "dim", "rows", "rows * rows", "dim")) == "rows * rows * dim"


def test_products_are_compared_by_their_factors() -> None:
    assert guard([product(["2", "a"]), product(["a", "b"]), product(["b * a", "4"]), product(["7"])])[0] == (
        "if 4 * b * a >= 2**31:"
    )
    assert guard([product(["a", "b // 2"]), product(["3 * a"])])[0] == "if max(a * (b // 2), 3 * a) >= 2**31:"
    assert guard([product(["1", "a"]), product(["a"])])[0] == "if a >= 2**31:"
    assert guard([product(["8", "8"])]) == []


def test_a_quotient_may_be_0_so_that_no_product_with_it_is_the_largest() -> None:
    """Where it is, the other product may still be too large."""
    both = [product(["a", "b"]), product(["a", "b", "(c - 3) // 2"])]
    assert guard(both)[0] == "if max(a * b, a * b * ((c - 3) // 2)) >= 2**31:"
