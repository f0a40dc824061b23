"""A tuning as text and as a document: the search, its failures, and the choice with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.codec import plain
from kernelwright.model import titled
from kernelwright.report.evaluation import SECOND_LOOK, mode_text, unqualified_text
from kernelwright.report.trials import tokens_text
from kernelwright.spaces.space import Config, Space, product_size, size
from kernelwright.text.table import indented, table
from kernelwright.text.units import number_text, range_text, unit_for
from kernelwright.tune.curve import failures, learning_curve
from kernelwright.tune.records import Advice, Choice, Outcome, Tried

LONGEST_REASON = 160
MOST_COUNTED = 200_000
"""This many configs are checked against a space's restrictions in about a second."""


def tuning_text(outcome: Outcome) -> str:
    """The whole report."""
    parts = [heading(outcome), curve_text(outcome)]
    if outcome.tried and any(one.score_us is None for one in outcome.tried):
        parts.append(failures_text(outcome))
    if outcome.finals:
        parts.append(finals_text(outcome))
    parts.append(choices_text(outcome))
    return "\n\n".join(parts)


def heading(outcome: Outcome) -> str:
    settings = outcome.settings
    launched = sum(one.launched for one in outcome.tried)
    refused = len(outcome.tried) - launched
    lines = [
        f"{titled(outcome.problem, outcome.settings.dtype)} on {outcome.device}: times are {times_are(outcome)}",
        f"{size_text(outcome.space)} configs, sampler {settings.sampler}, seed {settings.seed}; {launched} tried"
        + (f", {refused} refused before a launch" if refused else "")
        + f"; ended by {outcome.stopped}; {outcome.seconds:.1f} s in all",
    ]
    if mode := mode_text(outcome.library):
        lines.append(mode)
    if outcome.advice is not None:
        lines.append(advice_text(outcome.advice, outcome.tried))
    if outcome.unqualified:
        lines.append(unqualified_text(outcome.unqualified))
    return "\n".join(lines)


def advice_text(advice: Advice, tried: Sequence[Tried]) -> str:
    """Who named configs to begin with, at what cost, and how far the best of them is from the best of all."""
    if advice.reason:
        said = f"{advice.author} was asked for configs to begin with, in vain: {advice.reason}"
    else:
        useless = f" and {advice.useless} that are none of the space" if advice.useless else ""
        said = f"{advice.author} named {len(advice.configs)} configs to begin with{useless}"
    best_us = min((one.score_us for one in tried if one.score_us is not None), default=None)
    named_us = [one.score_us for one in tried if one.origin == "advised" and one.score_us is not None]
    if named_us and best_us is not None:
        said += f"; the best of them takes {min(named_us) / best_us:.3f} times as long as the best found"
    usage = advice.usage
    if usage.requests:
        said += f"; {tokens_text(usage)}"
    return said


def size_text(space: Space) -> str:
    """How many configs; only an upper limit where restrictions would have to be tried on very many."""
    return str(size(space)) if is_countable(space) else f"at most {product_size(space)}"


def is_countable(space: Space) -> bool:
    return not space.restrictions or product_size(space) <= MOST_COUNTED


def times_are(outcome: Outcome) -> str:
    if outcome.kind == "replayed":
        return "replayed from a record, nothing ran"
    return "measured" if outcome.kind == "measured" else "estimates, nothing was timed"


def curve_text(outcome: Outcome) -> str:
    rows = learning_curve(outcome.tried)
    unit = unit_for(row.best_us for row in rows)
    header = ["generation", "configs", "failures"]
    header += [f"{what} ({unit.name}, {outcome.kind})" for what in ("median", "best", "best so far")]
    cells = [
        [str(row.generation), str(row.tried), str(row.failures)]
        + [number_text(time_us, unit) for time_us in (row.median_us, row.best_us, row.best_so_far_us)]
        for row in rows
    ]
    return "learning curve\n" + indented(table(header, cells))


def failures_text(outcome: Outcome) -> str:
    lines = ["failures"]
    for row in failures(outcome.tried):
        launched = "" if row.launched == 0 else f", {row.launched} of them when they ran"
        lines.append(f"  {row.status}: {row.count}{launched}")
        for name, reason in row.examples:
            short = reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"
            lines.append(f"    {name}: {short or 'no reason given'}")
    return "\n".join(lines)


def finals_text(outcome: Outcome) -> str:
    """One row per finalist and case."""
    tried = {one.number: one for one in outcome.tried}
    times = [case.median_us for one in outcome.finals for case in one.cases]
    unit = unit_for(times)
    several = len(outcome.case_names) > 1
    rows = []
    for finalist in outcome.finals:
        name = tried[finalist.number].name
        for case in finalist.cases:
            ratio = case.ratio
            verdict = ratio.verdict if ratio is not None else case.status.value
            verdict = "reference" if finalist.number == outcome.reference else verdict
            interval = range_text(ratio.ci95 if ratio is not None else None, 3)
            speedup = "-" if ratio is None else f"{ratio.speedup:.3f}"
            rows.append([name, case.case, number_text(case.median_us, unit), speedup, interval, verdict])
        if several and finalist.joint is not None:
            joint = finalist.joint
            interval = range_text(joint.ci95, 3)
            verdict = "reference" if finalist.number == outcome.reference else joint.verdict
            rows.append([name, "all", "-", f"{joint.speedup:.3f}", interval, verdict])
    how = "sampled in turn, in pairs" if outcome.kind == "measured" else "from the times above, without pairs"
    header = ["config", "case", f"time ({unit.name}, {outcome.kind})", "speedup", "95 %", "verdict"]
    return f"finals ({how})\n" + indented(table(header, rows, left=("case", "verdict")))


def choices_text(outcome: Outcome) -> str:
    if outcome.joint is None:
        why = "no config passed again" if outcome.refused else "no config passed"
        return "\n".join([f"{why}; nothing is chosen", *refused_lines(outcome)])
    lines = ["choice" + (" for all cases" if outcome.per_case else "")]
    lines += choice_lines(outcome.joint, outcome)
    for choice in outcome.per_case:
        if choice.number == outcome.joint.number:
            lines.append(f"case {choice.case}: the same")
        else:
            lines += [f"case {choice.case}", *choice_lines(choice, outcome)]
    if outcome.least_us is not None:
        unit = unit_for([outcome.least_us])
        least = f"the record's best takes {number_text(outcome.least_us, unit)} {unit.name}"
        lines.append(f"{least}: the choice takes {outcome.joint.time_us / outcome.least_us:.4f} times as long")
    if outcome.cost_of_one is not None:
        distinct = len({choice.number for choice in outcome.per_case})
        lines.append(
            f"one config for all cases takes {outcome.cost_of_one:.3f} times as long as each case's own "
            f"({distinct} different; geometric mean over {len(outcome.per_case)} cases, {outcome.kind})"
        )
    return "\n".join([*lines, *refused_lines(outcome)])


def refused_lines(outcome: Outcome) -> list[str]:
    names = {one.number: one.name for one in outcome.tried}
    return [f"{names[number]} was not chosen, its confirmation failed: {reason}"
            for number, reason in outcome.refused.items()]  # fmt: skip


def choice_lines(choice: Choice, outcome: Outcome) -> list[str]:
    tried = next(one for one in outcome.tried if one.number == choice.number)
    unit = unit_for([choice.time_us])
    interval = "" if choice.ratio.ci95 is None else f" (95 %: {range_text(choice.ratio.ci95, 3)})"
    speed = f", {choice.ratio.speedup:.3f} times as fast as the default{interval}"
    against = speed if choice.default_us is not None and tried.origin != "default" else ""
    passed = SECOND_LOOK["measured" if outcome.kind == "measured" else "estimate"].passed
    proof = {True: f"{passed} with fresh inputs", False: "did not pass again", None: ""}[choice.confirmed]
    judged = "values not judged on this machine" if tried.found.not_verified else ""
    why = "; ".join(text for text in (choice.why, proof, judged) if text)
    return [
        f"  {tried.name}: {number_text(choice.time_us, unit)} {unit.name} ({outcome.kind}){against}",
        f"  why: {why}",
        f"  {config_text(choice.config, outcome.default.config)}",
    ]


def config_text(config: Config, default: Config) -> str:
    """`BLOCK=256 (was 128), …`."""
    parts = []
    for name, value in config.items():
        was = default.get(name, value)
        parts.append(f"{name}={value}" if value == was else f"{name}={value} (was {was})")
    return ", ".join(parts)


def progress_lines(tried: Sequence[Tried], kind: str) -> list[str]:
    """The lines for the latest of `tried`. The configs that were refused before a launch share one line, once something
    runs: a space has hundreds of them.
    """
    last, earlier = tried[-1], tried[:-1]
    begun = any(one.launched for one in earlier)
    if not last.launched and not begun:
        return []
    lines = []
    if not begun and earlier:
        example = " ".join(earlier[0].found.reason.split())[:LONGEST_REASON]
        lines.append(f"refused before anything ran: {len(earlier)}; the first: {example}")
    best_us = min((one.score_us for one in earlier if one.score_us is not None), default=None)
    is_best = best_us is not None and last.score_us is not None and last.score_us < best_us
    return [*lines, tried_line(last, kind) + (", the best so far" if is_best else "")]


def tried_line(tried: Tried, kind: str) -> str:
    """One config in one line."""
    if tried.score_us is None:
        reason = " ".join(tried.found.reason.split())[:LONGEST_REASON]
        return f"{tried.name}: {tried.found.status.value}: {reason}"
    unit = unit_for([tried.score_us])
    return f"{tried.name}: {number_text(tried.score_us, unit)} {unit.name} ({kind})"


REPLACED = ("kernelwright", "date", "candidate", "cases", "per_case")
"""Fields of an outcome that its document lacks, or has in another form."""


def tuning_document(outcome: Outcome) -> dict[str, Any]:
    """What the text says, as plain data."""
    names = {one.number: one.name for one in outcome.tried}

    def choice(one: Choice | None) -> dict[str, Any] | None:
        return None if one is None else {"name": names[one.number], "kind": outcome.kind, **plain(one)}

    return {
        **{name: value for name, value in plain(outcome).items() if name not in REPLACED},
        "space": {**plain(outcome.space), "size": size(outcome.space) if is_countable(outcome.space) else None},
        "joint": choice(outcome.joint),
        "cases": [choice(one) for one in outcome.per_case],
        "refused": {names[number]: reason for number, reason in outcome.refused.items()},
        "learning_curve": [plain(row) for row in learning_curve(outcome.tried)],
        "failures": [plain(row) for row in failures(outcome.tried)],
    }
