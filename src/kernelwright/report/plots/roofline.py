"""The roofline: what implementations reach on every case, under what the device allows. Of a run: starter, parents and
best.

FLOP per second over FLOP per byte (Williams, Waterman, Patterson, CACM 52(4), 2009) where every case states its FLOP;
else bytes per second over bytes moved, the same roof for memory. Bytes and FLOP are those that the work needs, not
those that a kernel spent, so kernels of one case are drawn above one another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kernelwright.model import Bound, Trial
from kernelwright.report.plots import drawing
from kernelwright.report.view import RunView
from kernelwright.roofline import Point, points, ridge_flop_per_byte, roof_flop_per_s
from kernelwright.text.units import share_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {
    "eager": (drawing.OTHER, "o", 46),
    "compile": (drawing.PARENT, "o", 46),
    "starter": (drawing.STARTER, "D", 46),
    "parents": (drawing.PARENT, "o", 46),
}
"""Colour, marker and size of a group; any other is what the picture is about, and drawn as the best."""

NAMED_CASES = 3
"""With more cases than this their names would cover one another; the report's table has them all."""

EDGE = 0.15
"""Share of the axis near either end where a name would leave the picture if it stood in the middle under its point."""

ROOM, ROOM_EXPONENT = 2.2, 0.18
"""How far below the lowest point the axis begins, for the name under it: as a ratio, and as a power of the range of the
axis where that is more."""

FEW_TICKS = 20.0
"""Range below which powers of ten alone would leave an axis all but bare."""


def groups_of(view: RunView) -> dict[str, tuple[Point, ...]]:
    """Points of starter, parents and best, in that order; those that were not timed are not there."""
    leader, seed = view.shown, view.seed
    line = [view.by_number[number] for number in view.lineage(leader)]
    between = [trial for trial in line if trial not in (seed, leader)]
    found = {
        "starter": _points([seed], view),
        "parents": _points(between, view),
        "best" if view.best is not None else "leader, unconfirmed": _points([leader], view)
        if leader is not seed
        else (),
    }
    return {name: group for name, group in found.items() if group}


def draw(view: RunView) -> Figure | None:
    """None where nothing was measured: an estimate makes no picture."""
    groups = groups_of(view)
    return draw_groups(groups) if groups and view.timing_kind == "measured" else None


def draw_groups(groups: Mapping[str, Sequence[Point]], one_case: bool = False) -> Figure:
    """groups: by the name in the key, none of them empty; the last is the one whose shares are beside the cases.
    one_case: all points are of one case, so each key says its own share."""
    every = [point for group in groups.values() for point in group]
    figure, plot = drawing.axes()
    by_flop = all(point.flop_per_byte is not None for point in every)
    (_flop_roof if by_flop else _bytes_roof)(plot, [point.bound for point in every])
    for name, group in groups.items():
        colour, marker, size = STYLES.get(name, (drawing.BEST, "o", 80))
        places = [_place(point, by_flop) for point in group]
        plot.scatter([x for x, _ in places], [y for _, y in places], s=size, color=colour, marker=marker,
                     label=f"{name} {share_text(share)}" if one_case and (share := group[0].share) else name, zorder=3,
                     linewidths=0)  # fmt: skip
    plot.set_xscale("log")
    plot.set_yscale("log")
    _name_cases(plot, list(groups.values()), by_flop, with_share=not one_case)
    plot.set_xlabel("FLOP per byte that the work needs" if by_flop else "MB that the work must move")
    plot.set_ylabel(f"{'TFLOP/s' if by_flop else 'TB/s'} of useful work")
    _plain_axes(plot, every, by_flop)
    drawing.legend_above(plot)
    return figure


def _points(trials: Sequence[Trial | None], view: RunView) -> tuple[Point, ...]:
    """Of the timed cases: small ones show the cost of a launch, not how near a kernel is to the roof."""
    found: list[Point] = []
    timed = {info.case.name for info in view.info.problem.cases if info.case.timed}
    for trial in trials:
        evaluation = view.figure(trial)
        if trial is not None and evaluation is not None:
            results = [result for result in evaluation.results if result.case in timed]
            found += points(f"trial {trial.number}", results, view.info.problem)
    return tuple(found)


def _place(point: Point, by_flop: bool) -> tuple[float, float]:
    if by_flop:
        assert point.flop_per_byte is not None
        assert point.flop_per_s is not None
        return point.flop_per_byte, point.flop_per_s / 1e12
    return point.bound.bytes / 1e6, point.bytes_per_s / 1e12


def _flop_roof(plot: Axes, bounds: Sequence[Bound]) -> None:
    """One roof for each pair of peaks (a dtype has its own rate); none where a journal did not keep the peaks."""
    roofs = {(bound.bytes_per_s, bound.flop_per_s): bound for bound in bounds}.values()
    ridges = [ridge for bound in roofs if (ridge := ridge_flop_per_byte(bound)) is not None]
    at = [bound.flop / bound.bytes for bound in bounds]
    left, right = min([*at, *ridges]) / 4, max([*at, *ridges]) * 4
    for position, bound in enumerate(roofs):
        ridge = ridge_flop_per_byte(bound)
        if ridge is None:
            continue
        roof = [(x, (roof_flop_per_s(bound, x) or 0.0) / 1e12) for x in (left, ridge, right)]
        plot.plot([x for x, _ in roof], [y for _, y in roof], color=drawing.BOUND, linewidth=1.3,
                  label=None if position else "roof")  # fmt: skip
    plot.set_xlim(left, right)


def _bytes_roof(plot: Axes, bounds: Sequence[Bound]) -> None:
    """What each case could reach: its bytes in the time of its bound."""
    roof = sorted({(bound.bytes / 1e6, bound.bytes / bound.bound_us / 1e6) for bound in bounds})
    ends = [(roof[0][0] / 3, roof[0][1]), *roof, (roof[-1][0] * 3, roof[-1][1])]
    plot.plot([x for x, _ in ends], [y for _, y in ends], color=drawing.BOUND, linewidth=1.3, label="roof")
    plot.set_xlim(ends[0][0], ends[-1][0])


def _name_cases(plot: Axes, groups: Sequence[Sequence[Point]], by_flop: bool, with_share: bool) -> None:
    """Under the lowest point of each case, where nothing else is: its name, and the last group's share of the bound.
    Only where the cases are few enough."""
    if len(groups[-1]) > NAMED_CASES:
        return
    left, right = plot.get_xlim()
    for point in groups[-1]:
        x = _place(point, by_flop)[0]
        along = math.log(x / left) / math.log(right / left)
        lowest = min(_place(one, by_flop)[1] for group in groups for one in group if one.case == point.case)
        side = "left" if along < EDGE else "right" if along > 1 - EDGE else "center"
        text = f"{point.case}  {share_text(point.share)}" if with_share and point.share else point.case
        plot.annotate(text, (x, lowest), xytext=(0, -16), textcoords="offset points", fontsize=8.5,
                      color=drawing.INK, ha=side)  # fmt: skip


def _plain_axes(plot: Axes, every: Sequence[Point], by_flop: bool) -> None:
    """Numbers as people write them, and room for what is written beside the points and for all of the roof."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in (plot.xaxis, plot.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    rates = [_place(point, by_flop)[1] for point in every]
    tops = [point.gap * _place(point, by_flop)[1] for point in every]
    if by_flop:
        tops += [(roof_flop_per_s(point.bound, math.inf) or 0.0) / 1e12 for point in every]
    if max(tops) / min(rates) < FEW_TICKS:
        plot.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    left, right = plot.get_xlim()
    if right / left < FEW_TICKS:
        plot.xaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    room = max(ROOM, (max(tops) / min(rates)) ** ROOM_EXPONENT)
    plot.set_ylim(min(rates) / room, max(tops) * 1.8)
