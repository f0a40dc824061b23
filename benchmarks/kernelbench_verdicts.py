"""Whether right and wrong kernels for files of KernelBench get the right verdict, on derived cases.

    python benchmarks/kernelbench_verdicts.py KernelBench/KernelBench OUT [--only level1_0] [--minutes M]

FOLDER is the one that holds level1 and level2 of https://github.com/ScalingIntelligence/KernelBench. Each file of
benchmarks/kernelbench_kernels, `level1_023.py`, is a right kernel for the problem of that number, and its first line
says what the wrong variant does: a line that ends in `# wrong: TEXT` is TEXT there. OUT gets a line of JSON for each
verdict; what has a line is not judged again. Without a GPU the small cases decide, on Triton's interpreter.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from typing import Any

from kernelwright.errors import KernelwrightError
from kernelwright.evaluator.client import start_worker
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Candidate, Loading, Status

KERNELS = Path(__file__).resolve().parent / "kernelbench_kernels"
MARK = re.compile(r"^( *)(.*?)  # wrong: (.*)$", re.MULTILINE)


def variants(kernel: Path) -> dict[str, str]:
    """The right and the wrong source of a file, each a module that can be judged."""
    prelude, text = (KERNELS / "prelude.py").read_text(encoding="utf-8"), kernel.read_text(encoding="utf-8")
    if len(MARK.findall(text)) != 1:
        raise ValueError(f"{kernel}: one line has to end in '# wrong: TEXT'")
    body = text.partition('"""\n')[2]
    return {"right": prelude + MARK.sub(r"\1\2", body), "wrong": prelude + MARK.sub(r"\1\3", body)}


def problem_of(kernel: Path, folder: Path) -> Path:
    level, _, number = kernel.stem.partition("_")
    found = list((folder / level).glob(f"{int(number)}_*.py"))
    if len(found) != 1:
        raise FileNotFoundError(f"{folder / level}: {len(found)} files of number {int(number)}")
    return found[0]


def judged(worker: Worker, kernel: Path, problem: Path) -> list[dict[str, Any]]:
    rows = []
    refused = ""
    try:
        worker.load(str(problem), Loading(which="derived"))
    except KernelwrightError as error:
        refused = str(error)
    change = kernel.read_text(encoding="utf-8").partition("Wrong: ")[2].partition('"""')[0]
    for variant, source in variants(kernel).items():
        start_s = time.monotonic()
        row = {"kernel": kernel.stem, "problem": problem.name, "variant": variant, "change": change}
        if refused:
            row |= {"status": Status.NOT_VERIFIED.value, "reason": f"the problem does not load: {refused}"[:400]}
        else:
            found = worker.evaluate(Candidate(source=source), "verify")
            row |= {"status": found.status.value, "reason": found.reason[:400]}
        rows.append({**row, "seconds": round(time.monotonic() - start_s, 1)})
    return rows


def summary(rows: list[dict[str, Any]]) -> int:
    """Prints how many verdicts are right and each that is not; the number of those that are not.

    A wrong kernel has to compute other values: one that does not compile or run says nothing about the judge.
    """
    due = {"right": Status.PASSED.value, "wrong": Status.WRONG.value}
    for variant, status in due.items():
        of_variant = [row for row in rows if row["variant"] == variant]
        right = sum(row["status"] == status for row in of_variant)
        print(f"{variant} kernels: {len(of_variant)}, {status}: {right}")
    missed = [row for row in rows if row["status"] != due[row["variant"]]]
    for row in missed:
        print(f"{row['kernel']} {row['variant']} ({row['change']}): {row['status']} {row['reason']}")
    return len(missed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="a regular expression that the kernel's name has to match")
    parser.add_argument("--minutes", type=float, default=60, help="begin no file after this many")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    known, end_s = {row["kernel"] for row in rows}, time.monotonic() + 60 * options.minutes
    kernels = [file for file in sorted(KERNELS.glob("level*.py")) if re.search(options.only, file.stem)]
    with start_worker() as worker:
        print(f"on {worker.environment().device or 'Triton’s CPU interpreter'}")
        for kernel in kernels:
            if kernel.stem in known or time.monotonic() > end_s:
                continue
            new = judged(worker, kernel, problem_of(kernel, options.folder))
            with options.out.open("a", encoding="utf-8") as file:
                file.write("".join(json.dumps(row) + "\n" for row in new))
            print(
                *(f"{row['kernel']} {row['variant']}: {row['status']} in {row['seconds']} s" for row in new), flush=True
            )
            rows += new
    return summary([row for row in rows if re.search(options.only, row["kernel"])])


if __name__ == "__main__":
    raise SystemExit(min(main(), 1))
