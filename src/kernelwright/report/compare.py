"""Two runs side by side: settings, result and cost of each, and their kernels case by case.

The figures are those of the runs, taken at different times. Where problem, device, kind of time or library steps differ
there is no ratio, and the reason is shown; use `bench` to compare two kernels fairly.
"""

from __future__ import annotations

from typing import Any

from kernelwright.model import Evaluation, LibraryMode, Record
from kernelwright.report.cost import run_usage, until_best
from kernelwright.report.evaluation import SECOND_LOOK
from kernelwright.report.trials import tally
from kernelwright.report.view import RunView, share_of_bound
from kernelwright.search.ranking import beats
from kernelwright.text.table import table
from kernelwright.text.units import Kind, duration_text, label, number_text, share_text, time_text, times_text, unit_for


class Side(Record, frozen=True, kw_only=True):
    """One run. best: the number of the confirmed best, else of the trial that leads; time_us: its reported figure.

    confirmed: whether its confirmation passed. is_starter: the user's own kernel, which needs none. to_best_s:
    how long the run had been at work when that trial was finished, None where nothing better than the start was found.
    library: which library steps it allowed. cost_usd: None where no price is known.
    """

    run: str
    problem: str
    device: str | None
    target: str
    strategy: str
    proposer: str
    seed: int
    trials: int
    passed: int
    starter_us: float | None
    best: int | None
    confirmed: bool
    is_starter: bool
    time_us: float | None
    kind: Kind | None
    speedup: float | None
    fraction_of_bound: float | None
    library: LibraryMode
    to_best_s: float | None
    seconds: float
    tokens: int
    cost_usd: float | None


class CasePair(Record, frozen=True, kw_only=True):
    """Both kernels on one case; ratio: the first's time over the second's, above 1 where the second is faster."""

    case: str
    first_us: float | None
    second_us: float | None
    ratio: float | None
    kind: Kind | None


class Comparison(Record, frozen=True, kw_only=True):
    """not_comparable: why the times cannot be compared; empty where they can. ratio: the first kernel's time over the
    second's. overlap: whether neither is surely faster.
    """

    schema_version: int = 1
    first: Side
    second: Side
    not_comparable: tuple[str, ...]
    ratio: float | None
    overlap: bool | None
    cases: tuple[CasePair, ...]


def compare_runs(first: RunView, second: RunView) -> Comparison:
    sides = [_side(view) for view in (first, second)]
    reasons = tuple(_reasons(first, second, *sides))
    one, other = first.figure(first.shown), second.figure(second.shown)
    ratio = overlap = None
    if not reasons and one is not None and other is not None:
        ratio = _ratio(sides[0].time_us, sides[1].time_us, sides[0].kind)
        overlap = not (beats(one, other) or beats(other, one)) if ratio is not None else None
    return Comparison(
        first=sides[0],
        second=sides[1],
        not_comparable=reasons,
        ratio=ratio,
        overlap=overlap,
        cases=tuple(_pairs(one, other, sides[0].kind)) if not reasons else (),
    )


def compare_text(found: Comparison) -> str:
    parts = [_sentence(found), _sides_table(found.first, found.second)]
    if found.cases:
        parts.append(_cases_table(found))
        parts.append("taken apart in time; to set two kernels against each other: kernelwright bench PROBLEM A.py B.py")
    return "\n\n".join(parts)


def _sentence(found: Comparison) -> str:
    if found.not_comparable:
        return f"not comparable: {'; '.join(found.not_comparable)}"
    if found.first.kind == found.second.kind == "estimate":
        return "no ratio: without a GPU nothing was timed, and estimates rank the variants of one kernel at best"
    if found.ratio is None:
        return "nothing to compare: a run without a kernel that passed"
    if found.overlap:
        return f"a tie: {times_text(found.ratio)}, neither is surely faster"
    faster, slower = (found.second, found.first) if found.ratio > 1 else (found.first, found.second)
    gain = times_text(max(found.ratio, 1 / found.ratio))
    unsure = "" if found.first.confirmed and found.second.confirmed else "; not both are confirmed"
    return f"{faster.run}'s kernel is {gain} as fast as {slower.run}'s{unsure}"


def _side(view: RunView) -> Side:
    info, trial, seed = view.info, view.shown, view.seed
    evaluation = view.figure(trial)
    time_us = evaluation.score_us if evaluation is not None else None
    kind = evaluation.timing_kind if evaluation is not None else None
    usage, found = run_usage(view), until_best(view)
    return Side(
        run=view.folder.name,
        problem=info.problem.name,
        device=info.environment.device,
        target=info.environment.target,
        strategy=info.settings.strategy,
        proposer=info.settings.proposer,
        seed=info.settings.seed,
        trials=len(view.trials),
        passed=tally(view.trials).get("passed", 0),
        starter_us=seed.score_us if seed is not None else None,
        best=trial.number if trial is not None else None,
        confirmed=view.best is not None,
        is_starter=trial is not None and trial is seed and view.seed_name == "starter",
        time_us=time_us,
        kind=kind,
        speedup=_ratio(seed.score_us if seed is not None else None, time_us, kind),
        fraction_of_bound=share_of_bound(evaluation, info.problem.cases) if evaluation is not None else None,
        library=info.problem.library,
        to_best_s=found.seconds if found is not None else None,
        seconds=view.at_work_s,
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
    )


def _reasons(first: RunView, second: RunView, one: Side, other: Side) -> list[str]:
    found = []
    if one.problem != other.problem:
        found.append(f"{one.problem} and {other.problem} are two problems")
    elif first.info.problem.source != second.info.problem.source:
        found.append(f"the text of {one.problem} differs")
    if (one.device, one.target) != (other.device, other.target):
        here, there = (f"{side.device or 'no GPU'} ({side.target})" for side in (one, other))
        found.append(f"one ran on {here}, the other on {there}")
    if first.info.settings.dtype != second.info.settings.dtype:
        found.append("their dtypes differ")
    if one.library != other.library:
        found.append(f"one allows LIBRARY = {one.library!r}, the other {other.library!r}")
    return found


def _pairs(one: Evaluation | None, other: Evaluation | None, kind: Kind | None) -> list[CasePair]:
    results = [side.times_us if side is not None else {} for side in (one, other)]
    cases = [case for case in {**results[0], **results[1]} if results[0].get(case) or results[1].get(case)]
    return [
        CasePair(
            case=case,
            first_us=results[0].get(case),
            second_us=results[1].get(case),
            ratio=_ratio(results[0].get(case), results[1].get(case), kind),
            kind=kind,
        )
        for case in cases
    ]


def _ratio(numerator: float | None, denominator: float | None, kind: Kind | None) -> float | None:
    return numerator / denominator if numerator and denominator and kind == "measured" else None


def _sides_table(first: Side, second: Side) -> str:
    def both(row: Any) -> list[str]:
        return [row(first), row(second)]

    def seconds(value: float | None) -> str:
        return "-" if value is None else duration_text(value)

    rows = [
        ["problem", *both(lambda s: s.problem)],
        ["device", *both(lambda s: s.device or f"none, {s.target}")],
        ["library steps", *both(lambda s: s.library)],
        ["search", *both(lambda s: f"{s.strategy}, seed {s.seed}")],
        ["written by", *both(lambda s: s.proposer)],
        ["trials", *both(lambda s: f"{s.trials}, {s.passed} passed")],
        ["starter", *both(lambda s: time_text(s.starter_us, s.kind) if s.starter_us else "-")],
        ["kernel", *both(lambda s: "-" if s.best is None else f"trial {s.best}, {_sure(s)}")],
        ["time", *both(lambda s: time_text(s.time_us, s.kind) if s.time_us else "-")],
        ["over the starter", *both(lambda s: times_text(s.speedup) if s.speedup else "-")],
        ["of the bound", *both(lambda s: share_text(s.fraction_of_bound))],
        ["time to best", *both(lambda s: seconds(s.to_best_s))],
        ["search time", *both(lambda s: seconds(s.seconds))],
        ["tokens", *both(lambda s: str(s.tokens) if s.tokens else "none")],
        ["cost", *both(_cost_text)],
    ]  # fmt: skip
    return table(["", first.run, second.run], rows)


def _cost_text(side: Side) -> str:
    if side.cost_usd is None:
        return "price unknown" if side.tokens else "none"
    return f"{side.cost_usd:.4f} USD"


def _sure(side: Side) -> str:
    if side.is_starter:
        return "the starter"
    return SECOND_LOOK[side.kind].passed if side.confirmed else "not confirmed"


def _cases_table(found: Comparison) -> str:
    times = [time for pair in found.cases for time in (pair.first_us, pair.second_us)]
    unit = unit_for(times)
    header = [f"case ({label(unit, found.first.kind)})", found.first.run, found.second.run, "ratio"]
    rows = [
        [
            pair.case,
            number_text(pair.first_us, unit),
            number_text(pair.second_us, unit),
            times_text(pair.ratio) if pair.ratio else "-",
        ]
        for pair in found.cases
    ]
    return table(header, rows)
