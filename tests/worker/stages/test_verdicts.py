"""The verdict of a bench on simulated clocks: position, neighbour, drift, noise and luck of a capture."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from kernelwright.model import Clocks, Implementation, Status
from kernelwright.worker.clock.messages import CaptureAgain, Sample
from kernelwright.worker.processes.channel import Message
from kernelwright.worker.stages.rows import MAX_ROUNDS, MIN_ROUNDS, Row, all_known, sample_in_halves, sample_rounds
from kernelwright.worker.stages.verdicts import FLOOR, confirmed_gain, is_doubtful, noise_floor, verdict


@dataclass
class Gpu:
    """What a sample shows is the row's own time, and beside it, as fractions: the position in the round, the row before
    it, a drift from sample to sample, noise, and what each capture of a row got."""

    true_us: dict[str, float]
    seed: int = 0
    position: tuple[float, ...] = ()
    after: dict[str, float] = field(default_factory=dict)
    drift: float = 0.0
    noise: float = 0.002
    capture: float = 0.0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.count = 0
        self.before = ""
        self.luck = {name: self.rng.gauss(0, self.capture) for name in self.true_us}

    def rows(self) -> list[Row]:
        return [self.row(name) for name in self.true_us]

    def row(self, name: str) -> Row:
        def answer(message: Message[Any]) -> Any:
            if isinstance(message, CaptureAgain):
                self.luck[name] = self.rng.gauss(0, self.capture)
            return [self.sample(name)] if isinstance(message, Sample) else 0.0

        return Row(name=name, method="", ask=answer)

    def sample(self, name: str) -> float:
        at = self.count % len(self.true_us)
        logs = self.position[at] if self.position else 0.0
        logs += self.after.get(self.before, 0.0) + self.drift * self.count + self.luck[name]
        self.count, self.before = self.count + 1, name
        return self.true_us[name] * math.exp(logs + self.rng.gauss(0, self.noise))


def sampled(gpu: Gpu) -> tuple[list[Row], int]:
    half, rows, failed = sample_in_halves(gpu.rows(), random.Random(gpu.seed), lambda among: among[0])
    assert not failed
    return rows, half


BIASED = {"position": (-0.01, 0.004, 0.006, 0.0, 0.0), "after": {"d": 0.01, "e": -0.008}}
"""The first place 1 % faster; what comes after d slower by 1 %, after e faster by 0.8 %."""


def deviations(orders: Callable[[list[Row], random.Random], None], seeds: range, **biases: object) -> list[list[float]]:
    """By row of three identical ones beside two others, its mean log deviation from all three, for each seed."""
    found: list[list[float]] = [[] for _ in "abc"]
    for seed in seeds:
        gpu = Gpu(dict.fromkeys("adbce", 100.0), seed, **biases)  # type: ignore[arg-type]
        rows = gpu.rows()
        orders(rows, random.Random(seed))
        means = [statistics.fmean(math.log(us) for us in row.rounds_us) for row in rows if row.name in "abc"]
        for deviation, mean in zip(found, means, strict=True):
            deviation.append(mean - statistics.fmean(means))
    return found


def off(deviation: list[float]) -> float:
    """In standard errors."""
    return abs(statistics.fmean(deviation)) / (statistics.stdev(deviation) / math.sqrt(len(deviation)))


def there_and_back(rows: list[Row], draw: random.Random) -> None:
    for _ in range(12):
        for row in (*rows, *reversed(rows)):
            row.rounds_us.append(row.sample())


def balanced(rows: list[Row], draw: random.Random) -> None:
    sample_rounds(rows, draw, lambda: True)


def test_position_neighbour_and_drift_favour_no_row() -> None:
    found = deviations(balanced, range(300), **BIASED, drift=1e-5)
    assert all(off(deviation) < 3.5 for deviation in found)
    assert all(abs(statistics.fmean(deviation)) < 0.0003 for deviation in found)


def test_the_same_biases_favour_rows_in_a_fixed_order() -> None:
    """The test above can fail."""
    found = deviations(there_and_back, range(50), **BIASED, drift=1e-5)
    assert max(abs(statistics.fmean(deviation)) for deviation in found) > 0.003


def test_rounds_come_in_whole_blocks_and_the_second_half_is_as_long_as_the_first() -> None:
    for count, least in ((2, 12), (3, 12), (5, 20), (7, 14), (8, 16)):
        gpu = Gpu({str(row): 100.0 for row in range(count)}, noise=0.0)
        rows, half = sampled(gpu)
        assert half == least
        assert {len(row.rounds_us) for row in rows} == {2 * half}


def test_sampling_ends_when_every_ratio_is_known_or_at_most_rounds() -> None:
    rows, half = sampled(Gpu({"a": 100.0, "b": 90.0}, noise=0.0005))
    assert half == MIN_ROUNDS
    assert all_known(rows, rows[0])
    rows, half = sampled(Gpu({"a": 100.0, "b": 90.0}, noise=0.1))
    assert half == MAX_ROUNDS
    assert not all_known(rows, rows[0])


def test_long_calls_end_by_time_after_the_fewest_rounds() -> None:
    gpu = Gpu({"a": 1e6, "b": 1e6, "c": 1e6}, noise=0.1)
    assert sampled(gpu)[1] == MIN_ROUNDS


def test_every_call_of_a_sample_and_the_untimed_replay_count_towards_the_time() -> None:
    """Three rows of 20 ms on two sets of inputs: 240 ms a round."""
    rows = Gpu({"a": 2e4, "b": 2e4, "c": 2e4}, noise=0.1).rows()
    for row in rows:
        row.sets = 2
    assert 20 <= sample_rounds(rows, random.Random(1), lambda: False) <= 22
    assert sampled(Gpu({"a": 2e4, "b": 2e4, "c": 2e4}, noise=0.1))[1] > 40


def words(gain: float, seeds: range, **biases: object) -> list[str]:
    """Verdicts on a row that is faster by a gain, beside its copy and two others, one of them the baseline."""
    found = []
    for seed in seeds:
        true_us = {"base": 100.0 * (1 + gain), "c": 90.0, "mine": 100.0, "copy": 100.0}
        gpu = Gpu(true_us, seed, **biases)  # type: ignore[arg-type]
        rows, half = sampled(gpu)
        base, _, mine, copy = (row.rounds_us for row in rows)
        found.append(verdict(base, mine, half, noise_floor(mine, copy, half)))
    return found


@pytest.mark.parametrize(("gain", "expected"), [(0.05, "faster"), (0.07, "faster"), (-0.05, "slower"), (0.0, "tie")])
def test_the_verdict_follows_the_gain_whatever_the_places(gain: float, expected: str) -> None:
    biases = {"position": (-0.01, 0.004, 0.006, 0.0), "after": {"c": 0.01, "base": -0.008}}
    assert words(gain, range(20), **biases, drift=1e-5) == [expected] * 20


def test_two_percent_more_work_is_seen_and_luck_of_a_capture_is_no_gain() -> None:
    """Captures that differ by 0.3 %: every pair of them is known far better than it tells about the kernels."""
    assert words(-0.02, range(40), capture=0.003).count("slower") >= 38
    assert words(0.0, range(40), capture=0.003).count("tie") == 40


def test_a_gain_that_is_gone_with_places_exchanged_is_a_tie() -> None:
    base = [100.0] * 12 + [100.0] * 12
    lucky = [93.0] * 12 + [100.1] * 12
    assert verdict(base, lucky, 12, FLOOR) == "tie"
    assert verdict(base[:12] * 3, [93.0] * 24 + [100.1] * 12, 24, FLOOR) == "tie", "whatever most of the rounds say"
    assert verdict(lucky, base, 12, FLOOR) == "tie"
    assert verdict(base, [93.0] * 24, 12, FLOOR) == "faster"
    assert verdict([93.0] * 24, base, 12, FLOOR) == "slower"


def test_the_noise_floor_is_the_worse_half_s_difference_or_the_least() -> None:
    base = [100.0] * 24
    assert noise_floor(base, [100.1] * 24, 12) == FLOOR
    assert noise_floor(base, [100.0] * 12 + [97.0] * 12, 12) == pytest.approx(100 / 97 - 1)
    assert noise_floor(base, [103.0] * 12 + [100.0] * 12, 12) == pytest.approx(0.03)


def row(verdict: str, *throttle: str) -> Implementation:
    clocks = Clocks(sm_mhz=1500, throttle=throttle)
    return Implementation(name="mine", status=Status.PASSED, verdict=verdict, clocks=clocks)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "last", "stays"),
    [
        (("faster", "power_cap"), ("faster",), True),
        (("faster", "power_cap"), ("faster", "power_cap"), True),
        (("tie", "power_cap"), ("faster", "power_cap"), False),
        (("faster", "hardware_thermal"), ("faster", "power_cap"), False),
        (("faster",), ("faster", "software_thermal"), False),
        (("faster", "power_brake"), ("faster", "power_brake", "hardware_slowdown"), False),
        (("faster", "power_cap"), ("faster", "application_clocks"), True),
        (("faster", "power_cap"), ("slower", "hardware_thermal"), True),
    ],
)
def test_a_gain_under_a_slowdown_counts_only_as_far_as_a_second_measurement_bears_it_out(
    first: tuple[str, ...], last: tuple[str, ...], stays: bool
) -> None:
    before, found = row(*first), row(*last)
    settled = confirmed_gain(found, before)
    assert (settled == found) is stays
    if not stays:
        assert settled.verdict is None
        assert settled.throttled == f"throttled: not confirmed ({', '.join(last[1:])})"


def test_a_gain_seen_once_under_a_slowdown_is_not_confirmed_and_one_without_is() -> None:
    assert confirmed_gain(row("faster", "power_cap"), None).throttled == "throttled: not confirmed (power_cap)"
    assert confirmed_gain(row("faster"), None).verdict == "faster"
    assert [is_doubtful(one) for one in (row("faster", "power_cap"), row("faster"), row("tie", "power_cap"))] == [
        True, False, False,
    ]  # fmt: skip
    unseen = Implementation(name="mine", status=Status.PASSED, verdict="faster")
    assert not is_doubtful(unseen), "nothing is known of the clocks without NVML"
    assert confirmed_gain(unseen, None) == unseen
