"""Where progress is drawn: a display that renews itself on a terminal, else one line per event. Always on standard
error.

Not what it says (`progress`). The rule: with NO_COLOR, a dumb terminal or none at all there is only plain text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO, cast

from kernelwright.cli.output import dropped, note
from kernelwright.journal import Event
from kernelwright.report.progress import Progress

if TYPE_CHECKING:
    from rich.table import Table

DRAWS_PER_S = 4


def wants_live(is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether a display that renews itself is welcome. NO_COLOR: see no-color.org; set and not empty means plain."""
    return is_terminal and not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"


@contextmanager
def shown(progress: Progress) -> Iterator[Callable[[Event], None]]:
    """Draw `progress` while the block runs; yields what is to be called with each event."""
    if wants_live(sys.stderr.isatty(), os.environ):
        with _live(progress) as on_event:
            yield on_event
    else:
        yield lambda event: _log(progress.take(event))


def _log(line: str | None) -> None:
    if line is not None:
        note(line)


class Droppable:
    """Standard error, on which what cannot be written is dropped: a terminal may be closed during a search."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with dropped():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with dropped():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _live(progress: Progress) -> Iterator[Callable[[Event], None]]:
    from rich.console import Console
    from rich.live import Live

    live = Live(
        console=Console(file=cast(TextIO, Droppable(sys.stderr))),
        refresh_per_second=DRAWS_PER_S,
        transient=True,
        get_renderable=lambda: _table(progress, datetime.now().astimezone()),
    )
    with live:

        def on_event(event: Event) -> None:
            progress.take(event)

        yield on_event


def _table(progress: Progress, now: datetime) -> Table:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in progress.rows(now):
        grid.add_row(label, Text(text))
    return grid
