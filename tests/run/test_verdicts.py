"""Verdicts of earlier runs: which failure is found again, and what must never be taken for one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes import STARTER, FakeProposer, FakeWorker, evaluation_of, run_info
from kernelwright import codec
from kernelwright.cache import Cache
from kernelwright.errors import ConfigError
from kernelwright.journal import Journal
from kernelwright.model import Budget, Candidate, CaseResult, Evaluation, Proposal, RunInfo, Status, Timing
from kernelwright.run import optimize
from kernelwright.run.verdicts import OFF, VARIABLE, Verdicts, cache_folder
from kernelwright.search import build_strategy

TEXT = "import triton\nfrom triton.language import exp as f\nSCALE = 2.0\nBLOCK = 32\n# fails: wrong\n"
BAD = Candidate(source=TEXT)
FILES = {"problem/double.py": b"class Model: pass\n", "problem/double.cases.json": b'{"cases": []}'}
WRONG = evaluation_of(BAD, "search")
PASSED = evaluation_of(STARTER, "search")


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    made = Cache(tmp_path / "cache")
    yield made
    made.close()


def of(cache: Cache, info: RunInfo | None = None, files: dict[str, bytes] = FILES) -> Verdicts:
    return Verdicts(cache, info or run_info(), files)


def test_a_failure_is_found_again_by_a_later_run_and_says_so(cache: Cache) -> None:
    of(cache).keep(BAD, WRONG)
    found = of(cache).failure(BAD)
    assert found is not None
    assert (found.status, found.from_cache) == (Status.WRONG, True)
    assert found.reason == "found by an earlier run: the source says that it fails: wrong"


@pytest.mark.parametrize("status", [one for one in Status if one not in (Status.WRONG, Status.REJECTED)])
def test_nothing_that_passed_or_may_be_the_machine_s_fault_is_kept(cache: Cache, status: Status) -> None:
    of(cache).keep(BAD, msgspec.structs.replace(PASSED, status=status, results=()))
    assert of(cache).failure(BAD) is None
    assert cache.size().entries == 0


def test_a_rejection_for_its_time_is_not_kept(cache: Cache) -> None:
    timing = Timing(kind="measured", median_us=1.0)
    timed = CaseResult(case="big", status=Status.REJECTED, timing=timing)
    of(cache).keep(BAD, Evaluation(status=Status.REJECTED, reason="faster than the bound", results=(timed,)))
    assert of(cache).failure(BAD) is None


@pytest.mark.parametrize(
    "other",
    [TEXT.replace("2.0", "2.001"), TEXT.replace("import exp as f", "import log as f"), TEXT + "\n"],
    ids=["another constant", "another import", "another text"],
)
def test_another_candidate_is_judged(cache: Cache, other: str) -> None:
    of(cache).keep(BAD, WRONG)
    assert of(cache).failure(Candidate(source=other)) is None
    assert of(cache).failure(Candidate(source=TEXT, config={"BLOCK": 64})) is None


def changed(**parts: dict[str, Any]) -> RunInfo:
    """The head of a run with other fields of its parts."""
    info = run_info()
    made = {name: msgspec.structs.replace(getattr(info, name), **fields) for name, fields in parts.items()}
    return msgspec.structs.replace(info, **made)


CASES = run_info().problem.cases
OTHERS = {
    "library mode": changed(problem={"library": "any"}),
    "precision": changed(problem={"precision": "tf32"}),
    "layouts": changed(problem={"layouts": "any"}),
    "cases": changed(problem={"cases": CASES[:2]}),
    "dtype": changed(settings={"dtype": "bfloat16"}),
    "device": changed(environment={"device": "Other GPU"}),
    "target": changed(environment={"target": "sm_80"}),
    "driver": changed(environment={"driver": "1.0"}),
    "torch": changed(environment={"torch": "0"}),
    "triton": changed(environment={"triton": "0"}),
    "kernelwright": changed(environment={"kernelwright": "9"}),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_verdict_does_not_count_elsewhere(cache: Cache, what: str) -> None:
    of(cache).keep(BAD, WRONG)
    assert of(cache, OTHERS[what]).failure(BAD) is None


@pytest.mark.parametrize("name", FILES)
def test_a_verdict_does_not_count_where_a_file_of_the_problem_differs(cache: Cache, name: str) -> None:
    of(cache).keep(BAD, WRONG)
    assert of(cache, files={**FILES, name: b"other"}).failure(BAD) is None


def test_a_verdict_does_not_count_where_a_file_of_kernelwright_differs(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of(cache).keep(BAD, WRONG)
    monkeypatch.setattr("kernelwright.cache.origin", lambda: "another judge")
    assert of(Cache(tmp_path / "cache")).failure(BAD) is None


# --- what somebody puts into the folder --------------------------------------------------------------------------


def entry(folder: Path) -> Path:
    [found] = folder.iterdir()
    return found


def test_a_planted_pass_is_refused(cache: Cache, tmp_path: Path) -> None:
    of(cache).keep(BAD, WRONG)
    place = entry(tmp_path / "cache")
    content = codec.decode(place.read_bytes(), dict[str, Any])
    place.write_bytes(codec.encode({**content, "evaluation": codec.plain(PASSED)}))
    assert of(cache).failure(BAD) is None


def test_an_entry_in_the_place_of_another_is_refused(cache: Cache, tmp_path: Path) -> None:
    of(cache).keep(BAD, WRONG)
    place = entry(tmp_path / "cache")
    content = place.read_bytes()
    place.unlink()
    good = Candidate(source="BLOCK = 512\n")
    of(cache).keep(good, WRONG)
    entry(tmp_path / "cache").write_bytes(content)
    assert of(cache).failure(good) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"key": 1}', b"\xff" * 100])
def test_a_spoilt_entry_is_judged_again(cache: Cache, tmp_path: Path, content: bytes) -> None:
    of(cache).keep(BAD, WRONG)
    entry(tmp_path / "cache").write_bytes(content)
    assert of(cache).failure(BAD) is None


def test_a_link_is_not_followed(cache: Cache, tmp_path: Path) -> None:
    of(cache).keep(BAD, WRONG)
    place = entry(tmp_path / "cache")
    aside = place.rename(tmp_path / "aside")
    place.symlink_to(aside)
    assert of(cache).failure(BAD) is None
    place.unlink()
    os.link(aside, place)
    assert of(cache).failure(BAD) is None, "a file with another name elsewhere"


def test_a_file_that_others_can_write_is_refused(cache: Cache, tmp_path: Path) -> None:
    of(cache).keep(BAD, WRONG)
    entry(tmp_path / "cache").chmod(0o622)
    assert of(cache).failure(BAD) is None


def test_a_file_of_another_user_is_refused(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    of(cache).keep(BAD, WRONG)
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    assert of(cache).failure(BAD) is None


def test_another_user_s_folder_and_one_that_others_can_open_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    with pytest.raises(ConfigError, match="others can open it"):
        Cache(tmp_path / "open", VARIABLE)
    (tmp_path / "link").symlink_to(tmp_path / "open")
    with pytest.raises(ConfigError, match="not a link"):
        Cache(tmp_path / "link", VARIABLE)
    (tmp_path / "theirs").mkdir(mode=0o700)
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ConfigError, match="others can open it"):
        Cache(tmp_path / "theirs", VARIABLE)


def test_an_entry_that_is_too_large_to_be_read_is_not_written(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.cache.ENTRY_BYTES_MAX", 1000)
    cache.store("large", "x" * 1000)
    assert cache.size().entries == 0
    cache.store("small", "x" * 900)
    assert cache.fetch("small") == "x" * 900


def test_the_oldest_entries_go_where_there_are_too_many(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for number in range(10):
        cache.store(str(number), "x" * 1000)
        os.utime(max((tmp_path / "cache").iterdir(), key=lambda one: one.stat().st_mtime_ns), (number, number))
    before = cache.size()
    smaller = Cache(tmp_path / "cache", most_bytes=before.bytes // 2)
    assert smaller.size().bytes <= before.bytes // 2 * 0.8
    assert smaller.fetch("9") == "x" * 1000
    assert smaller.fetch("0") is None


def test_the_folder_is_named_by_the_environment_or_below_the_cache_home() -> None:
    assert cache_folder({VARIABLE: OFF}) is None
    assert cache_folder({VARIABLE: "/a"}) == Path("/a")
    assert cache_folder({"XDG_CACHE_HOME": "/c"}) == Path("/c/kernelwright/verdicts")


# --- in a search ----------------------------------------------------------------------------------------------------


def searched(folder: Path, verdicts: Verdicts, worker: FakeWorker, starter: Candidate = STARTER) -> list[Evaluation]:
    """Two trials after the starter, both of BAD."""
    proposer = FakeProposer(lambda request, context: Proposal(author="fake", candidate=BAD))
    with Journal.create(folder, run_info(starter=starter)) as journal:
        strategy = build_strategy("greedy", starter, 0)
        optimize(journal, strategy, proposer, worker, budget=Budget(trials=3), verdicts=verdicts)
        return [trial.evaluation for trial in journal.trials() if trial.evaluation is not None]


def test_a_search_does_not_judge_what_is_known_to_fail_and_repairs_nothing_of_it(cache: Cache, tmp_path: Path) -> None:
    of(cache).keep(BAD, WRONG)
    worker = FakeWorker()
    found = searched(tmp_path / "run", of(cache), worker)
    assert found[1].from_cache
    assert (BAD.id, "search") not in worker.calls
    with Journal.open(tmp_path / "run") as journal:
        assert all(trial.request.operator.value != "repair" for trial in journal.trials())


def test_a_search_keeps_what_it_finds_to_fail(cache: Cache, tmp_path: Path) -> None:
    worker = FakeWorker()
    found = searched(tmp_path / "run", of(cache), worker)
    assert not found[1].from_cache
    assert (BAD.id, "search") in worker.calls
    assert of(cache).failure(BAD) is not None


def test_a_starter_is_always_judged(cache: Cache, tmp_path: Path) -> None:
    of(cache).keep(BAD, WRONG)
    worker = FakeWorker()
    searched(tmp_path / "run", of(cache), worker, starter=BAD)
    assert worker.calls[0] == (BAD.id, "search")
