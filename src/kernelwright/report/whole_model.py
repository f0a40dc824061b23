"""What a model's time goes into, and what could be won of it: arithmetic on a survey, and its text.

A time without a GPU is an estimate: the bound over the share of it that PyTorch usually reaches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, get_args

from kernelwright import roofline
from kernelwright.model import Environment, ModelSurvey, Part, PartKind
from kernelwright.roofline import LAUNCH_US, SLOW_LIBRARY
from kernelwright.search.schedule import NEAR, RESOLUTION
from kernelwright.text.table import table
from kernelwright.text.units import Kind, count_text, label, number_text, share_text, times_text, unit_for

REACHED_BY_REGIONS, REACHED_BY_LIBRARY = 0.64, 0.59
"""The share of its bound that a kernel of `torch.compile` and a library call reach: medians over the nine models of
docs/whole-model.md, measured on an H200 with torch 2.11."""

SHOWN = 0.005
"""Smallest share of the model's time of a part that is shown, and of a region that is written as a problem."""


class Row(NamedTuple):
    """A part with its times in one call of the model. least_us: at its bound, launches included."""

    part: Part
    title: str
    places: float
    bound_us: float
    least_us: float
    time_us: float


class Table(NamedTuple):
    """rows: the longest first. total_us: of one call of the fastest baseline as a CUDA graph, called_us: as called;
    without a GPU the sum of the estimates."""

    rows: list[Row]
    total_us: float
    called_us: float
    kind: Kind
    baseline: str = ""

    @property
    def regions(self) -> list[Row]:
        return [row for row in self.rows if row.part.kind == "region"]

    @property
    def shown(self) -> list[Row]:
        return [row for row in self.rows if self.share(row) >= SHOWN]

    def share(self, *rows: Row) -> float:
        return sum(row.time_us for row in rows) / self.total_us

    def gain(self, rows: Iterable[Row], share: float = 1.0) -> float:
        """How many times faster the model would be if these parts reached a share of their bounds."""
        saved = sum(max(0.0, row.time_us - row.least_us - row.bound_us * (1 / share - 1)) for row in rows)
        return self.total_us / (self.total_us - min(saved, 0.999 * self.total_us))

    def weights(self) -> dict[str, float]:
        """The regions that become problems, by name, with their shares of the time: the weights of a search."""
        return {one.part.name: round(self.share(one), 6) for one in self.shown if one.part.text is not None}


def table_of(survey: ModelSurvey, environment: Environment) -> Table:
    rows = sorted((_row(part, environment) for part in survey.parts), key=lambda row: -row.time_us)
    total = sum(row.time_us for row in rows)
    times: dict[str, tuple[float, float]] = {}
    for one in survey.baselines:
        share, (graph_us, called_us) = survey.sets[one.inputs], times.get(one.name, (0.0, 0.0))
        times[one.name] = graph_us + share * (one.graph_us or one.called_us), called_us + share * one.called_us
    best = min(times, key=lambda name: times[name], default="")
    return Table(rows, *times[best], "measured", best) if best else Table(rows, total, total, "estimate")


def _row(part: Part, environment: Environment) -> Row:
    reached = REACHED_BY_REGIONS if part.kind == "region" else REACHED_BY_LIBRARY
    bound_us = time_us = 0.0
    for case in part.cases:
        work, peaks = case.work, (environment.peaks, environment.peaks_source)
        least_us = roofline.bound(work.bytes, work.written_bytes, work.flop, *peaks).bound_us
        bound_us += case.places * least_us
        time_us += case.places * (least_us / reached + LAUNCH_US if case.time_us is None else case.time_us)
    places = sum(case.places for case in part.cases)
    title = part.name if part.kind == "region" else f"{part.kind}: {part.name}"
    title += " (backward)" * part.is_backward
    return Row(part, title, places, bound_us, min(bound_us + places * LAUNCH_US, time_us), time_us)


def times_of_model_text(survey: ModelSurvey, found: Table, where: str) -> str:
    """The table. where: it was measured, or is estimated for."""
    unit, share = unit_for(row.time_us for row in found.rows[:1]), found.share
    sets = ", ".join(f"{name} {share_text(part)}" for name, part in survey.sets.items())
    what = "forward and backward" if survey.is_trained else "forward"
    classes = {kind: [row for row in found.rows if row.part.kind == kind] for kind in get_args(PartKind)}
    by_class = [f"{kind} {share_text(share(*several))}" for kind, several in classes.items() if several]
    header = ("part", "module", "places", label(unit, found.kind), "of the time", "of the bound", "gain at the bound",
              "at 90 % of it")  # fmt: skip
    rows = [
        [row.title, row.part.module, f"{row.places:g}", number_text(row.time_us, unit), share_text(share(row)),
         share_text(row.least_us / row.time_us), times_text(found.gain([row])), times_text(found.gain([row], NEAR))]
        for row in found.shown
    ]  # fmt: skip
    parts = [
        f"{survey.name}: {what}, {count_text(survey.graphs, 'graph')}, inputs: {sets}; {where}",
        f"time by class: {', '.join(by_class)}",
        table(header, rows, left=("module",)), baseline_text(survey, found),
    ]  # fmt: skip
    return "\n\n".join(filter(None, parts))


def outcome_text(found: Table, checks: Mapping[str, str], folder: str) -> str:
    """What was written, and the answer as the last line. checks: why a written problem does not qualify, by name; ""
    where it does."""
    good = sum(not why for why in checks.values())
    notes = [f"{good} of {len(checks)} problems in {folder} qualify"] if checks else []
    notes += [f"  {name}: {why}" for name, why in checks.items() if why]
    notes += [f"  {row.title} is no problem: {row.part.refused}" for row in found.shown if row.part.refused]
    for row in found.shown:
        notes += [f"{row.title}: {one}" for one in dict.fromkeys(case.work.remark for case in row.part.cases) if one]
        if found.kind == "measured" and row.part.kind != "region" and row.least_us < SLOW_LIBRARY * row.time_us:
            notes.append(f"{row.title}: PyTorch's call reaches {share_text(row.least_us / row.time_us)} of its bound")
    return "\n\n".join(filter(None, ["\n".join(notes), answer(found, checks, folder)]))


def baseline_text(survey: ModelSurvey, found: Table) -> str:
    """The baselines, and the time of a call in which the GPU waits for Python, with what to do about it."""
    if found.kind == "estimate":
        return ""
    unit = unit_for(one.graph_us or one.called_us for one in survey.baselines)
    rows = []
    for one in survey.baselines:
        ends = " to ".join(number_text(end, unit) for end in one.graph_ci95 or ()) or one.reason
        rows.append([one.name, one.inputs, number_text(one.called_us, unit), number_text(one.graph_us, unit), ends])
    idle_us = max(0.0, found.called_us - found.total_us)
    rows.append(["idle", "all", number_text(idle_us, unit), "-", share_text(idle_us / found.called_us)])
    header = ("baseline", "inputs", f"as called, {unit.name}", "as a CUDA graph", "95 % interval")
    text = table(header, rows, left=("inputs", "95 % interval"))
    times = times_text(found.called_us / found.total_us)
    advice = f'idle: torch.compile(mode="reduce-overhead") replays CUDA graphs, for up to {times} the speed'
    return f"{text}\n{advice}" if idle_us > RESOLUTION * found.called_us else text


def answer(found: Table, checks: Mapping[str, str], folder: str) -> str:
    """The last line: what could be won at most, and what to do."""
    usable = [row for row in found.regions if checks.get(row.part.name) == ""]
    at_most = f"what could be won: at most {found.gain(found.regions):.2f} times {found.baseline or 'the estimate'}"
    if found.gain(found.regions) < 1 + RESOLUTION:
        return f"{at_most}; nothing to search for"
    if not usable:
        return f"{at_most}, but no problem qualifies, so nothing can be searched"
    near = f"{found.gain(usable, NEAR):.2f} with its {count_text(len(usable), 'problem')} at 90 % of their bounds"
    return f"{at_most}, {near}: kernelwright optimize {folder}"
