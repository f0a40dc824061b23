"""Timing every problem of a folder, called from Python."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from command_line import PROBLEM
from fakes import FakeWorker
from kernelwright.errors import ProblemError, RequestError, WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.bench import BenchSettings
from kernelwright.jobs.bench_series import bench_series, one_ahead
from kernelwright.jobs.worker import Desk
from kernelwright.model import AS_KEPT, BenchSeries, Loading, ProblemInfo
from started import starting


@pytest.fixture(autouse=True)
def several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two problems, the second with a best kernel."""
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        Path(f"several/{name}").mkdir(parents=True)
        Path(f"several/{name}/problem.py").write_text(PROBLEM)
    Path("several/second/best.py").write_text("BLOCK = 512\n")
    return tmp_path / "several"


class Choosy(FakeWorker):
    """Cannot load the first problem."""

    def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
        if "first" in path:
            raise ProblemError("its Model cannot be made")
        return super().load(path, loading)


def test_a_problem_that_fails_is_named_and_all_results_so_far_are_kept_after_each(
    several: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept: list[BenchSeries] = []
    notes: list[str] = []
    series = bench_series(
        several, BenchSettings(compile=False), keep=kept.append, desk=Desk(notes.append, starting(Choosy()))
    )
    assert [len(one.reports) for one in kept] == [0, 1]
    assert kept[-1] == series
    assert series.failures == {"first": "its Model cannot be made"}
    assert [row.name for row in series.reports[0].cases[0].implementations] == ["eager", "best"]
    assert series.reports[0].command == "kernelwright bench several/second --no-compile"
    assert [note.partition(",")[0] for note in notes] == [
        "1 of 2: first",
        "first: its Model cannot be made",
        "2 of 2: second",
    ]
    assert capsys.readouterr() == ("", "")


def test_every_repeat_has_a_worker_that_no_other_has() -> None:
    starter = Starter(make=lambda number: FakeWorker())
    bench_series("several", BenchSettings(repeat=2), desk=Desk(lambda text: None, starter))
    assert sorted(starter.started) == sorted(starter.ended) == [0, 1, 2, 3]


def test_a_folder_without_problems_is_refused() -> None:
    with pytest.raises(RequestError, match="several/first holds no folders of problems"):
        bench_series("several/first", desk=Desk(pytest.fail, pytest.fail))


@dataclass
class Starter:
    """Starts numbered workers; started and ended: their numbers. The one called `fails` cannot start. make: a worker by
    its number, by default the number."""

    fails: int | None = None
    make: Callable[[int], Worker] = lambda number: cast(Worker, number)
    started: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @contextlib.contextmanager
    def worker(self, number: int) -> Iterator[Worker]:
        try:
            yield self.make(number)
        finally:
            self.ended.append(number)

    def __call__(self, target: str | None) -> contextlib.AbstractContextManager[Worker]:
        number = next(self.numbers)
        self.started.append(number)
        if number == self.fails:
            raise WorkerError("no room for another worker")
        return self.worker(number)


def test_workers_are_started_one_ahead_and_one_that_nobody_takes_is_ended() -> None:
    starter = Starter()
    workers = one_ahead(starter, None, 3)
    with next(workers)(None) as first, next(workers)(None) as second:
        assert (first, second) == (0, 1)
    workers.close()
    assert starter.started == [0, 1, 2]
    assert sorted(starter.ended) == [0, 1, 2]


def test_a_worker_that_its_problem_made_no_use_of_is_ended_before_the_one_after_the_next_starts() -> None:
    starter = Starter()
    workers = one_ahead(starter, None, 3)
    next(workers)
    next(workers)
    assert starter.ended == [0]
    assert list(workers)
    assert sorted(starter.ended) == [0, 1, 2]


def test_a_worker_that_cannot_start_fails_its_own_problem_only() -> None:
    starter = Starter(fails=1)
    took: list[object] = []
    for start in one_ahead(starter, None, 3):
        try:
            with start(None) as worker:
                took.append(worker)
        except WorkerError as error:
            took.append(str(error))
    assert took == [0, "no room for another worker", 2]
    assert starter.ended == [0, 2]
