"""The pages made from the gallery's results say what the results say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Literal

import msgspec
import pytest

import scripts
from fakes import ENVIRONMENT
from kernelwright.model import BenchCase, BenchReport, BenchSeries, Implementation, Status

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "gallery_page.py"
CALLED = "kernelwright bench gallery/double --case big --max-autotune"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    return scripts.script("gallery_page")


def row(name: str, median_us: float, speedup: float | None = None, verdict: str | None = None) -> Implementation:
    found: Literal["faster", "tie", "slower"] | None = verdict  # type: ignore[assignment]
    return Implementation(name=name, status=Status.PASSED, median_us=median_us, speedup=speedup, verdict=found)


def report(*implementations: Implementation, command: str = "kernelwright bench double") -> BenchReport:
    case = BenchCase(case="big", held_out=False, bound_us=2.0, bound_by="bytes", implementations=implementations)
    return BenchReport(
        problem="double",
        environment=msgspec.structs.replace(ENVIRONMENT, device="Fake GPU", date="2026-11-22T01:50:17+00:00"),
        cases=(case,),
        command=command,
    )


def test_the_gallery_page_and_the_readme_are_not_stale() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/gallery_page.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_framework_is_ahead_where_the_verdict_says_so_and_a_tie_is_one(pages: ModuleType) -> None:
    reports = [report(row("eager", 4.0), row("best", 4.0, ratio, verdict))
               for ratio, verdict in ((0.99, "tie"), (0.5, "slower"), (2.0, "faster"), (3.0, "faster"))]  # fmt: skip
    text = pages.assessment(list(pages.measured(reports)))
    assert "ahead in 1 of 4 cases: double big (0.50)" in text
    assert "a tie in 1 of 4 cases: double big (0.99)" in text
    assert "the middle case is double big, 0.99 times" in text
    assert pages.assessment([]) == "No best kernel was benched on these."


def test_a_bench_with_max_autotune_has_its_own_folder_and_says_how_it_was_called(
    pages: ModuleType, tmp_path: Path
) -> None:
    plain = report(row("eager", 4.0), row("best", 2.0, 2.0, "faster"))
    tuned = report(row("eager", 4.0), row("compile_max_autotune", 3.0), row("best", 2.0, 1.5, "faster"), command=CALLED)
    pages.place(BenchSeries(reports=(plain, tuned), failures={}, command=""), tmp_path)
    assert pages.read_reports(tmp_path) == [plain]
    assert pages.read_reports(tmp_path, pages.AUTOTUNED) == [tuned]
    text = pages.autotuned([tuned])
    assert f"- **double**: `{CALLED}`" in text
    assert "1.50 times the framework's fastest one" in text
    assert pages.autotuned([]) == ""


def test_the_readme_has_max_autotune_in_the_race_where_it_was_benched(pages: ModuleType) -> None:
    plain = report(row("eager", 4.0), row("best", 2.0, 2.0, "faster"))
    tuned = report(row("eager", 4.0), row("compile_max_autotune", 2.0), row("best", 2.0, 1.0, "tie"), command=CALLED)
    lines = [line.split(" | ") for line in pages.readme_table([plain], [tuned]).splitlines()]
    assert lines[2][:2] + lines[2][3:5] + lines[2][-2:] == ["| double big", "4", "2", "2", "1.00x", "tie |"]
    assert "2.00x" in pages.readme_table([plain], [])


def test_the_file_of_a_bench_without_held_out_cases_does_not_replace_one_with_them(
    pages: ModuleType, tmp_path: Path
) -> None:
    whole = report(row("eager", 4.0), row("best", 2.0, 2.0, "faster"))
    whole = msgspec.structs.replace(
        whole, cases=(*whole.cases, msgspec.structs.replace(whole.cases[0], case="odd", held_out=True))
    )
    pages.place(BenchSeries(reports=(whole,), failures={}, command=""), tmp_path)
    part = report(row("eager", 4.0), row("best", 2.0, 2.0, "faster"))
    with pytest.raises(SystemExit, match="has fewer cases than"):
        pages.place(BenchSeries(reports=(part,), failures={}, command=""), tmp_path)
    assert pages.read_reports(tmp_path) == [whole]


def test_another_gpu_has_a_part_of_its_own_and_leaves_the_rest_as_it_is(pages: ModuleType, tmp_path: Path) -> None:
    own = report(row("eager", 4.0), row("best", 2.0, 2.0, "faster"))
    other = report(row("eager", 9.0), row("best", 6.0, 1.5, "faster"))
    other = msgspec.structs.replace(other, environment=msgspec.structs.replace(other.environment, device="Other GPU"))
    for one in (own, other):
        pages.place(BenchSeries(reports=(one,), failures={}, command=""), tmp_path)
    assert pages.read_reports(tmp_path) == [own]
    assert pages.read_reports(tmp_path, pages.ELSEWHERE) == [other]
    text = pages.elsewhere([other])
    assert "## On an Other GPU" in text
    assert "1.50 times the framework's fastest one" in text
    assert pages.elsewhere([]) == ""
