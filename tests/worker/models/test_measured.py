"""Baselines and times of parts, with a clock that answers by a function of its input."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kernelwright.model import ModelSurvey
from kernelwright.worker.models import measured as measured_module
from kernelwright.worker.models.__main__ import main
from kernelwright.worker.models.measured import SAMPLES, DeviceClock, baselines_of, measured
from kernelwright.worker.models.script import Script
from kernelwright.worker.models.survey import graphs_of

X = torch.randn(4, 8)
PEAKS = {f"{name}_bytes_per_s": 1e13 for name in ("copy", "read", "write")} | {"bfloat16_flop_per_s": 1e15}


class FakeClock(DeviceClock):
    """Calls each piece once, and answers 100 µs for a call and call_us for each of its input sets in a graph."""

    device = "cpu"

    def __init__(self, method: str = "graph", fault: str = "", call_us: float = 1.0) -> None:
        self.method, self.fault, self.call_us, self.called = method, fault, call_us, list[Any]()

    def called_us(self, piece: Callable[[], Any]) -> float:
        self.called.append(piece())
        return 100.0

    def samples_us(self, pieces: list[Callable[[], Any]]) -> tuple[str, list[float]]:
        if self.fault:
            raise RuntimeError(self.fault)
        for piece in pieces:
            piece()
        return self.method, [self.call_us * len(pieces)] * SAMPLES

    def sets(self, nbytes: int) -> int:
        return 2


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


def script(**names: Any) -> Script:
    return Script(Path("net.py"), {"build": Net, "inputs": lambda: {"a": [X], "b": [X[:2]]}, **names}, "build")


def test_every_way_to_run_the_module_is_timed_as_called_and_as_a_graph() -> None:
    rows = [*baselines_of(["eager"], script(), FakeClock())]
    assert [(one.inputs, one.called_us, one.graph_us, one.graph_ci95) for one in rows] == [
        ("a", 100.0, 1.0, (1.0, 1.0)), ("b", 100.0, 1.0, (1.0, 1.0)),
    ]  # fmt: skip


def test_training_is_timed_with_its_backward() -> None:
    clock = FakeClock()
    assert len([*baselines_of(["eager"], script(train=True), clock)]) == 2
    assert clock.called[0].requires_grad


@pytest.mark.parametrize(
    ("clock", "why"),
    [
        (FakeClock(method="events"), "no CUDA graph can be captured"),
        (FakeClock(fault="operation not permitted\nmore"), "operation not permitted"),
    ],
)
def test_a_module_that_cannot_be_captured_has_its_time_as_called_and_the_reason(clock: FakeClock, why: str) -> None:
    first, *_ = baselines_of(["eager"], script(), clock)
    assert (first.called_us, first.graph_us, first.reason) == (100.0, None, why)


def test_a_way_that_fails_is_said_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    class Refused(FakeClock):
        def called_us(self, piece: Callable[[], Any]) -> float:
            raise torch.OutOfMemoryError("out of memory\nmore")

    assert not [*baselines_of(["eager"], script(), Refused())]
    assert "eager, a: cannot be run: out of memory\n" in capsys.readouterr().out


def test_the_module_is_made_on_the_device_unless_it_cannot_be() -> None:
    where = list[str]()

    def build() -> Net:
        where.append(str(torch.empty(0).device))
        if where[-1] == "meta":
            raise RuntimeError("Expected a 'meta' device type for generator")
        return Net()

    clock = FakeClock()
    clock.device = "meta"
    with contextlib.suppress(NotImplementedError):
        [*baselines_of(["eager"], script(build=build, inputs=lambda: {"a": [X]}), clock)]
    assert where == ["meta", "cpu"]


def timed(clock: FakeClock, monkeypatch: pytest.MonkeyPatch, *names: str, **more: Any) -> ModelSurvey:
    """The survey of the script, with regions that are not compiled."""
    one = script(**more)
    graphs = graphs_of(one, "cpu")
    monkeypatch.setattr(torch, "compile", lambda module, **options: module)
    return measured(one, graphs, clock, names, PEAKS)


def times(found: ModelSurvey) -> set[float | None]:
    return {case.time_us for part in found.parts for case in part.cases}


def test_every_part_gets_the_time_of_a_place_beside_the_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        found = timed(FakeClock(), patch, "eager", "compile")
    assert {one.name for one in found.baselines} == {"eager", "compile"}
    assert times(found) == {2.0}
    assert [part.kind for part in found.parts] == ["region", "gemm"]
    again = timed(FakeClock(), monkeypatch, "compile_max_autotune")
    assert {one.name for one in again.baselines} == {"compile_max_autotune"}


def test_a_part_that_pytorch_cannot_run_alone_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert times(timed(FakeClock(fault="no"), monkeypatch, "eager")) == {None}


def test_what_there_is_no_time_for_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(measured_module, "MOST_S", 0.0)
    assert times(timed(FakeClock(), monkeypatch, "eager")) == {None}
    assert "4 of 4 computations were not timed alone" in capsys.readouterr().out


def test_a_slow_library_call_is_part_of_the_region_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (part,) = timed(FakeClock(call_us=10.0), monkeypatch).parts
    assert (part.kind, part.operators, part.refused) == ("region", ("addmm", "relu"), "")
    names: dict[str, Any] = {}
    exec(part.text or "", names)
    model, given = names["Model"](), [one[0] if one.dim() == 3 else one for one in names["get_inputs"]()]
    bias, x, weight = (next(one for one in given if tuple(one.shape) == shape) for shape in ((8,), (4, 8), (8, 8)))
    made = model(*given)
    assert any(torch.allclose(made, torch.addmm(bias, x, one).relu()) for one in (weight, weight.T))


class Attention(nn.Module):
    """Grouped heads, behind a rotation and before a projection."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        attention = nn.functional.scaled_dot_product_attention
        mask = torch.ones(6, 6, dtype=torch.bool, device=q.device).tril()
        return attention(q * 2, k, v, mask, enable_gqa=True).transpose(1, 2).relu()


def test_slow_attention_is_stated_as_pytorchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [torch.randn(2, heads, 6, 8) for heads in (4, 2, 2)]
    found = timed(FakeClock(call_us=10.0), monkeypatch, build=Attention, inputs=lambda: {"a": given})
    (part,) = (part for part in found.parts if "relu" in part.operators)
    assert "scaled_dot_product_attention(" in (part.text or "")
    assert part.cases[0].work.flop == {"float32": 2 * 2 * 4 * 21 * 2 * 8}
    assert "the mask is causal" in part.cases[0].work.remark
    names: dict[str, Any] = {}
    exec(part.text or "", names)
    assert names["Model"](*names["get_init_inputs"]())(*names["get_inputs"]()).shape == (2, 6, 4, 8)


def test_the_program_writes_the_survey_to_the_file_that_it_is_told(tmp_path: Path) -> None:
    text = "import torch\n\nbuild = torch.nn.ReLU\n\n\ndef inputs():\n    return {'a': torch.ones(3)}\n"
    (tmp_path / "net.py").write_text(text)
    main(str(tmp_path / "net.py"), str(tmp_path / "answer.json"))
    assert '"relu"' in (tmp_path / "answer.json").read_text()
