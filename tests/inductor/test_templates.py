"""Triton templates of products become kernels with blocks as tunables and a grid that follows from sizes."""

from __future__ import annotations

import pytest

from generated import LAUNCH, SIZES, Change, capture, template, unchanged
from kernelwright.inductor import NotConverted, candidate_text
from kernelwright.model import Generated
from kernelwright.source.tunables import default_config


def converted(change: Change = unchanged) -> str:
    return candidate_text(Generated(captures=tuple(template(*size, change) for size in SIZES), inputs=(("x", None),)))


def test_the_blocks_of_a_template_are_tunables() -> None:
    assert default_config(converted()) == {
        "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8, "NUM_WARPS": 4, "NUM_STAGES": 3,
    }  # fmt: skip


def test_its_grid_is_computed_from_sizes_and_blocks() -> None:
    text = converted()
    assert "mm_relu_tiles[(triton.cdiv(rows, BLOCK_M) * triton.cdiv(rows, BLOCK_N),)](" in text
    assert "dtype=tl.float32" in text
    assert "return\n    pid" not in text


def test_a_grid_that_the_formula_does_not_give_is_refused() -> None:
    with pytest.raises(NotConverted, match=r"has the grid \[2, 1, 1\], not \[1, 1, 1\]"):
        converted(lambda text: text.replace(", 1, 1, 1, stream", ", 2, 1, 1, stream"))


def test_another_template_is_named() -> None:
    with pytest.raises(NotConverted, match="is a template that is not known here"):
        converted(lambda text: text.replace("    K = {width}", "    DEPTH = {width}"))


def test_a_template_takes_the_place_of_a_library_call_that_the_problem_does_not_allow() -> None:
    with_call = LAUNCH + "\n        extern_kernels.mm(arg0_1, arg0_1, out=buf0)"
    calls = tuple(capture(*size, lambda text: text.replace(LAUNCH, with_call)) for size in SIZES)
    found = Generated(captures=calls, templates=tuple(template(*size) for size in SIZES), inputs=(("x", None),))
    assert "torch.mm" in candidate_text(found, "any")
    for library in ("none", "finish"):
        assert "mm_relu_tiles" in candidate_text(found, library)  # type: ignore[arg-type]


def test_a_library_call_that_no_template_replaces_needs_its_mode() -> None:
    with_call = LAUNCH + "\n        extern_kernels.mm(arg0_1, arg0_1, out=buf0)"
    calls = tuple(capture(*size, lambda text: text.replace(LAUNCH, with_call)) for size in SIZES)
    with pytest.raises(NotConverted, match=r"aten\.mm, which needs LIBRARY"):
        candidate_text(Generated(captures=calls, templates=calls, inputs=(("x", None),)), "finish")
