"""A candidate beside the baseline of an earlier bench."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from command_line import PROBLEM
from fakes import FakeWorker
from kernelwright.codec import document_text
from kernelwright.errors import RequestError
from kernelwright.jobs.bench import BenchSettings, bench
from kernelwright.jobs.gate import gate, judged_case
from kernelwright.jobs.worker import Desk
from kernelwright.model import BenchCase, BenchReport, Implementation, Loading, Status
from started import starting


@pytest.fixture(autouse=True)
def baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report of `mine`, beside a problem with a starter."""
    monkeypatch.chdir(tmp_path)
    Path("double").mkdir()
    Path("double/problem.py").write_text(PROBLEM)
    Path("double/starter.py").write_text("BLOCK = 64\n")
    Path("mine.py").write_text("BLOCK = 512\n")
    report = bench("double", ["mine.py"], desk=Desk(pytest.fail, starting()))
    Path("base.json").write_text(document_text(report))
    return Path("base.json")


def outcomes(source: str, max_slowdown: float = 0.02) -> list[str]:
    Path("mine.py").write_text(source)
    found = gate("double", "mine.py", "base.json", max_slowdown, desk=Desk(pytest.fail, starting()))
    return [case.outcome for case in found.cases]


def test_a_report_of_a_bench_holds_the_text_of_its_candidates(baseline: Path) -> None:
    report = msgspec.json.decode(baseline.read_bytes(), type=BenchReport)
    assert {name: one.source for name, one in report.candidates.items()} == {
        "starter": "BLOCK = 64\n",
        "mine": "BLOCK = 512\n",
    }


def test_an_interval_that_reaches_what_is_allowed_is_within() -> None:
    """The fake's interval is one per cent wide to each side, and 3.4 per cent is the slowdown of block 500."""
    assert outcomes("BLOCK = 500\n", max_slowdown=0.02) == ["slower", "slower"]
    assert outcomes("BLOCK = 500\n", max_slowdown=0.03) == ["within", "within"]


def case(ours: Implementation, noise_floor: float | None) -> BenchCase:
    base = Implementation(name="baseline", status=Status.PASSED, median_us=100.0)
    return BenchCase(
        case="big", held_out=False, bound_us=1, bound_by="bytes", implementations=(base, ours), noise_floor=noise_floor
    )


def test_what_two_copies_differ_by_is_not_slower_even_where_nothing_is_allowed() -> None:
    ours = Implementation(
        name="candidate", status=Status.PASSED, median_us=100.4, speedup=0.996, speedup_ci95=(0.9955, 0.9965)
    )
    assert judged_case(case(ours, 0.005), 0.0).outcome == "within"
    assert judged_case(case(ours, 0.001), 0.0).outcome == "slower"
    assert judged_case(case(ours, None), 0.0).outcome == "not measured"


def test_the_slowdown_is_the_inverse_of_the_ratio_with_its_interval() -> None:
    ours = Implementation(name="candidate", status=Status.PASSED, median_us=125.0, speedup=0.8, speedup_ci95=(0.5, 0.9))
    found = judged_case(case(ours, 0.005), 0.02)
    assert (found.slowdown, found.slowdown_ci95) == (1.25, (1 / 0.9, 2.0))


def test_a_candidate_that_is_wrong_fails_and_a_baseline_that_is_leaves_nothing_to_compare(baseline: Path) -> None:
    assert outcomes("BLOCK = 512\n# fails: wrong\n") == ["failed", "failed"]
    report = msgspec.json.decode(baseline.read_bytes(), type=BenchReport)
    broken = msgspec.structs.replace(report.candidates["mine"], source="BLOCK = 512\n# fails: compile_error\n")
    baseline.write_text(document_text(msgspec.structs.replace(report, candidates={"mine": broken})))
    assert outcomes("BLOCK = 512\n") == ["not measured", "not measured"]


def test_a_candidate_that_could_not_be_verified_has_not_failed() -> None:
    ours = Implementation(name="candidate", status=Status.NOT_VERIFIED, reason="too few draws")
    found = judged_case(case(ours, 0.005), 0.0)
    assert (found.outcome, found.reason) == ("not measured", "not_verified: too few draws")


def test_beside_a_baseline_that_is_wrong_no_ratio_counts() -> None:
    ours = Implementation(name="candidate", status=Status.PASSED, median_us=90.0, speedup=1.1, speedup_ci95=(1.0, 1.2))
    broken = Implementation(name="baseline", status=Status.WRONG, reason="NaN", median_us=100.0)
    found = judged_case(msgspec.structs.replace(case(ours, 0.005), implementations=(broken, ours)), 0.0)
    assert (found.outcome, found.reason) == ("not measured", "the baseline is wrong: NaN")


def test_a_report_without_the_baseline_s_text_is_refused(baseline: Path) -> None:
    report = msgspec.json.decode(baseline.read_bytes(), type=BenchReport)
    baseline.write_text(document_text(msgspec.structs.replace(report, candidates={})))
    with pytest.raises(RequestError, match="does not hold the text of 'mine'"):
        gate("double", "mine.py", "base.json", 0.02, desk=Desk(pytest.fail, starting()))


def test_a_baseline_that_cannot_be_told_is_refused() -> None:
    Path("other.py").write_text("BLOCK = 512\n")
    with pytest.raises(RequestError, match="no row named 'other', and not exactly one candidate: starter, mine"):
        gate("double", "other.py", "base.json", 0.02, desk=Desk(pytest.fail, starting()))


@pytest.mark.parametrize("content", ["", "[]", '{"problem": 3}', None])
def test_a_file_that_is_no_report_is_refused(content: str | None) -> None:
    if content is not None:
        Path("bad.json").write_text(content)
    with pytest.raises(RequestError, match=r"bad\.json is no report"):
        gate("double", "mine.py", "bad.json", 0.02, desk=Desk(pytest.fail, starting()))


def test_the_cases_are_those_of_the_report_or_chosen_ones_of_them() -> None:
    def names(settings: BenchSettings) -> list[str]:
        found = gate("double", "mine.py", "base.json", 0.02, settings, desk=Desk(pytest.fail, starting()))
        return [one.case for one in found.cases]

    assert names(BenchSettings()) == ["big", "odd"]
    assert names(BenchSettings(held_out=False)) == ["big"]
    assert names(BenchSettings(cases=("odd",), repeat=2)) == ["odd"]
    with pytest.raises(RequestError, match="was not benched on case 'small'"):
        names(BenchSettings(cases=("small",)))


def test_the_dtype_is_that_of_the_earlier_report_unless_another_is_asked_for(baseline: Path) -> None:
    report = msgspec.json.decode(baseline.read_bytes(), type=BenchReport)
    baseline.write_text(document_text(msgspec.structs.replace(report, dtype="bfloat16")))
    for settings, dtype in (
        (BenchSettings(), "bfloat16"),
        (BenchSettings(loading=Loading(which="derived", dtype="float16")), "float16"),
    ):
        worker = FakeWorker()
        gate("double", "mine.py", baseline, 0.02, settings, desk=Desk(pytest.fail, starting(worker)))
        assert worker.dtypes == [dtype]
