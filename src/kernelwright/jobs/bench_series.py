"""Benches every problem of a folder, one after the other, into one document."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from kernelwright.errors import ProblemError, RequestError, WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.bench import DEFAULTS, BenchSettings, bench, command_line
from kernelwright.jobs.worker import Desk, StartWorker
from kernelwright.model import BenchReport, BenchSeries
from kernelwright.problems import problems_in


def bench_series(
    folder: str | Path,
    settings: BenchSettings = DEFAULTS,
    *,
    desk: Desk,
    keep: Callable[[BenchSeries], None] = lambda series: None,
) -> BenchSeries:
    """Measure every problem of a folder that holds folders of problems. The worker of the next problem starts while
    one is measured.

    keep: called after each problem with all results so far, so that they survive an interrupt. Raises `RequestError`
    where the folder holds no problems.
    """
    problems = problems_in(str(folder))
    if not problems:
        raise RequestError(f"{folder} holds no folders of problems", "name a folder whose folders hold a problem.py")
    command = command_line(folder, (), settings, desk.target)
    reports: list[BenchReport] = []
    failures: dict[str, str] = {}
    began_s = time.monotonic()
    with contextlib.closing(one_ahead(desk.start_worker, desk.target, len(problems))) as starters:
        for number, (found, starter) in enumerate(zip(problems, starters, strict=True), start=1):
            desk.notify(f"{number} of {len(problems)}: {found.name}, after {time.monotonic() - began_s:.0f} s")
            try:
                place = os.path.relpath(found.file.parent)
                reports.append(bench(place, (), settings, desk=replace(desk, start_worker=starter)))
            except (ProblemError, WorkerError) as error:
                failures[found.name] = str(error)
                desk.notify(f"{found.name}: {error}")
            series = BenchSeries(reports=tuple(reports), failures=failures, command=command)
            keep(series)
    return series


class StartedAhead:
    """A `StartWorker` whose first worker starts early, on another thread. Later calls start further workers. If the
    first worker fails to start, the first call raises the error.
    """

    def __init__(self, start_worker: StartWorker, worker: Future[AbstractContextManager[Worker]]) -> None:
        self.start_worker = start_worker
        self.worker = worker
        self.taken = False

    def __call__(self, target: str | None) -> AbstractContextManager[Worker]:
        if self.taken:
            return self.start_worker(target)
        self.taken = True
        return self.worker.result()

    def end(self) -> None:
        """End the worker if it was not used."""
        if not self.taken and self.worker.exception() is None:
            self.taken = True
            with self.worker.result():
                pass


def one_ahead(start_worker: StartWorker, target: str | None, count: int) -> Generator[StartedAhead, None, None]:
    """Gives `count` functions that start a worker; while one worker is in use, the next one starts. A worker that was
    not used is ended."""
    with ThreadPoolExecutor(1) as beside:
        starters: list[StartedAhead] = []
        try:
            for number in range(count):
                while len(starters) < min(number + 2, count):
                    starters.append(StartedAhead(start_worker, beside.submit(start_worker, target)))
                yield starters[number]
                starters[number].end()
        finally:
            for starter in starters:
                starter.end()
