"""`import`: kernels that another program found, judged and timed here, to start a search from.

Not a search. The rule: what a file claims is shown beside what was found here, and only the latter counts.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernelwright.cli import options
from kernelwright.cli.gate import pass_gate, unqualified_option
from kernelwright.cli.output import document_text, note, say, say_document
from kernelwright.cli.parts import Parts, pass_parts, target_option
from kernelwright.errors import RequestError
from kernelwright.model import Candidate, Evaluation

if TYPE_CHECKING:
    from kernelwright.evaluator.protocol import Worker
    from kernelwright.importers.remeasured import Remeasured
    from kernelwright.importers.seed import Seed

DEFAULT_LIMIT = 16


@click.command("import")
@click.argument("problem")
@click.argument("source")
@click.option(
    "--from", "kind", metavar="KIND", help="kernelagent, openevolve, history or python (default: as it looks)."
)
@click.option("--candidate", metavar="FILE", help="The kernel that a history's configs are for (default: the starter).")
@click.option("--limit", type=click.IntRange(min=1), default=DEFAULT_LIMIT, show_default=True, help="Try so many.")
@click.option("--out", metavar="DIR", help="The folder to write, new or empty (default: imports/PROBLEM-KIND).")
@click.option("--dtype", help="Run the full-size cases in this dtype (torch's name) instead of their own.")
@unqualified_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@target_option
@pass_parts
@click.pass_context
def import_seeds(
    ctx: click.Context,
    parts: Parts,
    problem: str,
    source: str,
    kind: str | None,
    candidate: str | None,
    limit: int,
    out: str | None,
    dtype: str | None,
    unqualified: bool,
    target: str | None,
    as_json: bool,
) -> None:
    """Judge and time kernels that another program found.

    SOURCE is a folder of KernelAgent artifacts, an OpenEvolve checkpoint, a config tuner's history.csv, or any file
    with kernel_function or ModelNew. They are untrusted like any candidate. Recorded times stand beside those found
    here; what passes is written to DIR, the fastest as best.py. Exit status 1: none passed.

    Of SOURCE nothing is executed but kernels, confined; PROBLEM's file is executed with your rights.
    """
    from kernelwright.importers.remeasured import Imported, best_of, imported_text, source_text
    from kernelwright.importers.table import read_seeds
    from kernelwright.problems import find_problem, read_problem_text

    found = find_problem(problem)
    read_problem_text(found.file)
    own = candidate or (str(found.starter) if found.starter is not None else None)
    starter = options.candidate(own) if own is not None else None
    importer, gathered = read_seeds(Path(source), starter, kind)
    folder = Path(out) if out is not None else Path("imports") / f"{found.name}-{importer}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RequestError(f"{folder} holds something already", "name another folder with --out, or remove it")
    with parts.start_worker(target) as worker:
        info = worker.load(str(found.file), dtype)
        pass_gate(worker, problem, unqualified)
        environment = worker.environment()
        before = judged(worker, "the problem's own", starter) if starter is not None else None
        seeds = tuple(tried(worker, seed) for seed in gathered.seeds[:limit])
    best = best_of(seeds)
    imported = Imported(
        problem=info.name,
        importer=importer,
        source=source,
        environment=environment,
        starter=before,
        seeds=seeds,
        left=tuple(seed.name for seed in gathered.seeds[limit:]),
        useless=gathered.useless,
        best=best.seed.name if best is not None else None,
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "imported.json").write_text(document_text(imported) + "\n", encoding="utf-8")
    for one in seeds:
        if one.score_us is not None:
            (folder / f"{file_name(one.seed)}.py").write_text(source_text(one.seed), encoding="utf-8")
    if best is not None:
        (folder / "best.py").write_text(source_text(best.seed), encoding="utf-8")
    say(imported_text(imported), as_json)
    if best is not None:
        say(f"next:\n  kernelwright optimize {problem} --starter {folder / 'best.py'}", as_json)
    if as_json:
        say_document(imported)
    ctx.exit(0 if best is not None else 1)


def tried(worker: Worker, seed: Seed) -> Remeasured:
    from kernelwright.importers.remeasured import Remeasured

    return Remeasured(seed=seed, evaluation=judged(worker, seed.name, seed.candidate))


def judged(worker: Worker, name: str, candidate: Candidate) -> Evaluation:
    evaluation = worker.evaluate(candidate, "search")
    note(f"{name}: {evaluation.status.value}")
    return evaluation


def file_name(seed: Seed) -> str:
    return re.sub(r"\W+", "_", seed.name).strip("_")
