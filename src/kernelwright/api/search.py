"""The verbs that search, as functions: `optimize` for kernels, of one problem or of all in a folder, and `tune`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal

from kernelwright.api import notebook
from kernelwright.api.results import SearchedAll, Tuned
from kernelwright.api.run import Run, open_run
from kernelwright.api.verbs import AnyPath, log, text_of
from kernelwright.jobs import optimize as optimize_job
from kernelwright.jobs import series as series_job
from kernelwright.jobs import tune as tune_job
from kernelwright.jobs.display import Display
from kernelwright.jobs.settings import DEFAULTS
from kernelwright.jobs.worker import PLACES, Notify, StartWorker, local_worker
from kernelwright.model import LibraryMode, Scalar, WhichCases
from kernelwright.problems.lists import problems_named
from kernelwright.tune import Settings


def optimize(
    problem: AnyPath,
    *,
    starter: AnyPath | None = None,
    trials: int | None = None,
    minutes: float | None = None,
    tokens: int | None = None,
    usd: float | None = None,
    gpu_seconds: float | None = None,
    strategy: str | None = None,
    option: Mapping[str, Scalar] | None = None,
    proposer: str | None = None,
    proposer_option: Mapping[str, Scalar] | None = None,
    model: str | None = None,
    base_url: str | None = None,
    seed: int | None = None,
    in_flight: int | None = None,
    thinking: int | None = None,
    dtype: str | None = None,
    cases: Literal["stated", "derived"] | None = None,
    control: Literal["random"] | None = None,
    lessons: AnyPath | None = None,
    unqualified: bool | None = None,
    no_source: bool | None = None,
    known: AnyPath | None = None,
    no_known: bool | None = None,
    no_cache: bool | None = None,
    library: LibraryMode | None = None,
    out: AnyPath | None = None,
    target: str | None = None,
    gpus: str | int | None = None,
    workers: Sequence[str] | None = None,
    max_autotune: bool = False,
    start_worker: StartWorker = local_worker,
    notify: Notify = log,
) -> Run:
    """Search for a faster kernel, confirm the best, and write the run's folder.

    The options are those of the command `optimize` and of docs/settings.md; None is their default, and no settings file
    is read. gpus: "all", a number or UUIDs, of this machine; workers: places elsewhere, such as ["ssh:HOST*4"]; they
    take the place of `start_worker`. option, proposer_option: of the strategy and of the proposer, by name. out: the
    run's folder, new. max_autotune: measure that mode of torch.compile beside the best kernel, too (slow). notify:
    where progress goes, one line per event; a notebook shows a table instead where none is given. An interrupt ends the
    search in order. Raises `ProblemError`, `RequestError` and `ConfigError` for the request, `MachineError` where torch
    or Triton is missing, `ProviderError` where the model gives no answers.
    """
    found = optimize_job.optimize(
        os.fspath(problem), start_worker=start_worker, notify=notify,
        display=_display(notify),
        starter=text_of(starter), lessons=text_of(lessons), out=text_of(out), known=text_of(known), no_known=no_known,
        no_cache=no_cache,
        trials=trials, minutes=minutes, tokens=tokens, usd=usd, gpu_seconds=gpu_seconds, strategy=strategy,
        option=option, proposer=proposer, proposer_option=proposer_option, model=model, base_url=base_url, seed=seed,
        in_flight=in_flight, thinking=thinking, dtype=dtype, cases=cases, control=control, unqualified=unqualified,
        no_source=no_source, library=library, target=target, gpus=gpus, workers=workers, max_autotune=max_autotune,
    )  # fmt: skip
    return open_run(found.folder)


def optimize_all(
    problems: AnyPath | Sequence[AnyPath],
    *,
    trials: int | None = None,
    minutes: float | None = None,
    tokens: int | None = None,
    usd: float | None = None,
    gpu_seconds: float | None = None,
    strategy: str | None = None,
    option: Mapping[str, Scalar] | None = None,
    proposer: str | None = None,
    proposer_option: Mapping[str, Scalar] | None = None,
    model: str | None = None,
    base_url: str | None = None,
    seed: int | None = None,
    in_flight: int | None = None,
    thinking: int | None = None,
    dtype: str | None = None,
    cases: Literal["stated", "derived"] | None = None,
    lessons: AnyPath | None = None,
    unqualified: bool | None = None,
    no_source: bool | None = None,
    known: AnyPath | None = None,
    no_known: bool | None = None,
    no_cache: bool | None = None,
    library: LibraryMode | None = None,
    out: AnyPath | None = None,
    target: str | None = None,
    gpus: str | int | None = None,
    workers: Sequence[str] | None = None,
    max_autotune: bool = False,
    start_worker: StartWorker = local_worker,
    notify: Notify = log,
) -> SearchedAll:
    """Search several problems under one budget: the next round goes to the problem with the largest gain to expect.

    problems: a folder of problems, or a sequence of files, folders, names in the gallery and `Problem`s. The options
    are those of `optimize`, for every run; limits are those of all runs together. out: a new folder with one run for
    each problem and the table, None for one under ./runs. A problem that cannot be judged, or has nothing to win, is a
    line with its reason; raises what `optimize` raises for the options and the machine.
    """
    named = [problems] if isinstance(problems, str | os.PathLike) else problems
    found = series_job.optimize_series(
        problems_named([os.fspath(one) for one in named]), start_worker=start_worker, notify=notify,
        display=_display(notify), lessons=text_of(lessons), out=text_of(out), known=text_of(known), no_known=no_known,
        no_cache=no_cache, trials=trials, minutes=minutes, tokens=tokens, usd=usd, gpu_seconds=gpu_seconds,
        strategy=strategy, option=option, proposer=proposer, proposer_option=proposer_option, model=model,
        base_url=base_url, seed=seed, in_flight=in_flight, thinking=thinking, dtype=dtype, cases=cases,
        unqualified=unqualified, no_source=no_source, library=library, target=target, gpus=gpus, workers=workers,
        max_autotune=max_autotune,
    )  # fmt: skip
    return SearchedAll(**vars(found))


def _display(notify: Notify) -> Display | None:
    """A table in a notebook, unless the caller takes the lines."""
    return notebook.show if notify is log and notebook.is_notebook() else None


def tune(
    problem: AnyPath,
    candidate: AnyPath | None = None,
    *,
    sampler: str = "model",
    trials: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    space: AnyPath | None = None,
    cases: Sequence[str] = (),
    dtype: str | None = None,
    library: LibraryMode | None = None,
    out: AnyPath | None = None,
    which: WhichCases = "derived",
    unqualified: bool = False,
    target: str | None = None,
    gpus: str | int | None = None,
    workers: Sequence[str] | None = None,
    in_flight: int | None = None,
    start_worker: StartWorker = local_worker,
    notify: Notify = log,
) -> Tuned:
    """Search the configs of one candidate, and write what was found into a folder.

    candidate: a Python file, None for the problem's starter. space: a file that states the configs; None: found in the
    source. cases: names of the cases to score, () for all timed ones. out: the folder, None for a new one under
    ./tuned. library, which: as for `verify`. gpus, workers: as for `optimize`. in_flight: most configs that are
    evaluated at once, None for four on each lane. Without a GPU times are estimates. Raises `RequestError` and
    `ConfigError` for the request, `ProblemError` for the problem.
    """
    start_worker, lanes = PLACES.choose(gpus, workers, start_worker)
    settings = Settings(
        sampler=sampler, trials=trials, minutes=minutes, seed=seed, dtype=dtype,
        in_flight=in_flight or DEFAULTS.in_flight * lanes,
    )  # fmt: skip
    found = tune_job.tune(
        os.fspath(problem), text_of(candidate), settings,
        space=text_of(space), cases=tuple(cases),
        out=text_of(out), target=target, library=library, which=which, unqualified=unqualified,
        start_worker=start_worker, notify=notify,
    )  # fmt: skip
    assert found.outcome is not None  # only an advisor lets a tuning wait
    return Tuned(found.folder, found.outcome)
