"""`RUN/EVOLUTION_LOG.md`: the course of a search in words: for each generation its hypotheses, results and lessons.

The hypothesis is the author's, and the result is measured. A lesson is shown with the checks that it passed or failed;
where none was asked for, the log says what the search concluded. Kernels and prompts are in the trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.model import Operator, Trial
from kernelwright.propose import tried
from kernelwright.report.trials import outcome
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView
from kernelwright.search.convergence import best_trial, gains
from kernelwright.search.ranking import beats, ranked
from kernelwright.text.units import count_text, time_text, times_text

CHECKED = {True: "holds", False: "does not hold", None: "cannot be checked"}


def evolution_log(view: RunView) -> str:
    """The whole log, as Markdown."""
    settings = view.info.settings
    head = (
        f"# How {view.folder.name} went\n\n"
        f"{view.info.problem.title}, strategy {settings.strategy}, proposer {settings.proposer}, "
        f"{count_text(len(view.trials), 'trial')}, begun {view.info.created}."
    )
    if view.timing_kind == "estimate":
        head += " Every time is an estimate: nothing was timed."
    gained = gains(view.trials)
    parts, best = [head], None
    for number, trials in view.by_round.items():
        parts.append(_generation(view, number, trials, best, [one for one in gained if one.request.round == number]))
        best = best_trial([one for one in (best, best_trial(trials)) if one is not None])
    return "\n\n".join([*parts, _end(view, gained)]) + "\n"


def _generation(
    view: RunView, number: int, trials: Sequence[Trial], best: Trial | None, gained: Sequence[Trial]
) -> str:
    """best: of all rounds before; None where nothing had passed."""
    title = f"## Generation {number}" + (": what it started from" if number == 0 else "")
    parts = [title]
    if best is not None:
        parts.append(f"Best before it: {_scored(best, view)}.")
    tunings: dict[int, list[Trial]] = {}
    for trial in trials:
        root = tried.written(trial, view.by_number)
        if trial is not root and root.request.operator is not Operator.TUNE:
            tunings.setdefault(root.number, []).append(trial)
    written = [trial for trial in trials if trial.request.operator is not Operator.TUNE]
    parts += [_trial(trial, tunings.pop(trial.number, []), view) for trial in written]
    if tunings:
        loose = (_tuned(view.by_number[root], own, view) for root, own in tunings.items())
        parts.append("Tuned further:\n" + "\n".join(f"- {line}" for line in loose))
    if number > 0:
        parts.append(f"**It gained**: best now {_scored(gained[-1], view)}." if gained else "**It gained nothing**.")
    return "\n\n".join(parts)


def _trial(trial: Trial, tunings: Sequence[Trial], view: RunView) -> str:
    """Three lines about one trial, and what tuning gained."""
    request, proposal = trial.request, trial.proposal
    of = f" of {' and '.join(map(str, request.parents))}" if request.parents else ""
    expected = f" Expected: {times_text(proposal.expected)}." if proposal.expected is not None else ""
    note = _line(proposal.note) or ("as it was given" if request.candidate is not None else "none was given")
    lines = [
        f"### Trial {trial.number}: {request.operator.value.replace('_', ' ')}{of}, by {_line(proposal.author)}",
        "",
        f"- Hypothesis: {note}{'' if note.endswith('.') else '.'}{expected}",
        *([f"- Of the diagnosis that it was given: {_line(proposal.diagnosis)}"] if proposal.diagnosis else []),
        f"- Result: {_result(trial, view)}",
    ]
    if tunings:
        lines.append(f"- Tuning: {_tuned(trial, tunings, view)}")
    lines.append(f"- Lesson: {_lesson(trial, view)}")
    return "\n".join(lines)


def _result(trial: Trial, view: RunView) -> str:
    """The result of a trial, compared with its parent."""
    if trial.score_us is None or trial.evaluation is None:
        reason = trial.evaluation.reason if trial.evaluation is not None else trial.proposal.error or ""
        return f"{outcome(trial).replace('_', ' ')}: {_line(reason)}" if reason else outcome(trial).replace("_", " ")
    text = time_text(trial.score_us, view.timing_kind)
    known = [view.by_number.get(number) for number in dict.fromkeys(trial.request.parents)]
    parents = [one for one in known if one is not None and one.score_us is not None]
    parent = next(iter(ranked(parents)), None)
    if parent is None or parent.evaluation is None or parent.score_us is None:
        return f"{text}."
    if trial.evaluation.timing_kind == "estimate":
        return f"{text}."
    ratio = times_text(parent.score_us / trial.score_us)
    if beats(trial.evaluation, parent.evaluation):
        return f"{text}, {ratio} as fast as trial {parent.number}."
    sure = "slower than" if beats(parent.evaluation, trial.evaluation) else "not surely faster than"
    return f"{text}, {sure} trial {parent.number} ({ratio})."


def _lesson(trial: Trial, view: RunView) -> str:
    """What the proposer learned, with the checks; else what the search concluded."""
    for later in view.reflected_on.get(trial.number, ()):
        found = later.proposal.reflection
        assert found is not None
        checks = ", ".join(f"{_line(one.counter)} {one.direction} {CHECKED[one.holds]}" for one in found.claims)
        passed_on = "" if found.claims_hold else " Not passed on."
        by = _line(later.proposal.author)
        return f"{_line(found.lesson)} ({checks or 'no claim to check'}; by {by}.){passed_on}"
    children = view.children.get(trial.number, ())
    written = [one for one in children if one.request.operator not in (Operator.TUNE, Operator.REPAIR)]
    repairs = [one.number for one in children if one.request.operator is Operator.REPAIR]
    if written:
        return f"no lesson was asked for; it became the parent of {count_text(len(written), 'trial')}."
    if repairs:
        return f"it was repaired (trial {repairs[0]})."
    return "no lesson was asked for; no trial was made from it."


def _tuned(root: Trial, own: Sequence[Trial], view: RunView) -> str:
    best = next(iter(ranked(own)), None)
    tried = f"{count_text(len(own), 'config')} of trial {root.number}"
    if best is None:
        return f"{tried}, none passed."
    better = root.score_us is not None and best.score_us is not None and best.score_us < root.score_us
    return f"{tried}, best {_scored(best, view)}{'' if better else ', no better than as written'}."


def _end(view: RunView, gained: Sequence[Trial]) -> str:
    rounds = set(view.by_round) - {0}
    better = {trial.request.round for trial in gained} & rounds
    share = f"{len(better)} of {count_text(len(rounds), 'generation')} gained something." if rounds else ""
    verdict = "\n".join(_line(line) for line in verdict_text(view).splitlines())
    return f"## The end\n\n{verdict}\n\n{share}".rstrip()


def _scored(trial: Trial, view: RunView) -> str:
    assert trial.score_us is not None
    return f"{time_text(trial.score_us, view.timing_kind)} (trial {trial.number})"


def _line(text: str) -> str:
    """An author's text on one line, escaped: it cannot begin a heading, tag, link or picture of the log."""
    return " ".join(text.replace("<", "&lt;").replace("](", "]&#40;").split())
