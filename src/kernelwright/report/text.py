"""The report of a run, as people read it and as `RUN/report.txt` holds it.

Not the journal, which has every detail (`show`). The rule: the first lines say what was found, how sure that is,
and whether its times are estimates; everything else supports them.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from kernelwright.model import Budget, Evaluation, Status, Trial, Usage
from kernelwright.report.convergence import convergence_text, kind_of
from kernelwright.report.evaluation import (
    VERIFIED_ON,
    environment_settings,
    kernels_table,
    results_table,
    settings_text,
    unqualified_text,
)
from kernelwright.report.table import indented
from kernelwright.report.trials import tally, usage_text
from kernelwright.report.units import count_text, share_text, time_text, times_text
from kernelwright.report.view import RunView, share_of_bound


def report_text(view: RunView) -> str:
    """The whole report."""
    title = f"{view.info.problem.name}: report of {view.folder.name}"
    sections = [
        f"{title}\n{'=' * len(title)}",
        verdict_text(view),
        "Convergence\n" + indented(convergence_text(view)),
        f"Trials by status ({len(view.trials)} in all)\n" + indented(_tally_text(view.trials)),
        *best_sections(view),
        "Cost\n" + indented(cost_text(view)),
        settings_text("Environment", environment_settings(view.info.environment)),
        "How to repeat it\n" + indented("\n".join(repeat_commands(view))),
    ]
    return "\n\n".join(sections) + "\n"


def verdict_text(view: RunView) -> str:
    """What was found and how sure that is, in a few lines."""
    standing, best, seed, leader = view.standing, view.best, view.seed, view.leader
    if leader is None:
        failures = ", ".join(f"{count} {status}" for status, count in tally(view.trials).items())
        return f"no kernel passed ({failures or 'nothing was tried'})"
    shown = best or leader
    evaluation = view.figure(shown)
    assert evaluation is not None
    gain = _gain(evaluation, None if shown is seed else seed, view)
    verified = VERIFIED_ON[evaluation.verified_on]
    if evaluation.unqualified:
        verified += f"\n{unqualified_text(evaluation.unqualified)}"
    if standing is None and shown is seed:
        lines = [f"so far nothing is better than {seed_name(view)}", gain, verified]
    elif standing is None:
        lines = [f"leading: {gain}", f"trial {leader.number}: not confirmed, so not a result"]
    elif best is None:
        lines = ["no kernel stands: what passed in the search did not pass again"]
    elif best is seed:
        tried = count_text(len(view.trials) - 1, "further trial")
        lines = [f"no improvement: {seed_name(view)} stands after {tried}", gain, verified, *_tie(view)]
    else:
        found = f"trial {best.number} by {best.proposal.author}, {confirmed_on(evaluation, view)}"
        lines = [gain, found, verified]
    return "\n".join([*lines, *(refusal_text(trial, view) for trial in view.refused)])


def confirmed_on(confirmation: Evaluation, view: RunView) -> str:
    """What a confirmation covered; a held-out case that could not be judged here is not counted in."""
    held_out = {info.case.name for info in view.info.problem.cases if info.case.held_out}
    judged = [result for result in confirmation.results if result.case in held_out]
    passed = sum(result.status is Status.PASSED for result in judged)
    if passed == len(held_out):
        return "confirmed on fresh inputs" + (" and every held-out case" if held_out else "")
    return f"confirmed on fresh inputs and {passed} of {count_text(len(held_out), 'held-out case')} (the rest not here)"


def refusal_text(trial: Trial, view: RunView) -> str:
    """Why a trial that was better in the search does not count."""
    doubt, evaluation = view.confirmed[trial.number], trial.evaluation
    assert evaluation is not None
    assert evaluation.score_us is not None
    ended = f"ended as {doubt.status.value}"
    if doubt.score_us is not None:
        ended = f"took {time_text(doubt.score_us, doubt.timing_kind)}, not surely less than {seed_name(view)}"
    reason = f": {doubt.reason}" if doubt.reason else ""
    score = time_text(evaluation.score_us, evaluation.timing_kind)
    return f"trial {trial.number} does not count: {score} in the search, but its confirmation {ended}{reason}"


def _tie(view: RunView) -> list[str]:
    leader = view.leader
    if leader is None or leader is view.best or leader in view.refused or leader.score_us is None:
        return []
    score = time_text(leader.score_us, kind_of(view))
    return [
        f"trial {leader.number} took {score} in the search: a tie, as the intervals overlap, and ties change nothing"
    ]


def seed_name(view: RunView) -> str:
    """What to call the kernel that every gain is measured against."""
    return "the starter" if view.info.starter is not None else "the first kernel"


def best_sections(view: RunView) -> list[str]:
    """The kernel to use (or, until one is confirmed, the one that leads): config, resources, cases."""
    trial = view.best or view.leader
    evaluation = view.figure(trial) if trial is not None else None
    if trial is None or evaluation is None:
        return []
    candidate = trial.proposal.candidate
    title = "Best kernel" if view.best is not None else "Leading kernel, not confirmed"
    config = candidate.config if candidate is not None else {}
    written = ", ".join(f"{key}={value}" for key, value in config.items()) or "as its source has it"
    lines = [f"config: {written}"]
    if evaluation.kernels:
        lines += ["", kernels_table(evaluation.kernels)]
    results = results_table(evaluation.results, view.info.problem.cases)
    peaks = next((info.bound.peaks for info in view.info.problem.cases), "")
    return [
        f"{title}: trial {trial.number}\n" + indented("\n".join(lines)),
        f"Cases (bounds: {peaks})\n" + indented(results),
    ]


def cost_text(view: RunView) -> str:
    """Model usage, and where the time went."""
    total = total_usage(view.trials)
    unpriced = sum(trial.proposal.usage.cost_usd is None and trial.proposal.usage.requests > 0 for trial in view.trials)
    spent_s = sum(session.seconds for session in view.sessions)
    lines = [
        f"{spent_s:.1f} s in {count_text(len(view.sessions), 'session')}",
        f"models: {usage_text(total)}" if total.requests or total.input_tokens else "models: none asked",
    ]
    if unpriced:
        lines.append(f"the price of {count_text(unpriced, 'proposal')} is unknown and not in the sum")
    stages_s: dict[str, float] = {}
    evaluations = [trial.evaluation for trial in view.trials if trial.evaluation is not None]
    for evaluation in [*evaluations, *view.confirmed.values()]:
        for stage, seconds in evaluation.stages_s.items():
            stages_s[stage] = stages_s.get(stage, 0.0) + seconds
    if stages_s:
        lines.append("by stage, summed over trials that ran side by side:")
    lines += [f"  {stage}: {seconds:.1f} s" for stage, seconds in sorted(stages_s.items(), key=lambda entry: -entry[1])]
    return "\n".join(lines)


def total_usage(trials: Sequence[Trial]) -> Usage:
    """The sum over all proposals; cost_usd is None where no price was known at all."""
    usages = [trial.proposal.usage for trial in trials]
    costs_usd = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost_usd=sum(costs_usd) if costs_usd else None,
        seconds=sum(usage.seconds for usage in usages),
        requests=sum(usage.requests for usage in usages),
    )


def repeat_commands(view: RunView) -> list[str]:
    """Command lines that make this run again and judge and time its kernel."""
    settings = view.info.settings
    words = ["kernelwright", "optimize", settings.problem, "--strategy", settings.strategy]
    words += _options("--option", settings.strategy_options)
    words += ["--proposer", settings.proposer, *_options("--proposer-option", settings.proposer_options)]
    words += ["--seed", str(settings.seed), "--in-flight", str(settings.in_flight), *_budget(settings.budget)]
    if settings.dtype is not None:
        words += ["--dtype", settings.dtype]
    commands = [shlex.join(words)]
    if view.best is not None:
        kernel = str(view.folder / "best_kernel.py")
        commands += [shlex.join(["kernelwright", verb, settings.problem, kernel]) for verb in ("verify", "bench")]
    return commands


def _gain(evaluation: Evaluation, seed: Trial | None, view: RunView) -> str:
    assert evaluation.score_us is not None
    kind = evaluation.timing_kind
    parts = [time_text(evaluation.score_us, kind)]
    if seed is not None and seed.score_us is not None:
        ratio = times_text(seed.score_us / evaluation.score_us)
        parts.append(f"{ratio} as fast as {seed_name(view)}'s {time_text(seed.score_us, kind)}")
    share = share_of_bound(evaluation, view.info.problem.cases)
    if share is not None:
        parts.append(f"{share_text(share)} of the bound")
    return f"{view.info.problem.name}: {', '.join(parts)}"


def _tally_text(trials: Sequence[Trial]) -> str:
    return "\n".join(f"{status}: {count}" for status, count in tally(trials).items()) or "none"


def _options(flag: str, options: dict[str, bool | int | float | str]) -> list[str]:
    return [word for key, value in options.items() for word in (flag, f"{key}={value}")]


def _budget(budget: Budget) -> list[str]:
    limits = {
        "--trials": budget.trials,
        "--minutes": budget.minutes,
        "--tokens": budget.tokens,
        "--usd": budget.usd,
    }
    return [word for flag, limit in limits.items() if limit is not None for word in (flag, str(limit))]
