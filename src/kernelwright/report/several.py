"""The table of a search over several problems: one row per problem, and totals for each library mode, those of kernels
for the captured sizes apart.

A ratio compares the confirmed kernel with PyTorch's fastest (eager, compile, max-autotune where it was measured).
Without a GPU there is no ratio. Figures of different library modes are never averaged together.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import quote

from kernelwright.model import BenchReport, LibraryMode
from kernelwright.report.cost import run_usage
from kernelwright.report.files import PAGE
from kernelwright.report.framework import Against, against_of
from kernelwright.report.page.html import rendered
from kernelwright.report.runs import state_text
from kernelwright.report.state import SOLVED, State, state_of
from kernelwright.report.verdict import verdict_text
from kernelwright.report.view import RunView, share_of_bound
from kernelwright.stats import geometric_mean
from kernelwright.text.table import Grid, grid_text
from kernelwright.text.units import count_text, duration_text, range_text, share_text, time_text, times_text

TABLE = "table.txt"
TABLE_PAGE = "table.html"
"""Files in the folder of the runs."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

HEADER = (
    "problem", "library", "state", "time", "best of PyTorch", "ratio", "95 % interval", "fast_1", "fast_1.5",
    "of the bound", "trials", "at work", "USD", "reason",
)  # fmt: skip
LEFT = frozenset({"library", "state", "best of PyTorch", "reason"})

CAPTION = (
    "ratio: to the fastest of eager, torch.compile and, where it was measured, its max-autotune mode. fast_1 and "
    "fast_1.5: the whole interval lies above 1 and 1.5; as a share, of all problems that were searched in the mode. "
    "Problems that were left, refused or not judged count in no mode."
)
NO_DEVICE = "No GPU took part: times are estimates, which order variants of one kernel, and nothing is confirmed."


@dataclass(frozen=True)
class Line:
    """The row of one problem. library: None where it was not loaded. reason: why there is no result, or none yet."""

    name: str
    state: State
    library: LibraryMode | None = None
    time_us: float | None = None
    kind: Literal["measured", "estimate"] | None = None
    against: Against | None = None
    share: float | None = None
    trials: int = 0
    seconds: float = 0.0
    usd: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Total:
    """All problems that were searched in one library mode, those with kernels for the captured sizes only apart.
    share, ratio: geometric means over those that have one."""

    library: LibraryMode
    captured: bool
    problems: int
    solved: int
    fast_1: int
    fast_1_5: int
    measured: int
    ratio: float | None
    share: float | None


def line_of(name: str, view: RunView, report: BenchReport | None, reason: str = "") -> Line:
    """The row of a run. report: the framework's own beside the run's best, None where that was not measured. reason:
    why the run cannot go on, "" where it can."""
    evaluation = view.figure(view.best)
    state = state_of(view)
    if not reason and state in (State.NO_KERNEL, State.SEARCHING):
        reason = verdict_text(view).partition("\n")[0] if state is State.NO_KERNEL else state_text(view)
    return Line(
        name=name,
        state=state,
        library=view.info.problem.library,
        time_us=evaluation.score_us if evaluation is not None else None,
        kind=view.timing_kind,
        against=against_of(report) if report is not None else None,
        share=share_of_bound(evaluation, view.info.problem.cases) if evaluation is not None else None,
        trials=len(view.trials),
        seconds=view.at_work_s,
        usd=run_usage(view).cost_usd,
        reason=reason,
    )


def totals(lines: Sequence[Line]) -> list[Total]:
    """For each library mode in which a problem was searched, and for each with kernels for the captured sizes only."""
    found = []
    for library, captured in itertools.product(get_args(LibraryMode), (False, True)):
        alike = [line for line in lines if line.library == library and (line.state is State.CAPTURED) is captured]
        against = [line.against for line in alike if line.against is not None]
        shares = [line.share for line in alike if line.share]
        if alike:
            found.append(
                Total(
                    library=library,
                    captured=captured,
                    problems=len(alike),
                    solved=sum(line.state in SOLVED for line in alike),
                    fast_1=sum(one.passes(1) for one in against),
                    fast_1_5=sum(one.passes(1.5) for one in against),
                    measured=len(against),
                    ratio=geometric_mean([one.ratio for one in against]) if against else None,
                    share=geometric_mean(shares) if shares else None,
                )
            )
    return found


def several_text(lines: Sequence[Line], has_device: bool | None) -> str:
    """The table, what it comes to, and what its columns mean. has_device: None where nothing was loaded yet."""
    sums = [f"  {total_text(total)}" for total in totals(lines)]
    parts = [grid_text(grid_of(lines)), "\n".join([tally_text(lines), *sums])]
    return "\n\n".join([*parts, NO_DEVICE if has_device is False else CAPTION])


def grid_of(lines: Sequence[Line]) -> Grid:
    """A row a problem, as text; no column that is empty in all of them."""
    return Grid(HEADER, tuple(cells_of(line) for line in lines), LEFT).filled()


def cells_of(line: Line) -> tuple[str, ...]:
    against = line.against
    timed = ("-", "-", "-", "-", "-")
    if against is not None:
        framework = f"{against.framework} {time_text(against.framework_us, None)}"
        fast = ("yes" if against.passes(1) else "no", "yes" if against.passes(1.5) else "no")
        timed = (framework, times_text(against.ratio), range_text(against.ci95), *fast)
    return (
        line.name,
        line.library or "-",
        line.state,
        "-" if line.time_us is None else time_text(line.time_us, line.kind),
        *timed,
        share_text(line.share),
        str(line.trials),
        duration_text(line.seconds) if line.trials else "-",
        "-" if line.usd is None else f"{line.usd:.2f}",
        " ".join(line.reason.split()),
    )


def tally_text(lines: Sequence[Line]) -> str:
    """ "3 problems: 2 solved, 1 left"."""
    counts = {state: sum(line.state == state for line in lines) for state in State}
    words = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"{count_text(len(lines), 'problem')}: {words}"


def total_text(total: Total) -> str:
    """The figures of one library mode in a sentence."""
    parts = [f"{total.solved} of {total.problems} have a kernel that passed every check here"]
    if total.ratio is not None:
        parts.append(f"fast_1 {share_text(total.fast_1 / total.problems)}")
        parts.append(f"fast_1.5 {share_text(total.fast_1_5 / total.problems)}")
        parts.append(f"{times_text(total.ratio)} as fast as the best of PyTorch (mean over {total.measured})")
    if total.share is not None:
        parts.append(f"{share_text(total.share)} of the bound (mean)")
    return f"library {total.library}{f', {State.CAPTURED}' if total.captured else ''}: {'; '.join(parts)}"


def several_page(title: str, lines: Sequence[Line], pages: Collection[str], has_device: bool | None) -> str:
    """The page. pages: names of the problems whose run has a page in the folder of that name."""
    return rendered(
        "several.html.j2",
        title=title,
        tally=tally_text(lines),
        totals=[total_text(total) for total in totals(lines)],
        table=grid_of(lines),
        links={name: f"{quote(name)}/{PAGE}" for name in pages},
        caption=NO_DEVICE if has_device is False else CAPTION,
        policy=POLICY,
    )
