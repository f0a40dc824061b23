"""Kernels whose offsets have 32 bits refuse sizes that these do not reach, and no others."""

from __future__ import annotations

import pytest

from generated import LAUNCH, Change, of
from kernelwright.inductor import NotConverted, candidate_text
from kernelwright.inductor.offsets import guard, product


def asked(step: str = LAUNCH, change: Change = lambda text: text) -> str:
    """What the host code compares with 2**31, "" for nothing. step: the launches of the generated code."""
    made = candidate_text(of(lambda text: change(text.replace(LAUNCH, step))), "any")
    return made.partition(" >= 2**31")[0].rpartition("    if ")[2] if "2**31" in made else ""


def test_what_a_kernel_is_launched_with_counts() -> None:
    assert asked() == "rows * dim"


def test_a_kernel_with_offsets_of_64_bits_takes_any_size() -> None:
    assert asked(change=lambda text: text.replace("'grid_type'", "'xnumel': 'i64', 'grid_type'")) == ""


OF_PRODUCT = """buf1 = empty_strided_cuda(({rows}, {rows}), ({rows}, 1), torch.float32)
        extern_kernels.mm(arg0_1, arg0_1, out=buf1)
        """ + LAUNCH.replace(
    "(arg0_1, buf0, {width}, {rows}, {rows}, {width}", "(buf1, buf0, {rows}, {rows}, {rows}, {rows}"
)


def test_an_input_that_only_a_library_call_reads_does_not_count() -> None:
    assert asked(OF_PRODUCT) == "rows * rows"


def test_a_tensor_that_a_library_call_makes_counts() -> None:
    made = """buf1 = extern_kernels.convolution(arg0_1, arg0_1, stride=(1,), padding=(0,), dilation=(1,), \
transposed=False, output_padding=(0,), groups=1, bias=None)
        assert_size_stride(buf1, ({rows}, {rows}, {width}), ({rows} * {width}, {width}, 1), 'output')
        """ + LAUNCH.replace("arg0_1", "buf1")
    assert asked(made) == "rows * rows * dim"
    with pytest.raises(NotConverted, match="the size of buf1 is not known"):
        asked("\n".join(line for line in made.splitlines() if "assert_size" not in line))


def test_the_launch_counts_where_it_goes_over_more_than_a_tensor_has() -> None:
    assert asked(LAUNCH.replace("{rows}, {width}, stream", "{rows} * {rows}, {width}, stream")) == "rows * rows * dim"


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
