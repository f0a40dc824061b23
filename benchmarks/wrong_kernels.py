"""Which of the wrong kernels of tests/wrong are refused, by family, and which honest ones accepted.

Prints the share by family and the name of each survivor and each false alarm; writes every evaluation to OUT as JSON.
Without a GPU the small cases decide, on Triton's interpreter. `python benchmarks/wrong_kernels.py OUT`; with
PYTHONPATH=OLD/src it asks another version of kernelwright.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from kernelwright.evaluator.client import ProcessWorker, start_worker
from kernelwright.model import Candidate, Status
from kernelwright.search.convergence import gpu_s
from wrong.corpus import HONEST, WRONG, Kernel


def evaluated(worker: ProcessWorker, kernel: Kernel) -> dict[str, object]:
    """Everything that is written to OUT about one kernel."""
    start_s = time.monotonic()
    found = worker.evaluate(Candidate(source=kernel.source), "verify")
    return {
        "subject": kernel.subject, "name": kernel.name, "family": kernel.family, "status": found.status.value,
        "reason": found.reason, "wall_s": round(time.monotonic() - start_s, 3),
        "verify_s": round(gpu_s(found), 3),
    }  # fmt: skip


def main(out: Path, names: list[str]) -> int:
    """names: of the subjects, all of them where empty."""
    rows: list[dict[str, object]] = []
    kernels = [kernel for kernel in (*WRONG, *HONEST) if not names or kernel.subject in names]
    with start_worker() as worker:
        device = worker.environment().device or "Triton's CPU interpreter"
        loaded = ""
        for kernel in sorted(kernels, key=lambda one: one.subject):
            if kernel.subject != loaded:
                worker.load(str(kernel.problem))
                loaded = kernel.subject
            rows.append(evaluated(worker, kernel))
            said = f"{rows[-1]['family']}: {kernel.subject}/{kernel.name}: {rows[-1]['status']}"
            print(f"{said} {str(rows[-1]['reason'])[:160]}", file=sys.stderr, flush=True)
    out.write_text(json.dumps({"device": device, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return summary(device, rows)


def summary(device: str, rows: list[dict[str, object]]) -> int:
    """Prints the table; the number of survivors and false alarms."""
    passed, honest = Status.PASSED.value, [row for row in rows if row["family"] == "honest"]
    wrong = [row for row in rows if row["family"] != "honest"]
    survivors = [row for row in wrong if row["status"] == passed]
    alarms = [row for row in honest if row["status"] != passed]
    every, kept = Counter(row["family"] for row in wrong), Counter(row["family"] for row in survivors)
    print(f"on {device}\n\n| family | wrong kernels | refused |\n|---|---|---|")
    for family, count in every.items():
        print(f"| {family} | {count} | {count - kept[family]} |")
    print(f"| all | {len(wrong)} | {len(wrong) - len(survivors)} |")
    print(f"\nhonest kernels: {len(honest)}, accepted {len(honest) - len(alarms)}")
    seconds = [float(str(row["verify_s"])) for row in honest]
    mean_s = sum(seconds) / max(len(seconds), 1)
    print(f"verify of an honest kernel: {mean_s:.2f} s in the mean, {max(seconds, default=0.0):.2f} s at most")
    for title, found in (("passed though wrong", survivors), ("refused though honest", alarms)):
        for row in found:
            print(f"{title}: {row['subject']}/{row['name']}: {row['status']} {row['reason']}")
    return len(survivors) + len(alarms)


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1]), sys.argv[2:]) else 0)
