"""Which files of KernelBench qualify as problems, unchanged: a line per file, and a table by cause.

    python benchmarks/kernelbench.py KernelBench/KernelBench --levels 1,2 --workers 1 --minutes 30

FOLDER is the one that holds level1, level2, … of https://github.com/ScalingIntelligence/KernelBench. Every file is
loaded with derived cases and asked whether trivial answers would pass. Each answer is appended to `--out`; files that
have a line there are not asked again, so that the work can be done in parts. Without a GPU only the derived cases are
judged.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from device_memory import Memory
from unleased import measure_peaks, unleased_worker

from kernelwright.errors import KernelwrightError, ProblemError, WorkerError
from kernelwright.evaluator.protocol import Worker
from kernelwright.model import Loading, ProblemInfo
from kernelwright.report.derived import elements
from kernelwright.text.table import table

MOST_ELEMENTS = 400_000
"""Of a derived case that counts."""


def main() -> None:
    options = arguments().parse_args()
    levels = [level.strip() for level in options.levels.split(",")]
    files = [file for level in levels for file in sorted((options.folder / f"level{level}").glob("*.py"))]
    if options.only:
        files = [file for file in files if re.search(options.only, f"{file.parent.name}/{file.name}")]
    known = {line["file"] for line in read(options.out)}
    waiting = [file for file in files if name_of(file) not in known]
    end_s = time.monotonic() + 60 * options.minutes
    lock, local, opened = threading.Lock(), threading.local(), ExitStack()
    memory = Memory(options.memory)

    def ask(file: Path) -> None:
        if time.monotonic() > end_s:
            return
        if getattr(local, "worker", None) is None:
            local.worker = opened.enter_context(unleased_worker())
        line, alive = answer(local.worker, file, memory)
        if not alive:
            local.worker = None
        with lock, options.out.open("a") as out:
            out.write(json.dumps(line) + "\n")
            print(f"{line['seconds']:6.1f} s  {line['file']}: {line['outcome']} {line['reason'][:110]}", flush=True)

    if waiting:
        measure_peaks()
    with opened, ThreadPoolExecutor(options.workers) as threads:
        list(threads.map(ask, waiting))
    names = {name_of(file) for file in files}
    print(summary([line for line in read(options.out) if line["file"] in names]))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--levels", default="1,2")
    parser.add_argument("--only", default="", help="a regular expression that LEVEL/FILE has to match")
    parser.add_argument("--workers", type=int, default=1, help="problems at once, each with a worker")
    parser.add_argument("--memory", type=float, default=math.inf, help="GiB of the device for problems asked at once")
    parser.add_argument("--minutes", type=float, default=60, help="begin no file after this many")
    parser.add_argument("--out", type=Path, default=Path("kernelbench.jsonl"))
    return parser


def needed(info: ProblemInfo) -> float:
    """GiB that qualification takes: inputs, parameters and outputs in float64, seven times over, and a context."""
    return 3 + 56 * max(map(elements, info.cases)) / 2**30


def answer(worker: Worker, file: Path, memory: Memory) -> tuple[dict[str, Any], bool]:
    """The line of a file, and whether the worker can go on."""
    begun = time.monotonic()
    line: dict[str, Any] = {"file": name_of(file), "outcome": "", "reason": "", "cases": {}, "left_alone": {}}
    alive = True
    try:
        info = worker.load(str(file), Loading(which="derived"))
        derived = [one for one in info.cases if one.case.derived]
        line["cases"] = {one.case.name: elements(one) for one in derived}
        line["left_alone"] = info.left_alone
        with memory.taken(needed(info)):
            report = worker.qualify()
        line["outcome"] = {True: "qualifies", False: "does not qualify", None: "not judged"}[report.qualifies]
        line["reason"] = report.reason or info.left_alone.get("", "")
        if report.qualifies and (not derived or max(line["cases"].values()) > MOST_ELEMENTS):
            line["reason"] = line["reason"] or "without a derived case"
    except ProblemError as error:
        line["outcome"], line["reason"] = "refused", str(error)
    except WorkerError as error:
        line["outcome"], line["reason"], alive = "internal error", str(error), False
    except KernelwrightError as error:
        line["outcome"], line["reason"] = "error", str(error)
    line["seconds"] = round(time.monotonic() - begun, 1)
    return line, alive


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def cause_of(line: dict[str, Any]) -> str:
    """A reason without what belongs to one file."""
    reason = line["reason"].split("; ")[0].split("\n")[0]
    if line["outcome"] == "qualifies":
        return ""
    if found := re.search(r"on case \S+ (.*?) would pass", reason):
        said = re.sub(r"(input|parameter|buffer) \S+", r"a \1", found[1])
        return f"{re.sub(r'[0-9]+', 'n', said)} would pass"
    return re.sub(r"[0-9][0-9,.]*", "n", reason.rpartition(".py: ")[2])[:90]


def summary(lines: list[dict[str, Any]]) -> str:
    """Two tables: outcomes by level, and causes."""
    outcomes = sorted({line["outcome"] for line in lines}, key=lambda one: (one != "qualifies", one))
    levels = sorted({line["file"].partition("/")[0] for line in lines})
    rows = []
    for level in levels:
        of_level = [line for line in lines if line["file"].startswith(f"{level}/")]
        counts = Counter(line["outcome"] for line in of_level)
        small = sum(bool(line["cases"]) and max(line["cases"].values()) <= MOST_ELEMENTS for line in of_level)
        share = counts["qualifies"] / len(of_level)
        rows.append([level, str(len(of_level)), str(small), *(str(counts[one]) for one in outcomes), f"{share:.0%}"])
    causes = Counter((line["outcome"], cause_of(line)) for line in lines if line["outcome"] != "qualifies")
    return "\n\n".join([
        table(["level", "files", "with derived cases", *outcomes, "qualifies"], rows),
        table(["outcome", "cause", "files"], [[a, b, str(n)] for (a, b), n in causes.most_common()], left=("cause",)),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
