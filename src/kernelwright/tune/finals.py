"""The finals of a tuning: the fastest configs and the default are timed in turn, and one is chosen.

A config is chosen instead of the reference only if the interval of its speedup shows that it is *faster*. Among configs
that are as fast as the best, the smallest footprint is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright import stats
from kernelwright.codec import shared
from kernelwright.model import BenchReport, Implementation, Status
from kernelwright.tune.device import Device
from kernelwright.tune.records import FinalCase, Finalist, Footprint, Ratio, Tried

FINALISTS = 4
"""Number of finalists by score over all cases."""
FINALISTS_PER_CASE = 2
"""Number of extra finalists per case, if there are several cases."""
MOST_FINALISTS = 12
"""Upper limit, because each round samples all of them."""

TIE = 0.005
"""Two configs whose times differ by less than this fraction count as equally fast. It is the smallest noise floor of
the worker, which calls no smaller difference faster."""

LARGEST = Footprint(shared_bytes=1 << 40, registers=1 << 20, spill_bytes=0, num_warps=1 << 10)
"""Assumed footprint of a config with an unknown one, so that it never wins a tie."""


def reference_of(tried: Sequence[Tried]) -> Tried | None:
    """The default, or the best config if the default failed; None if nothing passed."""
    default = next((one for one in tried if one.origin == "default" and one.score_us is not None), None)
    return default or next(iter(ranked(tried)), None)


def ranked(tried: Sequence[Tried], case: str | None = None) -> list[Tried]:
    """The passed configs, fastest first, by their time on one case or over all; of configs with the same machine code
    only the first."""
    seen: set[str] = set()
    found = []
    for one in sorted(tried, key=lambda one: (_time_us(one, case) or 0.0, one.number)):
        if _time_us(one, case) is None or one.found.compiled in seen:
            continue
        seen |= {one.found.compiled} if one.found.compiled else set()
        found.append(one)
    return found


def _time_us(tried: Tried, case: str | None) -> float | None:
    if case is None:
        return tried.score_us
    time = tried.found.time(case)
    return None if time is None else time.median_us


def finalists(tried: Sequence[Tried], cases: Sequence[str], reference: Tried) -> list[Tried]:
    """The configs for the finals, the reference first."""
    chosen = {reference.number: reference}
    best = ranked(tried)[:FINALISTS]
    for case in cases if len(cases) > 1 else ():
        best += ranked(tried, case)[:FINALISTS_PER_CASE]
    for one in best:
        if len(chosen) <= MOST_FINALISTS and one.found.compiled != (reference.found.compiled or object()):
            chosen.setdefault(one.number, one)
    return list(chosen.values())


def run_finals(device: Device, chosen: Sequence[Tried], cases: Sequence[str]) -> list[Finalist]:
    """Run the finals: each finalist with its ratios to the first one. If the device cannot time pairs, the times of the
    search are used.

    If the first one fails in the finals, the others are compared with the next.
    """
    reference = chosen[0]
    named = {str(one.number): one.config for one in chosen}
    report = device.finals(named, against=str(reference.number)) if len(chosen) > 1 else None
    if report is None:
        return [compare_unpaired(one, reference, cases) for one in chosen]
    found = [compare_paired(one, reference, report) for one in chosen]
    return found if found[0].joint is not None else [found[0], *run_finals(device, chosen[1:], cases)]


def compare_paired(one: Tried, reference: Tried, report: BenchReport) -> Finalist:
    found = []
    for case in report.cases:
        row = next((row for row in case.implementations if row.name == str(one.number)), None)
        base = next((row for row in case.implementations if row.name == str(reference.number)), None)
        if row is None:
            found.append(FinalCase(case=case.case, status=Status.RUNTIME_ERROR, reason="the finals left it out"))
            continue
        found.append(FinalCase(**shared(row, FinalCase), case=case.case, ratio=_ratio(row, one is reference, base)))
    floor = max((case.noise_floor or TIE for case in report.cases), default=TIE)
    return Finalist(number=one.number, cases=tuple(found), joint=joint_of(found, floor))


def _ratio(row: Implementation, is_reference: bool, base: Implementation | None) -> Ratio | None:
    if row.status is not Status.PASSED or row.median_us is None:
        return None
    if is_reference:
        return Ratio(speedup=1.0, ci95=None, verdict="tie")
    if row.speedup is None or base is None or base.status is not Status.PASSED:
        return None
    return Ratio(speedup=row.speedup, ci95=row.speedup_ci95, verdict=row.verdict or "tie")


def compare_unpaired(one: Tried, reference: Tried, cases: Sequence[str]) -> Finalist:
    """A finalist with ratios of times that were not measured in pairs. The interval of such a ratio combines the
    extreme ends of both intervals."""
    found = []
    for case in cases:
        time, base = one.found.time(case), reference.found.time(case)
        if time is None or base is None:
            found.append(FinalCase(case=case, status=one.found.status, reason=one.found.reason))
            continue
        low, high = time.ci95_us or (time.median_us, time.median_us)
        base_low, base_high = base.ci95_us or (base.median_us, base.median_us)
        interval = (base_low / high, base_high / low)
        ratio = Ratio(
            speedup=base.median_us / time.median_us,
            ci95=None if time.ci95_us is None or one is reference else interval,
            verdict="tie" if one is reference else stats.verdict(interval, TIE),
        )
        found.append(
            FinalCase(
                case=case, status=Status.PASSED, median_us=time.median_us, ci95_us=time.ci95_us, ratio=ratio,
            )
        )  # fmt: skip
    return Finalist(number=one.number, cases=tuple(found), joint=joint_of(found))


def joint_of(cases: Sequence[FinalCase], noise_floor: float = TIE) -> Ratio | None:
    """The ratio over all cases: the geometric mean of the ratios and of the ends of their intervals; None if one case
    has no ratio. noise_floor: the largest of the cases.

    This interval is wider than that of the mean: it assumes that all cases err in the same direction.
    """
    ratios = [case.ratio for case in cases if case.ratio is not None]
    if not ratios or len(ratios) < len(cases):
        return None
    if len(ratios) == 1:
        return ratios[0]
    speedup = stats.geometric_mean([ratio.speedup for ratio in ratios])
    intervals = [ratio.ci95 for ratio in ratios if ratio.ci95 is not None]
    if len(intervals) < len(ratios):
        verdict = stats.verdict((speedup, speedup), noise_floor)
        return Ratio(speedup=speedup, ci95=None, verdict=verdict)
    interval = (
        stats.geometric_mean([low for low, _ in intervals]),
        stats.geometric_mean([high for _, high in intervals]),
    )
    return Ratio(speedup=speedup, ci95=interval, verdict=stats.verdict(interval, noise_floor))


def pick(
    found: Sequence[Finalist], tried: Sequence[Tried], case: str | None, default: int | None
) -> tuple[Finalist, Ratio, str] | None:
    """The chosen finalist for a case, or (case None) for all, with its ratio and the reason. None if none passed.

    default: the number of the default, if it takes part; it is chosen unless another config is faster.
    """
    ratios = {one.number: ratio for one in found if (ratio := ratio_on(one, case)) is not None}
    if not ratios:
        return None
    faster = {number: ratio for number, ratio in ratios.items() if ratio.verdict == "faster"}
    if not faster and default in ratios:
        number, why = default, "no config is faster than the default"
    else:
        # Without the default in the finals, the reference has no priority.
        racing = faster or {number: ratio for number, ratio in ratios.items() if ratio.verdict != "slower"} or ratios
        top = max(ratio.speedup for ratio in racing.values())
        tied = [number for number, ratio in racing.items() if ratio.speedup * (1 + TIE) >= top]
        footprints = {one.number: one.found.footprint or LARGEST for one in tried}
        number = min(tied, key=lambda number: (*footprints[number].order, -racing[number].speedup, number))
        fast = "faster than the default" if default in ratios else "the default failed; the fastest of what passed"
        why = fast if len(tied) == 1 else f"{fast}; the smallest of {len(tied)} that are equally fast"
    return next(one for one in found if one.number == number), ratios[number], why


def ratio_on(finalist: Finalist, case: str | None) -> Ratio | None:
    if case is None:
        return finalist.joint
    return next((one.ratio for one in finalist.cases if one.case == case), None)
