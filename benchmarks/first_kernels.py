"""How often a PyTorch file gets a first kernel without a model, what kind, and how many CPU seconds that takes.

    python benchmarks/first_kernels.py FOLDER OUT.jsonl [--dtype bfloat16] [--workers N] [--only NAME] [--minutes M]

FOLDER has problem files, in any depth. Each is loaded with derived cases; its first kernel is generated and judged on
these cases, on Triton's interpreter where there is no GPU. OUT gets a line of JSON for each file; a file that has one
is not tried again, so that the work can be done in parts. Columns, never mixed: own kernels that passed on derived
cases; kernels for the captured sizes only; a kernel in mode any; PyTorch left, as its library call is the computation;
refused, with the reason; not verified, where this machine has no verdict; wrong, where a kernel did not pass.
`generate_s` includes loading; `cpu_s` is CPU time of the worker and its children, with its start, and is written where
one file is tried at a time.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.faults import read, share
from benchmarks.unleased import measure_peaks, unleased_worker

from kernelwright.errors import KernelwrightError
from kernelwright.evaluator.protocol import Worker
from kernelwright.inductor import NotConverted, can_split, candidate_text, library_call
from kernelwright.inductor.candidate import CAPTURED_ONLY
from kernelwright.model import Candidate, Loading, Status

COLUMNS = ("own", "captured sizes only", "any", "left", "refused", "not verified", "wrong")


def tried(worker: Worker, file: Path, dtype: str | None) -> dict[str, Any]:
    """The column of a file, with the reason where there is no kernel that passed, and seconds."""
    row: dict[str, Any] = {}
    start_s = time.monotonic()
    try:
        info = worker.load(str(file), Loading(dtype=dtype, which="derived"))
        generated, split = worker.generate(), can_split(worker.environment())
        if (call := library_call(generated)) is not None:
            row |= {"column": "left", "reason": call}
        column, source = "own", ""
        try:
            source = candidate_text(generated, info.library, split)
            column = "captured sizes only" if CAPTURED_ONLY in source else "own"
        except NotConverted as reason:
            row |= {"reason": str(reason)}
            if not row.get("column"):
                worker.load(str(file), Loading(dtype=dtype, which="derived", library="any"))
                source, column = candidate_text(generated, "any", split), "any"
        row["generate_s"] = round(time.monotonic() - start_s, 1)
        if source:
            start_s = time.monotonic()
            found = worker.evaluate(Candidate(source=source), "verify")
            row["judge_s"], row["status"] = round(time.monotonic() - start_s, 1), found.status.value
            if found.status is Status.NOT_VERIFIED and column == "own":
                row |= {"column": "not verified", "of": column, "reason": found.reason}
            elif found.status in (Status.PASSED, Status.NOT_VERIFIED):
                row |= {"column": column}
            else:
                row |= {"column": "wrong", "of": column, "reason": found.reason}
    except (KernelwrightError, NotConverted) as error:
        row = {"generate_s": round(time.monotonic() - start_s, 1)} | row
        row |= {"column": row.get("column", "refused"), "reason": f"{row.get('reason', '')} {error}".strip()}
    return row


def children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def add(file: Path, options: argparse.Namespace, end_s: float) -> None:
    """Append the line of one file, from a worker of its own."""
    if time.monotonic() > end_s:
        return
    out, before_s = options.out, children_cpu_s()
    with unleased_worker() as worker:
        row = {"file": str(file.relative_to(options.folder)), "dtype": options.dtype}
        row |= tried(worker, file, options.dtype)
    if options.workers == 1:
        row["cpu_s"] = round(children_cpu_s() - before_s, 1)
    row["reason"] = row.get("reason", "")[:600]
    with out.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")
    print(
        row["file"],
        row["column"],
        row["reason"][:200],
        row["generate_s"],
        row.get("judge_s", ""),
        row.get("cpu_s", ""),
        flush=True,
    )


def summary(rows: list[dict[str, Any]]) -> None:
    """Print the columns of each folder, and every reason."""
    folders: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for name in (Path(row["file"]).parent.name, "all"):
            folders[name].append(row["column"])
    for name, found in sorted(folders.items()):
        count = Counter(found)
        print(f"{name}: {len(found)} files; " + "; ".join(f"{c}: {share(count[c], len(found))}" for c in COLUMNS))
    for name in ("generate_s", "judge_s", "cpu_s"):
        if seconds := [row[name] for row in rows if name in row]:
            print(f"{name}: median {median(seconds):.1f}, most {max(seconds):.1f}, sum {sum(seconds):.0f}")
    for row in sorted(rows, key=lambda one: (COLUMNS.index(one["column"]), one["file"])):
        if row["column"] != "own":
            print(f"{row['column']:<20} {row['file']}: {row['reason'][:300]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dtype", default=None, help="float16 or bfloat16, in place of the file's own")
    parser.add_argument("--workers", type=int, default=1, help="files that are tried at the same time")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no file after this many")
    options = parser.parse_args()
    known = {(row["file"], row["dtype"]) for row in read(options.out)}
    files = [one for one in sorted(options.folder.rglob("*.py")) if options.only in str(one)]
    end_s = time.monotonic() + 60 * options.minutes
    measure_peaks()
    with ThreadPoolExecutor(options.workers) as pool:
        for file in files:
            if (str(file.relative_to(options.folder)), options.dtype) not in known:
                pool.submit(add, file, options, end_s)
    summary([row for row in read(options.out) if options.only in row["file"]])


if __name__ == "__main__":
    main()
