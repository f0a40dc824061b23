"""Problem sets of the field, as published: which problems load and qualify, and what becomes of their references.

    python -m benchmarks.problem_sets OUT PATH… [--workers 4] [--seconds 130]

PATH is a problem of a set (`kernelwright.problems.sets`), or a folder in which they are searched for. Their files stay
out of this repository. OUT gets problems.jsonl, one line a problem, and table.md.

- loads: the file is found, its cases are described
- qualifies: trivial answers are refused; `not judged` where this machine cannot compute any case
- reference: the verdict on the problem's own reference, handed in as a candidate. It is PyTorch, so `rejected` is what
  has to come out wherever no library steps are allowed: the whole path has run, and named the reason.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.unleased import measure_peaks, unleased_worker

from kernelwright.errors import KernelwrightError, WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Loading
from kernelwright.problems import find_problem
from kernelwright.problems.sets import flashinfer_bench, robust_kbench, sol_execbench
from kernelwright.text.markdown import table


def found_in(path: Path) -> Iterator[tuple[str, Path]]:
    """Problems of the sets at or below `path`, with the name of their set."""
    if path.is_file():
        yield "flashinfer-bench", path
        return
    for file in sorted(path.rglob(sol_execbench.DEFINITION)):
        yield sol_execbench.NAME, file.parent
    for name in robust_kbench.CONFIGS:
        for file in sorted(path.rglob(name)):
            yield robust_kbench.NAME, file
    for file in sorted(path.rglob("*.json")):
        if "definitions" in file.parts:
            yield flashinfer_bench.NAME, file


def judged(worker: Worker, set_name: str, path: Path) -> dict[str, Any]:
    """What becomes of one problem. Raises `WorkerError` where the worker ends."""
    begun = time.monotonic()
    row: dict[str, Any] = {"set": set_name, "problem": path.stem, "loads": False, "why": ""}
    if set_name == robust_kbench.NAME:
        folder, kind = path.parent, " backward" if path.name == robust_kbench.BACKWARD else ""
        level = f"{folder.parent.name}/" if folder.name.startswith("task_") else ""
        row["problem"] = f"{level}{folder.name}{kind}"
    try:
        info = worker.load(str(find_problem(str(path)).file), Loading(which="derived"))
        row |= {"loads": True, "cases": len(info.cases), "small": sum(one.case.small for one in info.cases)}
        report = worker.qualify()
        row |= {"qualifies": {True: "yes", False: "no", None: "not judged"}[report.qualifies], "why": report.reason}
        if report.qualifies is None:
            row["why"] = "; ".join(sorted(set(report.not_judged.values())))
        reference = Candidate(source=info.source.replace("class Model(", "class ModelNew("))
        evaluation = worker.evaluate(reference, "verify")
        row |= {"reference": evaluation.status.value, "reason": evaluation.reason}
    except WorkerError:
        raise
    except KernelwrightError as error:
        row["why"] = str(error)
    return row | {"seconds": round(time.monotonic() - begun, 1)}


def judge_all(problems: list[tuple[str, Path]], until: float) -> list[dict[str, Any]]:
    """With one worker, which is started again where it ends. What is left when the time is over is not tried."""
    rows, left = [], list(problems)
    while left and time.monotonic() < until:
        with unleased_worker() as worker:
            while left and time.monotonic() < until:
                set_name, path = left.pop(0)
                try:
                    rows.append(judged(worker, set_name, path))
                except WorkerError as error:
                    rows.append({"set": set_name, "problem": path.stem, "loads": False, "why": str(error)})
                    break
    return rows


def summary(rows: list[dict[str, Any]]) -> str:
    """Counts for each set, then a line for each problem that does not load or does not qualify."""
    sets = dict.fromkeys(row["set"] for row in rows)
    lines = []
    for name in sets:
        own = [row for row in rows if row["set"] == name]
        counts = Counter(row.get("qualifies", "-") for row in own)
        verdicts = Counter(row["reference"] for row in own if "reference" in row)
        said = ", ".join(f"{status} {count}" for status, count in sorted(verdicts.items()))
        lines.append([name, *map(str, (len(own), sum(row["loads"] for row in own), counts["yes"], counts["no"],
                                       counts["not judged"])), said])  # fmt: skip
    parts = [table(["set", "tried", "load", "qualify", "do not", "not judged", "verdicts on references"], lines)]
    others = [[row["set"], row["problem"], row["why"].replace("\n", " ")[:200]] for row in rows
              if row.get("qualifies") != "yes"]  # fmt: skip
    parts += [table(["set", "problem", "why"], others)] if others else []
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600.0)
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    problems = [found for path in options.paths for found in found_in(path)]
    shares = [problems[part :: options.workers] for part in range(options.workers)]
    measure_peaks()
    with ThreadPoolExecutor(options.workers) as pool:
        rows = [row for share in pool.map(lambda share: judge_all(share, until), shares) for row in share]
    rows.sort(key=lambda row: (row["set"], row["problem"]))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "problems.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = summary(rows) + (f"\n\nnot tried in time: {len(problems) - len(rows)}" if len(rows) < len(problems) else "")
    (options.out / "table.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
