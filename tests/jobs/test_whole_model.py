"""Surveying a model: what is run, written and checked, with a fake worker and a fake program."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from command_line import PROBLEM, run
from fakes import ENVIRONMENT, FakeWorker
from kernelwright import codec
from kernelwright.api.model import Model
from kernelwright.errors import RequestError
from kernelwright.jobs import whole_model as job
from kernelwright.jobs.series_search import SeriesSearch
from kernelwright.jobs.series_state import Series, SeriesProblem
from kernelwright.jobs.worker import Desk
from kernelwright.model import (
    Budget,
    LeastWork,
    ModelSurvey,
    Part,
    PartCase,
    QualificationReport,
    RunOptions,
)
from started import starting

PEAKS = {"copy_bytes_per_s": 1e12, "read_bytes_per_s": 1e12, "write_bytes_per_s": 1e12, "float32_flop_per_s": 1e13}
NOWHERE = msgspec.structs.replace(ENVIRONMENT, device=None, gpu="", peaks=PEAKS, peaks_source="fake")


def region(name: str, text: str | None, refused: str = "") -> Part:
    case = PartCase(key=name, shapes="", places=1, work=LeastWork(bytes=10**9, written_bytes=0))
    return Part(kind="region", name=name, family=name, operators=(name,), module="", is_backward=False, cases=(case,),
                text=text, refused=refused)  # fmt: skip


SURVEY = ModelSurvey(
    name="net", is_trained=False, sets={"only": 1.0}, graphs=1,
    parts=(region("double", PROBLEM), region("copy", None, "it only moves or casts elements")),
)  # fmt: skip


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the program was asked; it answers with SURVEY."""
    jobs: list[list[str]] = []

    def run_module(folder: Path, module: str, words: list[str], notify: Callable[[str], object]) -> int:
        jobs.append(words)
        Path(words[1]).write_bytes(codec.encode(SURVEY))
        return 0

    monkeypatch.setattr(job, "run_module", run_module)
    monkeypatch.chdir(tmp_path)
    return jobs


def desk(worker: FakeWorker | None = None) -> Desk:
    return Desk(lambda line: None, starting(worker or FakeWorker(where=NOWHERE)))


def test_problems_and_the_document_are_written_and_checked(asked: list[list[str]]) -> None:
    found = job.survey_model("net.py", desk=desk())
    assert (asked[0][0], len(asked[0])) == ("net.py", 2)
    assert (found.folder, found.checks) == ("models/net", {"double": ""})
    assert sorted(str(one) for one in Path("models").rglob("*") if one.is_file()) == [
        "models/net/double/problem.py", "models/net/model.json",
    ]  # fmt: skip
    assert json.loads(Path("models/net/model.json").read_text())["weights"] == {"double": 0.5}


def test_a_second_survey_replaces_the_first_and_no_other_folder(asked: list[list[str]]) -> None:
    job.survey_model("net.py", desk=desk())
    Path("models/net/double/runs.txt").write_text("old")
    job.survey_model("net.py", desk=desk())
    assert not Path("models/net/double/runs.txt").exists()
    Path("models/net/model.json").unlink()
    with pytest.raises(RequestError, match="is no survey of a model"):
        job.survey_model("net.py", desk=desk())


def test_a_problem_that_does_not_qualify_is_listed_with_its_reason(asked: list[list[str]]) -> None:
    poor = QualificationReport(problem="double", qualifies=False, reason="zeros would pass")
    found = job.survey_model("net.py", desk=desk(FakeWorker(qualification=poor, where=NOWHERE)))
    assert found.checks == {"double": "zeros would pass"}
    unknown = QualificationReport(problem="double", qualifies=None, not_judged={"big": "too large"})
    found = job.survey_model("net.py", desk=desk(FakeWorker(qualification=unknown, where=NOWHERE)))
    assert found.checks == {"double": "not judged here: too large"}


def test_a_script_that_fails_is_an_error_with_its_last_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run_module(folder: Path, module: str, words: list[str], notify: Callable[[str], object]) -> int:
        notify("NameError: name 'nett' is not defined")
        return 1

    monkeypatch.setattr(job, "run_module", run_module)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RequestError, match="cannot be surveyed: NameError"):
        job.survey_model("net.py", desk=desk())


def test_the_command_prints_the_table_and_one_document(asked: list[list[str]]) -> None:
    shown = run("model", "net.py", worker=FakeWorker(where=NOWHERE))
    assert shown.exit_code == 0
    assert "kernelwright optimize models/net" in shown.stdout.splitlines()[-1]
    document = json.loads(run("model", "net.py", "--json", worker=FakeWorker(where=NOWHERE)).stdout)
    assert [one["name"] for one in document["times"]] == ["double", "copy"]
    assert document["kind"] == "estimate"


def test_the_weight_of_a_problem_is_its_share_of_the_models_time(asked: list[list[str]]) -> None:
    found = job.survey_model("net.py", desk=desk())
    assert job.weight_of(f"{found.folder}/double") == 0.5
    assert job.weight_of("elsewhere/problem.py") == 1.0


def test_a_search_over_the_folder_prefers_the_problem_with_the_larger_weight(tmp_path: Path) -> None:
    series = Series(
        problems=(SeriesProblem(name="a", problem="a", weight=0.25), SeriesProblem(name="b", problem="b")),
        options=RunOptions(), budget=Budget(trials=2), round_trials=1,
    )  # fmt: skip
    curves = SeriesSearch(tmp_path, series, RunOptions(), desk()).curves()
    assert {name: curve.weight for name, curve in curves.items()} == {"a": 0.25, "b": 1.0}


def test_a_survey_in_python_is_the_commands_with_html(asked: list[list[str]]) -> None:
    found = Model("net.py").survey(start_worker=starting(FakeWorker(where=NOWHERE)), notify=lambda line: None)
    assert str(found).splitlines()[-1] in found._repr_html_()


def test_on_a_gpu_the_program_is_told_which_and_which_baselines(asked: list[list[str]]) -> None:
    there = msgspec.structs.replace(NOWHERE, device="a GPU", gpu="GPU-1")
    job.survey_model("net.py", max_autotune=True, desk=desk(FakeWorker(where=there)))
    assert asked[0][2:4] == ["GPU-1", "eager,compile,compile_max_autotune"]
    assert json.loads(asked[0][4]) == there.peaks


def test_an_interrupt_between_checks_leaves_a_survey_that_the_next_replaces(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(problem: Path, desk: Desk) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(job, "checked", interrupted)
        shown = list[str]()
        with pytest.raises(KeyboardInterrupt):
            job.survey_model("net.py", desk=desk(), show=shown.append)
    assert "time by class" in shown[0]
    assert job.survey_model("net.py", desk=desk()).checks == {"double": ""}
