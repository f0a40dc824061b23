"""Judges published kernels as they were published: `python -m benchmarks.published OUT`.

`python -m benchmarks.published.assemble OUT --from FOLDER` writes the candidates to OUT/candidates first. Each verdict
is a line of OUT/published.jsonl; what has one already is left out, so a run that was cut off goes on. `--again` judges
all that was not accepted once more, `--name PATTERN` only some, `--list LIST` those of another folder, and `--qualify`
asks first whether each problem qualifies. Without a GPU small cases decide, on Triton's interpreter.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from benchmarks.published.manifest import HERE, LABELS, Kernel, kernels
from benchmarks.unleased import measure_peaks, unleased_worker

from kernelwright.errors import KernelwrightError
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Status

CAUSES = (
    ("problem", "does not qualify|the problem"),
    ("import", r"imports "),
    (
        "kept between calls",
        "nothing may be kept|outlive|container|between calls|earlier calls|nothing may be patched|lru_cache",
    ),
    ("catches exceptions", "catches exceptions"),
    ("strided inputs", "not contiguous|strided|padded"),
    ("library call on the host", r"the host code calls aten|host code calls"),
    ("reads values on the host", "reads (a value|values)|depends on values|uses \\.(item|cpu|tolist)"),
    ("host code", "host code|recorder's answer|uses \\."),
    ("kernel body", "a kernel|kernel body|decorator|bound more than once"),
    ("interpreter", "interpreter|not true to a GPU"),
    ("does not compile", "CompilationError|compile"),
)
"""What a reason is counted under: the first whose pattern it matches."""


def cause(row: dict[str, str]) -> str:
    """Why a kernel was not accepted, in the words of the table."""
    found = (name for name, pattern in CAUSES if re.search(pattern, row["reason"]))
    return f"{row['status']}: {next(found, 'values' if row['status'] == 'wrong' else 'other')}"


class Verdicts:
    """What came of each kernel, in memory and in OUT/published.jsonl; the last line of a kernel counts."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "published.jsonl"
        self.lock = threading.Lock()
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.rows = {row["kernel"]: row for row in map(json.loads, lines)}

    def add(self, kernel: Kernel, status: str, reason: str, seconds: float, device: str) -> None:
        row = {"kernel": kernel.name, "label": kernel.label, "problem": kernel.problem, "status": status,
               "reason": reason[:800], "seconds": round(seconds, 2), "device": device}  # fmt: skip
        with self.lock:
            self.rows[kernel.name] = row
            with self.file.open("a") as file:
                file.write(json.dumps(row) + "\n")
        print(f"{kernel.name:44} {kernel.label:16} {status:14} {reason[:150]!r}", flush=True)


def judge(worker: Worker, group: list[Kernel], candidates: Path, verdicts: Verdicts, in_flight: int,
          qualify: bool) -> None:  # fmt: skip
    """Load the problem of a group of kernels and verify each of them."""
    device = worker.environment().device or "interpreter"
    try:
        worker.load(str(group[0].problem_file))
        if qualify and worker.qualify().qualifies is False:
            print(f"{group[0].problem}: does not qualify", flush=True)
    except KernelwrightError as error:
        for kernel in group:
            verdicts.add(kernel, "problem", f"the problem: {error}", 0.0, device)
        return

    def one(kernel: Kernel) -> None:
        start_s = time.monotonic()
        source = (candidates / f"{kernel.name}.py").read_text(encoding="utf-8")
        found = worker.evaluate(Candidate(source=source), "verify")
        verdicts.add(kernel, found.status.value, found.reason, time.monotonic() - start_s, device)

    with ThreadPoolExecutor(max_workers=in_flight) as threads:
        list(threads.map(one, group))


def lane(groups: list[list[Kernel]], candidates: Path, verdicts: Verdicts, in_flight: int, deadline_s: float,
         qualify: bool) -> None:  # fmt: skip
    """One worker, which takes the next problem as long as there is one and time is left."""
    with unleased_worker() as worker:
        while groups and time.monotonic() < deadline_s:
            judge(worker, groups.pop(), candidates, verdicts, in_flight, qualify)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--qualify", action="store_true")
    parser.add_argument("--name", default="*")
    parser.add_argument("--list", type=Path, default=HERE)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--in-flight", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=36000.0)
    options = parser.parse_args()
    deadline_s = time.monotonic() + options.seconds
    chosen = [kernel for kernel in kernels(options.list) if fnmatch.fnmatch(kernel.name, options.name)]
    candidates = options.out / "candidates"
    verdicts = Verdicts(options.out)
    done = {name for name, row in verdicts.rows.items()
            if not options.again or row["status"] == Status.PASSED.value}  # fmt: skip
    left = [k for k in chosen if k.name not in done and (candidates / f"{k.name}.py").exists()]
    left.sort(key=lambda kernel: kernel.problem)
    groups = [list(group) for _, group in groupby(left, lambda kernel: kernel.problem)]
    if groups:
        measure_peaks()
    with ThreadPoolExecutor(max_workers=options.workers) as threads:
        for one in [threads.submit(lane, groups, candidates, verdicts, options.in_flight, deadline_s,
                                   options.qualify)
                    for _ in range(options.workers)]:  # fmt: skip
            one.result()
    return summary(chosen, verdicts)


def summary(chosen: list[Kernel], verdicts: Verdicts) -> int:
    """Print verdicts against labels, and causes; how many wrong kernels were accepted."""
    rows = [verdicts.rows[kernel.name] | {"label": kernel.label} for kernel in chosen if kernel.name in verdicts.rows]
    print("\n| label | kernels | accepted | refused | not verified |\n|---|---|---|---|---|")
    for label in LABELS:
        statuses = Counter(row["status"] for row in rows if row["label"] == label)
        accepted, unseen = statuses[Status.PASSED.value], statuses[Status.NOT_VERIFIED.value]
        total = statuses.total()
        print(f"| {label} | {total} | {accepted} | {total - accepted - unseen} | {unseen} |")
    refused = Counter(cause(row) for row in rows
                      if row["label"] == "honest" and row["status"] != Status.PASSED.value)  # fmt: skip
    print("\n| honest, not accepted: cause | kernels |\n|---|---|")
    for name, count in refused.most_common():
        print(f"| {name} | {count} |")
    missing = [kernel.name for kernel in chosen if kernel.name not in verdicts.rows]
    if missing:
        print(f"\nwithout a verdict: {', '.join(missing)}")
    return sum(row["label"] == "wrong" and row["status"] == Status.PASSED.value for row in rows)


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
