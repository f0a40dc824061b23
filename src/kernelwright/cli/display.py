"""Draws progress on standard error: a table that is updated in place on a terminal, else one line per event."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, TextIO, cast

from rich.console import Console
from rich.live import Live

from kernelwright.cli.output import dropped, note
from kernelwright.jobs.display import lines_to, table
from kernelwright.journal import Event, RunState
from kernelwright.model import RunInfo
from kernelwright.report.progress import Progress

DRAWS_PER_S = 4


def wants_live(is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether to update a display in place. NO_COLOR: see no-color.org; set and not empty means plain text."""
    return is_terminal and not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"


def show(info: RunInfo, state: RunState) -> AbstractContextManager[Callable[[Event], None]]:
    """Show the progress of a session, as a job's `Display`."""
    if wants_live(sys.stderr.isatty(), os.environ):
        return _live(Progress(info, state))
    return lines_to(note)(info, state)


class Droppable:
    """A stream for standard error that drops text which cannot be written: a terminal may be closed during a search."""

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
    live = Live(
        console=Console(file=cast(TextIO, Droppable(sys.stderr))),
        refresh_per_second=DRAWS_PER_S,
        transient=True,
        get_renderable=lambda: table(progress, datetime.now().astimezone()),
    )
    with live:
        yield lambda event: None
