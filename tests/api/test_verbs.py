"""The functions that Python programs call, with a fake worker: what goes to the job, and what comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

import kernelwright
from command_line import PROBLEM
from fakes import ENVIRONMENT, FakeWorker
from kernelwright.errors import ConfigError, RequestError
from kernelwright.model import Candidate, CaseResult, Evaluation, Status
from proposing import KERNEL
from started import starting

SOURCE = "BLOCK = 512\n# a second line\n"


@pytest.fixture
def problem(tmp_path: Path) -> kernelwright.Problem:
    (tmp_path / "double.py").write_text(PROBLEM)
    return kernelwright.Problem.find(tmp_path / "double.py")


def test_a_candidate_is_a_file_or_its_source_or_a_record(problem: kernelwright.Problem, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(SOURCE)
    for given in (tmp_path / "kernel.py", str(tmp_path / "kernel.py"), SOURCE, Candidate(source=SOURCE)):
        worker = FakeWorker()
        found = kernelwright.verify(problem, given, start_worker=starting(worker))
        assert found.passed
        assert worker.calls == [(Candidate(source=SOURCE).id, "verify")]
    with pytest.raises(RequestError, match=r"no candidate file at 'kernel\.cu'"):
        kernelwright.verify(problem, "kernel.cu", start_worker=pytest.fail)
    with pytest.raises(ConfigError, match="NOTHING"):
        kernelwright.verify(problem, SOURCE, config={"NOTHING": 2}, start_worker=pytest.fail)


def test_a_config_that_is_given_goes_before_that_of_the_candidate(problem: kernelwright.Problem) -> None:
    candidate = Candidate(source=KERNEL, config={"BLOCK": 128})
    found = kernelwright.verify(problem, candidate, config={"BLOCK": 512}, start_worker=starting())
    assert found.candidate.config == {"BLOCK": 512}


def test_a_verification_reads_as_the_command_prints_it(problem: kernelwright.Problem) -> None:
    found = kernelwright.verify(problem, SOURCE, start_worker=starting())
    off = Evaluation(
        status=Status.WRONG,
        reason="off",
        results=(CaseResult(case="small", status=Status.WRONG, reason="a < b & <script>"),),
    )
    worker = FakeWorker(answer=lambda candidate, purpose: off)
    wrong = kernelwright.verify(problem, SOURCE, start_worker=starting(worker))
    assert (wrong.passed, wrong.evaluation.status) == (False, Status.WRONG)
    assert str(found).startswith("passed")
    page = wrong._repr_html_()
    assert "<b>double: wrong" in page
    assert "<pre>case" in page
    assert "<script>" not in page


def test_a_check_says_whether_the_problem_qualifies_and_shows_its_bounds(problem: kernelwright.Problem) -> None:
    found = kernelwright.check(problem, start_worker=starting())
    assert found.qualifies is True
    assert "qualifies: no trivial answer passes" in str(found)
    assert "<b>double qualifies" in found._repr_html_()
    assert "bound" in found._repr_html_()


def test_a_bench_is_its_report_with_a_table_for_each_case(problem: kernelwright.Problem, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(SOURCE)
    found = kernelwright.bench(problem, [tmp_path / "kernel.py"], cases=["big"], start_worker=starting())
    assert [case.case for case in found.cases] == ["big"]
    assert [row.name for row in found.cases[0].implementations][-1] == "kernel"
    assert found.command.endswith("--case big")
    assert str(found).startswith("bench of double")
    page = found._repr_html_()
    assert f"<b>double on {ENVIRONMENT.device}</b>" in page
    assert page.count("<pre>") == 1


def test_a_profile_shows_each_case_and_says_how_a_candidate_failed(problem: kernelwright.Problem) -> None:
    said: list[str] = []
    found = kernelwright.profile(problem, SOURCE, start_worker=starting(), notify=said.append)
    assert found.document()["problem"] == "double"
    assert found.failure is None
    assert "<b>profile of double</b>" in found._repr_html_()
    failed = kernelwright.profile(problem, SOURCE + "# fails: wrong\n", start_worker=starting(), notify=said.append)
    assert failed.failure is not None
    assert said == [failed.failure]
    assert failed.failure in str(failed)


def test_a_candidate_is_exported_for_its_problem(problem: kernelwright.Problem, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("class ModelNew:\n    pass\n\n\nBLOCK = 64\n")
    out = tmp_path / "out"
    found = kernelwright.export(
        tmp_path / "kernel.py", problem=problem, format="kernelbench", out=out, start_worker=starting()
    )
    assert (found.folder, found.checked) == (out, None)
    assert [str(file.relative_to(out)) for file in out.rglob("*.py")] == [f for f in found.files if f.endswith(".py")]
    with pytest.raises(RequestError, match="there is no format 'cuda'"):
        kernelwright.export(tmp_path / "kernel.py", problem=problem, format="cuda", start_worker=pytest.fail)


def test_verify_all_gives_a_result_for_each_candidate(problem: kernelwright.Problem) -> None:
    passed, wrong = kernelwright.verify_all(
        problem, [SOURCE, "BLOCK = 512\n# fails: wrong\n"], start_worker=starting()
    )  # fmt: skip
    assert (passed.passed, wrong.passed) == (True, False)
