"""Timing implementations of one problem side by side, called from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import PROBLEM
from kernelwright.errors import RequestError
from kernelwright.jobs.bench import BenchSettings, bench, command_line, named_candidates
from kernelwright.jobs.worker import Desk
from kernelwright.model import Loading
from kernelwright.problems import ProblemPath, find_problem
from started import starting

SINGLE = ProblemPath(name="single", file=Path("single.py"))
"""A problem with nothing beside it."""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "double"
    folder.mkdir()
    (folder / "problem.py").write_text(PROBLEM)
    (folder / "starter.py").write_text("BLOCK = 64\n")
    (tmp_path / "mine.py").write_text("BLOCK = 512\n")
    return tmp_path


def test_every_repeat_has_a_worker_that_no_other_has() -> None:
    targets: list[str | None] = []

    def start(target: str | None):  # type: ignore[no-untyped-def]
        targets.append(target)
        return starting()(target)

    settings = BenchSettings(repeat=3, loading=Loading(which="derived", dtype="float16"))
    report = bench("double", (), settings, desk=Desk(pytest.fail, start, target="sm_80"))
    assert targets == ["sm_80"] * 3
    assert len(report.cases[0].implementations[0].repeats_us) == 3
    assert report.command == "kernelwright bench double --dtype float16 --target sm_80 --repeat 3"


@pytest.mark.parametrize(
    ("settings", "cases"),
    [
        (BenchSettings(), ["big", "odd"]),
        (BenchSettings(held_out=False), ["big"]),
        (BenchSettings(cases=("odd",)), ["odd"]),
        (BenchSettings(cases=("odd",), held_out=False), ["odd"]),
    ],
)
def test_a_case_that_is_named_is_measured_even_if_it_is_held_out(settings: BenchSettings, cases: list[str]) -> None:
    report = bench("double", (), settings, desk=Desk(pytest.fail, starting()))
    assert [case.case for case in report.cases] == cases


def test_every_setting_that_is_not_the_default_is_in_the_command() -> None:
    settings = BenchSettings(
        cases=("a case",),
        compile=False,
        held_out=False,
        max_autotune=True,
        loading=Loading(which="derived", unqualified=True),
    )
    assert command_line("double", [Path("mine.py")], settings) == (
        "kernelwright bench double mine.py --case 'a case' --max-autotune --no-compile --no-held-out --unqualified"
    )


def test_a_run_s_best_kernel_is_called_best_unless_the_problem_has_one() -> None:
    Path("best_kernel.py").write_text("BLOCK = 256\n")
    assert list(named_candidates(SINGLE, ("best_kernel.py", "mine.py"))) == ["best", "mine"]
    Path("double/best.py").write_text("BLOCK = 512\n")
    named = named_candidates(find_problem("double"), ("best_kernel.py",))
    assert {name: candidate.source for name, candidate in named.items()} == {
        "starter": "BLOCK = 64\n",
        "best": "BLOCK = 512\n",
        "best_kernel": "BLOCK = 256\n",
    }


def test_names_that_clash_are_refused() -> None:
    Path("eager.py").write_text("")
    Path("sub").mkdir()
    Path("sub/mine.py").write_text("")
    with pytest.raises(RequestError, match="framework's own"):
        named_candidates(SINGLE, ("eager.py",))
    with pytest.raises(RequestError, match="both be called 'mine'"):
        named_candidates(SINGLE, ("mine.py", "sub/mine.py"))
    assert list(named_candidates(find_problem("double"), ("double/starter.py",))) == ["starter"]
