"""Baselines and times of parts, with a clock that answers by a function of its input."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kernelwright.worker.models import measured as measured_module
from kernelwright.worker.models.__main__ import main
from kernelwright.worker.models.measured import SAMPLES, DeviceClock, baselines_of, measured
from kernelwright.worker.models.script import Script
from kernelwright.worker.models.survey import survey

X = torch.randn(4, 8)


class FakeClock(DeviceClock):
    """Calls each piece once, and answers 100 µs for a call and 10 µs for each of its input sets in a graph."""

    device = "cpu"

    def __init__(self, method: str = "graph", fault: str = "") -> None:
        self.method, self.fault, self.called = method, fault, list[Any]()

    def called_us(self, piece: Callable[[], Any]) -> float:
        self.called.append(piece())
        return 100.0

    def samples_us(self, pieces: list[Callable[[], Any]]) -> tuple[str, list[float]]:
        if self.fault:
            raise RuntimeError(self.fault)
        for piece in pieces:
            piece()
        return self.method, [10.0 * len(pieces)] * SAMPLES

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
        ("a", 100.0, 10.0, (10.0, 10.0)), ("b", 100.0, 10.0, (10.0, 10.0)),
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


def test_every_part_gets_the_time_of_a_place_beside_the_baselines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, found = survey(script(), "cpu")
    monkeypatch.setattr(torch, "compile", lambda module, **options: module)
    timed = measured(script(), made, found, FakeClock(), ["eager", "compile"])
    assert {one.name for one in timed.baselines} == {"eager", "compile"}
    assert {case.time_us for part in timed.parts for case in part.cases} == {20.0}
    again = measured(script(), made, found, FakeClock(), ["compile_max_autotune"])
    assert {one.name for one in again.baselines} == {"compile_max_autotune"}


def test_a_part_that_pytorch_cannot_run_alone_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made, found = survey(script(), "cpu")
    monkeypatch.setattr(torch, "compile", lambda module, **options: module)
    timed = measured(script(), made, found, FakeClock(fault="no"), ["eager"])
    assert {case.time_us for part in timed.parts for case in part.cases} == {None}


def test_what_there_is_no_time_for_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    made, found = survey(script(), "cpu")
    monkeypatch.setattr(measured_module, "MOST_S", 0.0)
    timed = measured(script(), made, found, FakeClock(), ["eager"])
    assert {case.time_us for part in timed.parts for case in part.cases} == {None}
    assert f"{len(found)} of {len(found)} computations were not timed alone" in capsys.readouterr().out


def test_the_program_writes_the_survey_to_the_file_that_it_is_told(tmp_path: Path) -> None:
    text = "import torch\n\nbuild = torch.nn.ReLU\n\n\ndef inputs():\n    return {'a': torch.ones(3)}\n"
    (tmp_path / "net.py").write_text(text)
    main(str(tmp_path / "net.py"), str(tmp_path / "answer.json"))
    assert '"relu"' in (tmp_path / "answer.json").read_text()
