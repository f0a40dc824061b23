"""The runs in a folder, one line each. A run that cannot be read is listed with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.errors import RunFolderError
from kernelwright.journal import NAME, Journal, writer
from kernelwright.report.view import RunView, read_run
from kernelwright.run import is_paused
from kernelwright.text.table import table
from kernelwright.text.units import count_text, time_text


@dataclass(frozen=True)
class RunLine:
    """best: of the confirmed best, or of the leader. library: the steps that candidates might hold. state: in words."""

    run: str
    problem: str = "-"
    created: str = "-"
    search: str = "-"
    library: str = "-"
    trials: int = 0
    best: str = "-"
    state: str = ""


def run_lines(home: Path) -> list[RunLine]:
    """A line for each run in a folder, also for one that cannot be read."""
    lines = []
    for path in sorted(home.glob(f"*/{NAME}")):
        try:
            with Journal.open(path.parent) as journal:
                lines.append(run_line(read_run(journal)))
        except RunFolderError as error:
            lines.append(RunLine(run=path.parent.name, state=f"unreadable: {error}"))
    return lines


def run_line(view: RunView) -> RunLine:
    """The line of one run."""
    settings = view.info.settings
    evaluation = view.figure(view.shown)
    best = "-"
    if evaluation is not None and evaluation.score_us is not None:
        best = time_text(evaluation.score_us, view.timing_kind)
    return RunLine(
        run=view.folder.name,
        problem=view.info.problem.title,
        created=view.info.created[:16].replace("T", " "),
        search=f"{settings.strategy}/{settings.proposer}",
        library=view.info.problem.library,
        trials=len(view.trials),
        best=best,
        state=state_text(view),
    )


def state_text(view: RunView) -> str:
    """The state of a run: confirmed, at work, waiting, stopped (and why), or cut off."""
    if not view.sessions:
        return "not begun"
    parts = [view.sessions[-1].reason or ""]
    if not parts[0]:  # the journal does not have its end
        parts = [
            "cut off: resume it" if writer(view.folder) is None else "pausing" if is_paused(view.folder) else "at work"
        ]
    if view.best is not None:
        parts.insert(
            0,
            "no improvement"
            if view.best is view.seed
            else "confirmed"
            if view.timing_kind == "measured"
            else "verified, not measured",
        )
    if view.open_requests:
        parts.append(f"{count_text(len(view.open_requests), 'request')} open")
    return "; ".join(parts)


def runs_text(lines: Sequence[RunLine]) -> str:
    """The table."""
    header = ["run", "problem", "created", "search", "library", "trials", "best", "state"]
    rows = [
        [line.run, line.problem, line.created, line.search, line.library, str(line.trials), line.best, line.state]
        for line in lines
    ]
    return table(header, rows, left=("problem", "created", "search", "library", "state"))
