"""Trials as text: a table of all, or one of them whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kernelwright.diagnosis import diagnoses
from kernelwright.diagnosis.format import value_text
from kernelwright.errors import ConfigError
from kernelwright.model import Trial, Usage
from kernelwright.propose.reflection import parent_of
from kernelwright.report.evaluation import evaluation_text
from kernelwright.report.view import RunView, judged_source_of, source_of
from kernelwright.search.convergence import best_trial
from kernelwright.text.table import indented, table
from kernelwright.text.units import label, number_text, times_text, unit_for

NO_CANDIDATE = "no_candidate"
"""Shown as the status of a trial whose proposal was an error."""

LONGEST = 72
"""The table shows at most this many characters of a reason."""


def outcome(trial: Trial) -> str:
    """The status of a trial in one word."""
    return trial.evaluation.status.value if trial.evaluation is not None else NO_CANDIDATE


def title(trial: Trial) -> str:
    """Which trial, what was asked and who answered."""
    request, author = trial.request, trial.proposal.author
    parents = f" of {', '.join(map(str, request.parents))}" if request.parents else ""
    return f"trial {trial.number}, round {request.round}: {request.operator.value}{parents}, by {author}"


def why(trial: Trial) -> str:
    """Why it did not pass, or its author's note."""
    if trial.evaluation is None:
        return trial.proposal.error or ""
    return trial.proposal.note if trial.passed else trial.evaluation.reason


def tally(trials: Sequence[Trial]) -> dict[str, int]:
    """How many trials ended how, the most frequent first."""
    counts = Counter(outcome(trial) for trial in trials)
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def trials_table(view: RunView) -> str:
    """One row per trial, in the order asked."""
    unit, kind = unit_for(trial.score_us for trial in view.trials), view.timing_kind
    best = view.best
    header = ["trial", "round", "operator", "parents", "author", "status", f"time ({label(unit, kind)})", "why"]
    rows = [
        [
            f"{trial.number}{' *' if best is not None and best.number == trial.number else ''}",
            str(trial.request.round),
            trial.request.operator.value,
            ",".join(map(str, trial.request.parents)) or "-",
            trial.proposal.author,
            outcome(trial),
            number_text(trial.score_us, unit),
            _short(why(trial)),
        ]
        for trial in view.trials
    ]
    marked = "\n* the best" if best is not None else ""
    return table(header, rows, left=("operator", "parents", "author", "status", "why")) + marked


def short_trial(trial: Trial, view: RunView) -> dict[str, Any]:
    """One trial in a few fields. why: of one that passed, how it compares and what holds it back; else its fault."""
    evaluation = trial.evaluation
    return {
        "trial": trial.number,
        "what": title(trial),
        "status": outcome(trial),
        "score_us": trial.score_us,
        "timing_kind": evaluation.timing_kind if evaluation is not None else None,
        "why": (standing_text(trial, view) if trial.passed else why(trial).strip())[:SHORT],
    }


def standing_text(trial: Trial, view: RunView) -> str:
    """How a trial that passed compares with its parent and with the best of the others, and its bottleneck."""
    evaluation = trial.evaluation
    if evaluation is None or evaluation.score_us is None:
        return "it was not timed"
    best = best_trial([one for one in view.trials if one is not trial])
    compared: dict[str, str] = {}
    for one, role in ((parent_of(trial, view.by_number), "its parent"), (best, "the best of the others")):
        if one is not None and one.score_us:
            to = f"{ratio_text(evaluation.score_us / one.score_us)} trial {one.number}, "
            compared[to] = f"{compared[to]} and {role}" if to in compared else role
    text = "; ".join(to + role for to, role in compared.items()) or "the first kernel that passed"
    if compared and evaluation.timing_kind == "estimate":
        text += " (estimates: they do not compare two structures)"
    profiles = view.profiles.get(trial.number, ())
    for found in diagnoses(evaluation, profiles, view.info.problem, view.info.environment.peaks)[:1]:
        seen = "".join(f": {one.metric} {value_text(one.value, one.unit)}" for one in found.bottleneck.evidence[:1])
        text += f". {found.bottleneck.summary.rstrip('.')}{seen}"
    return text


def ratio_text(slower: float) -> str:
    """A ratio of times in words: "1.95 times slower than"."""
    if round(slower, 2) == 1:
        return "as fast as"
    return f"{slower:.2f} times slower than" if slower > 1 else f"{1 / slower:.2f} times faster than"


SHORT = 600
"""Characters of a reason that a short verdict has."""


def trial_text(trial: Trial, view: RunView) -> str:
    """One trial whole: what was asked, what came back, what it did, and its source."""
    proposal = trial.proposal
    parts = [title(trial) + (f"\n{proposal.note}" if proposal.note else "")]
    if said := said_text(trial):
        parts.append(said)
    if proposal.usage != Usage():
        parts.append(usage_text(proposal.usage))
    if proposal.error is not None:
        parts.append(f"no candidate: {proposal.error}")
    if trial.evaluation is not None:
        parts.append(evaluation_text(trial.evaluation, view.info.problem.cases))
    confirmation = view.confirmed.get(trial.number)
    if confirmation is not None:
        parts.append("confirmation, in a fresh process on fresh inputs and held-out cases:")
        parts.append(indented(evaluation_text(confirmation, view.info.problem.cases)))
    if proposal.candidate is not None:
        parts.append("source:\n" + readable_source(trial))
    return "\n\n".join(parts)


def said_text(trial: Trial) -> str:
    """The author's expectation, how the answer was written, and its lesson on a surprise; "" where there is none."""
    proposal = trial.proposal
    lines = []
    if proposal.expected is not None:
        lines.append(f"expected: {times_text(proposal.expected)} as fast as its first parent")
    if proposal.diagnosis:
        lines.append(f"of the diagnosis that it was given it says: {proposal.diagnosis}")
    if proposal.edit is not None:
        lines.append(f"written as a diff: {proposal.edit}")
    if proposal.exchanges:
        lines.append("asked beside it: " + ", ".join(exchange.kind for exchange in proposal.exchanges))
    if proposal.reflection is not None:
        found = proposal.reflection
        words = (
            "its claims hold" if found.claims_hold else "not passed on: its claims do not all hold, or there is none"
        )
        lines.append(f"of trial {found.trial} it says: {found.lesson} ({words})")
    return "\n".join(lines)


def readable_source(trial: Trial, view: RunView | None = None) -> str:
    """The candidate as it runs, and where `view` is given as it was judged; where its config does not fit its source,
    the source with the config said above."""
    candidate = trial.proposal.candidate
    assert candidate is not None
    try:
        return (source_of(trial) if view is None else judged_source_of(trial, view)) or ""
    except ConfigError as error:
        return f"# config {candidate.config} not written in: {error}\n{candidate.source}"


def usage_text(usage: Usage) -> str:
    """What a proposal, or all of them, cost."""
    return f"{tokens_text(usage)}, {usage.seconds:.1f} s, {usage.requests} HTTP requests" + (
        f", {usage.assumed} of them at an assumed cost" if usage.assumed else ""
    )


def tokens_text(usage: Usage) -> str:
    """Tokens both ways, with what a provider's cache was read for and written with, and their price."""
    cost = "price unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
    cache = ((usage.cached_tokens, "from the cache"), (usage.cache_written_tokens, "written to it"))
    parts = ", ".join(f"{count} {what}" for count, what in cache if any(count for count, _ in cache))
    return f"{usage.input_tokens} tokens in{f' ({parts})' if parts else ''}, {usage.output_tokens} out, {cost}"


def _short(text: str) -> str:
    first = text.splitlines()[0] if text else ""
    return first if len(first) <= LONGEST else first[: LONGEST - 1] + "…"
