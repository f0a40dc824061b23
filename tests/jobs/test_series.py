"""Searching several problems under one budget, called from Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from command_line import PROBLEM
from fakes import ENVIRONMENT, FakeWorker, evaluation_of
from fakes import PROBLEM as INFO
from kernelwright.errors import ConfigError, ProblemError, ProviderError, RequestError, RunFolderError, WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.series import optimize_series, resume_series
from kernelwright.jobs.series_state import read_series
from kernelwright.jobs.settings import SettingsFile
from kernelwright.jobs.worker import Desk
from kernelwright.journal import Journal
from kernelwright.model import (
    AS_KEPT,
    BenchReport,
    Budget,
    Candidate,
    Evaluation,
    Incumbent,
    LibraryMode,
    Loading,
    ProblemInfo,
    RunOptions,
)
from kernelwright.run import StopReason
from samples import SOURCE
from started import starting

NAMES = ("first", "second", "third")


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take a second for each session, and other tests look at them."""
    monkeypatch.setattr("kernelwright.report.files.draw_plots", lambda view: ())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three problems with a starter whose block of 64 the fake device finds slow; 512 is its fastest."""
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        write_problem(name)
    return tmp_path


def write_problem(name: str) -> None:
    Path(name).mkdir()
    Path(f"{name}/problem.py").write_text(PROBLEM)
    Path(f"{name}/starter.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=64"))


class Benched(FakeWorker):
    """Its measurements have intervals and verdicts."""

    def bench(self, *args: Any, **given: Any) -> BenchReport:
        report = super().bench(*args, **given)
        cases = []
        for case in report.cases:
            rows = [
                msgspec.structs.replace(row, speedup_ci95=(row.speedup * 0.98, row.speedup * 1.02), verdict="faster")
                if row.speedup is not None
                else row
                for row in case.implementations
            ]
            cases.append(msgspec.structs.replace(case, implementations=tuple(rows)))
        return msgspec.structs.replace(report, cases=tuple(cases))


def search(start_worker: Any = None, notify: Callable[[str], None] = lambda line: None, **options: Any) -> Any:
    options = {"seed": 3, "in_flight": 1, "out": "all", **options}
    names = options.pop("names", NAMES)
    return optimize_series(names, desk=Desk(notify, start_worker or starting()), **options)


class Broken(FakeWorker):
    """Refuses some problems."""

    error: Exception = ProblemError("its Model cannot be made")

    def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
        if "second" in path:
            raise self.error
        return super().load(path, loading)


def trials(name: str) -> int:
    with Journal.open(Path("all") / name) as journal:
        return sum(event.kind.value == "told" for event in journal.history())


def test_every_problem_is_a_run_and_the_table_shows_its_ratio_to_pytorch() -> None:
    found = search(starting(Benched()), trials=36)
    assert [line.name for line in found.lines] == list(NAMES)
    assert {line.state for line in found.lines} == {"own kernels"}
    assert sum(map(trials, NAMES)) <= 36
    assert all(line.against is not None and line.against.ratio > 0 for line in found.lines)
    text = Path("all/table.txt").read_text()
    assert "3 problems: 3 own kernels" in text
    assert "library none: 3 of 3 have a kernel that passed every check here; fast_1 100 %; fast_1.5 " in text
    page = Path("all/table.html").read_text()
    assert '<a href="first/report.html">first</a>' in page
    assert (Path("all/first") / "best_kernel.py").is_file()
    assert found.has_device


def test_every_problem_has_its_first_round_before_any_has_its_second() -> None:
    lines: list[str] = []
    search(trials=60, notify=lines.append)
    rounds = [line.partition(",")[0] for line in lines if re.match(r"\w+: round \d", line)]
    assert rounds[:3] == ["first: round 1", "second: round 1", "third: round 1"]
    assert len(rounds) > 3


def test_the_budget_is_that_of_all_problems_and_is_never_exceeded() -> None:
    found = search(trials=7)
    assert [line.trials for line in found.lines] == [2, 2, 3]
    assert (found.reason, found.detail) == (StopReason.TRIALS, "the budget of 7 trials is spent")


def test_the_first_line_says_that_the_budget_is_that_of_all_problems_also_where_it_is_resumed() -> None:
    lines: list[str] = []
    search(trials=6, minutes=30.0, notify=lines.append)
    assert lines[:2] == ["budget of all 3 problems together: 6 trials, 30 minutes", "folder of the runs: all"]
    del lines[:]
    resume_series("all", Budget(trials=9), desk=Desk(lines.append, starting()))
    assert lines[0] == "budget of all 3 problems together: 9 trials, 30 minutes"
    del lines[:]
    search(out="default", notify=lines.append)
    assert lines[0] == "budget of all 3 problems together: 120 trials"


def test_a_budget_too_small_for_all_leaves_the_others_not_begun() -> None:
    found = search(trials=2)
    assert [line.state for line in found.lines][2] == "not begun"
    assert sum(line.trials for line in found.lines) == 2


def test_a_problem_that_cannot_be_judged_is_a_row_with_its_reason() -> None:
    found = search(starting(Broken()), trials=30)
    assert [line.state for line in found.lines] == ["own kernels", "refused", "own kernels"]
    assert found.lines[1].reason == "its Model cannot be made"
    assert found.failed == ("second",)
    assert "its Model cannot be made" in Path("all/table.txt").read_text()


def test_a_worker_that_dies_ends_one_problem() -> None:
    class Dying(Broken):
        error = WorkerError("the worker died")

    found = search(starting(Dying()), trials=30)
    assert [line.state for line in found.lines] == ["own kernels", "not judged", "own kernels"]


def test_a_problem_with_nothing_to_win_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelwright.errors import NothingToWin

    class Left(Broken):
        error = NothingToWin("second: the library call is the computation")

    found = search(starting(Left()), trials=30)
    assert found.lines[1].state == "left"
    assert found.failed == ()
    again = resume_series("all", Budget(trials=34), desk=Desk(lambda line: None, starting(Left())))
    assert again.lines[1].state == "left"


def test_options_that_no_run_can_use_end_the_whole() -> None:
    with pytest.raises(ConfigError, match="no strategy 'best'"):
        search(strategy="best")


def test_what_failed_is_tried_again_when_the_search_is_resumed_and_the_rest_goes_on() -> None:
    search(starting(Broken()), trials=20)
    before = {name: trials(name) for name in ("first", "third")}
    found = resume_series("all", Budget(trials=40), desk=Desk(lambda line: None, starting()))
    assert found.lines[1].state == "own kernels"
    assert all(trials(name) >= count for name, count in before.items())
    assert sum(line.trials for line in found.lines) <= 40
    assert read_series(Path("all")).budget == Budget(trials=40)


def test_a_search_that_was_killed_goes_on_from_the_journals() -> None:
    class Killed(BaseException):
        pass

    class Mortal(FakeWorker):
        def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
            if len(self.calls) >= 20:
                raise Killed
            return super().evaluate(candidate, purpose, incumbent)

    with pytest.raises(Killed):
        search(starting(Mortal()), trials=60)
    done = sum(trials(name) for name in NAMES if (Path("all") / name).is_dir())
    found = resume_series("all", desk=Desk(lambda line: None, starting()))
    assert 0 < done < sum(line.trials for line in found.lines) <= 60
    assert {line.state for line in found.lines} == {"own kernels"}


def test_without_a_gpu_there_is_no_ratio_and_nothing_is_solved() -> None:
    def estimated(candidate: Candidate, purpose: str) -> Evaluation:
        found = evaluation_of(candidate, purpose)
        return msgspec.structs.replace(found, timing_kind="estimate", verified_on="interpreter")

    where = msgspec.structs.replace(ENVIRONMENT, device=None)
    found = search(starting(FakeWorker(answer=estimated, where=where)), trials=30)
    assert {line.state for line in found.lines} == {"plausible"}
    assert all(line.against is None for line in found.lines)
    text = Path("all/table.txt").read_text()
    assert "confirmed" not in text.replace("nothing is confirmed", "")
    assert "fast_1 " not in text.partition("\n\n")[2]
    assert "(estimate)" in text


def test_figures_of_different_library_modes_are_never_in_one_mean() -> None:
    class Modes(FakeWorker):
        def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
            mode: LibraryMode = "any" if "first" in path else "none"
            self.problem = msgspec.structs.replace(INFO, library=mode)
            return self.problem

    search(starting(Modes()), trials=30)
    text = Path("all/table.txt").read_text()
    assert "library none: 2 of 2" in text
    assert "library any: 1 of 1" in text


def test_problems_of_one_name_have_a_run_each() -> None:
    Path("other").mkdir()
    Path("other/first").mkdir()
    Path("other/first/problem.py").write_text(PROBLEM)
    Path("other/first/starter.py").write_text(SOURCE)
    found = search(names=("first", "other/first"), trials=20)
    assert [line.name for line in found.lines] == ["first", "first-2"]


@pytest.mark.parametrize(
    ("error", "started"), [(None, 1), (ProblemError("cannot be made"), 1), (WorkerError("the worker died"), 2)]
)
def test_one_worker_serves_every_round_until_it_fails(error: Exception | None, started: int) -> None:
    workers: list[FakeWorker] = []

    class Failing(Broken):
        pass

    if error is not None:
        Failing.error = error

    def start(target: str | None) -> AbstractContextManager[Worker]:
        assert all(worker.closed for worker in workers)
        workers.append(FakeWorker() if error is None else Failing())
        return closing(workers[-1])

    found = search(start, trials=30)
    assert [line.state for line in found.lines].count("own kernels") == (3 if error is None else 2)
    assert len(workers) == started
    assert all(worker.closed for worker in workers)


def test_one_problem_s_options_are_refused_for_several() -> None:
    with pytest.raises(RequestError, match="--starter fits one problem, and 3 are named"):
        search(starter="first/starter.py")


def test_a_folder_that_holds_a_search_is_not_begun_again() -> None:
    search(trials=6)
    with pytest.raises(RunFolderError, match="already holds a search"):
        search(trials=6)


def test_a_provider_that_gives_no_answers_ends_the_search_which_can_be_resumed() -> None:
    class Mute(FakeWorker):
        def evaluate(self, candidate: Candidate, purpose: str, incumbent: Incumbent | None = None) -> Evaluation:
            raise ProviderError("no answer")

    with pytest.raises(ProviderError):
        search(starting(Mute()), trials=20)
    assert "not begun" in Path("all/table.txt").read_text()
    found = resume_series("all", desk=Desk(lambda line: None, starting()))
    assert {line.state for line in found.lines} == {"own kernels"}


def test_a_run_that_waits_for_replies_does_not_hold_the_others_up() -> None:
    found = search(proposer="mailbox", option={"tuning": 0}, trials=30)
    assert found.reason is StopReason.WAITING
    assert all(line.trials for line in found.lines)
    assert all("waits for replies" in line.reason or line.state == "searching" for line in found.lines)


def test_a_planted_file_cannot_lead_out_of_the_folder() -> None:
    search(trials=6)
    content = json.loads(Path("all/series.json").read_text())
    content["problems"][0]["name"] = "../elsewhere"
    Path("all/series.json").write_text(json.dumps(content))
    with pytest.raises(RunFolderError, match="names the folder"):
        resume_series("all", desk=Desk(lambda line: None, starting()))


def test_a_problem_that_nobody_typed_is_not_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search(trials=2, names=("first", "second", "third"))
    content = json.loads(Path("all/series.json").read_text())
    content["problems"][2]["problem"] = str(tmp_path / "third")
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "all").rename(home / "all")
    (home / "all/series.json").write_text(json.dumps(content).replace(str(tmp_path / "third"), "/elsewhere/third"))
    monkeypatch.chdir(home)
    found = resume_series("all", Budget(trials=30), desk=Desk(lambda line: None, starting()))
    assert "which was not typed" in found.lines[2].reason


def test_a_settings_file_is_followed_by_every_run() -> None:
    file = SettingsFile(Path("kernelwright.toml"), RunOptions(seed=7, in_flight=2, trials=12))
    found = search(settings=file, seed=None, in_flight=None)
    assert sum(line.trials for line in found.lines) <= 12
    with Journal.open(Path("all/first")) as journal:
        assert journal.info.settings.seed == 7
