"""Tests this machine: attacks the sandbox, and has canaries judged and timed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kernelwright.cache import FOLDER_BYTES_MAX, Cache
from kernelwright.errors import ConfigError
from kernelwright.evaluator.protocol import Worker
from kernelwright.jobs.loading import load_problem
from kernelwright.jobs.worker import Desk
from kernelwright.problems.canaries import TIMED_CASE, canary_problem, judged_canaries, reference_canary, timed_canaries
from kernelwright.report.examination import Canary, Examination
from kernelwright.run.verdicts import MOST_BYTES, VARIABLE, cache_folder
from kernelwright.text.units import bytes_text

COMPILED = "KERNELWRIGHT_COMPILE_CACHE"
"""Environment variable that names the workers' folder of compiled kernels."""

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")


def examine(desk: Desk) -> Examination:
    """Test everything that this machine should do. Without a GPU no canary is timed."""
    compiled = os.environ.get(COMPILED)
    with tempfile.TemporaryDirectory(prefix="kernelwright-doctor-") as folder:
        problem = canary_problem(Path(folder))
        with load_problem(problem, desk) as (worker, _):
            environment, machine = worker.environment(), worker.machine()
            canaries = [] if environment.refusal else judge_canaries(worker)
            if environment.device is not None and not environment.refusal:
                canaries += time_canaries(worker)
    return Examination(
        environment=environment,
        machine=machine,
        caches={
            "verdicts": cache_text(cache_folder(), VARIABLE, MOST_BYTES),
            "compiled kernels": cache_text(Path(compiled) if compiled else None, COMPILED, FOLDER_BYTES_MAX),
        },
        providers={name: bool(os.environ.get(name)) for name in KEYS},
        canaries=tuple(canaries),
    )


def cache_text(folder: Path | None, variable: str, most_bytes: int) -> str:
    """Where a cache is and how large."""
    if folder is None:
        return f"off ({variable})"
    if not folder.is_dir():
        return f"{folder}: empty, at most {bytes_text(most_bytes)}"
    try:
        cache = Cache(folder, variable, most_bytes)
    except ConfigError as error:
        return str(error)
    size = cache.size()
    cache.close()
    return f"{folder}, entries: {size.entries}, {bytes_text(size.bytes)} of at most {bytes_text(most_bytes)}"


def judge_canaries(worker: Worker) -> list[Canary]:
    """The canaries that are verified, on the device or on the interpreter."""
    found = []
    for what, candidate, expected in judged_canaries():
        evaluation = worker.evaluate(candidate, "verify")
        found.append(Canary(what, expected.value, evaluation.status.value, evaluation.reason))
    return found


def time_canaries(worker: Worker) -> list[Canary]:
    """The canaries that are timed, all against the same kernel in one bench."""
    canaries = timed_canaries()
    candidates = {"reference": reference_canary()} | {canary.what: canary.candidate for canary in canaries}
    report = worker.bench(candidates, cases=(TIMED_CASE,), against="reference")
    rows = {row.name: row for row in report.cases[0].implementations}
    found = []
    for canary in canaries:
        row = rows[canary.what]
        detail = row.reason
        if row.speedup is not None and row.speedup_ci95 is not None:
            low, high = row.speedup_ci95
            detail = f"{row.speedup:.4f} times as fast, 95 % interval {low:.4f} to {high:.4f}"
        found.append(Canary(canary.what, canary.expected, row.verdict or row.status.value, detail))
    return found
