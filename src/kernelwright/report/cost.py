"""Cost and gain of a run: tokens, money, seconds of model, compiler and GPU, per trial and per gain.

A price that is not known is shown as unknown, not counted as nothing. A gain is a trial that was surely faster than all
before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernelwright.codec import plain
from kernelwright.model import Profile, Trial, Usage, sum_of
from kernelwright.report.progress import busy_text, seconds_by_gpu
from kernelwright.report.trials import usage_text
from kernelwright.report.view import RunView
from kernelwright.search.convergence import compile_s, gains, gpu_s, profile_s
from kernelwright.text.table import NO_GRID, Grid, Section
from kernelwright.text.units import count_text, duration_text


@dataclass(frozen=True)
class Cost:
    """The cost of some trials. gained: how many of them were gains. compile_s and gpu_s are summed over trials that may
    have run side by side; without a GPU gpu_s is the interpreter's.
    """

    asked: int
    passed: int
    gained: int
    usage: Usage
    compile_s: float
    gpu_s: float


@dataclass(frozen=True)
class UntilBest:
    """The cost until the best trial of the search was finished. seconds: at work, without waiting; None in records
    without it.
    """

    trial: int
    trials: int
    seconds: float | None
    gpu_s: float
    usage: Usage


def costs(view: RunView) -> dict[str, Cost]:
    """By operator, in the order in which they were first asked for."""
    operators = dict.fromkeys(trial.request.operator for trial in view.trials)
    gained = {trial.number for trial in gains(view.trials)}
    return {
        operator.value: cost_of(
            [trial for trial in view.trials if trial.request.operator is operator], gained, view.profiles
        )
        for operator in operators
    }


def cost_of(
    trials: Sequence[Trial], gained: Iterable[int], profiles: Mapping[int, Sequence[Profile]] | None = None
) -> Cost:
    """profiles: by trial number; their GPU time counts too."""
    evaluations = [trial.evaluation for trial in trials if trial.evaluation is not None]
    return Cost(
        asked=len(trials),
        passed=sum(trial.passed for trial in trials),
        gained=len({trial.number for trial in trials} & set(gained)),
        usage=sum_of([trial.proposal.usage for trial in trials]),
        compile_s=sum(map(compile_s, evaluations)),
        gpu_s=sum(gpu_s(trial.evaluation, (profiles or {}).get(trial.number, ())) for trial in trials),
    )


def total_cost(view: RunView) -> Cost:
    return cost_of(view.trials, [trial.number for trial in gains(view.trials)], view.profiles)


def until_best(view: RunView) -> UntilBest | None:
    """None where no trial is better than the run's first kernel."""
    best = view.shown
    if best is None or best is view.seed:
        return None
    before = [trial for trial in view.trials if trial.number <= best.number]
    cost = cost_of(before, (), view.profiles)
    return UntilBest(best.number, len(before), view.finished_s.get(best.number), cost.gpu_s, cost.usage)


def cost_sections(view: RunView) -> tuple[Section, ...]:
    """Totals, a row per operator, what a trial and a gain cost, and when the best was found; then seconds by stage."""
    stages = stage_grid(view)
    found = [Section("cost", "Cost", cost_grid(view) or NO_GRID, (*cost_lines(view), *until_lines(view)))]
    return (*found, *([Section("stages", "Seconds by stage", stages, (STAGES,))] if stages is not None else []))


STAGES = "Confirmations included, summed over trials that ran side by side."


def cost_lines(view: RunView) -> list[str]:
    """Time at work, and the cost of models and diffs."""
    usage = run_usage(view)
    unpriced = sum(trial.proposal.usage.cost_usd is None and trial.proposal.usage.requests > 0 for trial in view.trials)
    lines = [
        f"{duration_text(view.at_work_s)} in {count_text(len(view.sessions), 'session')}",
        f"models: {usage_text(usage)}" if usage.requests or usage.input_tokens else "models: none asked",
    ]
    if view.info.environment.device is not None and view.at_work_s > 0 and not view.lanes:
        judged = [(trial.evaluation, view.profiles.get(trial.number, ())) for trial in view.trials]
        spent_s = seconds_by_gpu([*judged, *((one, ()) for one in view.confirmed.values())])
        lines.insert(1, f"GPU busy: {busy_text(spent_s, view.at_work_s)} of that time")
    if view.beside and (beside := sum_of(view.beside)) != Usage():
        lines.append(f"of that for requests that are not finished, and for abandoned replies: {usage_text(beside)}")
    if unpriced:
        lines.append(f"the price of {count_text(unpriced, 'proposal')} is unknown and not in the sum")
    if diffs := diffs_text(view.trials):
        lines.append(diffs)
    return lines


def until_lines(view: RunView) -> list[str]:
    """When the best was found; nothing where nothing is better than the seed."""
    found = until_best(view)
    if found is None:
        return []
    at_work = f"{duration_text(found.seconds)} at work, " if found.seconds is not None else ""
    trials = count_text(found.trials, "trial")
    return [f"time to best (trial {found.trial}): {at_work}{trials}, {found.gpu_s:.1f} {_gpu(view)}"]


def stage_grid(view: RunView) -> Grid | None:
    """Seconds by stage of all evaluations, the longest first; None where nothing was evaluated."""
    stages_s: dict[str, float] = {}
    evaluations = [trial.evaluation for trial in view.trials if trial.evaluation is not None]
    for evaluation in [*evaluations, *view.confirmed.values()]:
        for stage, seconds in evaluation.stages_s.items():
            stages_s[stage] = stages_s.get(stage, 0.0) + seconds
    if profiling_s := sum(map(profile_s, view.profiles.values())):
        stages_s["profile"] = stages_s.get("profile", 0.0) + profiling_s
    if not stages_s:
        return None
    rows = tuple((stage, f"{s:.1f}") for stage, s in sorted(stages_s.items(), key=lambda one: -one[1]))
    return Grid(("stage", "seconds"), rows)


def cost_document(view: RunView) -> dict[str, Any]:
    """The same as plain data."""
    found = until_best(view)
    return {
        "by_operator": {operator: plain(asdict(cost)) for operator, cost in costs(view).items()},
        "total": plain(asdict(total_cost(view))),
        "until_best": plain(asdict(found)) if found is not None else None,
    }


def diffs_text(trials: Sequence[Trial]) -> str:
    """How many replies that were diffs applied; "" where there were none."""
    edits = [trial.proposal.edit for trial in trials if trial.proposal.edit is not None]
    if not edits:
        return ""
    return "diffs: " + ", ".join(f"{edits.count(kind)} {kind}" for kind in ("applied", "mended", "failed"))


def run_usage(view: RunView) -> Usage:
    """The run's total usage, for trials or not."""
    return sum_of([*(trial.proposal.usage for trial in view.trials), *view.beside])


def cost_grid(view: RunView) -> Grid | None:
    """A row per operator; then all, a trial's share and a gain's. None before the first trial."""
    if not view.trials:
        return None
    every = total_cost(view)
    header = ("", "asked", "passed", "gains", "tokens", "from cache", "USD", "model (s)", "compiler (s)", _gpu(view))
    rows = [_row(name.replace("_", " "), cost) for name, cost in costs(view).items()]
    rows.append(_row("all", every))
    rows.append(_row("per trial", every, every.asked, counts=False))
    rows.append(
        _row("per gain", every, every.gained, counts=False)
        if every.gained
        else ["per gain", *["-"] * (len(header) - 1)]
    )
    return Grid(header, tuple(map(tuple, rows)))


def _row(name: str, cost: Cost, share: int = 1, counts: bool = True) -> list[str]:
    usage = cost.usage
    money = "-" if usage.cost_usd is None else f"{usage.cost_usd / share:.4f}"
    counted = [str(cost.asked), str(cost.passed), str(cost.gained)] if counts else ["", "", ""]
    seconds = [f"{one / share:.1f}" for one in (usage.seconds, cost.compile_s, cost.gpu_s)]
    return [name, *counted, f"{usage.tokens / share:.0f}", f"{usage.cached_tokens / share:.0f}", money, *seconds]


def _gpu(view: RunView) -> str:
    return "GPU (s)" if view.info.environment.device is not None else "interpreter (s)"
