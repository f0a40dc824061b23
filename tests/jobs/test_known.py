"""Kernels that were there before a run: found by the problem's operators, judged, never taken over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from command_line import PROBLEM
from fakes import ENVIRONMENT, FakeWorker
from fakes import PROBLEM as INFO
from generated import MM, of_product, of_rows
from kernelwright import codec
from kernelwright.errors import NothingToWin, RequestError
from kernelwright.jobs.optimize import optimize, resume
from kernelwright.jobs.worker import Desk
from kernelwright.journal import Journal
from kernelwright.model import (
    AS_KEPT,
    BenchCase,
    BenchReport,
    Budget,
    Implementation,
    Loading,
    ProblemInfo,
    RunInfo,
    Status,
)
from samples import SOURCE, passed
from started import starting

SOFTMAX = ("%1 = _softmax(x, -1, False) -> (4096, 4096) float32", "return %1")
SMALL = ("%1 = _softmax(rows, -1, False) -> (7, 8) float16", "return %1")
OTHER = ("%1 = relu(x) -> (4096, 4096) float32", "return %1")


class Traced(FakeWorker):
    """A problem calls what is written beside it, softmax where nothing is."""

    def load(self, path: str, loading: Loading = AS_KEPT) -> ProblemInfo:
        beside = Path(path).with_name("calls.txt")
        lines = tuple(beside.read_text().splitlines()) if beside.is_file() else SOFTMAX
        self.problem = msgspec.structs.replace(INFO, operators=lines)
        self.loaded = [*getattr(self, "loaded", []), Path(path).parent.name]
        return self.problem


def write(folder: str, block: int, operators: tuple[str, ...] | None, kernel: str = "best.py", more: str = "") -> None:
    place = Path(folder)
    place.mkdir(parents=True)
    (place / "problem.py").write_text(PROBLEM)
    (place / kernel).write_text(SOURCE.replace("BLOCK=1024", f"BLOCK={block}") + more)
    if operators is not None:
        (place / "operators.txt").write_text("\n".join(operators) + "\n")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kernelwright.report.files.draw_plots", lambda view: ())
    monkeypatch.setattr("kernelwright.problems.paths.shipped_gallery", lambda: None)
    write("double", 64, None, "starter.py")


def search(worker: FakeWorker | None = None, lines: list[str] | None = None, **options: Any) -> Any:
    notes = [] if lines is None else lines
    options = {"trials": 2, "in_flight": 1, "out": "run", **options}
    return optimize("double", desk=Desk(notes.append, starting(worker or Traced())), **options)


def info_of(folder: str) -> RunInfo:
    with Journal.open(Path(folder)) as journal:
        return journal.info


def test_a_kernel_of_the_gallery_for_the_same_operators_is_judged_and_confirmed() -> None:
    write("gallery/softmax", 512, SMALL)
    write("gallery/relu", 256, OTHER)
    lines: list[str] = []
    worker = Traced()
    found = search(worker, lines)
    assert [one.origin for one in info_of("run").known] == ["gallery/softmax/best.py"]
    known = found.view.by_number[1]
    assert known.proposal.author == "known kernel"
    assert known.proposal.note == "known kernel, from gallery/softmax/best.py"
    assert found.best is known
    assert [purpose for key, purpose in worker.calls if key == known.proposal.candidate.id] == ["search", "confirm"]
    assert any(line.startswith("known kernel, from gallery/softmax/best.py") for line in lines)


def test_one_that_is_wrong_here_is_said_in_one_line_and_not_repaired() -> None:
    write("gallery/softmax", 512, SMALL, more="# fails: wrong\n")
    lines: list[str] = []
    found = search(lines=lines, trials=4)
    assert found.view.by_number[1].evaluation.status == "wrong"
    assert all(trial.request.operator.value != "repair" for trial in found.view.trials)
    assert [line for line in lines if "trial 1 evaluation" in line] == [
        "trial 1 evaluation: wrong: the source says that it fails: wrong"
    ]


def test_it_is_not_taken_over_where_it_passes_once_and_no_more() -> None:
    write("gallery/softmax", 512, SMALL, more="# fails confirm: wrong\n")
    found = search()
    assert found.best is found.view.by_number[0]
    assert found.outcome.refused == (1, 2), "and what was made from it"


def test_one_is_confirmed_also_where_it_is_the_first_that_passes() -> None:
    write("gallery/softmax", 512, SMALL)
    Path("double/starter.py").write_text(SOURCE + "# fails: wrong\n")
    found = search()
    assert found.best is found.view.by_number[1]
    assert 1 in found.view.confirmed


def test_the_best_of_earlier_runs_is_tried_first_and_the_problem_s_own_best_is_not() -> None:
    (Path("double") / "best.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=128"))
    search(out="runs/before", trials=16, seed=3)
    search(trials=3)
    (known,) = info_of("run").known
    assert known.origin.startswith("runs/before, trial ")


def test_a_folder_of_problems_is_loaded_where_operators_are_not_written_down() -> None:
    write("mine/same", 256, None)
    write("mine/other", 128, None)
    Path("mine/other/calls.txt").write_text("\n".join(OTHER))
    worker = Traced()
    search(worker, known="mine")
    assert [one.origin for one in info_of("run").known] == ["mine/same/best.py"]
    assert worker.loaded == ["double", "other", "same", "double"]


def test_a_problem_s_own_best_is_no_known_kernel_of_the_folder_that_it_lies_in() -> None:
    (Path("double") / "best.py").write_text(SOURCE.replace("BLOCK=1024", "BLOCK=128"))
    write("same", 256, SMALL)
    search(known=".")
    assert [one.origin for one in info_of("run").known] == ["same/best.py"]


def test_a_kernel_that_is_constructed_with_other_arguments_is_not_tried() -> None:
    constructed = "\nclass ModelNew:\n    def __init__(self, eps):\n        self.eps = eps\n"
    write("gallery/softmax", 512, SMALL, more=constructed)
    search()
    assert info_of("run").known == ()


def test_a_folder_with_neither_runs_nor_problems_is_refused() -> None:
    Path("empty").mkdir()
    with pytest.raises(RequestError, match="empty holds neither runs nor folders of problems"):
        search(known="empty")


def test_none_is_looked_for_where_the_user_says_so() -> None:
    write("gallery/softmax", 512, SMALL)
    search(no_known=True)
    assert info_of("run").known == ()


def test_there_is_a_limit_and_the_starter_is_none_of_them() -> None:
    for number in range(6):
        write(f"gallery/softmax{number}", 16 << number, SMALL)
    lines: list[str] = []
    search(lines=lines)
    assert len(info_of("run").known) == 4
    assert "1 more known kernel left out" in lines


def test_a_run_with_known_kernels_is_resumed() -> None:
    write("gallery/softmax", 512, SMALL)
    search(trials=1)
    found = resume("run", Budget(trials=3), desk=Desk(lambda line: None, starting(Traced())))
    assert found.view.by_number[1].proposal.author == "known kernel"


def left(ratio: float, more: str = "") -> Traced:
    """A worker for a problem without starter, which is a library call alone at 93 % of its bound."""
    Path("double/starter.py").unlink()
    write("gallery/softmax", 512, SMALL, more=more)
    measured("gallery/softmax", ratio)
    return Traced(generated=of_rows(MM, launched=False), eager_us=54.0)


def measured(folder: str, ratio: float) -> None:
    """What the best kernel of a problem was measured at beside the framework's own."""
    eager = Implementation(name="eager", status=Status.PASSED, median_us=100.0)
    best = Implementation(name="best", status=Status.PASSED, median_us=100.0 / ratio, speedup=ratio,
                          speedup_ci95=(ratio, ratio), verdict="faster")  # fmt: skip
    case = BenchCase(case="large", held_out=False, bound_us=50.0, bound_by="bytes", implementations=(eager, best))
    report = BenchReport(problem="softmax", environment=ENVIRONMENT, cases=(case,))
    (Path(folder) / "results").mkdir()
    (Path(folder) / "results" / "nvidia-h200.json").write_bytes(codec.encode(report))


def test_a_library_call_is_not_left_where_a_known_kernel_was_faster() -> None:
    lines: list[str] = []
    found = search(left(4.06), lines)
    assert found.best is not None
    assert found.best.proposal.author == "known kernel"
    assert any("92.6 % of it; but" in line and "gallery/softmax/best.py was 4.06x as fast" in line for line in lines)


def of_a_call(**given: Any) -> Traced:
    """A worker for a problem without starter, which is a product alone; eager PyTorch takes 400 µs unless told."""
    Path("double/starter.py").unlink(missing_ok=True)
    return Traced(generated=of_product(4096), answer=lambda candidate, mode: passed(30.0, measured=True), **given)


CALL = "the library call is the computation (aten.mm); "


def test_a_library_call_near_its_bound_is_left_with_both_figures() -> None:
    for eager_us, share in ((50 / 0.86, "86.0"), (50 / 0.851, "85.1")):
        with pytest.raises(NothingToWin) as answer:
            search(of_a_call(eager_us=eager_us))
        said = f"PyTorch takes {eager_us:.2f} µs where the bound is 50.00 µs, {share} % of it"
        assert str(answer.value) == f"double: leave it: {CALL}{said}"
    assert not Path("run").exists()


def test_a_library_call_below_that_is_searched_from_a_template() -> None:
    lines: list[str] = []
    found = search(of_a_call(eager_us=50 / 0.849), lines)
    assert f"{CALL}PyTorch takes 58.89 µs where the bound is 50.00 µs, 84.9 % of it: the search runs" in lines
    assert "split_factor" in found.view.by_number[0].proposal.candidate.source


def test_without_a_gpu_nothing_is_left_and_that_it_was_not_timed_is_said() -> None:
    lines: list[str] = []
    worker = of_a_call(where=msgspec.structs.replace(ENVIRONMENT, device=None))
    found = search(worker, lines)
    assert f"{CALL}it is not timed without a GPU: the search runs" in lines
    assert "tl.dot(" in found.view.by_number[0].proposal.candidate.source


def test_a_call_that_could_not_be_timed_is_not_left() -> None:
    class Full(Traced):
        def bench(self, *args: Any, **given: Any) -> BenchReport:
            report = super().bench(*args, **given)
            row = Implementation(name="eager", status=Status.RUNTIME_ERROR, reason="out of memory")
            cases = [msgspec.structs.replace(case, implementations=(row,)) for case in report.cases]
            return msgspec.structs.replace(report, cases=tuple(cases))

    lines: list[str] = []
    Path("double/starter.py").unlink()
    search(Full(generated=of_product(4096), answer=lambda candidate, mode: passed(30.0, measured=True)), lines)
    assert f"{CALL}PyTorch was not timed: out of memory: the search runs" in lines


def test_a_slow_call_without_a_template_is_an_error_with_its_figures_before_it() -> None:
    lines: list[str] = []
    worker = left(1.01)
    worker.eager_us = 400.0
    with pytest.raises(RequestError, match="there is no Triton template in its place"):
        search(worker, lines)
    assert f"{CALL}PyTorch takes 400.0 µs where the bound is 50.00 µs, 12.5 % of it: the search runs" in lines


@pytest.mark.parametrize(("ratio", "more"), [(1.01, ""), (4.06, "# fails: wrong\n")])
def test_it_is_left_where_the_known_kernel_won_nothing_or_is_wrong_here(ratio: float, more: str) -> None:
    lines: list[str] = []
    with pytest.raises(NothingToWin, match=f"leave it: .*; the best known kernel was {ratio}x as fast where it was"):
        search(left(ratio, more), lines)
    assert not any("known kernel, from" in line for line in lines), "a kernel that is not judged is not announced"
