"""What is left of a kernel's configs in a file that is shipped: the one that was judged."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kernelwright.source.edits import with_one_config
from kernelwright.worker.rules.extract import extract

HONEST = Path(__file__).parents[1] / "honest/kernels"
SOURCE = """import torch
import triton
import triton.language as tl

SPACE = [triton.Config({{"BLOCK": 64}}), triton.Config({{"BLOCK": 128}}, num_warps=8)]


@triton.autotune({given}, key=["n"])
@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def kernel_function(x):
    y = torch.empty_like(x)
    copy[lambda META: (triton.cdiv(x.numel(), META["BLOCK"]),)](x, y, x.numel())
    return y
"""
WRITTEN = '[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128}, num_warps=8)]'


def configs(source: str) -> str:
    """The configs of the first autotuned kernel."""
    tuned = next(one for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)
                 for one in node.decorator_list if isinstance(one, ast.Call) and one.args)  # fmt: skip
    return ast.unparse(tuned.args[0])


@pytest.mark.parametrize("given", [WRITTEN, "SPACE"])
@pytest.mark.parametrize(("index", "left"), [(0, "triton.Config({'BLOCK': 64})"),
                                             (1, "triton.Config({'BLOCK': 128}, num_warps=8)")])  # fmt: skip
def test_of_configs_that_are_written_out_one_is_left(given: str, index: int, left: str) -> None:
    made = with_one_config(SOURCE.format(given=given), {"copy": index})
    assert configs(made) == f"[{left}]"
    assert not extract(made).findings


def test_of_configs_that_are_computed_one_is_taken_when_the_file_is_read() -> None:
    source = (HONEST / "affine_relu/autotuned_comprehension.py").read_text()
    made = with_one_config(source, {"affine_relu": 3})
    assert configs(made) == "list(space())[3:4]"
    assert not extract(made).findings


def test_a_kernel_that_is_not_autotuned_stays_as_it_is() -> None:
    source = SOURCE.format(given=WRITTEN).replace(f'@triton.autotune({WRITTEN}, key=["n"])\n', "")
    assert "autotune" not in source
    assert with_one_config(source, {}) == source
