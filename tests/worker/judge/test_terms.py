"""Terms of a sum, measured by gradients."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kernelwright.worker.judge import terms
from kernelwright.worker.judge.draws import Draws
from kernelwright.worker.judge.judge import Judge
from kernelwright.worker.reference.instance import cast
from kernelwright.worker.reference.load import load_problem

PROBLEM = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {setup}

    def forward(self, x):
        return {forward}


rows, columns = 6, 40
CASES = [dict(name="small", small=True), dict(name="timed", rows=12, columns=400)]


def get_inputs():
    return [torch.randn({sizes})]


def get_init_inputs():
    return []
"""


def problem(folder: Path, forward: str, setup: str = "pass", sizes: str = "rows, columns") -> Path:
    file = folder / "made.py"
    file.write_text(PROBLEM.format(forward=forward, setup=setup, sizes=sizes))
    return file


def measured(file: Path, case: int = 0) -> list[int | None]:
    loaded = load_problem(str(file))
    return terms.measured(cast(loaded.instance(loaded.cases[case], seed=1), "float64"))


@pytest.mark.parametrize(("forward", "setup", "expected"), [
    ("F.gelu(x)", "pass", 1),
    ("torch.relu(x) * 2 + 1", "pass", 1),
    ("F.max_pool1d(x, 4)", "pass", 1),
    ("F.avg_pool1d(x, 4)", "pass", 4),
    ("torch.softmax(x, dim=-1)", "pass", 40),
    ("torch.softmax(x, dim=0)", "pass", 6),
    ("torch.cumsum(x, dim=1)", "pass", 40),
    ("torch.flip(torch.cumsum(torch.flip(x, (1,)), dim=1), (1,))", "pass", 40),
    ("x.sum()", "pass", 240),
    ("x.sum(dim=1)", "pass", 40),
    ("x.sum(dim=0) * x.sum(dim=1, keepdim=True)", "pass", 40),
    ("x.amax(dim=1)", "pass", 1),
    ("x.sort(dim=1).values", "pass", 1),
    ("x @ x.mT", "pass", 40),
    ("self.layer(x)", "self.layer = nn.Linear(40, 30)", 40),
    ("self.layer(x)", "self.layer = nn.Sequential(nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 7))", 69),
    ("self.layer(x[None])", "self.layer = nn.Conv1d(6, 8, 3)", 18),
    ("self.layer(x[None])", "self.layer = nn.Conv1d(6, 6, 3, groups=3)", 6),
    ("self.layer(x)", "self.layer = nn.LayerNorm(40)", 40),
    ("self.layer(x[None])", "self.layer = nn.BatchNorm1d(6)", 1),
    ("F.scaled_dot_product_attention(x[None], x[None], x[None])", "pass", 40 + 6 + 6 - 2),
    ("x.float().mean(dim=1)", "pass", 40),
])  # fmt: skip
def test_terms_are_those_of_the_longest_path(tmp_path: Path, forward: str, setup: str, expected: int) -> None:
    assert measured(problem(tmp_path, forward, setup)) == [expected]


def test_what_is_written_into_a_tensor_counts(tmp_path: Path) -> None:
    lines = [
        "pass\n",
        "    def filled(self, x):",
        "    y = torch.zeros_like(x)",
        "    y[1:] = x[1:].cumsum(1)",
        "    return y",
    ]
    setup = "\n    ".join(lines).replace("\n        def", "\n    def")
    assert measured(problem(tmp_path, "self.filled(x)", setup)) == [40]


def test_a_recurrent_layer_counts_every_step(tmp_path: Path) -> None:
    file = problem(tmp_path, "self.layer(x[:, None])[0]", "self.layer = nn.GRU(40, 8)")
    assert measured(file) == [1 + 39 + 5 * 7], "the first step adds up its inputs, the others a product with the state"


@pytest.mark.parametrize("forward", ["x.argmax(dim=1)", "x.detach() * 2", "x > 0"])
def test_an_output_without_gradient_has_no_terms(tmp_path: Path, forward: str) -> None:
    assert measured(problem(tmp_path, forward)) == [None]


@pytest.mark.parametrize(("forward", "small", "timed"), [
    ("F.gelu(x)", 1, 1),
    ("torch.softmax(x, dim=-1)", 40, 400),
    ("x.sum(dim=1)", 40, 400),
    ("x @ x.mT", 40, 400),
])  # fmt: skip
def test_what_is_too_large_grows_as_its_sizes_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forward: str, small: float, timed: float
) -> None:
    draws = Draws(load_problem(str(problem(tmp_path, forward))), "cpu")
    assert (draws.terms("small", 0), draws.terms("timed", 0)) == (small, timed)
    monkeypatch.setattr(draws.counts, "_has_affordable_gradients", lambda case: case == "small")
    assert (draws.terms("small", 0), draws.terms("timed", 0)) == (small, pytest.approx(timed))


def test_without_any_measurement_the_smaller_estimate_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = Draws(load_problem(str(problem(tmp_path, "F.gelu(x)"))), "cpu")
    monkeypatch.setattr(draws.counts, "_has_affordable_gradients", lambda case: False)
    assert draws.terms("timed", 0) == 1


def test_half_precision_answers_to_a_long_elementwise_row_are_wrong(tmp_path: Path) -> None:
    """A row of 400,000 values was allowed 3e-4, as a sum of as many terms is."""
    file = problem(tmp_path, "F.gelu(x)")
    file.write_text(file.read_text().replace("rows=12, columns=400", "rows=2, columns=400_000"))
    made = Judge("cpu")
    made.load(str(file))
    limit = made.draws.limit("timed", 0, 0)
    assert limit.max_rel < 1e-5
    answer = made.answer("timed", 0)
    assert made._compared("timed", 0, 0, answer.expected[0].half().float()).reason
    x = answer.instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    assert not made._compared("timed", 0, 0, x * 0.5 * (1 + torch.erf(x * 0.5**0.5))).reason


def test_an_exponential_of_large_values_may_be_off_by_what_its_argument_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """exp2(x * log2(e)), as Triton compiles exp: the rounding of the argument is larger in the result. The draws are
    fixed: the scale is that of the larger of two draws, and their largest exponentials may differ a thousandfold."""
    monkeypatch.setattr("kernelwright.worker.judge.draws.secrets", SimpleNamespace(randbits=lambda bits: 1))
    file = problem(tmp_path, "torch.exp(x * 16)")
    file.write_text(file.read_text().replace("rows=12, columns=400", "rows=11, columns=400_001"))
    made = Judge("cpu")
    made.load(str(file))
    assert not made.draws.is_affordable("timed")
    x = made.answer("timed", 0).instance.inputs[0]
    assert isinstance(x, torch.Tensor)
    assert not made._compared("timed", 0, 0, torch.exp2(x * 16 * 1.4426950408889634)).reason
    half_precision_s_rounding_at_64 = 2.0**-5
    assert made._compared("timed", 0, 0, torch.exp(x * 16 + half_precision_s_rounding_at_64)).reason
