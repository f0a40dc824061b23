"""How often each honest kernel of tests/honest is accepted: every one TIMES times, each time on newly drawn inputs.

`python benchmarks/honest_kernels.py OUT [--times 20] [--workers 3] [--seconds N]` appends one JSON line for each
evaluation to OUT/honest.jsonl and prints what was not accepted. A run that was cut off goes on where it ended. Without
a GPU the small cases decide, on Triton's interpreter.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from unleased import measure_peaks, unleased_worker

from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Status

HONEST = Path(__file__).parent.parent / "tests" / "honest"

NOT_HERE = "not true to a GPU here"
"""In the reason for which a machine without a GPU cannot judge a kernel."""


class Table:
    """The results so far, in memory and in OUT/honest.jsonl."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "honest.jsonl"
        self.lock = threading.Lock()
        self.rows = [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []

    def add(self, **row: object) -> None:
        with self.lock:
            self.rows.append(row)
            with self.file.open("a") as file:
                file.write(json.dumps(row) + "\n")

    def times(self, kernel: str) -> int:
        with self.lock:
            return sum(row["kernel"] == kernel for row in self.rows)


def once(worker: Worker, problem: Path, kernels: list[Path], table: Table, in_flight: int) -> None:
    """Every kernel of a problem once, all on the same new draws."""

    def judged(kernel: Path) -> None:
        start_s = time.monotonic()
        found = worker.evaluate(Candidate(source=kernel.read_text(encoding="utf-8")), "verify")
        table.add(kernel=f"{problem.stem}/{kernel.stem}", status=found.status.value, reason=found.reason[:400],
                  seconds=round(time.monotonic() - start_s, 3))  # fmt: skip

    worker.load(str(problem))  # a judge of its own, with seeds of its own
    with ThreadPoolExecutor(max_workers=in_flight) as threads:
        list(threads.map(judged, kernels))


def lane(problems: list[Path], table: Table, times: int, deadline_s: float, in_flight: int) -> str:
    """One worker on its share of the problems, round by round; the device."""
    with unleased_worker() as worker:
        device = worker.environment().device or "Triton's CPU interpreter"
        for _ in range(times):
            for problem in problems:
                kernels = [kernel for kernel in sorted((HONEST / "kernels" / problem.stem).glob("*.py"))
                           if table.times(f"{problem.stem}/{kernel.stem}") < times]  # fmt: skip
                if time.monotonic() > deadline_s:
                    return device
                if kernels:
                    once(worker, problem, kernels, table, in_flight)
    return device


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--in-flight", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3600.0)
    options = parser.parse_args()
    table, deadline_s = Table(options.out), time.monotonic() + options.seconds
    problems = sorted((HONEST / "problems").glob("*.py"))
    shares = [problems[first :: options.workers] for first in range(options.workers)]
    measure_peaks()
    with ThreadPoolExecutor(max_workers=options.workers) as threads:
        devices = list(threads.map(
            lambda share: lane(share, table, options.times, deadline_s, options.in_flight), shares))  # fmt: skip
    return summary(table, devices[0], options.times)


def summary(table: Table, device: str, times: int) -> int:
    """Print what was not accepted and the totals; how many evaluations that is."""
    alarms = [row for row in table.rows
              if row["status"] != Status.PASSED.value and NOT_HERE not in str(row["reason"])]  # fmt: skip
    for row in alarms:
        print(f"{row['kernel']}: {row['status']}: {row['reason']}")
    counts = Counter(row["kernel"] for row in table.rows)
    whole = sum(count >= times for count in counts.values())
    elsewhere = len({row["kernel"] for row in table.rows if NOT_HERE in str(row["reason"])})
    print(f"on {device}: {len(table.rows)} evaluations of {len(counts)} kernels, {whole} of them {times} times; "
          f"not accepted: {len(alarms)}; kernels that cannot be judged here: {elsewhere}")  # fmt: skip
    return len(alarms)


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
