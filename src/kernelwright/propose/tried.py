"""What a run has tried, as a table for whoever writes next. Pure.

One line per trial, failures included. The one rule: a time that was estimated says so, and nothing is compared that
was not timed.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.model import Trial
from kernelwright.propose.markdown import shortened, table

HISTORY_ROWS = 24
"""How many trials a prompt tells of: the best, and the latest."""
NOTE_CHARACTERS = 140


def history(trials: Sequence[Trial]) -> str:
    """One line per trial: the best ones and the latest ones where there are many."""
    if not trials:
        return "Nothing yet."
    scored = sorted((trial.score_us, trial.number) for trial in trials if trial.score_us is not None)
    latest = [trial.number for trial in trials][-HISTORY_ROWS * 3 // 4 :]
    room = HISTORY_ROWS - len(latest)
    kept = {*latest, *[number for _, number in scored if number not in latest][:room]}
    by_number = {trial.number: trial for trial in trials}
    rows = [
        [
            str(trial.number),
            trial.request.operator.value.replace("_", " "),
            ", ".join(map(str, trial.request.parents)) or "-",
            trial.proposal.author,
            shortened(trial.proposal.note, NOTE_CHARACTERS) or "-",
            outcome(trial) + versus(next((by_number.get(n) for n in trial.request.parents), None), trial),
        ]
        for trial in trials
        if trial.number in kept
    ]
    text = table(["trial", "asked to", "of", "author", "note", "outcome"], rows)
    if scored:
        text += f"\n\nBest so far: trial {scored[0][1]}."
    if len(kept) < len(trials):
        text += f" {len(trials) - len(kept)} of {len(trials)} trials are left out."
    return text


def outcome(trial: Trial) -> str:
    """How a trial ended, in a few words."""
    if trial.evaluation is None:
        return f"no candidate: {shortened(trial.proposal.error or '', NOTE_CHARACTERS)}"
    evaluation = trial.evaluation
    if evaluation.score_us is not None:
        return f"{evaluation.score_us:.4g} µs" + (" (estimate)" if evaluation.timing_kind == "estimate" else "")
    words = evaluation.status.value.replace("_", " ")
    return f"{words}: {shortened(evaluation.reason, NOTE_CHARACTERS)}" if evaluation.reason else words


def versus(before: Trial | None, after: Trial) -> str:
    """How a trial compares with the one it came from."""
    if before is None or before.score_us is None or after.score_us is None:
        return ""
    ratio = after.score_us / before.score_us
    return f", {1 / ratio:.2f}× as fast as trial {before.number}"
