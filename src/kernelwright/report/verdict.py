"""The verdict of a run, with how certain it is: as one sentence and as a few lines.

A kernel that is not confirmed is never called a result, and an estimate never a measurement. `run.confirm` decides what
is confirmed.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.model import NEVER_EXERCISED, Evaluation, Status, Trial
from kernelwright.report.evaluation import (
    SECOND_LOOK,
    TF32,
    VERIFIED_ON,
    constant_texts,
    dead_text,
    derived_texts,
    library_texts,
    serves_texts,
    timing_texts,
    unqualified_text,
    unseen_texts,
)
from kernelwright.report.framework import against_framework, elsewhere_text, missing_texts, side_report, why_untimed
from kernelwright.report.trials import tally
from kernelwright.report.view import RunView, share_of_bound
from kernelwright.search.ranking import beats, forced_slowdowns
from kernelwright.text.markdown import shortened
from kernelwright.text.units import count_text, share_text, time_text, times_text


@dataclass(frozen=True)
class Verdict:
    """What was found. sentence: whole, for a page. lines: the same in a few lines, without what `remarks` adds."""

    sentence: str
    lines: tuple[str, ...]
    has_remarks: bool = True
    """Whether the remarks on the kernel that is shown belong below the lines."""


def found(view: RunView) -> Verdict:
    """The one of six cases that a run, at work or ended, is in."""
    best, seed, leader, name = view.best, view.seed, view.leader, view.info.problem.title
    if leader is None:
        failures = ", ".join(f"{count} {status}" for status, count in tally(view.trials).items())
        text = f"kernel passed ({failures or 'nothing was tried yet'})"
        return Verdict(f"No {text}.", (f"no {text}",), has_remarks=False)
    shown = best or leader
    evaluation = view.figure(shown)
    assert evaluation is not None
    figures = figures_text(evaluation, None if shown is seed else seed, view)
    gain = f"{name}: {figures}"
    if view.standing is None and leader is seed:
        nothing = f"nothing is better than the {view.seed_name}"
        return Verdict(f"So far {nothing}: {figures}.", (f"so far {nothing}", gain))
    if view.standing is None and evaluation.timing_kind == "estimate":
        sentence = f"Trial {leader.number} is first with {figures}; nothing was measured, so it is not a result."
        lines = (f"first: {gain}", f"trial {leader.number}: not measured, so not a result")
        return Verdict(sentence, lines, has_remarks=False)
    if view.standing is None:
        sentence = f"Trial {leader.number} leads with {figures}; it is not confirmed yet, so it is not a result."
        lines = (f"leading: {gain}", f"trial {leader.number}: not confirmed, so not a result")
        return Verdict(sentence, lines, has_remarks=False)
    if best is None:
        text = "kernel is confirmed: what passed in the search did not pass again"
        return Verdict(f"No {text}.", (f"no {text}",), has_remarks=False)
    if best is seed:
        tried = count_text(len(view.trials) - 1, "further trial")
        same = f"improvement: the {view.seed_name} is still the best"
        return Verdict(f"No {same}, at {figures}.", (f"no {same} after {tried}", gain))
    takes = "is estimated to take" if evaluation.timing_kind == "estimate" else "now takes"
    confirmed = confirmed_on(evaluation, view)
    by = f"trial {best.number} by {best.proposal.author}, {confirmed}"
    return Verdict(f"{name} {takes} {figures}, {confirmed}.", (gain, by))


def verdict_sentence(view: RunView) -> str:
    """The verdict of a run, at work or ended, in one sentence."""
    return found(view).sentence


def remarks(view: RunView) -> list[str]:
    """Remarks for the reader of the sentence: where it was verified, what does not count and why."""
    evaluation = view.figure(view.shown)
    if evaluation is None:
        return []
    lines = [VERIFIED_ON[evaluation.verified_on], *serves_texts(evaluation), *library_texts(evaluation)]
    if evaluation.unqualified:
        lines.append(unqualified_text(evaluation.unqualified))
    lines += derived_texts(evaluation.results, view.info.problem.cases) + unseen_texts(evaluation.results)
    lines += [*([dead_text(evaluation.dead)] if evaluation.dead else []), *constant_texts(evaluation.constant)]
    if (against := against_framework(view)) is not None and against.is_slower:
        lines.append(f"slower than PyTorch: {against.name} is the better choice")
    if against is not None and (asked := side_report(view)) is not None:
        lines += missing_texts(asked)
    if against is None and view.best is not None and evaluation.timing_kind == "measured":
        asked = side_report(view)
        why = "" if asked is None else f" ({why_untimed(asked)})"
        said = (
            "no ratio says how it compares" if view.best is view.seed else f"the ratio is to the {view.seed_name} alone"
        )
        lines.append(f"not timed beside PyTorch in this run{why}: {said}")
    lines += [TF32] if evaluation.precision == "tf32" else []
    if (elsewhere := elsewhere_text(view)) is not None:
        lines.append(elsewhere)
    lines += timing_texts(evaluation.results)
    if view.best is not None and view.best is view.seed:
        lines += _tie(view)
    return [*lines, *(refusal_text(trial, view) for trial in view.refused)]


def verdict_text(view: RunView) -> str:
    """What was found and how sure that is, in a few lines."""
    verdict = found(view)
    notes = remarks(view) if verdict.has_remarks else [refusal_text(trial, view) for trial in view.refused]
    return "\n".join([*verdict.lines, *notes])


def confirmed_on(confirmation: Evaluation, view: RunView) -> str:
    """What a confirmation covered; a held-out case that could not be judged here is not counted in."""
    what = SECOND_LOOK[confirmation.timing_kind].passed
    held_out = {info.case.name for info in view.info.problem.cases if info.case.held_out}
    judged = [result for result in confirmation.results if result.case in held_out]
    passed = sum(result.status is Status.PASSED for result in judged)
    never = [shortened(text, 200) for text in confirmation.unjudged if text.startswith(NEVER_EXERCISED)]
    more = f" and {len(never) - 1} more" if len(never) > 1 else ""
    but = f"; {never[0]}{more}" if never else ""
    if passed == len(held_out):
        return f"{what} on fresh inputs" + (" and every held-out case" if held_out else "") + but
    cases = count_text(len(held_out), "held-out case")
    return f"{what} on fresh inputs and {passed} of {cases} (the rest not here){but}"


def refusal_text(trial: Trial, view: RunView) -> str:
    """Why a trial that was better in the search does not count."""
    doubt, evaluation = view.confirmed[trial.number], trial.evaluation
    assert evaluation is not None
    assert evaluation.score_us is not None
    ended = f"ended as {doubt.status.value}"
    seed = view.seed.evaluation if view.seed is not None else None
    if seed is not None and beats(doubt, seed) and (reasons := forced_slowdowns(seed)):
        ended = f"is throttled: not confirmed, as the {view.seed_name} was timed under {', '.join(reasons)}"
    elif doubt.score_us is not None:
        ended = f"took {time_text(doubt.score_us, doubt.timing_kind)}, not surely less than the {view.seed_name}"
    reason = f": {doubt.reason}" if doubt.reason else ""
    score = time_text(evaluation.score_us, evaluation.timing_kind)
    return f"trial {trial.number} does not count: {score} in the search, but its confirmation {ended}{reason}"


def _tie(view: RunView) -> list[str]:
    leader = view.leader
    if leader is None or leader is view.best or leader in view.refused or leader.score_us is None:
        return []
    score = time_text(leader.score_us, view.timing_kind)
    return [
        f"trial {leader.number} took {score} in the search: a tie, as the intervals overlap, and ties change nothing"
    ]


def figures_text(evaluation: Evaluation, seed: Trial | None, view: RunView) -> str:
    """Time, ratio to the framework's fastest where it was measured, gain over `seed` where there is one, and share of
    the bound. An estimate has a time alone: it orders variants and is in no ratio to anything."""
    assert evaluation.score_us is not None
    kind = evaluation.timing_kind
    parts = [time_text(evaluation.score_us, kind)]
    if kind == "estimate":
        return parts[0]
    if (against := against_framework(view)) is not None:
        parts.append(against.text)
    if seed is not None and seed.score_us is not None:
        ratio = times_text(seed.score_us / evaluation.score_us)
        parts.append(f"{ratio} as fast as the {view.seed_name}'s {time_text(seed.score_us, kind)}")
    share = share_of_bound(evaluation, view.info.problem.cases)
    if share is not None:
        parts.append(f"{share_text(share)} of the bound")
    return ", ".join(parts)
