"""Begins or resumes a search over several problems under one budget.

result = optimize_series(["softmax", "rmsnorm"], minutes=30, desk=Desk(print))
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from kernelwright.errors import ProblemError, RequestError, RunFolderError
from kernelwright.folders import fresh_folder, refuse_links
from kernelwright.jobs.consent import path_wish, path_wishes, settle, typed_words, wishes_of, worker_wishes
from kernelwright.jobs.runs import on_lanes
from kernelwright.jobs.series_search import SeriesResult, SeriesSearch
from kernelwright.jobs.series_state import Series, SeriesProblem, fresh_names, is_series, read_series, write_series
from kernelwright.jobs.settings import (
    DEFAULTS,
    LIMITS,
    NO_FILE,
    NO_LIMITS,
    NO_OPTIONS,
    SettingsFile,
    merge,
    read_options,
    settings_from,
)
from kernelwright.jobs.whole_model import weight_of
from kernelwright.jobs.worker import Desk
from kernelwright.journal import NAME
from kernelwright.model import Budget, RunOptions
from kernelwright.problems import find_problem
from kernelwright.report.state import State

ROUNDS = 4
"""Rounds of a problem that the default trials of one run are divided into. A round also starts a worker and confirms
the best, which takes about as long as a few trials."""

ONE_RUN = ("starter", "control")
"""Options that fit one problem only."""


def optimize_series(
    problems: Sequence[str | Path],
    *,
    max_autotune: bool = False,
    settings: SettingsFile = NO_FILE,
    desk: Desk,
    **options: Any,
) -> SeriesResult:
    """Search all `problems` until the budget is spent or no gain is expected.

    problems: as for `optimize`, in the order of their first rounds. max_autotune: measure torch.compile's max-autotune
    mode beside each best kernel, too. options: fields of `RunOptions`, for every run; limits are those of all runs
    together, `out` is the folder of the runs. A problem's fault is in its row. Raises `RequestError` and `ConfigError`
    for the request, `MachineError` where torch or Triton is missing, `ProviderError` where a model gives no answers.
    """
    if not problems:
        raise RequestError("no problem is named", "name files, folders or problems of the gallery")
    given = read_options(options)
    paths = [str(Path(one).resolve()) if Path(one).exists() else str(one) for one in problems]
    merged = merge(msgspec.structs.replace(given, problem=paths[0]), settings.options)
    for name in ONE_RUN:
        if getattr(merged, name) is not None:
            raise RequestError(f"--{name} fits one problem, and {len(paths)} are named", "leave it out")
    consent(paths, given, merged, settings, desk)
    desk, merged = on_lanes(desk, merged)
    given = msgspec.structs.replace(given, gpus=None, workers=None)
    names = fresh_names([stem_of(place) for place in paths])
    trials = settings_from(msgspec.structs.replace(merged, **dict.fromkeys(LIMITS))).budget.trials or DEFAULTS.trials
    series = Series(
        problems=tuple(
            SeriesProblem(name=name, problem=place, weight=weight_of(place))
            for name, place in zip(names, paths, strict=True)
        ),
        options=msgspec.structs.replace(merged, problem=None, out=None, **dict.fromkeys(LIMITS)),
        budget=merged.limits if merged.limits != NO_LIMITS else Budget(trials=trials * len(paths)),
        round_trials=max(trials // ROUNDS, 1),
        max_autotune=max_autotune,
    )
    folder = new_folder(merged.out)
    write_series(folder, series)
    return SeriesSearch(folder, series, given, replace(desk, target=given.target)).run()


def resume_series(
    folder: str | Path, limits: Budget = NO_LIMITS, *, agreed: RunOptions = NO_OPTIONS, desk: Desk
) -> SeriesResult:
    """Go on with the search over several problems in `folder`; a problem that failed before is tried again.

    limits: in place of the recorded ones, where given. agreed: options given again to consent to them, and the lanes of
    this session. Raises `RunFolderError` if there is no such search, and the errors of `optimize_series`.
    """
    path = Path(folder)
    if path.is_dir():
        refuse_links(path)
    desk, agreed = on_lanes(desk, agreed)
    series = read_series(path)
    left = {name: one for name, one in series.ended.items() if one.state is State.LEFT}
    series = msgspec.structs.replace(series, budget=series.budget.replaced_by(limits), ended=left)
    write_series(path, series)
    return SeriesSearch(path, series, agreed, desk).run()


def consent(places: Sequence[str], given: RunOptions, merged: RunOptions, settings: SettingsFile, desk: Desk) -> None:
    """Get consent for what the settings file asks for, and remember the problems that were named, so that resuming runs
    no others."""
    near = (settings.path.resolve().parent, Path.cwd())
    file = msgspec.structs.replace(settings.options, problem=None)
    wishes = [*wishes_of(settings_from(merged)), *path_wishes(file, merged), *worker_wishes(merged.workers)]
    settle(wishes, typed_words(given), str(settings.path), desk, near)
    named = [path_wish("", place, "run the problem") for place in places]
    settle(named, {words for wish in named for words in wish.parts}, "the command", desk)


def stem_of(place: str) -> str:
    """What the run of a problem is called."""
    with contextlib.suppress(ProblemError):
        return find_problem(place).name
    return Path(place).stem or "problem"


def new_folder(out: str | None) -> Path:
    """A new folder for the runs; None: below ./runs. Raises `RunFolderError` where `out` holds a search already."""
    if out is None:
        return fresh_folder(Path("runs"), f"several-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}")
    folder = Path(out)
    if is_series(folder) or (folder / NAME).exists():
        raise RunFolderError(f"{out} already holds a search", f"go on with it: --resume {out}, or name another")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
