"""What the judge says of wrong kernels and of their honest twins, which people wrote without looking at it.

    python benchmarks/faults.py benchmarks/faults/seen OUT.jsonl [--workers N] [--only NAME] [--minutes M] [--times N]
        [--cases stated] [--library any]

FOLDER has a folder for each problem: problem.py, honest.py, and kernels wrong*.py, whose first line says the fault.
OUT gets a line of JSON for each verdict; what has a line is not judged again, so that the work can be done in parts.
`benchmarks/faults/check.py` shows on stated inputs that each wrong kernel is wrong. Without a GPU the small cases
decide, on Triton's interpreter. Refused is every status but `passed` and `not_verified`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.unleased import measure_peaks, unleased_worker

from kernelwright.errors import KernelwrightError, WorkerError
from kernelwright.model import Candidate, Loading, Status


def judged(problem: Path, loading: Loading, kernels: list[Path], out: Path, end_s: float) -> None:
    """Append the verdict of each kernel to `out`, in a worker of its own; a worker that ends is replaced once."""
    todo = [*kernels]
    for _ in range(3):
        try:
            with unleased_worker() as worker:
                worker.load(str(problem), loading)
                while todo and time.monotonic() < end_s:
                    start_s = time.monotonic()
                    found = worker.evaluate(Candidate(source=todo[0].read_text(encoding="utf-8")), "verify")
                    add(out, todo.pop(0), found.status.value, found.reason, time.monotonic() - start_s)
            return
        except WorkerError as error:
            add(out, todo.pop(0), Status.NOT_VERIFIED.value, f"the worker ended: {error}", 0.0)
        except KernelwrightError as error:
            for kernel in todo:
                add(out, kernel, Status.NOT_VERIFIED.value, f"the problem does not load: {error}", 0.0)
            return


def add(out: Path, kernel: Path, status: str, reason: str, seconds: float) -> None:
    row = {"problem": kernel.parent.name, "kernel": kernel.stem, "status": status, "reason": reason[:400]}
    row |= {"fault": kernel.read_text(encoding="utf-8").partition("\n")[0][:200], "seconds": round(seconds, 1)}
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    print(f"{row['problem']}/{row['kernel']}: {status} in {seconds:.1f} s", flush=True)


def read(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.is_file() else []


def share(part: int, every: int) -> str:
    return f"{part} of {every} ({100 * part / max(every, 1):.1f} %)"


def summary(rows: list[dict[str, Any]]) -> None:
    """Print the shares, every kernel with an undue verdict, and every kernel with two."""
    statuses: dict[tuple[str, str], list[str]] = defaultdict(list)
    reasons = {(row["problem"], row["kernel"]): row for row in rows}
    for row in rows:
        statuses[row["problem"], row["kernel"]].append(row["status"])
    wrong = {name: found for name, found in statuses.items() if name[1].startswith("wrong")}
    honest = {name: found for name, found in statuses.items() if name[1].startswith("honest")}
    for kind, names in {"wrong": wrong, "honest": honest}.items():
        count = Counter(found[-1] for found in names.values())
        refused = len(names) - count["passed"] - count["not_verified"]
        print(f"{kind}: {share(refused, len(names))} refused; {dict(count)}")
    print("two verdicts:", [("/".join(name), found) for name, found in statuses.items() if len({*found}) > 1])
    undue = [(name, "passed") for name, found in wrong.items() if found[-1] == "passed"]
    undue += [(name, found[-1]) for name, found in honest.items() if found[-1] != "passed"]
    undue += [(name, found[-1]) for name, found in wrong.items() if found[-1] == "not_verified"]
    for name, status in undue:
        print(f"{status:<12} {'/'.join(name)}: {reasons[name]['fault']} | {reasons[name]['reason'][:140]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, default=2, help="problems that are judged at the same time")
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no verdict after this many")
    parser.add_argument("--times", type=int, default=1, help="verdicts of each kernel")
    parser.add_argument(
        "--cases", choices=("stated", "kept", "derived"), default="kept", help="see `kernelwright verify`"
    )
    parser.add_argument("--library", choices=("none", "finish", "any"), help="in place of the problems' own")
    options = parser.parse_args()
    loading = Loading(which=options.cases, library=options.library)
    known = Counter((row["problem"], row["kernel"]) for row in read(options.out))
    problems = sorted(file for file in options.folder.glob("*/problem.py") if options.only in file.parent.name)
    end_s = time.monotonic() + 60 * options.minutes
    measure_peaks()
    with ThreadPoolExecutor(options.workers) as pool:
        for problem in problems:
            kernels = sorted([*problem.parent.glob("honest*.py"), *problem.parent.glob("wrong*.py")])
            todo = [one for one in kernels for _ in range(options.times - known[problem.parent.name, one.stem])]
            if todo:
                pool.submit(judged, problem, loading, todo, options.out, end_s)
    summary([row for row in read(options.out) if options.only in row["problem"]])


if __name__ == "__main__":
    main()
