"""Whether a tuning on several GPUs of a host chooses what one on a single GPU chooses.

    python benchmarks/lane_choices.py tune FOLDER gallery/cumsum --gpus 1 --case 8192x8192_fp32
    python benchmarks/lane_choices.py tune FOLDER gallery/cumsum --gpus 4 --case 8192x8192_fp32
    python benchmarks/lane_choices.py compare FOLDER

`tune` runs `kernelwright tune` on the problem's starter with the random sampler, which tries the same configs in the
same order wherever it runs. `compare` names both choices for each problem. Where they differ, it times one in pairs
with the other on a single GPU: a tie means that either was right.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kernelwright.evaluator.launch import start_worker
from kernelwright.spaces.written import candidate_for
from kernelwright.text.table import table
from lanes import gpus_in

GALLERY = Path(__file__).parent.parent / "gallery"


def tune(folder: Path, problem: Path, options: argparse.Namespace) -> None:
    out = folder / f"{problem.name}-{gpus_in(options.gpus)}"
    out.mkdir(parents=True)
    command = [
        sys.executable, "-m", "kernelwright", "tune", str(problem), "--sampler", "random", "--trials",
        str(options.trials), "--no-early-stop", "--gpus", options.gpus, "--out", str(out),
        *(["--case", options.case] if options.case else []),
    ]  # fmt: skip
    start_s = time.monotonic()
    with (out / "said.txt").open("w") as said:
        status = subprocess.run(command, stdout=said, stderr=said, check=False).returncode
    print(f"{out.name}: exit status {status}, {time.monotonic() - start_s:.0f} s", flush=True)


def compare(folder: Path) -> None:
    chosen: dict[str, dict[str, dict[str, Any]]] = {}
    for file in sorted(folder.glob("*/best_config.json")):
        problem, _, count = file.parent.name.rpartition("-")
        chosen.setdefault(problem, {})[count] = json.loads(file.read_text())
    rows = []
    for problem, runs in chosen.items():
        one = runs.pop("1", None)
        for count, several in sorted(runs.items()) if one is not None else ():
            rows.append([problem, count, text(one), text(several), verdict(problem, one, several)])
    print(table(["problem", "GPUs", "choice of one", "choice of several", "the two"], rows, left=("problem",)))


def text(found: dict[str, Any]) -> str:
    joint = found["joint"]
    return f"{' '.join(f'{key}={value}' for key, value in joint['config'].items())}, {joint['speedup']:.3f} times"


def verdict(problem: str, one: dict[str, Any], several: dict[str, Any]) -> str:
    """The same config; or one timed in pairs with the other."""
    if one["joint"]["config"] == several["joint"]["config"]:
        return "the same"
    source = (GALLERY / problem / "starter.py").read_text(encoding="utf-8")
    candidates = {name: candidate_for(source, run["joint"]["config"])
                  for name, run in (("one", one), ("several", several))}  # fmt: skip
    with start_worker() as worker:
        worker.load(str(GALLERY / problem))
        report = worker.bench(candidates, tuple(one["tuned_for"]), against="one")
    found = []
    for case in report.cases:
        row = next(row for row in case.implementations if row.name == "several")
        low, high = row.speedup_ci95 or (float("nan"), float("nan"))
        found.append(f"{row.verdict}: {row.speedup:.4f} [{low:.4f}, {high:.4f}]" if row.speedup else row.reason)
    return "; ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    tuning = verbs.add_parser("tune")
    tuning.add_argument("folder", type=Path)
    tuning.add_argument("problem", type=Path)
    tuning.add_argument("--gpus", default="1", help="as in `tune`: a number, or UUIDs")
    tuning.add_argument("--trials", type=int, default=24)
    tuning.add_argument("--case", help="the one to tune for (default: all timed)")
    verbs.add_parser("compare").add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.verb == "tune":
        tune(options.folder, options.problem, options)
    else:
        compare(options.folder)


if __name__ == "__main__":
    main()
