"""Pausing and stopping a run from outside: a file in its folder that the loop looks for, and a signal to its process.

Nothing is lost either way. A paused run finishes what is under way and asks for nothing more until the file is gone; a
stopped one ends as with Ctrl-C, and `--resume` goes on with it.
"""

from __future__ import annotations

import os
from pathlib import Path

from kernelwright.errors import RunFolderError
from kernelwright.folders import remove_file, write_file
from kernelwright.interruption import STOP
from kernelwright.journal import writer

PAUSED = "paused"

LOOK_S = 0.2
"""How often a run that is paused looks whether it still is."""


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
