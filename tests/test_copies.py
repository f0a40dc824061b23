"""The benchmark of identical copies: its plan, what it keeps, and what its table says of clocks that are known."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import scripts
from fakes import ENVIRONMENT
from kernelwright import stats
from kernelwright.errors import WorkerError
from kernelwright.model import BenchCase, BenchReport, Candidate, Implementation, Status


@pytest.fixture
def copies() -> ModuleType:
    return scripts.script("copies")


class SimulatedWorker:
    """Its bench takes 100 µs for everything but 2 % more work; bias: what the first copy gains."""

    def __init__(self, bias: float = 0.0) -> None:
        self.bias, self.rng, self.loads, self.benches = bias, random.Random(0), 0, 0

    def __enter__(self) -> SimulatedWorker:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def environment(self) -> Any:
        return ENVIRONMENT

    def load(self, path: str) -> None:
        assert "def get_inputs" in (Path(path) / "problem.py").read_text()
        self.loads += 1

    def bench(self, candidates: dict[str, Candidate], cases: tuple[str, ...], against: str | None) -> BenchReport:
        self.benches += 1
        samples = {name: self._samples(name, 1.02 if "* 102 //" in one.source else 1.0)
                   for name, one in candidates.items()}  # fmt: skip
        samples |= {} if against else {"eager": self._samples("eager", 1.5), "compile": self._samples("compile", 1.3)}
        base = samples[against or "compile"]
        rows = []
        for name, us in samples.items():
            ratio, interval = stats.paired_log_ratio_ci(base, us)
            word = None if name in (against, "eager", "compile") else stats.verdict(interval, 0.005)
            rows.append(Implementation(name=name, status=Status.PASSED, median_us=stats.median(us), samples_us=us,
                                       speedup=ratio, speedup_ci95=interval, verdict=word))  # fmt: skip
        case = BenchCase(case=cases[0], held_out=False, bound_us=1.0, bound_by="bytes", implementations=tuple(rows),
                         order_seed=0, exchanged_after=12, noise_floor=0.005)  # fmt: skip
        return BenchReport(problem="copies", environment=ENVIRONMENT, cases=(case,))

    def _samples(self, name: str, ratio: float) -> tuple[float, ...]:
        gain = self.bias * (name == "copy1")
        return tuple(100 * ratio * math.exp(self.rng.gauss(0, 0.002) - gain) for _ in range(24))


def sampled(copies: ModuleType, file: Path, monkeypatch: pytest.MonkeyPatch, most: int, bias: float = 0.0) -> list[Any]:
    worker = SimulatedWorker(bias)
    monkeypatch.setattr(copies, "start_worker", lambda: worker)
    planned = copies.tasks
    monkeypatch.setattr(copies, "tasks", lambda: itertools.islice(planned(), most))
    copies.sample(file, 1e9)
    monkeypatch.setattr(copies, "tasks", planned)
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_seven_turns_of_the_plan_ask_what_there_is_to_show(copies: ModuleType) -> None:
    chosen = list(itertools.islice(copies.tasks(), 7 * 20))
    crowds = [task for task in chosen if task.kind != "pair"]
    assert Counter((task.problem, task.case) for task in crowds) == dict.fromkeys(copies.CROWDS, 14)
    assert sum(task.kind == "crowd" for task in chosen) >= 20
    assert 10 * len(crowds) >= 500
    asked = Counter(task.place for task in chosen if task.against)
    assert sum(asked.values()) >= 100
    assert min(asked[place] for place in copies.PLACES) >= 20
    assert all(task.against in task.copies for task in chosen if task.against)
    assert len({task.names.index("slower") for task in crowds}) == 6


def test_a_kernel_with_more_work_differs_by_its_grid_alone(copies: ModuleType) -> None:
    one, other = (copies.source_of("softmax", percent) for percent in (100, 102))
    assert one.replace("* 100 //", "* 102 //") == other


def test_a_killed_run_goes_on_where_it_ended(
    copies: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "copies.jsonl"
    first = sampled(copies, file, monkeypatch, 3)
    file.write_text(file.read_text() + '{"kind": "cro')
    both = sampled(copies, file, monkeypatch, 8)
    assert both[:3] == first
    planned = [(task.kind, task.case, list(task.names)) for task in itertools.islice(copies.tasks(), 8)]
    assert [(line["kind"], line["case"], line["names"]) for line in both] == planned


def test_the_table_of_a_fair_clock_finds_no_place_and_sees_the_slower_one(
    copies: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = sampled(copies, tmp_path / "fair.jsonl", monkeypatch, 40)
    text = "\n".join(copies.table(lines))
    assert "all, 16 benches, 100.0 µs: intervals that exclude 0: 0" in text
    assert "pairs of identical copies: 184, called faster or slower 0, without a verdict 0, upper" in text
    assert "2 % more work, all: 32, slower 32, tie 0, faster 0, ratio 0.98" in text
    assert "noise floor: median 0.500%, largest 0.500%, over 0.5 % in 0 of 40" in text


def test_the_table_of_a_clock_that_favours_the_first_copy_says_so(
    copies: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = sampled(copies, tmp_path / "biased.jsonl", monkeypatch, 20, bias=0.01)
    rows = copies.table(lines)
    assert next(row for row in rows if row.startswith("all,")).split("exclude 0: ")[1].startswith(("1,", "5,"))
    assert next(row for row in rows if row.startswith("  copy 1")).startswith(("  copy 1: -0.8", "  copy 1: -0.7"))
    false = next(row for row in rows if row.startswith("pairs of identical copies"))
    assert int(false.split("slower ")[1].split(",")[0]) >= 8 * 3


def test_the_limits_are_those_of_tables(copies: ModuleType) -> None:
    assert copies.upper_limit(0, 500) == pytest.approx(1 - 0.05 ** (1 / 500), abs=1e-6)
    assert copies.upper_limit(4, 500) == pytest.approx(0.0182, abs=1e-4)
    assert copies.upper_limit(3, 3) == 1.0
    assert copies.t_quantile(0.995, 19) == pytest.approx(2.8609, rel=1e-3)
    assert copies.t_quantile(0.975, 6) == pytest.approx(2.4469, rel=2e-3)


def test_a_bench_that_fails_is_counted_and_the_others_go_on(
    copies: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = SimulatedWorker.bench

    def failing(self: SimulatedWorker, *given: Any, **more: Any) -> BenchReport:
        if self.benches == 2:
            self.benches += 1
            raise WorkerError("the judge failed")
        return bench(self, *given, **more)

    monkeypatch.setattr(SimulatedWorker, "bench", failing)
    lines = sampled(copies, tmp_path / "copies.jsonl", monkeypatch, 5)
    assert [line["error"] for line in lines] == ["", "", "the judge failed", "", ""]
    assert "benches that failed: 1, rows without a time: 0" in copies.table(lines)
