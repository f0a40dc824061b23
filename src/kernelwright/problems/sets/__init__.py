"""Problem sets of the field: each format is one module, and one line of `FORMATS`.

    kernelbench       a Python file, used where it is
    flashinfer_bench  a definition and its workloads, in JSON
    sol_execbench     a folder with definition.json and workload.jsonl
    robust_kbench     a folder with func_forward.py and config_forward.json

    definition   what flashinfer-bench and SOL-ExecBench share, written as the text of a problem file
    written      a problem as its files, in a folder that ends with this process

A problem of another form is written as an ordinary problem: `problem.py`, and `problem.cases.json` with its cases
and what the set states. Nothing of the set is executed here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kernelwright.problems.sets import flashinfer_bench, kernelbench, robust_kbench, sol_execbench

FORMATS: dict[str, Callable[[Path], Path | None]] = {
    "KernelBench": kernelbench.problem_file,
    "flashinfer-bench": flashinfer_bench.problem_file,
    "SOL-ExecBench": sol_execbench.problem_file,
    "robust-kbench": robust_kbench.problem_file,
}
"""Each takes a path that exists and gives the Python file of its problem, None where the path has another format.
Raises `ProblemError` for a problem of its format that cannot be used."""


def problem_file(path: Path) -> Path | None:
    """The Python file of the problem of a set at `path`; None where it has none of the formats."""
    return next((file for find in FORMATS.values() if (file := find(path)) is not None), None)
