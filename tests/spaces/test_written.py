"""Candidates of a stated space, within and beyond the choices that the source offers by itself."""

from __future__ import annotations

import pytest

from kernelwright.errors import ConfigError
from kernelwright.source import apply_config, default_config, find_tunables
from kernelwright.spaces.written import candidate_for

SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def kernel_function(x):
    BLOCK = 64  # kept
    double_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, x.numel(), BLOCK=BLOCK, num_warps=4)
    return x
"""


def test_within_the_sources_own_choices_its_text_stays() -> None:
    candidate = candidate_for(SOURCE, {"BLOCK": 128, "double_kernel.num_warps": 8})
    assert candidate.source == SOURCE
    assert candidate.config == {"BLOCK": 128, "double_kernel.num_warps": 8}


@pytest.mark.parametrize("block", [1, 8, 1024, 8192])
def test_beyond_them_only_the_number_is_written(block: int) -> None:
    assert block not in next(one.choices for one in find_tunables(SOURCE) if one.key == "BLOCK")
    candidate = candidate_for(SOURCE, {"BLOCK": block, "double_kernel.num_warps": 8})
    assert candidate.source == SOURCE.replace("BLOCK = 64  # kept", f"BLOCK = {block}  # kept")
    assert candidate.config == {"double_kernel.num_warps": 8}
    assert default_config(apply_config(candidate.source, candidate.config))["double_kernel.num_warps"] == 8


def test_what_no_rewriting_reaches_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"BLOCK cannot be 100 "):
        candidate_for(SOURCE, {"BLOCK": 100})
    with pytest.raises(ConfigError, match="num_warps cannot be 3 "):
        candidate_for(SOURCE, {"double_kernel.num_warps": 3})
    with pytest.raises(ConfigError, match="no tunable 'STRIDE'"):
        candidate_for(SOURCE, {"STRIDE": 2})
