"""`export`: what is asked for, what is refused, what is written; the package itself is in tests/export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from command_line import PROBLEM, fault, run
from fakes import ENVIRONMENT, FakeWorker
from fakes import PROBLEM as DOUBLE
from kernelwright.journal import Journal
from kernelwright.model import Budget, Evaluation, QualificationReport, Status
from samples import passed, run_info, short_run

pytestmark = pytest.mark.process

KERNEL = "class ModelNew:\n    pass\n\n\nBLOCK = 64\n"

POOR = QualificationReport(problem="double", qualifies=False, reason="zeros would pass")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A problem, a candidate, and a run whose fourth trial was confirmed."""
    monkeypatch.chdir(tmp_path)
    Path("double.py").write_text(PROBLEM)
    Path("mine.py").write_text(KERNEL)
    with Journal.create(Path("one"), run_info()) as journal:
        journal.append_started(Budget(trials=6))
        for trial in short_run():
            journal.append_asked(trial.request)
            journal.append_proposed(trial.number, trial.proposal)
            if trial.evaluation is not None:
                journal.append_evaluated(trial.number, trial.evaluation)
            journal.append_told(trial.number)
        journal.append_confirmed(4, passed(26.0))
        journal.append_stopped("trials", 9.0)
    Path("one/problem").mkdir()
    Path("one/problem/softmax.py").write_text(PROBLEM)
    return tmp_path


def export(*words: str) -> tuple[int, dict[str, object]]:
    result = run("export", *words, "--json", worker=FakeWorker(problem=DOUBLE))
    assert result.stdout, result.stderr
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.usefixtures("home")
def test_a_candidate_is_verified_and_written_out() -> None:
    status, document = export("mine.py", "--problem", "double.py", "--format", "kernelbench")
    assert status == 0
    assert document["files"] == ["double_model_new.py"]
    assert KERNEL.strip() in Path("exports/double-kernelbench/double_model_new.py").read_text()


@pytest.mark.usefixtures("home")
def test_a_package_without_figures_says_that_the_kernel_is_not_used_yet() -> None:
    named = replace(DOUBLE, cases=tuple(replace(case, input_names=("x",)) for case in DOUBLE.cases))
    words = ("export", "mine.py", "--problem", "double.py", "--no-measure")
    result = run(*words, worker=FakeWorker(problem=named))
    assert "nothing was measured, so PyTorch serves every call" in result.stdout, result.stderr
    assert "python -m fast_double.benchmark --write" in result.stdout
    assert "Nothing was measured" in Path("exports/double-op/README.md").read_text()


@pytest.mark.usefixtures("home")
def test_a_package_that_fails_its_own_check_is_not_advised_to_be_installed() -> None:
    """The Model of this one is no module of torch."""
    named = replace(DOUBLE, cases=tuple(replace(case, input_names=("x",)) for case in DOUBLE.cases))
    words = ("export", "mine.py", "--problem", "double.py", "--no-measure")
    result = run(*words, worker=FakeWorker(problem=named))
    assert result.exit_code == 1
    assert "pip install" not in result.stdout


@pytest.mark.usefixtures("home")
def test_a_candidate_for_a_problem_that_does_not_qualify_is_exported_only_where_that_is_said() -> None:
    words = ("export", "mine.py", "--problem", "double.py", "--format", "kernelbench")
    worker = FakeWorker(problem=DOUBLE, qualification=POOR)
    assert "double.py does not qualify: zeros would pass" in fault(run(*words, worker=worker))
    assert not Path("exports").exists()
    allowed = run(*words, "--unqualified", worker=worker)
    assert allowed.exit_code == 0
    assert "going on although double.py does not qualify: zeros would pass" in allowed.stderr


@pytest.mark.usefixtures("home")
def test_a_wrong_candidate_is_not_exported() -> None:
    worker = FakeWorker(answer=lambda candidate, purpose: Evaluation(status=Status.WRONG, reason="off by one"))
    result = run("export", "mine.py", "--problem", "double.py", worker=worker)
    assert result.exit_code == 1
    assert "mine.py is wrong: off by one" in result.stdout
    assert not Path("exports").exists()


@pytest.mark.usefixtures("home")
def test_a_candidate_that_could_not_be_judged_is_not_exported() -> None:
    worker = FakeWorker(answer=lambda candidate, purpose: Evaluation(status=Status.NOT_VERIFIED, reason="bf16 only"))
    result = run("export", "mine.py", "--problem", "double.py", worker=worker)
    assert "could not be verified here: bf16 only" in fault(result)


@pytest.mark.usefixtures("home")
def test_a_run_in_another_dtype_is_exported_in_it() -> None:
    """In the problem's own it was never judged."""
    info = run_info(dtype="float16")
    with Journal.create(Path("half"), info) as journal, Journal.open(Path("one")) as one:
        journal.append_started(Budget(trials=1))
        seed = one.trials()[0]
        assert seed.evaluation is not None
        journal.append_asked(seed.request)
        journal.append_proposed(0, seed.proposal)
        journal.append_evaluated(0, seed.evaluation)
        journal.append_told(0)
        journal.append_stopped("trials", 9.0)
    Path("half/problem").mkdir()
    Path("half/problem/softmax.py").write_text(PROBLEM)
    worker = FakeWorker(problem=DOUBLE)
    result = run("export", "half", "--format", "config", "--out", "out", worker=worker)
    assert (result.exit_code, worker.dtypes) == (0, ["float16"]), result.stderr


@pytest.mark.usefixtures("home")
def test_a_run_gives_the_kernel_that_stands_or_the_trial_that_is_named() -> None:
    assert export("one", "--format", "config")[0] == 0
    config = json.loads(Path("exports/double-config/best_config.json").read_text())
    assert config["joint"]["config"] == {"softmax_kernel.BLOCK": 4096}
    assert export("one", "--format", "config", "--trial", "1", "--out", "other")[0] == 0
    assert json.loads(Path("other/best_config.json").read_text())["joint"]["config"] == {"softmax_kernel.BLOCK": 2048}


@pytest.mark.usefixtures("home")
def test_a_run_is_exported_as_a_table_and_as_a_trace() -> None:
    assert export("one", "--format", "csv")[1]["files"] == ["trials.csv"]
    assert "trace/README.txt" in str(export("one", "--format", "trace")[1]["files"])


FAULTS = {
    "one --format svg": "there is no format 'svg'",
    "mine.py": "mine.py is no run's folder",
    "mine.py --problem double.py --format csv": "format csv is of a run",
    "one --problem double.py": "one is a run",
    "one --trial 2": "trial 2 of one did not pass",
    "one --trial 9": "trial 9 is not in one",
    "one --name 3x": "'3x' cannot be a package's name: it is not an identifier in ASCII",
    "one --name näher": "'näher' cannot be a package's name: it is not an identifier in ASCII",
    "one --name class": "'class' cannot be a package's name: it is a keyword of Python",
    "one --name json": "'json' cannot be a package's name: it is a module of Python's standard library",
    "one --name torch": "'torch' cannot be a package's name: it would hide or overwrite another package",
    "one --name tests": "'tests' cannot be a package's name: it would hide or overwrite another package",
    "one --unqualified": "one is a run",
    "one --results nothing.json": "--results nothing.json cannot be read",
    "one --results mine.py": "--results mine.py is no bench report",
    "one --out one": "one is not empty",
}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(("words", "expected"), FAULTS.items())
def test_what_cannot_be_exported_is_said_in_one_line(words: str, expected: str) -> None:
    result = run("export", *words.split(), worker=FakeWorker(problem=DOUBLE, where=ENVIRONMENT))
    assert expected in fault(result)
