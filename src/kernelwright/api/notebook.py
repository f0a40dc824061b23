"""Progress display in a notebook: a table below the cell that is updated with every event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module

from rich.console import Console
from rich.table import Table

from kernelwright.jobs.display import table
from kernelwright.journal import Event, RunState
from kernelwright.model import RunInfo
from kernelwright.report.progress import Progress


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook (Jupyter or similar)."""
    return Console().is_jupyter


@contextmanager
def show(info: RunInfo, state: RunState) -> Iterator[Callable[[Event], None]]:
    """Show the progress of a session, as a job's `Display`. It needs IPython, so it works only in a notebook."""
    progress = Progress(info, state)

    def shown() -> Table:
        return table(progress, datetime.now().astimezone())

    output = import_module("IPython.display").display(shown(), display_id=True)

    yield lambda event: output.update(shown())
