"""What the judge's answers take of memory, counted at each operator, and which of them it keeps."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from kernelwright.worker.judge import elementwise, kept, tolerance, trivial
from kernelwright.worker.judge.answer import Answer
from kernelwright.worker.judge.draws import Draws
from kernelwright.worker.reference import pieces
from kernelwright.worker.reference.load import load_problem

PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return {expression}


CASES = [dict(name="large", {dtype})]


def get_inputs():
    return [torch.rand(16, 8, 2048)]


def get_init_inputs():
    return []
"""
RMS_NORM = "x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5)"
SIZE = 16 * 8 * 2048 * 4
"""Bytes of the input in float32."""


class Peak(TorchDispatchMode):
    """The most bytes that tensors took which were made inside, after any operator. Fake ones take none."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, weakref.ref[torch.Tensor]] = {}
        self.most = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for one in tree_leaves(made):
            if isinstance(one, torch.Tensor) and not isinstance(one, FakeTensor):
                self.made[id(one)] = weakref.ref(one)
        self.most = max(self.most, self.now())
        return made

    def now(self) -> int:
        living = [one.untyped_storage() for reference in self.made.values() if (one := reference()) is not None]
        return sum({one.data_ptr(): one.nbytes() for one in living}.values())


@pytest.fixture
def draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Draws:
    return large(tmp_path, monkeypatch)


def large(folder: Path, monkeypatch: pytest.MonkeyPatch, dtype: str = "", expression: str = RMS_NORM) -> Draws:
    """Draws of a case that counts as large, and is compared in small pieces as one of gigabytes is."""
    for module in (pieces, tolerance, elementwise, trivial):
        monkeypatch.setattr(module, "CHUNK", 1 << 12)
    for limit in ("LARGE_BYTES", "AFFORDABLE_BYTES"):
        monkeypatch.setattr(f"kernelwright.worker.judge.draws.{limit}", 1)
    (folder / "large.py").write_text(PROBLEM.format(dtype=dtype, expression=expression))
    return Draws(load_problem(str(folder / "large.py")), "cpu")


def test_a_draw_of_a_large_case_takes_seven_times_its_input(draws: Draws, monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32: the input (1), what is expected in float64 (2), a copy of the input in float64, which the step along
    one direction changes (2), and what forward makes of it (2)."""
    monkeypatch.setattr(kept, "ON_CPU_BYTES", 4 * SIZE)
    with torch.no_grad(), Peak() as peak:
        for draw in draws.draws_for("large"):
            assert draws.answer("large", draw).own[0].moved.largest > 0
            gc.collect()
    assert SIZE < peak.most < 7.5 * SIZE
    assert peak.now() < 3.5 * SIZE


def test_a_draw_that_is_made_again_is_the_same_and_takes_less(draws: Draws, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was measured of it is known, so that the step is left out: beside timed copies memory is short."""
    monkeypatch.setattr(kept, "ON_CPU_BYTES", 0)
    order = [*draws.draws_for("large"), *draws.following("large")]
    first = [draws.answer("large", draw) for draw in order]
    known = dict(draws.errors)
    tensors = [(one.instance.inputs[0], one.expected[0], one.own, one.distribution) for one in first]
    del first
    for draw, (given, expected, own, distribution) in zip(order, tensors, strict=True):
        gc.collect()
        with torch.no_grad(), Peak() as peak:
            again = draws.answer("large", draw)
        assert torch.equal(torch.as_tensor(again.instance.inputs[0]), torch.as_tensor(given))
        assert torch.equal(again.expected[0], expected)
        assert (again.own, again.distribution) == (own, distribution)
        assert peak.most < 5.5 * SIZE
    assert draws.errors == known


def test_readings_of_exact_inputs_take_no_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the input (1) there are a copy in float64 (2), and small pieces of what is compared."""
    monkeypatch.setattr("kernelwright.worker.judge.rounding.LARGE_ELEMENTS", 1 << 12)
    draws = large(tmp_path, monkeypatch, expression="torch.argmax(x, dim=2)")
    with torch.no_grad(), Peak() as peak:
        answer = draws.answer("large", 0)
    assert answer.dtypes == [torch.int64]
    assert peak.most < 3.5 * SIZE


def test_the_step_leaves_inputs_of_a_problem_in_float64_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = large(tmp_path, monkeypatch, 'dtype="float64"')
    given = draws.problem.instance(draws.problem.cases[0], seed=draws.secret).inputs[0]
    judged = draws.answer("large", 0)
    assert isinstance(given, torch.Tensor)
    assert given.dtype == torch.float64
    assert torch.equal(torch.as_tensor(judged.instance.inputs[0]), given)
    assert judged.own[0].moved.largest > 0


def test_an_answer_in_use_is_not_made_again(draws: Draws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "ON_CPU_BYTES", 0)
    first, second = draws.answer("large", 0), draws.answer("large", 1)
    assert list(draws.kept.answers) == [("large", 1)]
    assert draws.answer("large", 0) is first
    assert draws.answer("large", 1) is second
    del first, second
    gc.collect()
    assert list(draws.kept.in_use) == [("large", 1)]


def test_what_is_drawn_for_its_errors_alone_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text(PROBLEM.format(dtype="", expression=RMS_NORM))
    draws = Draws(load_problem(str(tmp_path / "large.py")), "cpu")
    draws.answer("large", 0)
    draws.limit("large", 0, 0)
    assert len(draws.errors) == 2
    assert list(draws.kept.answers) == [("large", 0)]


@pytest.mark.parametrize("layers", [2, 3])
def test_inputs_of_a_network_of_few_layers_are_drawn_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layers: int
) -> None:
    text = f"""
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range({layers})])

    def forward(self, x):
        return self.layers(x)

def get_inputs():
    return [torch.randn(4, 8)]

def get_init_inputs():
    return []
"""
    (tmp_path / "network.py").write_text(text)
    problem = load_problem(str(tmp_path / "network.py"))
    draws = Draws(problem, "cpu")
    drawn: list[int] = []
    instance = type(problem).instance
    monkeypatch.setattr(
        type(problem), "instance",
        lambda self, case, **how: [drawn.append(how["seed"]) if how["seed"] else None, instance(self, case, **how)][1],
    )  # fmt: skip
    draws.answer(problem.cases[0].name, 0)
    assert len(drawn) == (1 if layers < 3 else 3)


def test_qualification_holds_no_other_answer_while_one_is_made(draws: Draws, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case whose answer takes a third of the GPU's memory while it is made qualifies, too."""
    monkeypatch.setattr(kept, "ON_CPU_BYTES", 0)
    made: list[weakref.ref[Answer]] = []
    living: list[int] = []
    as_ever = Draws._made

    def counted(self: Draws, case: str, draw: int) -> Answer:
        living.append(sum(one() is not None for one in made))
        answer = as_ever(self, case, draw)
        made.append(weakref.ref(answer))
        return answer

    monkeypatch.setattr(Draws, "_made", counted)
    with torch.no_grad():
        found = trivial.qualification(draws, "large")
    assert found.accepted == ()
    assert {one.name for one in found.answers} >= {"zeros", trivial.PREVIOUS, "input x as it is"}
    assert len(living) > 4
    assert max(living) == 0


def test_what_was_made_before_memory_ran_out_is_freed_before_the_next_try(
    draws: Draws, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[weakref.ref[torch.Tensor]] = []
    as_ever = Draws._made

    def short_of_memory(self: Draws, case: str, draw: int) -> Answer:
        if not held:
            large = torch.ones(8)
            large.itself = large  # type: ignore[attr-defined]  # as an object with a method of its own among its fields
            held.append(weakref.ref(large))
            raise torch.OutOfMemoryError
        assert held[0]() is None
        return as_ever(self, case, draw)

    monkeypatch.setattr(Draws, "_made", short_of_memory)
    assert draws.answer("large", 1).own
    assert list(draws.kept.answers) == [("large", 1)]
