"""Published problem sets: each format but KernelBench's is one module, and one line of `FORMATS`.

    flashinfer_bench  a definition and its workloads, in JSON
    sol_execbench     a folder with definition.json and workload.jsonl
    robust_kbench     a folder with func_forward.py and config_forward.json
    gpu_mode          a folder with task.yml and reference.py

    definition   converts the definitions of flashinfer-bench and SOL-ExecBench to the text of a problem file
    written      writes a converted problem into a temporary folder that is removed when this process ends

All formats but KernelBench's are converted to an ordinary problem: `problem.py`, and `problem.cases.json` with its
cases and the set's statements. No code of the set is executed here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kernelwright.problems.sets import flashinfer_bench, gpu_mode, robust_kbench, sol_execbench


def python_file(path: Path) -> Path | None:
    """A file as KernelBench has it, which needs no conversion."""
    return path if path.suffix == ".py" and path.is_file() and path.name not in robust_kbench.CONFIGS else None


FORMATS: dict[str, Callable[[Path], Path | None]] = {
    "KernelBench": python_file,
    "flashinfer-bench": flashinfer_bench.problem_file,
    "SOL-ExecBench": sol_execbench.problem_file,
    "robust-kbench": robust_kbench.problem_file,
    "GPU MODE": gpu_mode.problem_file,
}
"""By name of a set, a function from an existing path to the Python file of its problem; None if the path has another
format. Raises `ProblemError` for a problem of its format that cannot be used."""


def problem_file(path: Path) -> Path | None:
    """The Python file of the problem at `path`; None if it has none of the formats."""
    return next((file for find in FORMATS.values() if (file := find(path)) is not None), None)
