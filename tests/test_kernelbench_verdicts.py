"""The kernels of benchmarks/kernelbench_kernels: a right and a wrong one in each file."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from kernelwright.worker.rules.extract import extract

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
KERNELS = sorted((BENCHMARKS / "kernelbench_kernels").glob("level*.py"))


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "kernelbench_verdicts", raising=False)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda file: file.stem)
def test_the_wrong_kernel_differs_from_the_right_one_in_one_line(kernel: Path) -> None:
    from kernelbench_verdicts import variants

    both = variants(kernel)
    right, wrong = both["right"].splitlines(), both["wrong"].splitlines()
    assert len(right) == len(wrong)
    assert sum(one != other for one, other in zip(right, wrong, strict=True)) == 1
    assert ast.dump(ast.parse(both["right"])) != ast.dump(ast.parse(both["wrong"]))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda file: file.stem)
def test_the_rules_accept_both_kernels(kernel: Path) -> None:
    from kernelbench_verdicts import variants

    for source in variants(kernel).values():
        assert extract(source).findings == ()


def test_the_first_line_says_what_the_wrong_kernel_does() -> None:
    assert len(KERNELS) >= 30
    assert all("Wrong: " in kernel.read_text(encoding="utf-8").splitlines()[0] for kernel in KERNELS)
