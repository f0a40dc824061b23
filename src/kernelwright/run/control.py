"""Pausing and stopping a run from another process: a file in the run folder to pause, a signal to stop."""

from __future__ import annotations

import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from kernelwright.errors import RunFolderError
from kernelwright.folders import remove_file, write_file
from kernelwright.interruption import STOP
from kernelwright.journal import is_elsewhere, writer

PAUSED = "paused"

LOOK_S = 0.2
"""Interval at which a paused run checks whether the pause is over, and a waiting run checks for a signal."""


def is_paused(folder: Path) -> bool:
    """Whether the run in `folder` is paused or will be after the trials under way."""
    return (folder / PAUSED).exists()


def pause(folder: Path) -> None:
    """Pause the run in `folder`. Raises `RunFolderError` where no search is running there."""
    at_work(folder)
    write_file(folder, PAUSED, f"The run is paused while this file exists: kernelwright resume {folder}\n")


def resume(folder: Path) -> None:
    """End the pause, if there is one."""
    remove_file(folder, PAUSED)


def at_work(folder: Path) -> int:
    """The id of the process that writes the run in `folder`. Raises `RunFolderError` where there is none."""
    process = writer(folder)
    if process is None:
        raise RunFolderError(
            f"no search is at work in {folder}", f"begin or go on: kernelwright optimize --resume {folder}"
        )
    return process


def stop(folder: Path) -> None:
    """Ask the running process to end in order, as with Ctrl-C. Raises `RunFolderError` where it cannot be signalled."""
    process = at_work(folder)
    if is_elsewhere(folder):
        raise RunFolderError(
            f"process {process}, which writes {folder}, is on another host or in another container", "stop it there"
        )
    try:
        os.kill(process, STOP)
    except (ProcessLookupError, PermissionError) as error:
        raise RunFolderError(
            f"process {process}, which writes {folder}, cannot be signalled from here: {error.strerror}",
            "stop it on its own machine, as its own user",
        ) from error


def first_done(under_way: list[Future[Any]], most_s: float | None) -> set[Future[Any]]:
    """The futures of `under_way` that are done, as soon as at least one is, or after `most_s` (None: no limit).

    It blocks for at most LOOK_S at a time: Python handles a signal that arrives just before the main thread blocks only
    when that thread runs again.
    """
    end_s = None if most_s is None else time.monotonic() + most_s
    while True:
        left_s = LOOK_S if end_s is None else min(LOOK_S, max(end_s - time.monotonic(), 0.0))
        done, _ = wait(under_way, left_s, FIRST_COMPLETED)
        if done or not under_way or (end_s is not None and time.monotonic() >= end_s):
            return done
