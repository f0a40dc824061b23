"""`bench`."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from command_line import PROBLEM, fault, run
from fakes import FakeWorker
from kernelwright.codec import decode
from kernelwright.model import BenchReport, BenchSeries


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "double"
    folder.mkdir()
    (folder / "problem.py").write_text(PROBLEM)
    (folder / "starter.py").write_text("BLOCK = 64\n")
    (tmp_path / "mine.py").write_text("BLOCK = 512\n")
    return tmp_path


def test_the_starter_takes_part_and_candidates_bear_their_file_names() -> None:
    result = run("bench", "double", "mine.py", "--json", "out.json")
    assert result.exit_code == 0
    report = decode(Path("out.json").read_bytes(), BenchReport)
    assert [row.name for row in report.cases[0].implementations] == ["eager", "starter", "mine"]
    assert [case.case for case in report.cases] == ["big", "odd"]
    assert report.command == "kernelwright bench double mine.py"
    assert "mine" in result.stdout
    assert "written to out.json" in result.stderr


def test_chosen_cases_are_the_only_ones() -> None:
    result = run("bench", "double", "--case", "odd", "--no-compile", "--json")
    document = json.loads(result.stdout)
    assert [case["case"] for case in document["cases"]] == ["odd"]
    assert document["command"] == "kernelwright bench double --case odd --no-compile"
    assert "has no case 'huge' (its cases: small, big, odd)" in fault(run("bench", "double", "--case", "huge"))


def test_held_out_cases_can_be_left_out() -> None:
    document = json.loads(run("bench", "double", "--no-held-out", "--json").stdout)
    assert [case["case"] for case in document["cases"]] == ["big"]
    assert document["command"] == "kernelwright bench double --no-held-out"
    result = run("bench", "double", "--case", "odd", "--no-held-out")
    assert result.exit_code == 2
    assert "leave --no-held-out out" in result.stderr


def test_a_wrong_candidate_makes_the_answer_no() -> None:
    Path("mine.py").write_text("BLOCK = 512\n# fails: wrong\n")
    result = run("bench", "double", "mine.py")
    assert result.exit_code == 1
    assert "mine: wrong" in result.stdout


def test_the_best_kernel_of_the_problem_takes_part() -> None:
    Path("double/best.py").write_text("BLOCK = 512\n")
    document = json.loads(run("bench", "double", "--json").stdout)
    assert [row["name"] for row in document["cases"][0]["implementations"]] == ["eager", "starter", "best"]


def test_json_has_every_field_of_the_contract() -> None:
    document = json.loads(run("bench", "double", "--json").stdout)
    assert set(document) >= {"schema_version", "problem", "environment", "cases", "command"}
    for case in document["cases"]:
        assert set(case) >= {"case", "held_out", "bound_us", "bound_by", "implementations"}
        for row in case["implementations"]:
            assert set(row) >= {
                "name", "median_us", "ci95_us", "call_us", "speedup", "speedup_ci95", "verdict", "fraction_of_bound",
                "kind", "status",
            }  # fmt: skip


def test_a_report_that_could_not_be_written_is_refused_before_anything_is_timed() -> None:
    worker = FakeWorker()
    gone = "gone/out.json cannot be written: No such file or directory"
    assert gone in fault(run("bench", "double", "--json", "gone/out.json", worker=worker))
    assert "double cannot be written: Is a directory" in fault(run("bench", "double", "--json", "double"))
    assert not worker.closed


def test_options_that_exclude_each_other_are_a_usage_error() -> None:
    result = run("bench", "double", "--max-autotune", "--no-compile")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


def test_a_folder_of_problems_is_benched_problem_by_problem_into_one_document() -> None:
    for name in ("second", "first"):
        Path(f"several/{name}").mkdir(parents=True)
        Path(f"several/{name}/problem.py").write_text(PROBLEM)
    Path("several/first/best.py").write_text("BLOCK = 512\n")
    result = run("bench", "several", "--json", "out.json")
    assert result.exit_code == 0
    series = decode(Path("out.json").read_bytes(), BenchSeries)
    assert [report.command for report in series.reports] == [
        "kernelwright bench several/first",
        "kernelwright bench several/second",
    ]
    assert [row.name for row in series.reports[0].cases[0].implementations] == ["eager", "best"]
    assert series.command == "kernelwright bench several"
    assert "1 of 2: first" in result.stderr
    assert "timed cases" in result.stdout


def test_a_wrong_kernel_in_a_folder_of_problems_makes_the_answer_no() -> None:
    Path("several/one").mkdir(parents=True)
    Path("several/one/problem.py").write_text(PROBLEM)
    Path("several/one/best.py").write_text("BLOCK = 512\n# fails: wrong\n")
    result = run("bench", "several")
    assert result.exit_code == 1
    assert "best: wrong" in result.stdout


def test_a_folder_of_problems_takes_no_candidates_and_no_cases() -> None:
    Path("several/one").mkdir(parents=True)
    Path("several/one/problem.py").write_text(PROBLEM)
    assert "folder of 1 problems" in fault(run("bench", "several", "mine.py"))
    assert "folder of 1 problems" in fault(run("bench", "several", "--case", "big"))


def test_a_report_that_is_there_stays_until_there_is_another_and_none_is_begun(files: Path) -> None:
    (files / "out.json").write_text("the last one")
    for name in ("out.json", "new.json"):
        assert run("bench", "double", "--case", "nine", "--json", name).exit_code == 2
    assert (files / "out.json").read_text() == "the last one"
    assert not (files / "new.json").exists()


def test_a_report_may_go_into_a_pipe(files: Path) -> None:
    os.mkfifo(files / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((files / "pipe").read_text()))
    reader.start()
    assert run("bench", "double", "--json", "pipe").exit_code == 0
    reader.join()
    assert json.loads(read[0])["problem"] == "double"
