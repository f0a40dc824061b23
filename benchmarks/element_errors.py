"""How far honest kernels are off in single elements, in units of what rounding explains there.

`kernelwright.worker.judge.elementwise.MULTIPLE` was fitted to it: kernels of tests/honest, the honest ones of
tests/wrong and the gallery's starters and best kernels, each verified TIMES times with new seeds. Prints quantiles of
the largest error of each verified case over the framework's own (at least 1), and the five largest.
`python benchmarks/element_errors.py OUT [TIMES]`; without a GPU small cases on Triton's interpreter.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from kernelwright.evaluator.client import start_worker
from kernelwright.model import Candidate, Status
from kernelwright.search.convergence import gpu_s
from kernelwright.worker.judge.elementwise import MULTIPLE
from wrong.corpus import HONEST

HERE = Path(__file__).parent.parent


def kernels() -> list[tuple[Path, str, str]]:
    """Problem, name and source of each."""
    found = [(kernel.problem, f"{kernel.subject}/{kernel.name}", kernel.source) for kernel in HONEST]
    for file in sorted((HERE / "tests" / "honest" / "kernels").glob("*/*.py")):
        problem = HERE / "tests" / "honest" / "problems" / f"{file.parent.name}.py"
        found.append((problem, f"{file.parent.name}/{file.stem}", file.read_text(encoding="utf-8")))
    for file in sorted((HERE / "gallery").glob("*/*.py")):
        if file.name in ("starter.py", "best.py"):
            found.append((file.parent, f"{file.parent.name}/{file.stem}", file.read_text(encoding="utf-8")))
    return sorted(found, key=lambda one: (one[0].is_dir(), str(one[0])))  # the gallery last: it takes longest


def main(out: Path, times: int) -> None:
    rows: list[dict[str, object]] = []
    with start_worker() as worker:
        device = worker.environment().device or "Triton's CPU interpreter"
        for _ in range(times):
            loaded: Path | None = None
            for problem, name, source in kernels():
                if problem != loaded:
                    worker.load(str(problem))
                    loaded = problem
                found = worker.evaluate(Candidate(source=source), "verify")
                print(f"{name}: {found.status.value} {found.reason[:150]}", file=sys.stderr, flush=True)
                for result in found.results:
                    if result.status in (Status.PASSED, Status.WRONG):
                        rows.append({"kernel": name, "case": result.case, "status": result.status.value,
                                     "error": result.element_error, "allowed": result.allowed_element_error,
                                     "rel": result.max_rel_error, "allowed_rel": result.allowed_rel_error,
                                     "verify_s": gpu_s(found)})  # fmt: skip
    out.write_text(json.dumps({"device": device, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    measured = [
        (float(str(row["error"])) / (float(str(row["allowed"])) / MULTIPLE), row) for row in rows if row["allowed"]
    ]
    measured.sort(key=lambda one: one[0])
    print(f"on {device}: {len(rows)} cases verified, {len(measured)} with an elementwise criterion, "
          f"{sum(row['status'] != 'passed' for row in rows)} refused")  # fmt: skip
    for share in (0.5, 0.9, 0.99, 1.0):
        print(
            f"{share:.0%} are off by at most {measured[int(share * (len(measured) - 1))][0]:.2f} times the framework's"
        )
    for ratio, row in measured[-5:]:
        print(f"{ratio:.2f} {row['kernel']} {row['case']}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
