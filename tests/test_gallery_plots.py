"""The roofs of the gallery's pages: each is there and says what the results say."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import msgspec
import pytest

import scripts
from kernelwright.codec import decode
from kernelwright.errors import ProblemError
from kernelwright.model import BenchCase, BenchReport, Case, CaseInfo, Implementation, Status, TensorSpec
from kernelwright.roofline import bound
from kernelwright.text.units import share_text

ROOT = Path(__file__).parents[1]
FOLDERS = sorted({file.parents[1] for file in (ROOT / "gallery").glob("*/results/*.json")})
PEAKS = {
    "copy_bytes_per_s": 4e12, "read_bytes_per_s": 3e12, "write_bytes_per_s": 2e12,
    "bfloat16_flop_per_s": 8e14, "float32_flop_per_s": 5e13,
}  # fmt: skip
OTHER_PEAKS = {name: 2 * value for name, value in PEAKS.items()}
TAKEN = TensorSpec(shape=(3000, 1000), dtype="bfloat16", stride=(1000, 1))
GIVEN = TensorSpec(shape=(1000, 1000), dtype="bfloat16", stride=(1000, 1))
WEIGHT = TensorSpec(shape=(1000,), dtype="float32", stride=(1,))
BYTES = 8_004_000


@pytest.fixture(scope="module")
def plots() -> ModuleType:
    return scripts.script("gallery_plots")


def row(name: str, median_us: float | None = 10.0, status: Status = Status.PASSED) -> Implementation:
    return Implementation(name=name, status=status, median_us=median_us)


def benched(*rows: Implementation) -> BenchCase:
    least = bound(BYTES, 2_000_000, {"bfloat16": 4_000_000}, PEAKS, "")
    return BenchCase(case="big", held_out=False, bound_us=least.bound_us, bound_by=least.bound_by, implementations=rows)


def loaded(bytes: int = BYTES) -> CaseInfo:
    """As a worker tells it whose peaks are others than those of the results."""
    return CaseInfo(
        case=Case(name="big"), inputs=(TAKEN,), outputs=(GIVEN,), parameters={"weight": WEIGHT}, bytes=bytes,
        flop=4_000_000, bound=bound(bytes, bytes * 2_000_000 // BYTES, {"bfloat16": 4_000_000}, OTHER_PEAKS, ""),
    )  # fmt: skip


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_every_page_with_results_shows_a_roof_with_the_shares_of_its_results(folder: Path, plots: ModuleType) -> None:
    assert "![roofline](roofline.svg)" in (folder / "README.md").read_text(encoding="utf-8")
    picture = (folder / "roofline.svg").read_text(encoding="utf-8")
    report = decode(next(iter(sorted((folder / "results").glob("*.json")))).read_bytes(), BenchReport)
    case = next(case for case in report.cases if not case.held_out)
    keys = [f"{one.name} {share_text(case.bound_us / one.median_us)}" for one in plots.shown(case)]
    absent = [text for text in (case.case, *keys) if f">{text}</text>" not in picture]
    assert absent == [], "stale: run python benchmarks/gallery_plots.py"


@pytest.mark.parametrize(
    "run", sorted((ROOT / "gallery").glob("*/runs/*/journal.db")), ids=lambda file: file.parents[2].name
)
def test_every_page_with_a_run_shows_its_convergence(run: Path) -> None:
    folder = run.parents[2]
    assert "![convergence](convergence.svg)" in (folder / "README.md").read_text(encoding="utf-8")
    assert ">best so far</text>" in (folder / "convergence.svg").read_text(encoding="utf-8")


def test_the_limit_is_made_of_the_peaks_of_the_results_not_of_those_at_hand(plots: ModuleType) -> None:
    limit = plots.limit_of(loaded(), PEAKS, "measured then")
    assert limit == bound(BYTES, 2_000_000, {"bfloat16": 4_000_000}, PEAKS, "measured then")


def test_a_point_is_refused_where_the_problem_is_no_longer_the_one_that_was_benched(plots: ModuleType) -> None:
    case = benched(row("eager"), row("best", 4.0))
    points = plots.reached(case, plots.limit_of(loaded(), PEAKS, ""))
    assert {name: point.time_us for name, (point,) in points.items()} == {"eager": 10.0, "best": 4.0}
    with pytest.raises(ProblemError, match="limit of big"):
        plots.reached(case, plots.limit_of(loaded(bytes=BYTES + BYTES // 100), PEAKS, ""))
    with pytest.raises(ProblemError, match="limit of big"):
        plots.reached(msgspec.structs.replace(case, bound_by="flop"), plots.limit_of(loaded(), PEAKS, ""))


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ((row("best", 4.0), row("other", 3.0), row("starter"), row("eager")), ["eager", "starter", "best"]),
        ((row("slow", 5.0), row("quick", 3.0), row("compile"), row("starter")), ["compile", "starter", "quick"]),
        ((row("eager"), row("compile_max_autotune", 1.0), row("starter")), ["eager", "starter"]),
        ((row("eager"), row("best", None, Status.WRONG), row("other", 3.0)), ["eager", "other"]),
    ],
)
def test_best_is_the_row_of_that_name_or_else_the_fastest_of_ours(
    rows: tuple[Implementation, ...], names: list[str], plots: ModuleType
) -> None:
    assert [one.name for one in plots.shown(benched(*rows))] == names
