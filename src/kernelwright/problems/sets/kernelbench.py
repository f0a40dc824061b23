"""KernelBench: a Python file with Model, get_inputs and get_init_inputs, which needs no conversion."""

from __future__ import annotations

from pathlib import Path

from kernelwright.problems.sets import robust_kbench


def problem_file(path: Path) -> Path | None:
    return path if path.suffix == ".py" and path.is_file() and path.name not in robust_kbench.CONFIGS else None
