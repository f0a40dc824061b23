"""A problem that is cast to another dtype: every verb loads it so and names it so."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from command_line import PROBLEM, run
from fakes import PROBLEM as INFO
from fakes import FakeWorker
from kernelwright.jobs.dry_run import dry_run
from kernelwright.jobs.optimize import optimize, resume
from kernelwright.jobs.worker import Desk
from kernelwright.journal import Journal
from kernelwright.model import FOR_INTERPRETER, Budget, ProblemInfo
from kernelwright.report.dry_run import dry_run_text
from samples import SOURCE
from started import starting

KERNEL = SOURCE


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("double.py").write_text(PROBLEM)
    Path("kernel.py").write_text(KERNEL)


def searched(worker: FakeWorker, lines: list[str]) -> None:
    optimize(
        "double.py",
        starter="kernel.py",
        dtype="bfloat16",
        trials=3,
        in_flight=1,
        out="one",
        desk=Desk(lines.append, starting(worker)),
    )


def test_the_first_line_of_a_run_its_record_and_its_reports_name_the_dtype() -> None:
    lines: list[str] = []
    searched(FakeWorker(), lines)
    assert lines[0] == "double in bfloat16: waiting for a worker"
    with Journal.open(Path("one")) as journal:
        assert journal.info.problem.dtype == journal.info.settings.dtype == "bfloat16"
    assert Path("one/report.txt").read_text().startswith("double in bfloat16: report of one\n")
    assert "<h1>double in bfloat16</h1>" in Path("one/report.html").read_text()
    assert Path("one/best_kernel.py").read_text().startswith("# double in bfloat16, ")
    assert "double in bfloat16" in run("runs", ".").stdout


def test_a_resumed_run_and_the_commands_of_its_report_are_in_its_dtype() -> None:
    searched(FakeWorker(), [])
    worker, lines = FakeWorker(), list[str]()
    resume("one", Budget(trials=4), desk=Desk(lines.append, starting(worker)))
    assert (worker.dtypes, lines[0]) == (["bfloat16"], "double in bfloat16: waiting for a worker")
    report = Path("one/report.txt").read_text()
    for verb in ("optimize", "verify", "bench", "profile"):
        (line,) = (line for line in report.splitlines() if line.strip().startswith(f"kernelwright {verb} double.py"))
        assert " --dtype bfloat16" in line


def test_a_dry_run_names_the_dtype() -> None:
    found = dry_run(
        "double.py", starter="kernel.py", dtype="float16", desk=Desk(lambda text: None, starting(FakeWorker()))
    )
    assert dry_run_text(found).startswith("dry run for double in float16: ")


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "double.py", "kernel.py"),
        ("bench", "double.py", "kernel.py"),
        ("check", "double.py"),
        ("profile", "double.py", "kernel.py"),
        ("tune", "double.py", "kernel.py", "--trials", "1"),
    ],
)
def test_every_verb_names_the_dtype_that_it_judged_in(words: tuple[str, ...]) -> None:
    worker = FakeWorker()
    result = run(*words, "--dtype", "float16", worker=worker)
    assert worker.dtypes == ["float16"]
    assert ("case big in float16" if words[0] == "profile" else "double in float16") in result.output


@pytest.mark.parametrize("dtype", [None, "float16"])
def test_a_candidate_is_exported_in_the_dtype_that_is_asked_for(dtype: str | None) -> None:
    worker = FakeWorker()
    words = ["--dtype", dtype] if dtype is not None else []
    result = run("export", "kernel.py", "--problem", "double.py", "--format", "kernelbench", *words, worker=worker)
    assert worker.dtypes == [dtype], result.output


def test_small_cases_that_the_interpreter_needs_in_another_dtype_are_named() -> None:
    def cast(small: str) -> ProblemInfo:
        cases = (
            replace(one, case=replace(one.case, dtype=small if one.case.small else "bfloat16")) for one in INFO.cases
        )
        return replace(INFO, dtype="bfloat16", cases=tuple(cases))

    assert INFO.title == "double"
    assert cast("bfloat16").title == "double in bfloat16"
    assert cast(FOR_INTERPRETER).title == "double in bfloat16 (small cases in float32)"
