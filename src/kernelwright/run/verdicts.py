"""A cache of verdicts from earlier runs, so that a search does not judge known failures again.

It stores only failures that follow from the candidate's text: wrong or rejected. Passing kernels, starters and known
kernels are always judged; `verify`, `bench` and confirmations do not use this cache. A failure that comes from the
cache is never a parent (`search.ranking.is_repairable`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kernelwright import codec
from kernelwright.cache import Cache, user_folder
from kernelwright.errors import RunFolderError
from kernelwright.folders import read_file
from kernelwright.model import Candidate, Evaluation, Record, RunInfo, Status
from kernelwright.problems import problem_in_run

KEPT = frozenset({Status.WRONG, Status.REJECTED})
"""Statuses that another try would repeat. A timeout, a crash or a killed compiler may be the machine's fault."""

VARIABLE = "KERNELWRIGHT_CACHE"
"""The environment variable with the cache folder, or "off"."""
OFF = "off"

MOST_BYTES = 256 << 20
"""Room for some ten thousand verdicts with the candidates' output."""

BEFORE = "found by an earlier run: "
"""Prefix of the reason of a verdict from an earlier run."""


class Kept(Record, frozen=True, kw_only=True):
    """A cache entry. key: its own key, so that an entry under another key is detected."""

    key: str
    evaluation: Evaluation


def cache_folder(variables: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of the cache; None where the cache is turned off."""
    named = variables.get(VARIABLE, "")
    if named == OFF:
        return None
    if named:
        return Path(named)
    return user_folder("XDG_CACHE_HOME", ".cache", "verdicts", variables)


class Verdicts:
    """The verdicts on one problem, on one kind of machine."""

    def __init__(self, cache: Cache, info: RunInfo, files: Mapping[str, bytes]) -> None:
        """files: the problem's files by name: its source, its sidecar, its modules and values."""
        self._cache = cache
        problem, where = info.problem, info.environment
        stated = [problem.format, problem.precision, problem.layouts, problem.gradients, problem.library]
        cases = [[one.case, [one.inputs, one.outputs, one.parameters, one.init, one.mutates]] for one in problem.cases]
        versions = [where.python, where.torch, where.triton, where.kernelwright]
        self._place = [
            "verdict",
            {name: codec.sha(content) for name, content in sorted(files.items())},
            [*stated, cases],  # how the problem was read; the bound is not part of it
            [info.settings.dtype, info.settings.unqualified],
            [where.device, where.target, where.driver, *versions],
        ]

    def failure(self, candidate: Candidate) -> Evaluation | None:
        """The failure of this candidate in an earlier run; None where it has to be judged."""
        key = self._key(candidate)
        try:
            kept = codec.record(self._cache.fetch(key), Kept)
        except (msgspec.ValidationError, RecursionError):
            return None
        evaluation = kept.evaluation
        if kept.key != key or not is_kept(evaluation):
            return None
        return msgspec.structs.replace(
            evaluation, reason=f"{BEFORE}{evaluation.reason}", from_cache=True, stages_s={}, compiled=None, lane=""
        )

    def keep(self, candidate: Candidate, evaluation: Evaluation) -> None:
        """Store a verdict of this run, if it is a failure that another try would repeat."""
        if is_kept(evaluation) and not evaluation.from_cache:
            key = self._key(candidate)
            self._cache.store(key, Kept(key=key, evaluation=evaluation))

    def close(self) -> None:
        self._cache.close()

    def _key(self, candidate: Candidate) -> str:
        """A hash over everything that determines the verdict; the cache adds the hash of kernelwright's own files and
        the Python version.

        The candidate's whole source is part of it, and so are the versions of torch and Triton, which it may import.
        """
        return codec.sha(codec.encode([self._place, candidate.source, sorted(candidate.config.items())]))


def is_kept(evaluation: Evaluation) -> bool:
    """Whether a verdict depends only on the candidate's text, and on no timing."""
    return evaluation.status in KEPT and not any(result.timing is not None for result in evaluation.results)


def problem_files(folder: Path) -> dict[str, bytes]:
    """The files of the problem's copy in a run's folder, by name. Raises `RunFolderError`."""
    problem = problem_in_run(folder)
    places = [problem.file, *([problem.sidecar] if problem.sidecar else []), *problem.beside]
    found = {}
    for place in places:
        name = str(place.resolve().relative_to(folder.resolve()))
        content = read_file(folder, name)
        if content is None:
            raise RunFolderError(f"{place} is not there any more", "restore the file")
        found[name] = content
    return found
