"""The ledger: the trials of a run as a table for prompts. Pure.

One line per trial, failures included: the request, the note, the change, the outcome with its interval, and the
counters that moved. An estimated time is marked as an estimate, and only timed trials are compared.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from kernelwright.model import Operator, Trial
from kernelwright.propose.reflection import counters, moved, parent_of
from kernelwright.stats import geometric_mean
from kernelwright.text.markdown import shortened, table

HISTORY_ROWS = 24
"""Maximum rows in a prompt: the best and the latest trials."""
NOTE_CHARACTERS = 140
MOST_MOVED = 4
"""Maximum counters per trial."""


def history(trials: Sequence[Trial]) -> str:
    """The ledger: one row per trial, shortened to the best and the latest ones. Tunings share one line per kernel. ""
    where there is no trial."""
    if not trials:
        return ""
    by_number = {trial.number: trial for trial in trials}
    written = [trial for trial in trials if trial.request.operator is not Operator.TUNE]
    scored = sorted((trial.score_us, trial.number) for trial in trials if trial.score_us is not None)
    numbers = {trial.number for trial in written}
    latest = [trial.number for trial in written][-HISTORY_ROWS * 3 // 4 :]
    room = HISTORY_ROWS - len(latest)
    kept = {*latest, *[number for _, number in scored if number in numbers and number not in latest][:room]}
    rows = [row(trial, by_number) for trial in written if trial.number in kept]
    header = ["trial", "asked to", "of", "author", "note", "change", "outcome", "counters moved"]
    text = table(header, rows)
    if scored:
        kind = "Lowest estimate" if outcome(by_number[scored[0][1]]).endswith("(estimate)") else "Best"
        text += f"\n\n{kind} so far: trial {scored[0][1]}."
    if len(kept) < len(written):
        text += f" {len(written) - len(kept)} of {len(written)} trials are left out."
    tunings = [trial for trial in trials if trial.request.operator is Operator.TUNE]
    if tunings:
        text += "\n\n" + tuned(tunings, by_number)
    return text + "\n\nCode that is in this run already, comments and layout aside, is refused."


def row(trial: Trial, by_number: dict[int, Trial]) -> list[str]:
    before = parent_of(trial, by_number)
    first = next((by_number.get(number) for number in trial.request.parents), None)
    return [
        str(trial.number),
        trial.request.operator.value.replace("_", " "),
        ", ".join(map(str, trial.request.parents)) or "-",
        trial.proposal.author,
        shortened(trial.proposal.note, NOTE_CHARACTERS) or "-",
        change(first, trial),
        outcome(trial) + versus(before, trial),
        ", ".join(moved(counters(before), counters(trial))[:MOST_MOVED]) or "-" if before is not None else "-",
    ]


def change(before: Trial | None, after: Trial) -> str:
    """The size of a change, and the changed numbers: "+12 −3 lines, BLOCK 64 → 128"."""
    if before is None or before.is_failed_seed or before.proposal.candidate is None or after.proposal.candidate is None:
        return "-"
    old, new = before.proposal.candidate, after.proposal.candidate
    # Not ndiff, which also searches for similar lines: minutes for two long modules without a common line.
    matcher = difflib.SequenceMatcher(None, old.source.splitlines(), new.source.splitlines())
    changed = [one[1:] for one in matcher.get_opcodes() if one[0] != "equal"]
    added, removed = sum(j2 - j1 for _, _, j1, j2 in changed), sum(i2 - i1 for i1, i2, _, _ in changed)
    parts = [f"+{added} −{removed} lines"] if added or removed else []
    parts += [
        f"{key} {old.config.get(key, 'as written')} → {value}"
        for key, value in new.config.items()
        if value != old.config.get(key)
    ]
    return ", ".join(parts) or "none"


def tuned(tunings: Sequence[Trial], by_number: dict[int, Trial]) -> str:
    """The result of tuning, one line per kernel."""
    roots: dict[int, list[Trial]] = {}
    for trial in tunings:
        root = trial.request.parents[0]
        while root in by_number and by_number[root].request.operator is Operator.TUNE:
            root = by_number[root].request.parents[0]
        roots.setdefault(root, []).append(trial)
    lines = []
    for root, trials in roots.items():
        best = min(
            (trial for trial in trials if trial.score_us is not None),
            key=lambda trial: (trial.score_us, trial.number),
            default=None,
        )
        came = "none passed" if best is None else f"best trial {best.number}, {outcome(best)}"
        came += versus(by_number.get(root), best) if best is not None else ""
        lines.append(f"- trial {root}: {len(trials)} configs tried, {came}")
    return "Tuned since, without changing code:\n\n" + "\n".join(lines)


def outcome(trial: Trial) -> str:
    """The outcome of a trial in a few words, with the interval of its time where there is one."""
    if trial.evaluation is None:
        return f"no candidate: {shortened(trial.proposal.error or '', NOTE_CHARACTERS)}"
    evaluation = trial.evaluation
    if evaluation.score_us is not None:
        if evaluation.timing_kind == "estimate":
            return f"{evaluation.score_us:.4g} µs (estimate)"
        intervals = [result.timing.ci95_us for result in evaluation.results if result.timing and result.timing.ci95_us]
        if not intervals:
            return f"{evaluation.score_us:.4g} µs"
        low, high = (geometric_mean([interval[end] for interval in intervals]) for end in (0, 1))
        return f"{evaluation.score_us:.4g} µs ({low:.4g} to {high:.4g})"
    words = evaluation.status.value.replace("_", " ")
    return f"{words}: {shortened(evaluation.reason, NOTE_CHARACTERS)}" if evaluation.reason else words


def versus(before: Trial | None, after: Trial) -> str:
    """The speedup of a trial over the one it came from; "" where one of them was not measured."""
    if before is None or before.score_us is None or after.score_us is None:
        return ""
    if any(one.evaluation is not None and one.evaluation.timing_kind == "estimate" for one in (before, after)):
        return ""
    ratio = after.score_us / before.score_us
    return f", {1 / ratio:.2f}× as fast as trial {before.number}"


def written(trial: Trial, by_number: Mapping[int, Trial]) -> Trial:
    """The trial that wrote the code of this one: itself, or the trial that it tunes."""
    while trial.request.operator is Operator.TUNE and next(iter(trial.request.parents), None) in by_number:
        trial = by_number[trial.request.parents[0]]
    return trial
