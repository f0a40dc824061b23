"""Progress display of a session: by a display that its caller brings, or as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from rich.table import Table
from rich.text import Text

from kernelwright.jobs.worker import Display, Notify
from kernelwright.journal import Event, RunState
from kernelwright.model import RunInfo
from kernelwright.report.progress import Progress


def lines_to(notify: Notify) -> Display:
    """A display that calls `notify` with one line per event."""

    @contextmanager
    def display(info: RunInfo, state: RunState) -> Iterator[Callable[[Event], None]]:
        progress = Progress(info, state)

        def show(event: Event) -> None:
            if (line := progress.line(event)) is not None:
                notify(line)

        yield show

    return display


def table(progress: Progress, now: datetime) -> Table:
    """Progress as a table of two columns, for a terminal or a notebook. now: with a time zone."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in progress.rows(now):
        grid.add_row(label, Text(text))
    return grid
