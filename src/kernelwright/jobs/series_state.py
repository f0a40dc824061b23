"""State of a search over several problems: one small file, and what the runs' own journals say.

The file names the problems, the options and the budget. Rounds, times and costs are read from the journals, so a search
that was killed goes on from what these hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kernelwright import __version__, codec
from kernelwright.errors import RunFolderError
from kernelwright.folders import read_file, write_file
from kernelwright.journal import NAME, EventKind, Journal, RunState, SessionEnd
from kernelwright.model import Budget, ProblemInfo, Record, RunOptions, RunSettings
from kernelwright.report.state import State
from kernelwright.report.view import UNFINISHED
from kernelwright.run.confirm import known_best
from kernelwright.run.spending import spent
from kernelwright.search.schedule import Curve, Round
from kernelwright.stats import geometric_mean

FILE = "series.json"

SCHEMA_VERSION = 1


class SeriesProblem(Record, frozen=True, kw_only=True):
    """name: of the run's folder. problem: where its files are. weight: as in `Curve`."""

    name: str
    problem: str
    weight: float = 1.0


class Ended(Record, frozen=True, kw_only=True):
    """Why a problem has no search."""

    state: State
    reason: str


class Series(Record, frozen=True, kw_only=True):
    """The content of the file.

    options: of every run, without problem, folder and limits. budget: of all runs together. round_trials: the most
    trials of a round. ended: by name, the problems that were not searched; all but those that were left are tried
    again when the search is resumed. at_work_s: of all sessions, loading and measuring included.
    """

    schema_version: int = SCHEMA_VERSION
    kernelwright: str = __version__
    problems: tuple[SeriesProblem, ...]
    options: RunOptions
    budget: Budget
    round_trials: int
    max_autotune: bool = False
    ended: dict[str, Ended] = msgspec.field(default_factory=dict)
    at_work_s: float = 0.0


def read_series(folder: Path) -> Series:
    """Raises `RunFolderError` where `folder` holds no search over several problems, or one of another version."""
    content = read_file(folder, FILE)
    if content is None:
        raise RunFolderError(f"no search over several problems in {folder}", "name the folder that --out named")
    try:
        series = codec.decode(content, Series)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise RunFolderError(f"{folder / FILE} cannot be read: {error}", "restore the file") from error
    bad = [one.name for one in series.problems if one.name != Path(one.name).name or one.name in ("", ".", "..")]
    if bad or series.schema_version != SCHEMA_VERSION:
        what = f"names the folder {bad[0]!r}" if bad else f"has version {series.schema_version}"
        raise RunFolderError(f"{folder / FILE} {what}", f"this kernelwright reads version {SCHEMA_VERSION}")
    return series


def write_series(folder: Path, series: Series) -> None:
    write_file(folder, FILE, codec.encode(series), durable=True)


def is_series(folder: Path) -> bool:
    """Whether `folder` holds a search over several problems."""
    return (folder / FILE).is_file()


@dataclass(frozen=True)
class RunProgress:
    """What a run's journal says of its rounds. spent: by name of the limit, of all its sessions. reason: how its last
    session ended; None where it did not, or none began."""

    curve: Curve = field(default_factory=Curve)
    spent: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None


def read_progress(folder: Path) -> RunProgress:
    """The progress of the run in `folder`; an empty one if no run began there. Raises `RunFolderError` for a journal
    that is damaged."""
    if not (folder / NAME).exists():
        return RunProgress()
    with Journal.open(folder) as journal:
        return progress_of(journal)


def progress_of(journal: Journal) -> RunProgress:
    """A session that was interrupted belongs to the round that the next one ends; one without a trial is no round."""
    state, rounds, before = RunState(), list[Round](), dict[str, float]()
    for event in journal.history():
        state.take(event)
        payload = event.payload
        if event.kind is not EventKind.STOPPED or not isinstance(payload, SessionEnd) or payload.reason in UNFINISHED:
            continue
        now = spent_by(state, journal.info.settings)
        if now["trials"] > before.get("trials", 0.0):
            last_us = rounds[-1].best_us if rounds else None
            amounts = {name: amount - before.get(name, 0.0) for name, amount in now.items()}
            best = known_best(state.trials(), state.confirmations)  # None where an error prevented a confirmation
            rounds.append(Round(best.best_us if best is not None else last_us, amounts))
            before = now
    reason = state.sessions[-1].reason if state.sessions else None
    return RunProgress(
        Curve(tuple(rounds), bound_us(journal.info.problem)), spent_by(state, journal.info.settings), reason
    )


def spent_by(state: RunState, settings: RunSettings) -> dict[str, float]:
    """Spending of a run so far, by name of the limit."""
    return spent(state, sum(session.seconds for session in state.sessions), settings)


def bound_us(problem: ProblemInfo) -> float:
    """Geometric mean of the timed cases' bounds in µs; 0 if a case has none."""
    bounds = [info.bound.bound_us for info in problem.cases if info.case.timed]
    return geometric_mean(bounds) if bounds and all(one > 0 for one in bounds) else 0.0


def fresh_names(stems: list[str]) -> Iterator[str]:
    """Names of folders, with a number appended to one that is taken."""
    taken = set[str]()
    for stem in stems:
        name, number = stem, 2
        while name in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name)
        yield name
