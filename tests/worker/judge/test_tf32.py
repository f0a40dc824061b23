"""Products of float32 in TF32, for problems that state it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from kernelwright.worker.judge import tf32, tolerance
from kernelwright.worker.judge.judge import Judge

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        return {expression}

CASES = [dict(name="small", small=True, rows=17), dict(name="timed", rows=16)]

def get_inputs(rows):
    return [torch.randn(rows, 24), torch.randn(24, 11)]

def get_init_inputs():
    return []
"""


def truncated(value: Tensor, bits: int) -> Tensor:
    """As the tensor cores read a float32 number: without its last bits."""
    return (value.view(torch.int32) & -(1 << (23 - bits))).view(torch.float32)


def judge(folder: Path, expression: str) -> Judge:
    file = folder / "problem.py"
    file.write_text(PROBLEM.format(expression=expression))
    made = Judge("cpu")
    made.load(str(file))
    return made


def refusals(made: Judge, bits: int) -> list[str]:
    found = []
    for draw in made.draws_for("small"):
        x, y = (one for one in made.answer("small", draw).instance.inputs if isinstance(one, Tensor))
        found.append(made._compared("small", draw, 0, truncated(x, bits) @ truncated(y, bits) + 1).reason)
    return [reason for reason in found if reason]


@pytest.mark.parametrize("expression", ["x @ y + 1", "torch.nn.functional.linear(x, y.mT) + 1"])
def test_a_kernel_may_drop_the_bits_of_factors_at_every_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expression: str
) -> None:
    """cuBLAS computes such a small product in IEEE's float32, also where TF32 is allowed: that refused published
    kernels."""
    assert refusals(judge(tmp_path, expression), 10)
    monkeypatch.setattr(tf32, "is_used", lambda instance: True)
    monkeypatch.setitem(tolerance.MULTIPLES, torch.float32, tolerance.ROUNDED_FACTORS)
    made = judge(tmp_path, expression)
    assert refusals(made, 10) == []
    assert len(refusals(made, 7)) > 5


def test_numbers_keep_ten_bits_and_what_is_no_number_stays() -> None:
    value = [1 + 2.0**-10, 1 + 2.0**-12, 1 + 3 * 2.0**-11, -1 - 2.0**-11, torch.inf, torch.nan, 1e300]
    found = tf32.cut_off(torch.tensor(value, dtype=torch.float64)).tolist()
    assert found[:5] == [1 + 2.0**-10, 1.0, 1 + 2.0**-10, -1.0, torch.inf]
    assert found[5] != found[5]
    assert found[6] == 1e300
    whole = torch.arange(3)
    assert tf32.cut_off(whole) is whole


def test_without_a_gpu_or_where_it_is_not_stated_nothing_is_rounded(tmp_path: Path) -> None:
    made = judge(tmp_path, "x @ y + 1")
    assert not tf32.is_used(made.answer("small", 0).instance)
