"""Networks whose inputs fade under default initialisation, and those that keep their weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kernelwright.errors import ProblemError
from kernelwright.worker.judge.judge import Judge
from kernelwright.worker.reference import signal
from kernelwright.worker.reference.instance import Instance, cast
from kernelwright.worker.reference.load import load_problem

PROBLEM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential({layers})

    def forward(self, x):
        return {forward}


def get_inputs():
    return [torch.randn(5, 24)]


def get_init_inputs():
    return []
"""
DEAF = "*[layer for _ in range(14) for layer in (nn.Linear(24, 24), nn.Sigmoid())], nn.Linear(24, 7)"
FADING = "*[layer for _ in range(12) for layer in (nn.Linear(24, 24), nn.ReLU())], nn.Linear(24, 7)"


def file_of(folder: Path, layers: str, forward: str = "self.layers(x)") -> Path:
    file = folder / "network.py"
    file.write_text(PROBLEM.format(layers=layers, forward=forward))
    return file


def two(file: Path) -> tuple[Instance, Instance]:
    problem = load_problem(str(file))
    return problem.instance(problem.cases[0], seed=1), problem.instance(problem.cases[0], seed=2)


def heard(one: Instance, other: Instance) -> float:
    with torch.no_grad():
        return signal.heard(cast(one, "float64"), cast(other, "float64").inputs)


def test_a_deep_network_hears_its_inputs_again(tmp_path: Path) -> None:
    one, other = two(file_of(tmp_path, FADING))
    assert heard(one, other) < signal.LOST
    before = {name: parameter.clone() for name, parameter in one.module.named_parameters()}
    found = signal.gains(one, other)
    for name, parameter in one.module.named_parameters():
        assert torch.equal(parameter, before[name]), "asking changes nothing"
    signal.apply(one.module, found)
    assert heard(one, other) > 10 * signal.LOST
    for name, parameter in one.module.named_parameters():
        ratio = parameter / before[name]
        assert torch.equal(ratio, torch.full_like(ratio, found.get(name, 1.0))), "one factor for a layer"
        assert found.get(name, 1.0) == 2.0 ** round(torch.tensor(found.get(name, 1.0)).log2().item())
    assert {name.rpartition(".")[2] for name in found} == {"weight"}
    assert found == signal.gains(*two(tmp_path / "network.py")), "the same for the same seeds"


@pytest.mark.parametrize("layers", [
    "nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 7)",
    "nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 7)",
    "nn.LSTM(24, 8)",
])  # fmt: skip
def test_a_network_that_hears_its_inputs_keeps_its_weights(tmp_path: Path, layers: str) -> None:
    assert (
        signal.gains(*two(file_of(tmp_path, layers, "self.layers(x)" if "LSTM" not in layers else "self.layers(x)[0]")))
        == {}
    )


def test_weights_are_larger_also_where_an_average_leaves_little_of_other_inputs(tmp_path: Path) -> None:
    file = file_of(tmp_path, FADING, "self.layers(x).mean(0)")
    file.write_text(file.read_text().replace("randn(5, 24)", "rand(20_000, 24)"))
    one, other = two(file)
    before = heard(one, other)
    signal.apply(one.module, signal.gains(one, other))
    assert 100 * before < heard(one, other) < signal.LOST


def test_what_stays_deaf_keeps_its_weights_and_does_not_qualify(tmp_path: Path) -> None:
    file = file_of(tmp_path, FADING, "self.layers(0 * x)")
    assert signal.gains(*two(file)) == {}
    made = Judge("cpu")
    made.load(str(file))
    with torch.no_grad():
        found = made.qualify("default")
    assert not isinstance(found, str)
    assert "without input x" in [answer.name for answer in found.accepted]


def test_a_deep_network_qualifies(tmp_path: Path) -> None:
    made = Judge("cpu")
    made.load(str(file_of(tmp_path, FADING)))
    with torch.no_grad():
        found = made.qualify("default")
    assert not isinstance(found, str)
    assert found.accepted == ()


@pytest.mark.parametrize("forward", ["x + torch.randn_like(x)", "torch.dropout(x, 0.5, True)", "x * torch.rand(1)"])
def test_a_forward_that_draws_random_numbers_is_refused_in_one_line(tmp_path: Path, forward: str) -> None:
    made = Judge("cpu")
    made.load(str(file_of(tmp_path, "nn.Identity()", forward)))
    with torch.no_grad(), pytest.raises(ProblemError, match=r"forward draws random numbers \([a-z_, ]+\)") as caught:
        made.qualify("default")
    assert "make them an input" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("forward", ["torch.dropout(x, 0.5, False)", "x + 0 * torch.rand_like(x)"])
def test_random_numbers_that_change_nothing_are_let_be(tmp_path: Path, forward: str) -> None:
    made = Judge("cpu")
    made.load(str(file_of(tmp_path, "nn.Identity()", forward)))
    with torch.no_grad():
        assert made.answer("default", 0).expected
