"""`RUN/EVOLUTION_LOG.md`: how a search went, in words: per generation what was meant, what came of it, what it taught.

Not the trace, which has the kernels and prompts. The rule: the hypothesis is the author's, the result is measured, and
a lesson is somebody's, with the checks that it passed or failed; where nobody was asked, the log says what followed.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.history import gains
from kernelwright.model import Operator, Trial
from kernelwright.report.convergence import kind_of
from kernelwright.report.trials import outcome
from kernelwright.report.units import count_text, time_text, times_text
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView
from kernelwright.search.ranking import beats, ranked

CHECKED = {True: "holds", False: "does not hold", None: "cannot be checked"}


def evolution_log(view: RunView) -> str:
    """The whole log, as Markdown."""
    settings = view.info.settings
    head = (
        f"# How {view.folder.name} went\n\n"
        f"{view.info.problem.name}, strategy {settings.strategy}, proposer {settings.proposer}, "
        f"{count_text(len(view.trials), 'trial')}, begun {view.info.created}."
    )
    if kind_of(view) == "estimate":
        head += " Every time is an estimate: nothing was timed."
    rounds = sorted({trial.request.round for trial in view.trials})
    return "\n\n".join([head, *(_generation(view, number) for number in rounds), _end(view)]) + "\n"


def _generation(view: RunView, number: int) -> str:
    trials = [trial for trial in view.trials if trial.request.round == number]
    before = ranked(trial for trial in view.trials if trial.request.round < number)
    title = f"## Generation {number}" + (": what it started from" if number == 0 else "")
    parts = [title]
    if before:
        parts.append(f"Best before it: {_scored(before[0], view)}.")
    parts += [_trial(trial, trials, view) for trial in trials if trial.request.operator is not Operator.TUNE]
    loose = [trial for trial in trials if trial.request.operator is Operator.TUNE and _root(trial, view) not in trials]
    if loose:
        parts.append("Tuned further:\n" + "\n".join(f"- {_tuned(root, loose, view)}" for root in _roots(loose, view)))
    gained = [trial for trial in gains(view.trials) if trial.request.round == number]
    if number > 0:
        parts.append(f"**It gained**: best now {_scored(gained[-1], view)}." if gained else "**It gained nothing**.")
    return "\n\n".join(parts)


def _trial(trial: Trial, here: Sequence[Trial], view: RunView) -> str:
    """Three lines about one trial, and what tuning made of it."""
    request, proposal = trial.request, trial.proposal
    of = f" of {' and '.join(map(str, request.parents))}" if request.parents else ""
    expected = f" Expected: {times_text(proposal.expected)}." if proposal.expected is not None else ""
    note = proposal.note.strip() or ("as it was given" if request.candidate is not None else "none was given")
    lines = [
        f"### Trial {trial.number}: {request.operator.value.replace('_', ' ')}{of}, by {proposal.author}",
        "",
        f"- Hypothesis: {note}{'' if note.endswith('.') else '.'}{expected}",
        *([f"- Of the diagnosis that it was given: {proposal.diagnosis}"] if proposal.diagnosis else []),
        f"- Result: {_result(trial, view)}",
    ]
    tunings = [one for one in here if one.request.operator is Operator.TUNE and _root(one, view) is trial]
    if tunings:
        lines.append(f"- Tuning: {_tuned(trial, tunings, view)}")
    lines.append(f"- Lesson: {_lesson(trial, view)}")
    return "\n".join(lines)


def _result(trial: Trial, view: RunView) -> str:
    """What was found, against the parent it was made from."""
    if trial.score_us is None or trial.evaluation is None:
        reason = trial.evaluation.reason if trial.evaluation is not None else trial.proposal.error or ""
        return f"{outcome(trial).replace('_', ' ')}: {_line(reason)}" if reason else outcome(trial).replace("_", " ")
    text = time_text(trial.score_us, kind_of(view))
    parents = [one for one in view.trials if one.number in trial.request.parents and one.score_us is not None]
    parent = next(iter(ranked(parents)), None)
    if parent is None or parent.evaluation is None or parent.score_us is None:
        return f"{text}."
    ratio = times_text(parent.score_us / trial.score_us)
    if beats(trial.evaluation, parent.evaluation):
        return f"{text}, {ratio} as fast as trial {parent.number}."
    sure = "slower than" if beats(parent.evaluation, trial.evaluation) else "not surely faster than"
    return f"{text}, {sure} trial {parent.number} ({ratio})."


def _lesson(trial: Trial, view: RunView) -> str:
    """What somebody learned, with the checks; else what the search made of it."""
    for later in view.trials:
        found = later.proposal.reflection
        if found is None or found.trial != trial.number:
            continue
        checks = ", ".join(f"{one.counter} {one.direction} {CHECKED[one.holds]}" for one in found.claims)
        passed_on = "" if found.stands else " Not passed on."
        return f"{found.lesson} ({checks or 'no claim to check'}; by {later.proposal.author}.){passed_on}"
    children = [one.number for one in view.trials if one.number != trial.number and trial.number in one.request.parents]
    written = [n for n in children if _by_number(view)[n].request.operator not in (Operator.TUNE, Operator.REPAIR)]
    repairs = [n for n in children if _by_number(view)[n].request.operator is Operator.REPAIR]
    if written:
        return f"nobody was asked; it became the parent of {count_text(len(written), 'trial')}."
    if repairs:
        return f"it was repaired (trial {repairs[0]})."
    return "nobody was asked; nothing was made from it."


def _tuned(root: Trial, tunings: Sequence[Trial], view: RunView) -> str:
    own = [trial for trial in tunings if _root(trial, view) is root]
    best = next(iter(ranked(own)), None)
    tried = f"{count_text(len(own), 'config')} of trial {root.number}"
    if best is None:
        return f"{tried}, none passed."
    better = root.score_us is not None and best.score_us is not None and best.score_us < root.score_us
    return f"{tried}, best {_scored(best, view)}{'' if better else ', no better than as written'}."


def _end(view: RunView) -> str:
    rounds = {trial.request.round for trial in view.trials} - {0}
    gained = {trial.request.round for trial in gains(view.trials)} & rounds
    share = f"{len(gained)} of {count_text(len(rounds), 'generation')} gained something." if rounds else ""
    return f"## The end\n\n{verdict_text(view)}\n\n{share}".rstrip()


def _scored(trial: Trial, view: RunView) -> str:
    assert trial.score_us is not None
    return f"{time_text(trial.score_us, kind_of(view))} (trial {trial.number})"


def _root(trial: Trial, view: RunView) -> Trial | None:
    """What a tuning tunes: the trial that wrote the code."""
    by_number = _by_number(view)
    found: Trial | None = trial
    while found is not None and found.request.operator is Operator.TUNE:
        found = by_number.get(found.request.parents[0])
    return found


def _roots(tunings: Sequence[Trial], view: RunView) -> list[Trial]:
    found = {root.number: root for trial in tunings if (root := _root(trial, view)) is not None}
    return list(found.values())


def _by_number(view: RunView) -> dict[int, Trial]:
    return {trial.number: trial for trial in view.trials}


def _line(text: str) -> str:
    return " ".join(text.split())
