"""Evaluates stated variants of gallery kernels, verified and timed as a search would, and keeps what became of each.

    python benchmarks/gallery_round.py FOLDER --plan benchmarks/rounds/NAME.json

Not a search: the plan is a list of {"problem", "minutes", "variants": [{"file", "constants": {NAME: [values]}}]}, and
every combination of a variant's constants is one candidate, made by rewriting the file's `NAME = …` lines. Each
problem has a limit of minutes after which no new evaluation begins; with "every_case": true its held-out cases are
timed, too. FOLDER gets PROBLEM.json with every outcome,
failures included; the table of the fastest comes last. Without a GPU the times are estimates, and called so.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kernelwright import codec
from kernelwright.errors import KernelwrightError, RequestError, WorkerError
from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Evaluation, Status
from kernelwright.problems import find_problem

EVERY_CASE = """

for _one in CASES:
    _one.pop("held_out", None)
"""
SHOWN = 6
"""Rows of the closing table for each problem."""


def problem_file(problem: dict[str, Any], folder: Path) -> Path:
    """The problem's file, or a copy in `folder` in which no case is held out."""
    found = find_problem(problem["problem"])
    if not problem.get("every_case"):
        return found.file
    copy = folder / found.name / found.file.name
    copy.parent.mkdir()
    copy.write_text(found.file.read_text(encoding="utf-8") + EVERY_CASE, encoding="utf-8")
    return copy


def with_constants(source: str, constants: dict[str, object]) -> str:
    """`source` with its module-level `NAME = …` lines saying these values; each has to stand there once."""
    for name, value in constants.items():
        source, count = re.subn(rf"(?m)^{re.escape(name)} = .*$", f"{name} = {value!r}", source)
        if count != 1:
            raise RequestError(f"a variant sets {name}, and the file has {count} lines `{name} = …`; one was expected")
    return source


def combinations(choices: dict[str, list[object]]) -> Iterator[dict[str, object]]:
    """Every choice of one value for each name, in order."""
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def candidates(problem: dict[str, Any]) -> list[tuple[str, dict[str, object], Candidate]]:
    """File, constants and candidate of every variant of one problem of the plan."""
    found = []
    for variant in problem["variants"]:
        source = Path(variant["file"]).read_text(encoding="utf-8")
        for constants in combinations(variant.get("constants", {})):
            found.append((variant["file"], constants, Candidate(source=with_constants(source, constants))))
    return found


def outcome(file: str, constants: dict[str, object], evaluation: Evaluation) -> dict[str, Any]:
    """What the record keeps of an evaluation."""
    times = {result.case: result.timing for result in evaluation.results if result.timing is not None}
    return {
        "file": file,
        "constants": constants,
        "status": evaluation.status.value,
        "reason": evaluation.reason[:1000],
        "score_us": evaluation.score_us,
        "kind": evaluation.timing_kind,
        "cases": {case: [timing.median_us, timing.ci95_us] for case, timing in times.items()},
        "kernels": [codec.plain(kernel) for kernel in evaluation.kernels],
        "seconds": evaluation.stages_s,
    }


def evaluate_all(problem: dict[str, Any], worker: Worker, in_flight: int) -> list[dict[str, Any]]:
    """The outcome of every candidate that began before the problem's minutes were over."""
    deadline = time.monotonic() + 60 * problem["minutes"]

    def one(given: tuple[str, dict[str, object], Candidate]) -> dict[str, Any] | None:
        if time.monotonic() > deadline:
            return None
        file, constants, candidate = given
        try:
            return outcome(file, constants, worker.evaluate(candidate, "search"))
        except WorkerError as error:  # says nothing of the variant
            return {"file": file, "constants": constants, "status": "not evaluated", "reason": str(error)}

    with ThreadPoolExecutor(in_flight) as threads:
        return [found for found in threads.map(one, candidates(problem)) if found is not None]


def table(name: str, outcomes: list[dict[str, Any]], bounds_us: dict[str, float]) -> str:
    """The fastest variants, and every distinct way to fail."""
    timed = sorted((one for one in outcomes if one.get("score_us") is not None), key=lambda one: one["score_us"])
    lines = [f"{name}: {len(outcomes)} evaluated, {len(timed)} timed"]
    for one in timed[:SHOWN]:
        constants = " ".join(f"{key}={value}" for key, value in one["constants"].items())
        share = " ".join(f"{bounds_us[case] / times[0]:.0%}" for case, times in one["cases"].items())
        lines.append(f"  {one['score_us']:9.2f} µs {one['kind']}  {share}  {Path(one['file']).name} {constants}")
    failed = {(one["status"], one["reason"][:160]) for one in outcomes if one["status"] != Status.PASSED.value}
    return "\n".join([*lines, *(f"  {status}: {reason}" for status, reason in sorted(failed))])


def run(given: argparse.Namespace) -> None:
    given.folder.mkdir(parents=True, exist_ok=True)
    tables = []
    for problem in json.loads(given.plan.read_text(encoding="utf-8")):
        with tempfile.TemporaryDirectory() as scratch, start_worker(target=given.target) as worker:
            info = worker.load(str(problem_file(problem, Path(scratch))))
            environment = worker.environment()
            outcomes = evaluate_all(problem, worker, given.in_flight)
        bounds_us = {case.case.name: case.bound.bound_us for case in info.cases}
        name = Path(problem["problem"]).name
        record = {
            "problem": name,
            "environment": codec.plain(environment),
            "bounds_us": bounds_us,
            "outcomes": outcomes,
        }
        (given.folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        tables.append(table(name, outcomes, bounds_us))
        print(f"{name}: done", flush=True)
    print("\n".join(tables))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the records go")
    parser.add_argument("--plan", type=Path, required=True, metavar="FILE")
    parser.add_argument("--in-flight", type=int, default=16, help="evaluations under way at once")
    parser.add_argument("--target", help="compile target on a machine without a GPU")
    try:
        run(parser.parse_args())
    except KernelwrightError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
