"""The picture of a search: every trial's time in the order asked, the best so far, the starter and the bound.

A trial that did not pass has no time, so it is a mark on the axis. The table is in `report.convergence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelwright.report.framework import against_framework
from kernelwright.report.plots import drawing
from kernelwright.report.view import RunView
from kernelwright.stats import geometric_mean
from kernelwright.text.units import unit_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOG_FROM = 3.0
"""Slowest over fastest from which times are drawn on a logarithmic axis."""


@dataclass(frozen=True)
class Search:
    """Times in µs by trial number, each trial in one group. best_so_far: (trial, time) at every trial that led."""

    starter: dict[int, float]
    parents: dict[int, float]
    best: dict[int, float]
    others: dict[int, float]
    failed: list[int]
    best_so_far: list[tuple[int, float]]
    bound_us: float | None
    framework_us: float | None
    """Of the framework's fastest, where it was measured beside the best."""
    last: int

    @property
    def times_us(self) -> list[float]:
        groups = (self.starter, self.parents, self.best, self.others)
        return [time for group in groups for time in group.values()]


def search_of(view: RunView) -> Search:
    """The search's own scores; what was confirmed differs a little and is in the report."""
    scores = {trial.number: trial.score_us for trial in view.trials if trial.score_us is not None}
    leader, seed = view.shown, view.seed
    line = view.lineage(leader)
    starter = [seed.number] if seed is not None else []
    best = [leader.number] if leader is not None and leader is not seed else []
    parents = [number for number in line if number not in (*starter, *best)]
    chosen = {*starter, *best, *parents}
    best_so_far: list[tuple[int, float]] = []
    for number, score_us in sorted(scores.items()):
        if not best_so_far or score_us < best_so_far[-1][1]:
            best_so_far.append((number, score_us))
    bounds_us = [info.bound.bound_us for info in view.info.problem.cases if info.case.timed]
    return Search(
        starter={number: scores[number] for number in starter if number in scores},
        parents={number: scores[number] for number in parents if number in scores},
        best={number: scores[number] for number in best if number in scores},
        others={number: score for number, score in scores.items() if number not in chosen},
        failed=[trial.number for trial in view.trials if trial.score_us is None],
        best_so_far=best_so_far,
        bound_us=geometric_mean(bounds_us) if bounds_us and min(bounds_us) > 0 else None,
        framework_us=against.framework_us if (against := against_framework(view)) is not None else None,
        last=max((trial.number for trial in view.trials), default=0),
    )


def draw(view: RunView) -> Figure | None:
    """None while nothing was measured: an estimate makes no picture."""
    from matplotlib.ticker import MaxNLocator

    found = search_of(view)
    if view.timing_kind != "measured":
        return None
    unit = unit_for(found.times_us)
    figure, plot = drawing.axes()
    scale = 1 / unit.us
    trials, times = zip(*[*found.best_so_far, (found.last + 0.5, found.best_so_far[-1][1])], strict=True)
    plot.step(trials, [time * scale for time in times], where="post", color=drawing.BEST, linewidth=1.4, alpha=0.55,
              label="best so far")  # fmt: skip
    for group, colour, name, marker, size in (
        (found.others, drawing.OTHER, "trial", "o", 26),
        (found.parents, drawing.PARENT, "parents", "o", 46),
        (found.starter, drawing.STARTER, view.seed_name, "D", 46),
        (found.best, drawing.BEST, "best" if view.best is not None else "leader, unconfirmed", "o", 80),
    ):
        if group:
            plot.scatter(list(group), [time * scale for time in group.values()], s=size, color=colour, marker=marker,
                         label=name, zorder=3, linewidths=0, clip_on=False, urls=drawing.urls_of(group))  # fmt: skip
    if found.bound_us is not None:
        plot.axhline(found.bound_us * scale, color=drawing.BOUND, linewidth=1.2, linestyle=(0, (4, 3)), label="bound")
    if found.framework_us is not None:
        plot.axhline(found.framework_us * scale, color=drawing.FRAMEWORK, linewidth=1.2, linestyle=(0, (1, 2)),
                     label="PyTorch")  # fmt: skip
    if found.failed:
        plot.scatter(found.failed, [0.03] * len(found.failed), s=22, color=drawing.OTHER, marker="x", linewidths=1.1,
                     transform=plot.get_xaxis_transform(), label="failed", zorder=3,
                     clip_on=False, urls=drawing.urls_of(found.failed))  # fmt: skip
    low = min([*found.times_us, found.bound_us or found.times_us[0], found.framework_us or found.times_us[0]])
    high = max([*found.times_us, found.framework_us or found.times_us[0]])
    if high / low >= LOG_FROM:
        plot.set_yscale("log")
        _plain_ticks(plot)
        plot.set_ylim(low * scale / 1.25, high * scale * 1.25)
    else:
        plot.set_ylim(low * scale * 0.95 if found.bound_us else 0, high * scale * 1.05)
    plot.set_xlim(-0.5, found.last + 0.5)
    plot.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    plot.set_xlabel("trial")
    plot.set_ylabel(f"time ({unit.name})")
    drawing.legend_above(plot)
    return figure


def _plain_ticks(plot: object) -> None:
    """Times as people write them: 20, 50, 100 rather than powers of ten."""
    from matplotlib.axes import Axes
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    assert isinstance(plot, Axes)
    plot.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    plot.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    plot.yaxis.set_minor_formatter(NullFormatter())
