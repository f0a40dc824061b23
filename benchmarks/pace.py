"""Evaluations a minute and seconds per `verify`, of one real worker.

`python benchmarks/pace.py [PROBLEM …] [--count N]`, with or without a GPU. Every candidate is the problem's starter
with its kernels renamed, so that each is recorded, compiled and judged anew. It uses nothing but the worker's own
verbs, so that two versions of kernelwright can be compared: set PYTHONPATH to the `src` of the other.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate

KERNEL = re.compile(r"@triton\.jit\s+def (\w+)\(")


def variants(source: str, count: int) -> list[Candidate]:
    """The same kernels under `count` other names."""
    names = KERNEL.findall(source)
    found = []
    for number in range(count):
        text = source
        for name in names:
            text = re.sub(rf"\b{name}\b", f"{name}_{number}", text)
        found.append(Candidate(source=text))
    return found


def measured(worker: Worker, problem: Path, count: int, in_flight: int) -> dict[str, object]:
    worker.load(str(problem))
    candidates = variants((problem / "starter.py").read_text(), count + count // 4 + 1)
    worker.evaluate(candidates.pop(), "verify")  # the judge's own draws and the device's start
    seconds, statuses = [], []
    for candidate in candidates[count:]:
        start_s = time.monotonic()
        statuses.append(worker.evaluate(candidate, "verify").status.value)
        seconds.append(time.monotonic() - start_s)
    start_s = time.monotonic()
    with ThreadPoolExecutor(max_workers=in_flight) as threads:
        found = list(threads.map(lambda candidate: worker.evaluate(candidate, "search"), candidates[:count]))
    minutes = (time.monotonic() - start_s) / 60
    return {
        "problem": problem.name, "verify_s": round(statistics.median(seconds), 3),
        "verify_s_range": [round(min(seconds), 3), round(max(seconds), 3)], "verified": len(seconds),
        "evaluations_per_minute": round(count / minutes, 1), "evaluated": count, "in_flight": in_flight,
        "statuses": sorted({*statuses, *(evaluation.status.value for evaluation in found)}),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", type=Path, default=[Path("gallery/softmax")])
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--in-flight", type=int, default=8)
    options = parser.parse_args()
    with start_worker() as worker:
        for problem in options.problems:
            print(json.dumps(measured(worker, problem, options.count, options.in_flight)), flush=True)


if __name__ == "__main__":
    main()
