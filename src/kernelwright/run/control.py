"""Pausing and stopping a run from outside: a file in its folder that the loop looks for, and a signal to its process.

Nothing is lost either way. A paused run finishes what is under way and asks for nothing more until the file is gone; a
stopped one ends as with Ctrl-C, and `--resume` goes on with it.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from kernelwright.errors import RunFolderError
from kernelwright.folders import remove_file, write_file
from kernelwright.interruption import STOP
from kernelwright.journal import writer

PAUSED = "paused"

LOOK_S = 0.2
"""How often a run that is paused looks whether it still is, and one that waits looks for a signal."""


def is_paused(folder: Path) -> bool:
    """Whether the run in `folder` was asked to pause and not to go on since."""
    return (folder / PAUSED).exists()


def pause(folder: Path) -> None:
    """Raises `RunFolderError` where no search is at work."""
    at_work(folder)
    write_file(folder, PAUSED, f"Asks for nothing more while this file is here: kernelwright resume {folder}\n")


def resume(folder: Path) -> None:
    """Take the pause away, if there is one."""
    remove_file(folder, PAUSED)


def at_work(folder: Path) -> int:
    """The process that writes the run in `folder`. Raises `RunFolderError` where there is none."""
    process = writer(folder)
    if process is None:
        raise RunFolderError(
            f"no search is at work in {folder}", f"begin or go on: kernelwright optimize --resume {folder}"
        )
    return process


def stop(folder: Path) -> None:
    """Ask the process at work to end in order, as its Ctrl-C does."""
    process = at_work(folder)
    try:
        os.kill(process, STOP)
    except (ProcessLookupError, PermissionError) as error:
        raise RunFolderError(
            f"process {process}, which writes {folder}, cannot be signalled from here: {error.strerror}",
            "stop it on its own machine, as its own user",
        ) from error


def first_done(under_way: list[Future[Any]], most_s: float | None) -> set[Future[Any]]:
    """What has ended of `under_way`, as soon as something has, or after `most_s`; None: without a limit.

    A signal that comes just before the main thread blocks is acted on when that thread runs next, so this blocks for
    LOOK_S at a time.
    """
    end_s = None if most_s is None else time.monotonic() + most_s
    while True:
        left_s = LOOK_S if end_s is None else min(LOOK_S, max(end_s - time.monotonic(), 0.0))
        done, _ = wait(under_way, left_s, FIRST_COMPLETED)
        if done or not under_way or (end_s is not None and time.monotonic() >= end_s):
            return done
