"""Judges and times kernels that another program found, and writes those that pass into a folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kernelwright.codec import document_text
from kernelwright.evaluator.protocol import Worker
from kernelwright.folders import require_empty
from kernelwright.importers.remeasured import Imported, Remeasured, best_of, source_text
from kernelwright.importers.seed import Seed
from kernelwright.importers.table import read_seeds
from kernelwright.jobs.loading import DERIVED, load_qualified, read_candidate, read_problem
from kernelwright.jobs.worker import Desk, Notify
from kernelwright.model import Candidate, Evaluation, Loading

DEFAULT_LIMIT = 16


@dataclass(frozen=True)
class Import:
    """The result of an import, and the folder that it was written to. best: the file of the fastest kernel that passed;
    None where none did.
    """

    imported: Imported
    folder: Path
    best: Path | None


def import_seeds(
    problem: str | Path,
    source: str | Path,
    *,
    desk: Desk,
    kind: str | None = None,
    candidate: str | Path | None = None,
    limit: int = DEFAULT_LIMIT,
    out: str | Path | None = None,
    loading: Loading = DERIVED,
) -> Import:
    """Judge and time the kernels of `source` like any candidate, and write those that pass.

    kind: which importer reads the source, None for the one that recognises it. candidate: the kernel that a history's
    configs are for, None for the problem's starter. limit: number of kernels to try. out: the folder to write, new or
    empty; None for imports/PROBLEM-KIND. Raises `RequestError` for what cannot be read or written, `ProblemError` for
    the problem.
    """
    found = read_problem(problem)
    own = candidate or found.starter
    starter = read_candidate(own) if own is not None else None
    importer, gathered = read_seeds(Path(source), starter, kind)
    folder = Path(out) if out is not None else Path("imports") / f"{found.name}-{importer}"
    require_empty(folder)
    with load_qualified(found, problem, desk, loading) as (worker, info):
        environment = worker.environment()
        before = judge(worker, "the problem's own", starter, desk.notify) if starter is not None else None
        seeds = tuple(
            Remeasured(seed=seed, evaluation=judge(worker, seed.name, seed.candidate, desk.notify))
            for seed in gathered.seeds[:limit]
        )
    best = best_of(seeds)
    imported = Imported(
        problem=info.name,
        dtype=info.dtype,
        importer=importer,
        source=str(source),
        environment=environment,
        starter=before,
        seeds=seeds,
        left=tuple(seed.name for seed in gathered.seeds[limit:]),
        useless=gathered.useless,
        best=best.seed.name if best is not None else None,
        library=info.library,
    )
    return Import(imported, folder, write(imported, best, folder))


def write(imported: Imported, best: Remeasured | None, folder: Path) -> Path | None:
    """Write imported.json and each kernel that passed into `folder`; returns best.py, None where none passed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "imported.json").write_text(document_text(imported) + "\n", encoding="utf-8")
    for one in imported.seeds:
        if one.score_us is not None:
            (folder / f"{file_name(one.seed)}.py").write_text(source_text(one.seed), encoding="utf-8")
    if best is None:
        return None
    file = folder / "best.py"
    file.write_text(source_text(best.seed), encoding="utf-8")
    return file


def judge(worker: Worker, name: str, candidate: Candidate, notify: Notify) -> Evaluation:
    evaluation = worker.evaluate(candidate, "search")
    notify(f"{name}: {evaluation.status.value}")
    return evaluation


def file_name(seed: Seed) -> str:
    return re.sub(r"\W+", "_", seed.name).strip("_")
