"""`bench FOLDER`: every problem of a folder, one after the other, in one document.

Not how one problem is measured (`bench`). The rule: a problem that fails is named and does not end the others, and what
was measured is on disk before the next one begins.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.cli.output import document_text, note
from kernelwright.errors import ProblemError, RequestError, WorkerError
from kernelwright.evaluator.client import Worker
from kernelwright.model import BenchReport, BenchSeries

if TYPE_CHECKING:
    from kernelwright.cli.bench import Measure
    from kernelwright.problems import ProblemPath

Start = Callable[[], AbstractContextManager[Worker]]


def bench_series(measure: Measure, problems: list[ProblemPath], command: str, json_file: str | None) -> BenchSeries:
    """Every problem in turn; one that fails is named and does not end the others. The file is written after each, so
    that what was measured survives an interrupt. The worker of the next one starts while this one is measured."""
    reports: list[BenchReport] = []
    failures: dict[str, str] = {}
    began_s = time.monotonic()
    with contextlib.closing(one_ahead(measure.started, len(problems))) as workers:
        for number, (found, first) in enumerate(zip(problems, workers, strict=True), start=1):
            note(f"{number} of {len(problems)}: {found.name}, after {time.monotonic() - began_s:.0f} s")
            try:
                reports.append(measure.report(found, os.path.relpath(found.file.parent), (), first))
            except (ProblemError, WorkerError) as error:
                failures[found.name] = str(error)
                note(f"{found.name}: {error}")
            series = BenchSeries(reports=tuple(reports), failures=failures, command=command)
            if json_file not in (None, "-"):
                write_document(series, json_file)
    return series


@dataclass
class Started:
    """A worker that starts meanwhile. Whoever calls for it ends it, and hears of it if it could not start."""

    worker: Future[AbstractContextManager[Worker]]
    taken: bool = False

    def __call__(self) -> AbstractContextManager[Worker]:
        self.taken = True
        return self.worker.result()

    def end(self) -> None:
        """Where nobody called for it."""
        if not self.taken and self.worker.exception() is None:
            with self():
                pass


def one_ahead(start: Start, count: int) -> Generator[Started, None, None]:
    """So many workers, each started while the one before is in use. One that nobody takes is ended."""
    with ThreadPoolExecutor(1) as beside:
        workers: list[Started] = []
        try:
            for number in range(count):
                while len(workers) < min(number + 2, count):
                    workers.append(Started(beside.submit(start)))
                yield workers[number]
                workers[number].end()
        finally:
            for worker in workers:
                worker.end()


def check_writable(file: Path) -> None:
    """Raise `RequestError` where a document could not be written to `file`; what it holds stays, and none is left."""
    there = file.exists() or file.is_symlink()
    if there and not (file.is_file() or file.is_dir()):
        return  # a pipe, whose reader would take opening it for the end, or a link to nothing
    try:
        with file.open("ab"):
            pass
    except OSError as error:
        raise RequestError(
            f"{file} cannot be written: {error.strerror}", "name a file in a folder that is there and yours"
        ) from error
    if not there:
        file.unlink()


def write_document(document: BenchReport | BenchSeries, file: str) -> None:
    Path(file).write_text(document_text(document) + "\n", encoding="utf-8")
