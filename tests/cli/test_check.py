"""`check`, and the gate that the other verbs pass."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from command_line import PROBLEM, fault, run
from fakes import ENVIRONMENT, FakeWorker, evaluation_of
from fakes import PROBLEM as PROBLEM_INFO
from kernelwright.journal import Journal
from kernelwright.model import (
    Candidate,
    CaseQualification,
    Evaluation,
    Implementation,
    QualificationReport,
    StatedBySet,
    Status,
    TensorRead,
    TrivialAnswer,
)
from problem_sets import DEFINITION, workload, write_folder


def answer(name: str, accepted: bool, allclose_from: float = 0.5) -> TrivialAnswer:
    error = 1e-7 if accepted else 1.0
    return TrivialAnswer(
        name=name, output=0, accepted=accepted, max_rel_error=error, rms_rel_error=error, allowed_rel_error=1e-5,
        allowed_rms_error=1e-5, margin=error / 1e-5, allclose_from=allclose_from,
    )  # fmt: skip


GOOD = QualificationReport(
    problem="double", qualifies=True, not_judged={"huge": "too large"},
    cases=(CaseQualification(case="small", answers=(answer("zeros", False), answer("a constant", False, 5e-3))),),
)  # fmt: skip
BAD = QualificationReport(
    problem="double", qualifies=False, reason="on case small input x as it is would pass",
    cases=(CaseQualification(case="small", answers=(answer("input x as it is", True),), constant=("input mask",)),),
    constant=("input mask", "input scale = 0.5"),
)  # fmt: skip
UNKNOWN = QualificationReport(problem="double", qualifies=None, not_judged={"huge": "too large"})


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "double.py").write_text(PROBLEM)
    (tmp_path / "kernel.py").write_text("BLOCK = 512\n")
    monkeypatch.chdir(tmp_path)


def test_a_problem_that_qualifies_is_status_0_with_a_table() -> None:
    result = run("check", "double.py", worker=FakeWorker(qualification=GOOD))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("double qualifies: ")
    row = next(line.split() for line in lines if line.startswith("zeros"))
    assert row == ["zeros", "rejected", "1", "1e-05", "1", "1e-05", "1e+05", "0.5"]
    assert "  small: a constant" in lines
    assert "  huge: too large" in lines


def test_whole_numbers_that_rounding_changes_are_named() -> None:
    case = CaseQualification(case="small", answers=(answer("zeros", False),), rounded=(1,))
    report = QualificationReport(problem="double", qualifies=True, cases=(case,))
    said = "output 1 is whole numbers that rounding changes: each is right as PyTorch or as float64 has it"
    assert said in run("check", "double.py", worker=FakeWorker(qualification=report)).stdout
    assert "whole numbers" not in run("check", "double.py", worker=FakeWorker(qualification=GOOD)).stdout


def test_a_problem_that_does_not_is_status_1_with_the_reason() -> None:
    result = run("check", "double.py", worker=FakeWorker(qualification=BAD))
    assert result.exit_code == 1
    assert result.stdout.startswith("double does not qualify: on case small input x as it is would pass")
    assert "input x as it is  PASSES" in result.stdout
    said = "the same in every draw, so a kernel may have it built in: input mask, input scale = 0.5"
    assert result.stdout.splitlines().count(said) == 1


SLOW = msgspec.structs.replace(PROBLEM_INFO, cases=tuple(
    msgspec.structs.replace(
        info, reads=(TensorRead(name="input x", bytes=64, of_bytes=1000000, rows=2),), assumed=("ids are equal",),
        bound=msgspec.structs.replace(info.bound, written_bytes=128, flop_by_dtype={"bfloat16": 4096}),
    )
    for info in PROBLEM_INFO.cases
))  # fmt: skip


def test_every_bound_is_shown_with_what_it_assumes() -> None:
    lines = run("check", "double.py", worker=FakeWorker(qualification=GOOD, problem=SLOW)).stdout.splitlines()
    at = lines.index("bounds (peaks: measured Fake GPU 2026-01-01):")
    name = SLOW.cases[0].case.name
    assert lines[at + 1 : at + 6] == [
        f"  {name}: 50.00 µs or more, set by bytes (derived)",
        "    moves 32.8 kB: 128 B written, and read",
        "      64 B of input x: 2 of its rows, 1 MB in all",
        "    computes 4.1e-06 GFLOP in bfloat16",
        "    assumed: ids are equal",
    ]
    stated = msgspec.structs.replace(SLOW.cases[0].bound, stated=("bytes", "flop"))
    problem = msgspec.structs.replace(SLOW, cases=(msgspec.structs.replace(SLOW.cases[0], bound=stated),))
    text = run("check", "double.py", worker=FakeWorker(qualification=GOOD, problem=problem)).stdout
    assert "set by bytes (stated)" in text
    assert "moves 32.8 kB, as work() states" in text
    assert "computes 4.1e-06 GFLOP in bfloat16, as work() states" in text


class Quick(FakeWorker):
    """Its framework takes less than the bound."""

    def bench(self, *args: object, **kwargs: object):  # type: ignore[no-untyped-def]
        report = super().bench(*args, **kwargs)  # type: ignore[arg-type]
        row = Implementation(name="eager", status=Status.PASSED, median_us=40.0, below_bound="below the derived bound")
        return msgspec.structs.replace(
            report, cases=tuple(msgspec.structs.replace(case, implementations=(row,)) for case in report.cases)
        )


def test_eager_pytorch_below_a_bound_is_named_and_only_where_it_was_measured() -> None:
    said = "    eager PyTorch takes 40.00 µs, below the derived bound"
    result = run("check", "double.py", "--json", worker=Quick(qualification=GOOD))
    timed = [one for one in json.loads(result.stdout)["bounds"] if one["eager_us"] is not None]
    assert [one["eager_below_bound"] for one in timed] == ["below the derived bound"] * len(timed)
    assert result.stderr.splitlines().count(said) == len(timed) > 0
    assert "eager" not in run("check", "double.py", worker=FakeWorker(qualification=GOOD)).stdout
    absent = msgspec.structs.replace(ENVIRONMENT, device=None)
    assert "eager" not in run("check", "double.py", worker=Quick(qualification=GOOD, where=absent)).stdout


def test_json_is_one_document() -> None:
    result = run("check", "double.py", "--json", worker=FakeWorker(qualification=BAD))
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert document["qualifies"] is False
    assert document["cases"][0]["answers"][0]["accepted"] is True
    assert document["environment"]["device"] == "Fake GPU"
    assert "does not qualify" in result.stderr


def test_where_no_case_can_be_judged_the_machine_is_at_fault() -> None:
    result = run("check", "double.py", worker=FakeWorker(qualification=UNKNOWN))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("error: no case of double.py could be judged here: too large")


@pytest.mark.parametrize(
    "words", [("verify", "double.py", "kernel.py"), ("bench", "double.py", "kernel.py"),
              ("optimize", "double.py", "--starter", "kernel.py", "--trials", "2")],
    ids=lambda words: words[0],
)  # fmt: skip
def test_every_verb_that_judges_refuses_a_problem_that_does_not_qualify(words: tuple[str, ...]) -> None:
    worker = FakeWorker(qualification=BAD)
    line = fault(run(*words, worker=worker))
    assert line.startswith("error: double.py does not qualify: on case small input x as it is would pass")
    assert "kernelwright check double.py" in line
    assert worker.calls == []
    assert not Path("runs").exists()


def test_what_could_not_be_judged_goes_on_and_is_noted() -> None:
    result = run("verify", "double.py", "kernel.py", worker=FakeWorker(qualification=UNKNOWN))
    assert result.exit_code == 0
    assert "was not judged here: too large" in result.stderr


def marked(candidate: Candidate, purpose: str) -> Evaluation:
    """As a worker that was asked to go on answers."""
    return msgspec.structs.replace(evaluation_of(candidate, purpose), unqualified=BAD.reason)


def test_going_on_all_the_same_marks_a_verification() -> None:
    worker = FakeWorker(qualification=BAD, answer=marked)
    result = run("verify", "double.py", "kernel.py", "--unqualified", worker=worker)
    assert result.exit_code == 0
    assert "going on although double.py does not qualify" in result.stderr
    assert "NOT QUALIFIED" in result.stdout


def test_going_on_all_the_same_marks_a_run_its_kernel_and_its_report() -> None:
    worker = FakeWorker(qualification=BAD, answer=marked)
    words = ("optimize", "double.py", "--starter", "kernel.py", "--trials", "3", "--unqualified", "--out", "run")
    result = run(*words, "--json", worker=worker)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["best"]["unqualified"] == BAD.reason
    assert "NOT QUALIFIED" in Path("run/report.txt").read_text()
    assert "# NOT QUALIFIED" in Path("run/best_kernel.py").read_text()
    with Journal.open(Path("run")) as journal:
        assert journal.info.settings.unqualified
    again = run("optimize", "--resume", "run", "--trials", "4", worker=worker)
    assert again.exit_code == 0, again.stderr


def test_a_bench_of_such_a_problem_says_so() -> None:
    class Marking(FakeWorker):
        def bench(self, *args: object, **kwargs: object):  # type: ignore[no-untyped-def]
            return msgspec.structs.replace(super().bench(*args, **kwargs), unqualified=BAD.reason)  # type: ignore[arg-type]

    result = run("bench", "double.py", "kernel.py", "--unqualified", "--json", worker=Marking(qualification=BAD))
    document = json.loads(result.stdout)
    assert document["unqualified"] == BAD.reason
    assert "--unqualified" in document["command"]
    assert "NOT QUALIFIED" in result.stderr


def test_what_a_problem_set_states_is_shown_beside_our_own_measure(tmp_path: Path) -> None:
    stated = StatedBySet(set="SOL-ExecBench", name="rows", facts={}, cases={"a": {"uuid": "1", "max_atol": 0.01}})
    worker = FakeWorker(qualification=GOOD, problem=msgspec.structs.replace(PROBLEM_INFO, stated=stated))
    folder = write_folder(tmp_path / "rows", DEFINITION, [workload(1, {"rows": 3})])
    result = run("check", str(folder), worker=worker)
    assert result.exit_code == 0
    assert "stated by SOL-ExecBench for rows" in result.stdout
    assert "  max_atol: 0.01" in result.stdout.splitlines()
    document = json.loads(run("check", str(folder), "--json", worker=worker).stdout)
    assert document["stated"]["cases"]["a"]["max_atol"] == 0.01
