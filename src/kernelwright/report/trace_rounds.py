"""Writes `RUN/trace/` round by round, during the search and at its end.

The content of the files is from `trace`. A round is written when it is over, and again at the end only if it changed.
"""

from __future__ import annotations

import os
from pathlib import Path

from kernelwright.folders import make_folder, remove_file, remove_folder, write_file
from kernelwright.report.trace import README, folder_of, readme, round_files
from kernelwright.report.view import RunView
from kernelwright.search.convergence import convergence

FOLDER = "trace"

Stamp = tuple[int, int, int]
"""The state of a round: its finished trials, their lessons, and their profiles, their parents' included."""


class TraceRounds:
    """The trace of one run in `home`/trace. What an earlier session wrote is written again once."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._written: dict[int, Stamp] = {}

    def write(self, view: RunView, round: int | None = None) -> None:
        """Write one round; None: all that changed since they were written, the README, and remove whatever else lies in
        the folder. view: of one round, its trials and those before it that they name. Raises `RunFolderError`."""
        make_folder(self._home, FOLDER)
        for row in convergence(view.trials):
            stamp = stamp_of(view, row.round)
            if round not in (None, row.round) or self._written.get(row.round) == stamp:
                continue
            folder = f"{FOLDER}/{folder_of(row.round)}"
            self._clear(folder)
            for name, text in round_files(view, row).items():
                write_file(self._home, f"{folder}/{name}", text)
            self._written[row.round] = stamp
        if round is None:
            write_file(self._home, f"{FOLDER}/{README}", readme(view))
            expected = {README, *(folder_of(number) for number in view.by_round)}
            for name in {entry.name for entry in os.scandir(self._home / FOLDER)} - expected:
                self._clear(f"{FOLDER}/{name}")

    def _clear(self, name: str) -> None:
        path = self._home / name
        if path.is_dir() and not path.is_symlink():
            remove_folder(self._home, name)
        else:
            remove_file(self._home, name)


def stamp_of(view: RunView, round: int) -> Stamp:
    trials = view.by_round[round]
    concerned = {trial.number for trial in trials} | {number for one in trials for number in one.request.parents}
    return (
        len(trials),
        sum(len(view.reflected_on.get(trial.number, ())) for trial in trials),
        sum(number in view.profiles for number in concerned),
    )
