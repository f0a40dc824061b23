"""What a source gives its kernels, as `triton.Config` would say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.errors import ConfigError
from kernelwright.source import KernelConfig, apply_config, kernel_configs

GALLERY = Path(__file__).resolve().parents[2] / "gallery"

SOURCE = """\
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"TILE": 64}, num_warps=2),
    triton.Config({"TILE": 128, "SPLIT": WIDE}, num_warps=8, num_stages=4),
]
ROWS = 4


@triton.jit
def first(x, n, STRIDE: tl.constexpr, BLOCK_ROWS: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr = 32):
    tl.store(x, n)


@triton.autotune(CONFIGS, key=["n"])
@triton.jit
def second(x, n, TILE: tl.constexpr, SPLIT: tl.constexpr):
    tl.store(x, n)


def kernel_function(x):
    block = min(triton.next_power_of_2(x.numel()), 2048)
    first[(1,)](x, 1, 2, ROWS, block, num_stages=2)
    first[(1,)](x, 1, 2, ROWS, block, num_stages=2)
    first[(1,)](x, 1, 2, ROWS, block, num_warps=8)
    second[(1,)](x, 1)
    return x
"""


def test_parameters_bear_the_kernels_names_and_what_is_computed_is_only_named() -> None:
    found = kernel_configs(SOURCE)
    assert found["first"] == KernelConfig(
        kwargs={"BLOCK_ROWS": 4, "TILE": 32}, num_warps=4, num_stages=2, derived=("BLOCK",)
    )


def test_a_second_launch_with_other_values_stands_apart_and_equal_ones_do_not() -> None:
    assert [name for name in kernel_configs(SOURCE) if name.startswith("first")] == ["first", "first#2"]
    assert kernel_configs(SOURCE)["first#2"].num_stages == 3


def test_an_autotuned_kernel_has_the_config_of_the_index() -> None:
    assert kernel_configs(SOURCE)["second"] == KernelConfig(kwargs={"TILE": 64}, num_warps=2, num_stages=3)
    chosen = kernel_configs(SOURCE, {"second": 1})["second"]
    assert chosen == KernelConfig(kwargs={"TILE": 128}, num_warps=8, num_stages=4, derived=("SPLIT",))
    assert "second" not in kernel_configs(SOURCE, {"second": 2})


def test_a_config_that_was_applied_is_read_back() -> None:
    source = (GALLERY / "matmul" / "starter.py").read_text(encoding="utf-8")
    config = {"BLOCK_M": 64, "matmul_kernel.BLOCK_K": 64, "matmul_kernel.num_warps": 4, "matmul_kernel.num_stages": 5}
    assert kernel_configs(apply_config(source, config)) == {
        "matmul_kernel": KernelConfig(
            kwargs={"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}, num_warps=4, num_stages=5
        )
    }


@pytest.mark.parametrize("starter", sorted(GALLERY.glob("*/starter.py")), ids=lambda path: path.parent.name)
def test_every_kernel_of_the_gallery_is_read(starter: Path) -> None:
    source = starter.read_text(encoding="utf-8")
    assert {name.partition("#")[0] for name in kernel_configs(source)} == {
        line.partition("(")[0].removeprefix("def ") for line in source.splitlines() if line.startswith("def ") and
        "_kernel(" in line
    }  # fmt: skip


def test_a_source_that_is_no_python_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not parse"):
        kernel_configs("def (")
