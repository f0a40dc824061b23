"""A program: why the judge refuses honest kernels with the table of rows, and without one row of it.

    python row_files.py ROW=PROBLEM/STYLE …

PROBLEM and STYLE name files of tests/honest. With TRITON_INTERPRET=1 kernels run without a GPU. Prints a JSON object:
by row the first reason with the whole table ("" if there is none), then that without the row, in the same draws.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from kernelwright.worker.judge.choices import CHOICES
from kernelwright.worker.judge.judge import Judge
from kernelwright.worker.judge.rounding import ROWS

HERE = Path(__file__).parent / "honest"
SECRETS = (57, 55, 56)
"""Tried in turn: a row does not show in every draw."""


def module_of(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def refusal(kernel: ModuleType, problem: Path, secret: int) -> str:
    """The first reason why the kernel is refused on the small case; "" if no draw refuses it."""
    judge = Judge("cpu")
    judge.load(str(problem))
    judge.draws._begin(secret)
    for draw in judge.draws_for("ragged"):
        made = kernel.kernel_function(*judge.answer("ragged", draw).instance.inputs)
        if reason := judge._compared("ragged", draw, 0, made).reason:
            return reason
    return ""


def main(asked: list[str]) -> None:
    warnings.simplefilter("ignore")
    found = {}
    for row, _, name in (one.partition("=") for one in asked):
        problem, _, style = name.partition("/")
        file, kernel = HERE / "problems" / f"{problem}.py", module_of(HERE / "kernels" / problem / f"{style}.py")
        table: dict[str, Any] = ROWS if row in ROWS else CHOICES  # type: ignore[assignment]
        for secret in SECRETS:
            kept = table.pop(row)
            without = refusal(kernel, file, secret)
            table[row] = kept
            if without:
                break
        found[row] = refusal(kernel, file, secret), without
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
