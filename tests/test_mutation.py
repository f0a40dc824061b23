"""The mutants of benchmarks/mutation: what they change, and that running them tells the wrong ones."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks" / "mutation"
KERNEL = """\
@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.maximum(x, 0.0), mask=i < n)


def kernel_function(x):
    y = torch.empty_like(x)
    relu[(triton.cdiv(x.numel(), 64), 1)](x, y, x.numel(), BLOCK=64)
    return y
"""


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("mutate", "subjects"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_a_mutant_differs_from_its_kernel_in_one_place() -> None:
    from mutate import mutants

    found = {(mutant.kind, mutant.before, mutant.after) for mutant in mutants(KERNEL)}
    assert ("function left out", "tl.maximum(x, 0.0)", "(x)") in found
    assert ("comparison", "i < n", "((i) <= (n))") in found
    assert ("missing program", "triton.cdiv(x.numel(), 64)", "max(triton.cdiv(x.numel(), 64) - 1, 1)") in found
    assert ("neighbour", "tl.program_id(0)", "(tl.program_id(0) + 1)") in found
    for mutant in mutants(KERNEL):
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(KERNEL))
        before, after = KERNEL.splitlines(), mutant.source.splitlines()
        assert [line for line, (b, a) in enumerate(zip(before, after, strict=True), 1) if a != b] == [mutant.line]


def test_of_many_mutants_every_kind_is_chosen_and_always_the_same() -> None:
    from mutate import mutants

    every = mutants(KERNEL)
    kinds = {mutant.kind for mutant in every}
    chosen = mutants(KERNEL, len(kinds))
    assert {mutant.kind for mutant in chosen} == kinds
    assert chosen == mutants(KERNEL, len(kinds))


def test_a_problem_without_cases_is_the_same_in_all_else() -> None:
    from subjects import subjects, without_cases

    for subject in subjects():
        bare = without_cases(subject.problem)
        assert "CASES" not in bare
        assert "def get_inputs" in bare
        assert "class Model" in bare
        ast.parse(bare)


def test_running_a_mutant_tells_whether_it_is_wrong(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the kernels need torch: pip install -e '.[worker]'")
    pytest.importorskip("triton", reason="the kernels need Triton: pip install -e '.[worker]'")
    from mutate import mutants
    from subjects import subjects

    name = "wrong/sigmoid"
    (kernel,) = [subject.kernel for subject in subjects() if subject.name == name]
    numbers = {(mutant.before, mutant.after): str(number) for number, mutant in enumerate(mutants(kernel, 99))}
    wrong = numbers["tl.exp(-x)", "(-x)"]
    harmless = numbers["0.0", "1.0"]  # what lanes behind the row hold
    done = subprocess.run(
        [sys.executable, FOLDER / "decide.py", name, "8", "99", wrong, harmless],
        capture_output=True, text=True, env={**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    ready, *rows = map(json.loads, done.stdout.splitlines())
    assert ready["ready"] >= 4, done.stderr[-2000:]
    by_number = {str(row["number"]): row["wrong_on"] for row in rows}
    assert by_number == {wrong: ready["ready"], harmless: 0}
