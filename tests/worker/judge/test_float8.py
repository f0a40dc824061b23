"""Outputs in float8: steps apart like whole numbers, so an element is right or a whole step off."""

from __future__ import annotations

from pathlib import Path

import pytest
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
    return Draws(load_problem(str(file)), "cpu")


FUSED = """\
import torch
import torch.nn as nn
import torch.nn.functional as F

CASES = [dict(name="full"), dict(name="small", small=True)]

class Model(nn.Module):
    def forward(self, {arguments}):
        return {forward}

def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return []
"""


def fused(folder: Path, forward: str, inputs: str, arguments: str = "x") -> Draws:
    return draws_of(folder, FUSED.format(forward=forward, inputs=inputs, arguments=arguments))


def given_of(draws: Draws, draw: int) -> list[torch.Tensor]:
    return [one for one in draws.answer("small", draw).instance.inputs if isinstance(one, torch.Tensor)]


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


def test_elements_past_the_largest_number_judge_nothing(tmp_path: Path) -> None:
    """PyTorch makes infinity of 70,000 in e5m2 (NaN of 500 in e4m3, before 2.13); a GPU keeps the largest number."""
    draws = draws_of(tmp_path, PROBLEM.replace("(blocks / scale)", "(blocks * 4000)").replace("e4m3fn", "e5m2"))
    for draw in draws.draws_for("small"):
        expected, left_out = draws.answer("small", draw).expected[0], draws.answer("small", draw).left_out[0]
        assert bool((expected.isfinite() if left_out is None else expected.isfinite() | left_out).all())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_kernel_may_round_to_half_precision_where_pytorch_does_or_not(tmp_path: Path, dtype: torch.dtype) -> None:
    """It rounds the sum that it also stores, and nothing else; PyTorch rounds each result."""
    norm = "(x + r) * torch.rsqrt((x + r).pow(2).mean(-1, keepdim=True) + 1e-6)"
    rows = f"torch.randn(16, 256, dtype={dtype})"
    draws = fused(tmp_path, f"({norm} * 8).to(torch.float8_e4m3fn)", f"{rows}, {rows}", "x, r")
    for draw in draws.draws_for("small"):
        x, r = given_of(draws, draw)
        for added in ((x + r).float(), x.float() + r.float()):
            made = (added * torch.rsqrt(added.pow(2).mean(-1, keepdim=True) + 1e-6) * 8).clamp(-448, 448).to(E4M3)
            assert reasons(draws, (made,), draw) == [""], draws.answer("small", draw).distribution
        wrong = (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6) * 8).clamp(-448, 448).to(E4M3)
        hides = (values.CENTRED, values.ZEROS)  # r is a 256th of x, less than a rounding, or nothing
        assert draws.answer("small", draw).distribution in hides or reasons(draws, (wrong,), draw) != [""]


def test_a_norm_that_adds_up_in_another_order_is_right(tmp_path: Path) -> None:
    """PyTorch's operator hides its mean and its variance, and float8 has its finest steps where these cancel."""
    draws = fused(tmp_path, "F.layer_norm(x, (2048,)).to(torch.float8_e4m3fn)", "torch.rand(16, 2048)")
    for draw in draws.draws_for("small"):
        (x,) = given_of(draws, draw)
        centred = x - x.sum(-1, keepdim=True) / 2048
        made = centred * torch.rsqrt(centred.pow(2).sum(-1, keepdim=True) / 2048 + 1e-5)
        assert reasons(draws, (made.to(E4M3),), draw) == [""], draws.answer("small", draw).distribution


def test_a_difference_of_large_numbers_may_be_off_by_their_rounding(tmp_path: Path) -> None:
    draws = fused(tmp_path, "(x * 1.1 - 1100.0).to(torch.float8_e4m3fn)", "torch.randn(64, 256) + 1000")
    for draw in draws.draws_for("small"):
        (x,) = given_of(draws, draw)
        made = (x.double() * torch.tensor(1.1).double() - 1100.0).clamp(-448, 448).to(E4M3)  # one rounding less
        assert reasons(draws, (made,), draw) == [""], draws.answer("small", draw).distribution


def test_infinities_of_the_problem_itself_leave_every_distribution(tmp_path: Path) -> None:
    mask = "torch.ones(16, 16).triu(1).bool()"
    masked = f"x.clamp(-20, 20).masked_fill({mask}, -torch.inf).to(torch.float8_e5m2)"
    draws = fused(tmp_path, masked, "torch.randn(16, 16)")
    met = {draws.answer("small", draw).distribution for draw in draws.draws_for("small")}
    assert {values.CENTRED, values.SCALED_UP, values.OUTLIER} <= met


def test_a_reference_that_reads_the_bits_of_a_float8_is_judged_by_its_result(tmp_path: Path) -> None:
    """Without the cast to float8 it would read other bits."""
    bits = "(x.to(torch.float8_e4m3fn).view(torch.uint8) & 0x7F).view(torch.float8_e4m3fn)"
    draws = fused(tmp_path, bits, "torch.randn(16, 64)")
    (x,) = given_of(draws, 0)
    right = x.abs().to(E4M3)
    assert reasons(draws, (right,), 0) == [""]
    assert reasons(draws, (x.to(E4M3),), 0) != [""]
    assert reasons(draws, ((right.float() * 1.25).to(E4M3),), 0) != [""]
