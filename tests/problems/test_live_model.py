"""A live module becomes a script, with its own classes, without the values of its parameters."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import kernelwright
from kernelwright.errors import ProblemError
from kernelwright.problems.live import write_model


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.tensor([2.0, 3.0, 4.0, 5.0]))

    def forward(self, tokens: torch.Tensor) -> Any:
        return self.head(self.embed(tokens) * self.scale)


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the script of a module defines."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "tied_code", raising=False)
    with torch.autocast("cpu", torch.bfloat16):
        script = write_model(Tied(), {"a": [torch.tensor([1, 5])]}, None, tmp_path, True)
    assert script == tmp_path / "tied_module" / "tied.py"
    found = runpy.run_path(os.fspath(script))
    sys.modules.pop("tied_code")
    return found


def test_ambient_autocast_and_training_are_written(names: dict[str, Any]) -> None:
    assert (names["train"], names["autocast"]) == (True, torch.bfloat16)


def test_parameters_stay_tied_and_get_random_values_and_buffers_keep_theirs(names: dict[str, Any]) -> None:
    made = names["build"]()
    assert made.head.weight is made.embed.weight
    assert made.scale.tolist() == [2.0, 3.0, 4.0, 5.0]
    assert made(*names["inputs"]()["a"]).shape == (2, 7)
    assert float(made.embed.weight.detach().abs().max()) < 0.2


def test_the_callers_module_is_unchanged(tmp_path: Path) -> None:
    module = Tied()
    before = module.embed.weight.clone()
    write_model(module, {"a": [torch.tensor([1])]}, "other", tmp_path, False)
    assert torch.equal(module.embed.weight, before)
    assert module.embed.weight.device.type == "cpu"


def test_what_is_no_module_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="is no torch"):
        write_model(len, {}, None, tmp_path, False)


def test_a_model_of_the_python_api_names_its_script(tmp_path: Path) -> None:
    model = kernelwright.Model.from_module(Tied(), {"a": [torch.tensor([1])]}, folder=tmp_path, name="net")
    assert model.script == os.fspath(tmp_path / "net_module" / "net.py")
