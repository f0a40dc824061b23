"""The framework's own implementations, made ready to be sampled."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernelwright.worker.clock import clock
from kernelwright.worker.judge.judge import Judge
from kernelwright.worker.reference.baseline import Baselines, _piece
from kernelwright.worker.reference.instance import Instance


def test_what_a_forgotten_baseline_held_is_freed_at_once() -> None:
    """A compiled module refers to itself."""
    output = torch.ones(4)
    output.itself = output  # type: ignore[attr-defined]
    held, baselines = weakref.ref(output), Baselines()
    baselines.timed["compile"] = output  # type: ignore[assignment]
    del output
    baselines.forget()
    assert held() is None


def test_an_output_is_kept_until_the_piece_is_called_again() -> None:
    made: list[weakref.ref[torch.Tensor]] = []

    def module(x: torch.Tensor) -> torch.Tensor:
        output = x + 1
        made.append(weakref.ref(output))
        return output

    piece = _piece(module, (torch.zeros(4),), {})
    piece()
    assert made[0]() is not None
    piece()
    assert made[0]() is None
    assert made[1]() is not None
    _piece(module, (torch.zeros(4),), {}, keeps=False)()
    assert made[2]() is None


@pytest.mark.parametrize(("sets", "kept"), [(1, 0), (2, 2)])
def test_outputs_are_kept_only_where_several_sets_rotate(monkeypatch: pytest.MonkeyPatch, sets: int, kept: int) -> None:
    made: list[weakref.ref[torch.Tensor]] = []

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            output = x + 1
            made.append(weakref.ref(output))
            return output

    class Timed:
        method, calls = "graph", 1

        def __init__(self, pieces: list[Any], **_: Any) -> None:
            self.pieces = pieces

        def prepare(self, sets: int) -> None:
            for piece in self.pieces:
                piece()

    for name in ("mem_get_info", "get_device_properties", "empty_cache"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: SimpleNamespace(L2_cache_size=1) if _ else (1, 1))
    monkeypatch.setattr(clock, "sets_needed", lambda *_: sets)
    monkeypatch.setattr(clock, "Timed", Timed)
    baselines = Baselines()
    baselines.instances["large"] = Instance(Model(), (torch.zeros(4),), (), ("x",), (), Path("model.py"))
    baselines.prepare("large", "eager", 1, 1)
    assert sum(one() is not None for one in made) == kept


PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

CASES = [dict(name="small", small=True, rows=8), dict(name="timed", rows=16)]

def get_inputs(rows):
    return [torch.randn(rows, 4)]

def get_init_inputs():
    return []
"""


def test_the_baselines_of_a_case_share_its_inputs_and_nothing_else_stays_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the first one runs out of memory: expected outputs take four times as much as inputs in half."""
    file = tmp_path / "problem.py"
    file.write_text(PROBLEM)
    judge = Judge("cpu")
    judge.load(str(file))
    taken = []

    def prepare(own: Baselines, case: str, name: str, *others: int) -> None:
        taken.append(own.instances[case])
        assert not judge.draws.kept.answers
        if name == "eager":
            raise torch.OutOfMemoryError("no memory")

    monkeypatch.setattr(Baselines, "prepare", prepare)
    with pytest.raises(torch.OutOfMemoryError):
        judge.prepare_baseline("timed", "eager", 0)
    judge.prepare_baseline("timed", "compile", 0)
    assert taken[0] is taken[1]
    judge.baselines.forget()
    assert not judge.baselines.instances
