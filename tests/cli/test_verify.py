"""`verify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from command_line import PROBLEM, fault, run
from fakes import FakeWorker, evaluation_of
from kernelwright.model import LEFT_OUT, Candidate, CaseResult, Evaluation, Status
from kernelwright.source import apply_config
from samples import BLOCK as TUNABLE
from samples import SOURCE


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "double.py").write_text(PROBLEM)
    (tmp_path / "kernel.py").write_text("BLOCK = 512\n")
    return tmp_path


def test_a_kernel_that_passes_is_status_0_and_one_document(files: Path) -> None:
    (files / "kernel.py").write_text(SOURCE)
    result = run("verify", "double.py", "kernel.py", "--config", f"{TUNABLE}=256", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert {"status", "reason", "results", "confinement", "kernels", "environment"} <= set(document)
    assert document["status"] == "passed"
    assert document["config"] == {TUNABLE: 256}
    assert [case["case"] for case in document["results"]] == ["small", "big", "odd"]
    assert {"case", "status", "max_abs_error", "max_rel_error", "reason"} <= set(document["results"][0])
    assert document["environment"]["device"] == "Fake GPU"
    assert "passed" in result.stderr


def test_the_verdict_takes_about_ten_lines_and_long_has_every_case(files: Path) -> None:
    (files / "kernel.py").write_text(SOURCE)
    short = run("verify", "double.py", "kernel.py").stdout
    assert "passed" in short
    assert "cases: 3 passed" in short
    assert "Fake GPU; torch" in short
    assert len(short.splitlines()) <= 12
    long = run("verify", "double.py", "kernel.py", "--long").stdout
    assert "max rel error" in long
    assert "environment:" in long
    assert "max rel error" not in short


@pytest.mark.usefixtures("files")
def test_a_config_that_the_source_has_no_place_for_is_the_request_s_fault() -> None:
    assert "this source has no tunable 'NOPE'" in fault(run("verify", "double.py", "kernel.py", "--config", "NOPE=3"))


@pytest.mark.parametrize("status", ["wrong", "rejected", "compile_error", "crashed", "timeout", "runtime_error"])
def test_a_kernel_that_fails_is_status_1_with_its_reason(files: Path, status: str) -> None:
    (files / "kernel.py").write_text(f"BLOCK = 512\n# fails: {status}\n")
    result = run("verify", "double.py", "kernel.py")
    assert result.exit_code == 1
    assert f"{status}: the source says that it fails" in result.stdout
    assert result.stderr == ""


@pytest.mark.usefixtures("files")
def test_what_this_machine_cannot_judge_is_status_2_and_never_called_passed() -> None:
    def not_here(candidate: Candidate, purpose: str) -> Evaluation:
        del candidate, purpose
        results = (CaseResult(case="small", status=Status.NOT_VERIFIED, reason="bf16 dot"),)
        return Evaluation(status=Status.NOT_VERIFIED, reason="bf16 dot in the interpreter", results=results)

    result = run("verify", "double.py", "kernel.py", "--json", worker=FakeWorker(answer=not_here))
    assert result.exit_code == 2
    assert json.loads(result.stdout)["status"] == "not_verified"
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: kernel.py was not verified on this machine: bf16 dot")
    assert "passed" not in result.stdout + result.stderr


@pytest.mark.usefixtures("files")
def test_the_source_goes_to_the_worker_as_it_is_even_if_it_does_not_parse() -> None:
    Path("kernel.py").write_text("def (:\n")
    seen: list[Candidate] = []

    def rejecting(candidate: Candidate, purpose: str) -> Evaluation:
        seen.append(candidate)
        assert purpose == "verify"
        return Evaluation(status=Status.COMPILE_ERROR, reason="line 1: invalid syntax")

    result = run("verify", "double.py", "kernel.py", worker=FakeWorker(answer=rejecting))
    assert result.exit_code == 1
    assert seen == [Candidate(source="def (:\n")]
    assert "line 1: invalid syntax" in result.stdout


@pytest.mark.usefixtures("files")
def test_an_interrupt_is_status_130_not_an_answer() -> None:
    def interrupted(candidate: Candidate, purpose: str) -> Evaluation:
        raise KeyboardInterrupt

    worker = FakeWorker(answer=interrupted)
    result = run("verify", "double.py", "kernel.py", worker=worker)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")
    assert worker.closed


@pytest.mark.usefixtures("files")
def test_bad_requests_are_one_line_and_cost_no_worker() -> None:
    worker = FakeWorker(answer=evaluation_of)
    Path("notes.txt").write_text("hello")
    Path("other.py").write_text("x = 1\n")
    assert "no candidate file at 'gone.py'" in fault(run("verify", "double.py", "gone.py", worker=worker))
    assert "no problem at 'gone'" in fault(run("verify", "gone", "kernel.py", worker=worker))
    assert "notes.txt is not a Python file" in fault(run("verify", "notes.txt", "kernel.py", worker=worker))
    assert "does not define Model" in fault(run("verify", "other.py", "kernel.py", worker=worker))
    assert worker.calls == []
    assert not worker.closed


def test_many_candidates_are_one_table_and_status_1_if_any_failed(files: Path) -> None:
    (files / "bad.py").write_text("BLOCK = 512\n# fails: wrong\n")
    result = run("verify", "double.py", "kernel.py", "bad.py")
    assert result.exit_code == 1
    rows = [line.split()[:2] for line in result.stdout.splitlines() if line.endswith("wrong") or "passed" in line]
    assert rows == [["kernel.py", "passed"], ["bad.py", "wrong"]]
    assert result.stderr.splitlines() == ["1 of 2: kernel.py: passed", "2 of 2: bad.py: wrong"]


def test_many_candidates_are_a_list_of_evaluations_in_json(files: Path) -> None:
    (files / "other.py").write_text("BLOCK = 64\n")
    result = run("verify", "double.py", "kernel.py", "other.py", "--json")
    assert result.exit_code == 0
    documents = json.loads(result.stdout)
    assert [(one["file"], one["status"]) for one in documents] == [("kernel.py", "passed"), ("other.py", "passed")]


def test_one_of_many_that_this_machine_cannot_judge_is_status_2(files: Path) -> None:
    (files / "other.py").write_text("BLOCK = 64\n# fails: not_verified\n")
    result = run("verify", "double.py", "kernel.py", "other.py")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("error: other.py was not verified on this machine")


@pytest.mark.usefixtures("files")
def test_the_short_verdict_of_a_failure_keeps_the_reasons_of_single_cases() -> None:
    def mixed(candidate: Candidate, purpose: str) -> Evaluation:
        del candidate, purpose
        found = [("a", "too big"), ("b", "too big"), ("c", "NaN in row 3"), ("d", "1"), ("e", "2")]
        results = tuple(CaseResult(case=case, status=Status.WRONG, reason=why) for case, why in found)
        return Evaluation(status=Status.WRONG, reason="NaN in row 3", results=results)

    lines = run("verify", "double.py", "kernel.py", worker=FakeWorker(answer=mixed)).stdout.splitlines()
    assert "wrong: NaN in row 3" in lines
    assert "cases: 5 wrong" in lines
    assert "  a and 1 more: too big" in lines
    assert sum("NaN in row 3" in line for line in lines) == 1


def left_out(candidate: Candidate) -> Evaluation:
    unjudged = (f"{LEFT_OUT}line 3: uses .item",) if "BLOCK" in candidate.source else ()
    return replace(evaluation_of(candidate, "verify"), judged_source="BLOCK = 1\n", unjudged=unjudged)


def test_passed_is_not_said_of_a_file_that_breaks_a_rule_where_nothing_ran(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeWorker, "evaluate", lambda worker, candidate, *_: left_out(candidate))
    result = run("verify", "double.py", "kernel.py")
    assert result.exit_code == 1
    assert "left out: line 3: uses .item" in result.stdout
    assert "--write FILE" in result.stderr
    written = run("verify", "double.py", "kernel.py", "--write", "judged.py")
    assert written.exit_code == 0
    assert (files / "judged.py").read_text() == "BLOCK = 1\n"
    assert "one candidate" in fault(run("verify", "double.py", "kernel.py", "kernel.py", "--write", "judged.py"))


def test_the_text_that_is_written_has_its_config(files: Path) -> None:
    (files / "kernel.py").write_text(SOURCE)
    run("verify", "double.py", "kernel.py", "--config", f"{TUNABLE}=256", "--write", "judged.py")
    assert (files / "judged.py").read_text() == apply_config(SOURCE, {TUNABLE: 256}) != SOURCE


def test_what_this_machine_cannot_judge_is_not_written(files: Path) -> None:
    (files / "kernel.py").write_text("BLOCK = 512\n# fails: not_verified\n")
    assert run("verify", "double.py", "kernel.py", "--write", "judged.py").exit_code == 2
    assert not (files / "judged.py").exists()
