"""Starting a worker with a problem, and the check that the problem qualifies."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from command_line import PROBLEM
from fakes import ENVIRONMENT, FakeWorker
from fakes import PROBLEM as INFO
from kernelwright.errors import ProblemError, RequestError
from kernelwright.jobs.loading import load_problem, load_qualified, read_problem, require_verifiable
from kernelwright.jobs.worker import Desk
from kernelwright.model import Case, CaseInfo, Environment, Loading, ProblemInfo, QualificationReport
from started import starting

POOR = QualificationReport(problem="double", qualifies=False, reason="zeros would pass")
UNKNOWN = QualificationReport(problem="double", qualifies=None, not_judged={"big": "too large", "odd": "too large"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "double.py"
    path.write_text(PROBLEM)
    return path


def test_a_problem_is_named_by_its_path_or_by_its_name_in_the_gallery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    (tmp_path / "gallery" / "twice").mkdir(parents=True)
    (tmp_path / "gallery" / "twice" / "problem.py").write_text(PROBLEM)
    monkeypatch.chdir(tmp_path)
    assert read_problem(file).name == "double"
    assert read_problem("twice").name == "twice"
    file.write_text("x = 1\n")
    with pytest.raises(ProblemError, match="does not define Model"):
        read_problem(file)


def test_the_worker_is_started_for_the_target_and_ends_with_the_block(file: Path) -> None:
    worker, targets = FakeWorker(), []

    def start(target: str | None):  # type: ignore[no-untyped-def]
        targets.append(target)
        return starting(worker)(target)

    with load_problem(
        read_problem(file), Desk(pytest.fail, start, target="sm_80"), loading=Loading(dtype="float16")
    ) as (
        given,
        info,
    ):
        assert given is worker
        assert info.name == "double"
        assert not worker.closed
    assert worker.closed
    assert (targets, worker.dtypes) == (["sm_80"], ["float16"])


def test_a_case_that_the_problem_does_not_have_is_refused_and_the_worker_ends(file: Path) -> None:
    worker = FakeWorker(qualification=POOR)
    with (
        pytest.raises(RequestError, match=r"double has no case 'huge' \(its cases: small, big, odd\)"),
        load_qualified(read_problem(file), file, Desk(pytest.fail, starting(worker)), cases=("big", "huge")),
    ):
        pass
    assert worker.closed


def test_a_problem_that_does_not_qualify_is_refused_by_the_name_that_the_user_gave(file: Path) -> None:
    worker = FakeWorker(qualification=POOR)
    with (
        pytest.raises(ProblemError, match=r"mine does not qualify: zeros would pass .*kernelwright check mine"),
        load_qualified(read_problem(file), "mine", Desk(pytest.fail, starting(worker))),
    ):
        pass
    assert worker.closed


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (POOR, "going on although mine does not qualify: zeros would pass"),
        (UNKNOWN, "whether mine distinguishes a kernel from a trivial answer was not judged here: too large"),
    ],
)
def test_what_was_allowed_and_what_could_not_be_judged_is_notified(
    file: Path, report: QualificationReport, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    notes: list[str] = []
    start = starting(FakeWorker(qualification=report))
    with load_qualified(
        read_problem(file), "mine", Desk(notes.append, start), loading=Loading(which="derived", unqualified=True)
    ):
        pass
    assert notes == [said]
    assert capsys.readouterr() == ("", "")


NO_GPU: Environment = msgspec.structs.replace(ENVIRONMENT, device=None)


def without_small(**fields: object) -> ProblemInfo:
    """The problem with its timed case only."""
    timed: CaseInfo = next(one for one in INFO.cases if one.case.timed)
    named = msgspec.structs.replace(timed, case=Case(name="default"))
    changes = {"cases": (named,), "numbers": {"rows": 4096, "dim": 1, "taps": 9}, **fields}
    return msgspec.structs.replace(INFO, **changes)


def test_a_problem_that_nothing_here_can_verify_is_refused_with_the_lines_to_add(file: Path) -> None:
    problem = without_small(left_alone={"": "it looks at values", "taps": "a kernel's extent"})
    with pytest.raises(ProblemError, match=r"nothing of double can be verified here.*it looks at values") as raised:
        require_verifiable(FakeWorker(where=NO_GPU), problem, read_problem(file))
    hint = str(raised.value.hint)
    assert str(file.with_suffix(".cases.json")) in hint
    stated = json.loads(hint[hint.index("{") :])
    small = {"name": "small", "small": True, "dtype": "float32", "params": {"rows": 7}}
    assert stated == {"cases": [{"name": "default"}, small]}


def test_a_file_with_cases_is_told_the_entry_to_add(file: Path) -> None:
    problem = without_small(source="CASES = [dict(name='default')]\n")
    with pytest.raises(ProblemError) as raised:
        require_verifiable(FakeWorker(where=NO_GPU), problem, read_problem(file))
    assert "add to CASES" in str(raised.value.hint)
    assert "'small': True, 'rows': 7" in str(raised.value.hint)


def test_with_a_gpu_or_with_a_small_case_nothing_is_refused(file: Path) -> None:
    require_verifiable(FakeWorker(), without_small(), read_problem(file))
    require_verifiable(FakeWorker(where=NO_GPU), INFO, read_problem(file))


def test_a_small_case_in_bfloat16_is_none_for_the_interpreter(file: Path) -> None:
    small = next(one for one in INFO.cases if one.case.small)
    spec = msgspec.structs.replace(small.outputs[0], dtype="bfloat16")
    cases = (*without_small().cases, msgspec.structs.replace(small, outputs=(spec,)))
    with pytest.raises(ProblemError, match="only bfloat16 in the small case small"):
        require_verifiable(FakeWorker(where=NO_GPU), without_small(cases=cases), read_problem(file))
