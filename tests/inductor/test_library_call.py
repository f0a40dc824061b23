"""Library calls that are the whole computation."""

from __future__ import annotations

import msgspec
import pytest

from generated import MM, X, library, of_product, of_rows, template
from kernelwright.inductor import NotConverted, candidate_text, candidate_texts, library_call
from kernelwright.model import LibraryMode


@pytest.mark.parametrize("library", ["none", "finish", "any"])
def test_a_library_call_alone_is_the_computation_and_no_candidate(library: LibraryMode) -> None:
    generated = of_rows(MM, launched=False)
    assert library_call(generated) == "the library call is the computation (aten.mm)"
    with pytest.raises(NotConverted, match=r"\(aten\.mm\), and there is no Triton template in its place"):
        candidate_text(generated, library)


def test_so_is_a_call_that_could_be_no_library_step() -> None:
    call = library("_scaled_dot_product_flash_attention", X, result="buf1", fault="is no library step")
    generated = of_rows(call, launched=False)
    assert "(aten._scaled_dot_product_flash_attention)" in str(library_call(generated))


def test_a_kernel_beside_the_call_counts_unless_all_is_one_operator() -> None:
    """A kernel that adds a convolution's bias, for example."""
    generated = of_rows(MM)
    assert library_call(generated) is None
    captures = tuple(msgspec.structs.replace(one, is_one_operator=True) for one in generated.captures)
    assert library_call(msgspec.structs.replace(generated, captures=captures)) is not None


@pytest.mark.parametrize("rows", [4, 1024])
def test_templates_take_the_place_of_a_product_with_split_ones_first_where_they_can_be_judged(rows: int) -> None:
    generated = of_product(rows)
    assert library_call(generated) == "the library call is the computation (aten.mm)"
    texts = candidate_texts(generated, "any", split=True)
    assert [("input_precision" in text, "torch.mm" in text) for text in texts] == [
        (True, False),
        (True, False),
        (False, False),
    ]
    assert candidate_texts(generated, "finish") == texts[2:]


@pytest.mark.parametrize("library", ["none", "any"])
def test_a_product_without_a_template_is_no_candidate(library: LibraryMode) -> None:
    """Where Inductor has none, its templates are library calls too."""
    calls = of_rows(MM).captures
    with pytest.raises(NotConverted, match="no Triton template in its place"):
        candidate_texts(msgspec.structs.replace(of_product(1024), templates=calls), library, split=True)


def test_a_template_that_cannot_be_converted_is_named() -> None:
    generated = of_product(1024)
    broken = (template(lambda text: text.replace("BLOCK_K", "STEP")),)
    with pytest.raises(NotConverted, match="no Triton template in its place: "):
        candidate_texts(msgspec.structs.replace(generated, templates=broken), "finish", split=True)
