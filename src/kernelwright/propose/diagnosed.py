"""The diagnosis section of a prompt: the bottleneck of a kernel with its evidence, the counters, and the moves against
it.

Pure; the rules are in `kernelwright.diagnosis`. The prompt names one bottleneck and few moves, because a model that
gets a list of problems fixes none of them. It also says where the evidence comes from, and that the model may disagree.
"""

from __future__ import annotations

from kernelwright.diagnosis import diagnoses, fitting, move, traits
from kernelwright.diagnosis.format import COUNTERS, EVIDENCE, counter_rows, evidence_rows, longest, shown_counters
from kernelwright.diagnosis.moves import Move
from kernelwright.model import Diagnosis, Limit, Profile, Trial
from kernelwright.propose.protocol import Context
from kernelwright.text.markdown import fenced, table

LAUNCHES = 3
"""Maximum launches whose counters are shown; the longest ones take most of a call's time."""

MOST_MOVES = 3
"""Maximum moves in a prompt: a writer who gets a list of ideas works none of them out."""

FAVOURED = "Take the first of these whose condition holds in this kernel:"
NOT_FAVOURED = "No figure favours one of these, so let the source decide:"


def furthest(trial: Trial, context: Context) -> Diagnosis | None:
    """The diagnosis of the timed case that is furthest from its bound; None where the trial was not timed."""
    if trial.evaluation is None:
        return None
    profiles = context.profiles.get(trial.number, ())
    found = diagnoses(trial.evaluation, profiles, context.problem, context.environment.peaks)
    return found[0] if found else None


def diagnosis(trial: Trial, context: Context) -> str:
    """The bottleneck with its evidence, and up to two alternatives."""
    found = furthest(trial, context)
    if found is None:
        return "Nothing is known: it was not timed."
    share = f", {100 * found.share:.0f} % of its bound" if found.share is not None else ""
    where = f" in `{found.bottleneck.kernel}`" if found.bottleneck.kernel else ""
    parts = [
        f"**{words(found.bottleneck.limit)}**{where} (case {found.case}{share}). {found.bottleneck.summary}",
        table(EVIDENCE, rows) if (rows := evidence_rows(found.bottleneck)) else "",
    ]
    if found.alternatives:
        parts.append("If not that: " + " ".join(f"{words(a.limit)}: {a.summary}" for a in found.alternatives[:2]))
    parts.append(source(found))
    return "\n\n".join(part for part in parts if part)


def words(limit: Limit) -> str:
    return limit.value.replace("_", " ")


def source(found: Diagnosis) -> str:
    if found.counters is not None:
        seen = f"Rules read this off the clock and the counters of {found.counters}."
    else:
        seen = "Rules read this off times, compiler figures and machine code; no counter of a GPU was read."
    return f"{seen} Check it against the source; where you see it otherwise, say so in the line `Diagnosis:`."


def counters(trial: Trial, context: Context) -> str:
    """The counters of the profiled call's longest launches; "" where the trial was not profiled."""
    profiles = context.profiles.get(trial.number, ())
    if not profiles:
        return ""
    return "\n\n".join(launches(profile) for profile in profiles)


def launches(profile: Profile) -> str:
    parts = [f"Case {profile.case}: {profile.method}." if profile.method else f"Case {profile.case}."]
    for launch in longest(profile.launches, LAUNCHES):
        grid = f", {' × '.join(map(str, launch.grid))} blocks" if launch.grid else ""
        rows = counter_rows(shown_counters(launch))
        parts.append(f"`{launch.kernel}`{grid}:\n\n" + table(COUNTERS, rows))
    if len(profile.launches) > LAUNCHES:
        parts.append(f"And {len(profile.launches) - LAUNCHES} shorter launches.")
    return "\n\n".join(parts)


def moves(trial: Trial, context: Context) -> str:
    """At most `MOST_MOVES` moves that fit the problem: the favoured ones in full; where no figure favours one, a line
    for each."""
    place = fitting(traits(context.problem, context.environment.target))
    found = furthest(trial, context)
    limits = (found.bottleneck, *found.alternatives) if found is not None and found.bottleneck.moves else ()
    names = dict.fromkeys(name for one in limits for name in one.moves)
    favoured = [one for name in names if (one := move(name)) in place]
    if not favoured:
        return f"{NOT_FAVOURED}\n\n" + "\n".join(map(line, place[:MOST_MOVES]))
    return "\n\n".join([FAVOURED, *map(in_full, favoured[:MOST_MOVES])])


def in_full(one: Move) -> str:
    return f"- **{one.name}.** {one.what} When: {one.when} Not when: {one.when_not}\n\n{fenced(one.sketch)}"


def line(one: Move) -> str:
    return f"- {one.name}: {one.what}"
