"""Surprises and lessons: which trials were surprises, which counters moved, and whether a lesson's claims hold. Pure.

Proposers ask for lessons. A lesson is used only with claims about counters, each checked against the figures of both
trials. A lesson whose claims cannot be checked, or are false, is stored but not shown to later requests.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from kernelwright.model import Claim, Operator, Profile, Reflection, Trial
from kernelwright.search.ranking import beats
from kernelwright.text.markdown import shortened

WORSE = 1.05
"""A change is a surprise from this ratio of its time to its parent's time on. A smaller ratio is within the difference
of two separate timings."""
BETTER = 1.5
"""A gain is a surprise from this multiple of the expected gain on."""
STILL = 0.02
"""A counter that moved by less than this fraction counts as unchanged."""
LESSON_CHARACTERS = 300
MOST_CLAIMS = 20
"""Maximum number of claims that are checked per reply."""

Direction = Literal["up", "down", "same"]
CLAIM = re.compile(
    r"^[ \t>*-]*claim:\**\s*`?([\w.]+)`?\s+(?:went |goes |is |stayed |stays )?(up|down|same)\b", re.I | re.M
)
LESSON = re.compile(r"^[ \t>*-]*lesson:\**\s*(.+)$", re.I | re.M)


def surprising(trials: Sequence[Trial]) -> list[Trial]:
    """The surprising trials without a reflection, by number."""
    by_number = {trial.number: trial for trial in trials}
    done = {trial.proposal.reflection.trial for trial in trials if trial.proposal.reflection is not None}
    return [
        trial
        for trial in trials
        if trial.number not in done and (before := parent_of(trial, by_number)) is not None and surprise(before, trial)
    ]


def parent_of(trial: Trial, by_number: Mapping[int, Trial]) -> Trial | None:
    """The trial that a trial was made from; for a repair, the parent of its failed version."""
    parents = trial.request.parents[1:] if trial.request.operator is Operator.REPAIR else trial.request.parents
    return by_number.get(parents[0]) if parents else None


def surprise(before: Trial, after: Trial) -> str:
    """The surprise in words; "" where there was none.

    Only times count, and only where both were measured. Tunings are excluded, because they predict
    nothing, and failures, because repairs deal with them.
    """
    old, new = before.evaluation, after.evaluation
    if after.request.operator is Operator.TUNE or old is None or new is None:
        return ""
    if old.score_us is None or new.score_us is None or "estimate" in (old.timing_kind, new.timing_kind):
        return ""
    gain, expected = old.score_us / new.score_us, after.proposal.expected
    promised = f"{expected:.2f}× as fast" if expected is not None else "a gain"
    if gain * WORSE <= 1 and beats(old, new):
        return f"{promised} was expected, and it is {1 / gain:.2f}× as slow"
    if gain >= BETTER * max(expected or 1.0, 1.0) and beats(new, old):
        return f"{promised} was expected, and it is {gain:.2f}× as fast"
    return ""


def counters(trial: Trial, profiles: Sequence[Profile] = ()) -> dict[str, float]:
    """The counters of a trial by name: resources of its compiled kernels (the largest of each, the smallest occupancy),
    and a profiler's counters (bytes, times and instructions summed over the launches, others of the longest launch)."""
    found: dict[str, float] = {}
    kernels = trial.evaluation.kernels if trial.evaluation is not None else ()
    if kernels:
        found["kernels"] = len(kernels)
        for name in ("registers", "spill_bytes", "shared_bytes", "num_warps", "num_stages"):
            found[name] = max(getattr(kernel, name) for kernel in kernels)
        found["occupancy"] = min(kernel.occupancy for kernel in kernels)
    for profile in profiles[:1]:
        main = profile.main
        for counter in main.counters if main is not None else ():
            if counter.unit in ("bytes", "us", "instructions"):
                values = [launch.value(counter.name) for launch in profile.launches]
                found[counter.name] = math.fsum(value for value in values if value is not None)
            else:
                found[counter.name] = counter.value
    return found


def counters_of(
    trial: Trial, trials: Sequence[Trial], profiles: Mapping[int, Sequence[Profile]]
) -> tuple[dict[str, float], dict[str, float]]:
    """The counters of the parent and of the trial; empty where there is no known parent. A profiler's counters are
    included only where both were profiled on the same case."""
    before = parent_of(trial, {one.number: one for one in trials})
    seen = {one.case: one for one in profiles.get(trial.number, ())}
    earlier = [one for one in profiles.get(before.number, ()) if one.case in seen] if before is not None else []
    later = [seen[one.case] for one in earlier]
    return counters(before, earlier) if before is not None else {}, counters(trial, later)


def direction(before: float, after: float) -> Direction:
    if abs(after - before) <= STILL * max(abs(before), abs(after)):
        return "same"
    return "up" if after > before else "down"


def moved(before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    """The counters that differ, such as "registers 40 → 64"."""
    return [
        f"{name} {before[name]:.4g} → {after[name]:.4g}"
        for name in before
        if name in after and direction(before[name], after[name]) != "same"
    ]


def reflection_in(text: str, trial: int, before: Mapping[str, float], after: Mapping[str, float]) -> Reflection | None:
    """The reflection in a reply, with its claims checked; None where it has no line "Lesson: …"."""
    lesson = LESSON.search(text)
    if lesson is None:
        return None
    claims = []
    for name, word in CLAIM.findall(text)[:MOST_CLAIMS]:
        said: Direction = "up" if word.lower() == "up" else "down" if word.lower() == "down" else "same"
        known = name in before and name in after
        claims.append(
            Claim(counter=name, direction=said, holds=direction(before[name], after[name]) == said if known else None)
        )
    return Reflection(trial=trial, lesson=shortened(lesson[1], LESSON_CHARACTERS), claims=tuple(claims))
