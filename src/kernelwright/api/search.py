"""The functions of the Python API that search: `optimize`, `optimize_all` for several problems, and `tune`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Unpack

from kernelwright.api import notebook
from kernelwright.api.keywords import Tuning, desk_of, loading_of, log, takes
from kernelwright.api.results import SearchedAll, Tuned
from kernelwright.api.run import Run, open_run
from kernelwright.api.verbs import AnyPath, text_of
from kernelwright.jobs import optimize as optimize_job
from kernelwright.jobs import series as series_job
from kernelwright.jobs import tune as tune_job
from kernelwright.jobs.settings import DEFAULTS
from kernelwright.jobs.worker import Desk, Display, Notify, StartWorker, local_worker
from kernelwright.model import OptimizeOptions, SeriesOptions
from kernelwright.problems import problems_named
from kernelwright.tune import Settings


@takes(OptimizeOptions, {})
def optimize(
    problem: AnyPath,
    *,
    max_autotune: bool = False,
    start_worker: StartWorker = local_worker,
    notify: Notify = log,
    **options: Unpack[OptimizeOptions],
) -> Run:
    """Search for a faster kernel, confirm the best, and write the run's folder.

    The options are those of the command `optimize` and of docs/settings.md; None means the default. No settings file is
    read. gpus: GPUs of this machine: "all", a number or UUIDs. workers: workers on other machines, such as
    ["ssh:HOST*4"]. Both replace `start_worker`. option, proposer_option: options of the strategy and of the proposer,
    by name. out: the run's folder, new. max_autotune: also time this mode of torch.compile next to the best kernel
    (slow). notify: called with one line per event; without it, a notebook shows a table. An interrupt ends the search
    in order. Raises `ProblemError`, `RequestError` and `ConfigError` for the request, `MachineError` if torch or Triton
    is missing, `ProviderError` if the model gives no answers.
    """
    desk = Desk(notify, start_worker, display=_display(notify))
    found = optimize_job.optimize(os.fspath(problem), desk=desk, max_autotune=max_autotune, **options)
    return open_run(found.folder)


@takes(SeriesOptions, {})
def optimize_all(
    problems: AnyPath | Sequence[AnyPath],
    *,
    max_autotune: bool = False,
    start_worker: StartWorker = local_worker,
    notify: Notify = log,
    **options: Unpack[SeriesOptions],
) -> SearchedAll:
    """Search several problems under one budget: the next round goes to the problem with the largest expected gain.

    problems: a folder of problems, or a sequence of files, folders, names in the gallery and `Problem`s. The options
    are those of `optimize`, for every run; limits apply to all runs together. out: a new folder for the table and one
    run per problem; None: a folder in ./runs. A problem that cannot be judged, or where nothing can be won, becomes a
    line with the reason. Raises the errors of `optimize` for the options and the machine.
    """
    named = [problems] if isinstance(problems, str | os.PathLike) else problems
    desk = Desk(notify, start_worker, display=_display(notify))
    found = series_job.optimize_series(
        problems_named([os.fspath(one) for one in named]), desk=desk, max_autotune=max_autotune, **options
    )
    return SearchedAll(**vars(found))


def _display(notify: Notify) -> Display | None:
    """The table of a notebook; None outside a notebook, or if the caller passes `notify`."""
    return notebook.show if notify is log and notebook.is_notebook() else None


@takes(Tuning)
def tune(
    problem: AnyPath,
    candidate: AnyPath | None = None,
    *,
    space: AnyPath | None = None,
    cases: Sequence[str] = (),
    out: AnyPath | None = None,
    **options: Unpack[Tuning],
) -> Tuned:
    """Search the configs of one candidate, and write the result into a folder.

    candidate: a Python file; None: the problem's starter. space: a file that states the space; None: the tunables of
    the source. cases: names of the cases to score, () for all timed ones. out: the folder; None: a new one in ./tuned.
    library, which: as for `verify`. gpus, workers: as for `optimize`. in_flight: largest number of configs that are
    evaluated at once; None: four on each lane. Without a GPU times are estimates. Raises `RequestError` and
    `ConfigError` for the request, `ProblemError` for the problem.
    """
    desk, lanes = desk_of(options).on_lanes(options.get("gpus"), options.get("workers"))
    settings = Settings(
        sampler=options["sampler"], trials=options.get("trials"), minutes=options.get("minutes"), seed=options["seed"],
        in_flight=options.get("in_flight") or DEFAULTS.in_flight * lanes,
    )  # fmt: skip
    found = tune_job.tune(
        os.fspath(problem), text_of(candidate), settings, loading=loading_of(options, cases), space=text_of(space),
        out=text_of(out), desk=desk,
    )  # fmt: skip
    assert found.outcome is not None  # an outcome is missing only while a tuning waits for an advisor's answer
    return Tuned(found.folder, found.outcome)
