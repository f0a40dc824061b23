"""Profiles with their diagnoses, as text for people and as one document."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from kernelwright.codec import plain
from kernelwright.diagnosis import diagnose, move
from kernelwright.diagnosis.format import COUNTERS, EVIDENCE, counter_rows, evidence_rows, longest, shown_counters
from kernelwright.model import (
    CaseInfo,
    Diagnosis,
    Environment,
    Finding,
    LaunchProfile,
    LibraryShare,
    Limit,
    ProblemInfo,
    Profile,
    Record,
    Timing,
    titled,
)
from kernelwright.report.evaluation import shares_text
from kernelwright.roofline import Point
from kernelwright.text.table import Grid, Section, grid_text, indented, table
from kernelwright.text.units import bytes_text, share_text, time_text

LAUNCHES_SHOWN = 6

MOVES_SHOWN = 3
"""One bottleneck and a few moves make useful advice; the JSON document has all."""

WIDTH = 110
"""Of a line of prose."""


class Profiled(Record, frozen=True, kw_only=True):
    """One implementation on one case: its time, its distance from the bound, its counters and their diagnosis."""

    name: str
    case: CaseInfo
    timing: Timing | None
    profile: Profile
    diagnosis: Diagnosis
    library: tuple[LibraryShare, ...] = ()
    """The library steps of a call, by operator."""

    @property
    def point(self) -> Point | None:
        """Its point in the roofline; None where it has no time."""
        if self.timing is None:
            return None
        return Point(name=self.name, case=self.case.case.name, bound=self.case.bound, time_us=self.timing.median_us,
                     kind=self.timing.kind)  # fmt: skip


def profiled(
    name: str,
    info: CaseInfo,
    timing: Timing | None,
    profile: Profile,
    environment: Environment,
    library: tuple[LibraryShare, ...] = (),
) -> Profiled:
    found = diagnose(info, timing, profile, environment.peaks)
    return Profiled(name=name, case=info, timing=timing, profile=profile, diagnosis=found, library=library)


def profiled_text(one: Profiled, full: bool = False) -> str:
    """Bound, gap, bottleneck with its evidence, moves, counters."""
    bottleneck = one.diagnosis.bottleneck
    case = titled(one.case.case.name, one.case.case.dtype)
    parts = [f"{one.name}, case {case}", indented(gap_text(one)), finding_text(bottleneck)]
    if one.diagnosis.alternatives:
        parts.append("next:\n" + "\n".join(f"  {a.limit.value}: {a.summary}" for a in one.diagnosis.alternatives))
    if bottleneck.moves:
        parts.append("moves:\n" + "\n".join(indented(move_text(name)) for name in bottleneck.moves[:MOVES_SHOWN]))
    shown = one.profile.launches if full else longest(one.profile.launches, LAUNCHES_SHOWN)
    parts += [launch_text(launch, full) for launch in shown]
    if len(shown) < len(one.profile.launches):
        parts.append(f"and {len(one.profile.launches) - len(shown)} shorter launches (--full shows them)")
    return "\n\n".join(parts)


def gap_text(one: Profiled) -> str:
    bound, point = one.case.bound, one.point
    by = f"{bytes_text(bound.bytes)}" if bound.bound_by == "bytes" else f"{bound.flop / 1e9:.3g} GFLOP"
    lines = [f"bound     {time_text(bound.bound_us, 'measured')}, set by {by} (peaks: {bound.peaks})"]
    if point is not None and one.timing is not None:
        call = f", a call {time_text(one.timing.call_us, 'measured')}" if one.timing.call_us is not None else ""
        lines.insert(0, f"time      {time_text(point.time_us, point.kind)}{call}")
        if point.share is not None:
            lines.append(f"gap       {point.gap:.2f} times the bound: {share_text(point.share)} of it")
        if point.flop_per_byte is not None:
            lines.append(f"intensity {point.flop_per_byte:.3g} FLOP/byte")
    lines += [f"library   {shares_text(one.library)}"] if one.library else []
    tool = f"{one.profile.tool}: {one.profile.method}" if one.profile.tool else one.profile.method
    lines.append(f"counters  {tool}")
    lines += [f"          not {name}: {why}" for name, why in one.profile.not_used.items()]
    return "\n".join(lines)


def finding_text(finding: Finding) -> str:
    where = f" in {finding.kernel}" if finding.kernel else ""
    lines = [f"bottleneck: {finding.limit.value}{where}", f"  {finding.summary}"]
    if finding.at_stake_us is not None and finding.limit is not Limit.NONE:
        lines.append(f"  at stake: up to {time_text(finding.at_stake_us, 'measured')}")
    if finding.evidence:
        lines.append(indented(grid_text(evidence_grid(finding))))
    return "\n".join(lines)


def finding_section(found: Diagnosis) -> Section:
    """The bottleneck of one case in words, and its evidence."""
    one = found.bottleneck
    where = f" in {one.kernel}" if one.kernel else ""
    limit = "" if one.limit is Limit.NONE else f"{one.limit.value.replace('_', ' ').capitalize()}{where}. "
    counters = f"counters by {found.counters}" if found.counters else "no counter of a GPU was read"
    notes = [f"{limit}{one.summary} ({found.case}; {counters})"]
    if one.at_stake_us is not None and one.limit is not Limit.NONE:
        notes.append(f"At stake: up to {time_text(one.at_stake_us, 'measured')}.")
    return Section("finding", "What holds it back", evidence_grid(one), tuple(notes))


def evidence_grid(finding: Finding) -> Grid:
    return Grid(EVIDENCE, tuple(evidence_rows(finding)), frozenset({"read by", "implies"}))


def move_text(name: str) -> str:
    one = move(name)
    said = [f"{one.name}: {one.what}", f"  when: {one.when}", f"  not when: {one.when_not}"]
    wrapped = [textwrap.fill(line, WIDTH, subsequent_indent="    ") for line in said]
    return "\n".join([*wrapped, indented(one.sketch, "      ")])


def launch_text(launch: LaunchProfile, full: bool) -> str:
    shown = launch.counters if full else shown_counters(launch)
    grid = "×".join(map(str, launch.grid))
    where = f", {grid} blocks of {launch.block[0]} threads" if launch.grid and launch.block else ""
    counters = table(COUNTERS, counter_rows(shown), ("read by",))
    return f"{launch.kernel}{where}\n" + indented(counters)


def document(
    problem: ProblemInfo, environment: Environment, rows: Sequence[Profiled], failure: str | None
) -> dict[str, Any]:
    """What `profile --json` prints. failure: how the candidate failed."""
    head = {
        "schema_version": 1,
        "problem": problem.name,
        "dtype": problem.dtype,
        "library": problem.library,
        "environment": environment,
    }
    return {**head, "profiles": [row(one) for one in rows], "failure": failure}


def row(one: Profiled) -> dict[str, Any]:
    point = one.point
    return {
        "name": one.name,
        "case": one.case.case.name,
        "held_out": one.case.case.held_out,
        "bound": plain(one.case.bound),
        "timing": one.timing,
        "gap": point.gap if point is not None and point.kind == "measured" else None,
        "fraction_of_bound": point.share if point is not None else None,
        "flop_per_byte": point.flop_per_byte if point is not None else None,
        "diagnosis": plain(one.diagnosis),
        "profile": plain(one.profile),
        "library": plain(one.library),
    }
