"""Outputs in float8: steps apart like whole numbers, so an element is right or a whole step off."""

from __future__ import annotations

from pathlib import Path

import torch

from kernelwright.worker.judge.comparison import compared
from kernelwright.worker.judge.draws import Draws
from kernelwright.worker.reference import values
from kernelwright.worker.reference.load import load_problem

E4M3 = torch.float8_e4m3fn
PROBLEM = """\
import torch
import torch.nn as nn

CASES = [dict(name="full"), dict(name="small", small=True)]

class Model(nn.Module):
    def forward(self, x):
        blocks = x.float().unflatten(-1, (-1, 32))
        scale = blocks.abs().amax(dim=-1, keepdim=True).clamp(min=1e-4) / 448.0
        return (blocks / scale).flatten(-2).to(torch.float8_e4m3fn), scale.squeeze(-1)

def get_inputs():
    return [torch.randn(9, 128)]

def get_init_inputs():
    return []
"""


def draws_of(folder: Path, problem: str = PROBLEM) -> Draws:
    file = folder / "quantized.py"
    file.write_text(problem)
    return Draws(load_problem(str(file)), None, "cpu")


def quantized(x: torch.Tensor, least: float = 1e-4, by: str = "quotient") -> tuple[torch.Tensor, torch.Tensor]:
    """What kernels make of x, in the ways that they do it. by: whether they divide, or multiply by a reciprocal."""
    blocks = x.unflatten(-1, (-1, 32))
    scale = blocks.abs().amax(dim=-1, keepdim=True).clamp(min=least) / 448.0
    made = {
        "quotient": lambda: blocks / scale, "reciprocal": lambda: blocks * (1 / scale),
        "of the maximum": lambda: blocks * (448.0 / (scale * 448.0)),
    }[by]()  # fmt: skip
    return made.clamp(-448, 448).flatten(-2).to(E4M3), scale.squeeze(-1)


def reasons(draws: Draws, made: tuple[torch.Tensor, ...], draw: int) -> list[str]:
    return [compared(draws, "small", draw, output, one).why for output, one in enumerate(made)]


def test_values_that_fill_the_range_of_float8_meet_every_distribution(tmp_path: Path) -> None:
    """The largest is always 448, the largest number of the dtype: it must not count as nearly infinite."""
    draws = draws_of(tmp_path)
    met = {draws.answer("small", draw).distribution for draw in draws.draws_for("small")}
    assert {values.CENTRED, values.SCALED_UP, values.ROWS, values.SLICES, values.TIED} <= met


def test_a_missing_lower_limit_of_the_scale_is_refused(tmp_path: Path) -> None:
    draws = draws_of(tmp_path)
    found = {}
    for draw in draws.draws_for("small"):
        answer = draws.answer("small", draw)
        x = answer.instance.inputs[0]
        assert isinstance(x, torch.Tensor)
        found[answer.distribution] = reasons(draws, quantized(x, least=1e-30), draw)
    assert found[values.AS_GIVEN] == ["", ""]
    assert any(found[values.ROWS]) or any(found[values.SLICES])


def test_other_ways_to_divide_are_right_on_every_draw(tmp_path: Path) -> None:
    """Where a value lies between two steps, the quotient and the product with a reciprocal may round to either."""
    between = "torch.rand(9, 4, 1) * torch.cat((torch.tensor([448.0]), torch.arange(17, 32, 2).repeat(4)[1:])) / 448"
    draws = draws_of(tmp_path, PROBLEM.replace("torch.randn(9, 128)", f"({between}).flatten(-2)"))
    for draw in draws.draws_for("small"):
        x = draws.answer("small", draw).instance.inputs[0]
        assert isinstance(x, torch.Tensor)
        for way in ("quotient", "reciprocal", "of the maximum"):
            assert reasons(draws, quantized(x, by=way), draw) == ["", ""], way


def test_a_step_that_no_rounding_explains_is_refused(tmp_path: Path) -> None:
    draws = draws_of(tmp_path)
    x = draws.answer("small", 0).instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    made, scale = quantized(x)
    wide = made.float()
    at = tuple(((wide.abs() >= 1) & (wide.abs() <= 100)).nonzero()[0].tolist())
    wide[at] *= 1.25  # two steps, or one from the last of an exponent
    first, _ = reasons(draws, (wide.to(E4M3), scale), 0)
    assert "float8 and whole numbers have to be equal" in first
    assert f"at {at}" in first


def test_an_output_beside_one_in_float8_keeps_the_tolerance_of_its_dtype(tmp_path: Path) -> None:
    draws = draws_of(tmp_path)
    x = draws.answer("small", 0).instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    made, scale = quantized(x)
    assert reasons(draws, (made, scale * (1 + 2e-7)), 0) == ["", ""]
    assert reasons(draws, (made, scale * (1 + 1e-4)), 0)[1]


def test_draws_past_the_largest_number_are_not_used(tmp_path: Path) -> None:
    """PyTorch makes infinity of 70,000 in e5m2 (NaN of 500 in e4m3, before 2.13); a GPU keeps the largest number."""
    draws = draws_of(tmp_path, PROBLEM.replace("(blocks / scale)", "(blocks * 4000)").replace("e4m3fn", "e5m2"))
    for draw in draws.draws_for("small"):
        assert bool(draws.answer("small", draw).expected[0].isfinite().all())
