"""The right kernels that are mutated, and their problems with and without stated cases."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Subject:
    """A right kernel. name: of its file. problem, kernel: texts; the problem states its cases."""

    name: str
    problem: str
    kernel: str


def subjects() -> list[Subject]:
    """All right kernels of the tests: of tests/honest, tests/exploits and tests/wrong."""
    found = []
    for file in sorted(ROOT.glob("tests/honest/kernels/*/*.py")):
        problem = ROOT / "tests/honest/problems" / f"{file.parent.name}.py"
        found.append(Subject(f"honest/{file.parent.name}/{file.stem}", _text(problem), _text(file)))
    for place in ("exploits", "wrong"):
        for file in sorted(ROOT.glob(f"tests/{place}/subjects/*/kernel.py")):
            found.append(Subject(f"{place}/{file.parent.name}", _text(file.parent / "problem.py"), _text(file)))
    return found


def without_cases(problem: str) -> str:
    """The text of a problem as people have it: without `CASES`, `work` and other names that only kernelwright knows."""
    lines = problem.splitlines(keepends=True)
    for statement in reversed(ast.parse(problem).body):
        if _is_ours(statement):
            assert statement.end_lineno is not None
            del lines[statement.lineno - 1 : statement.end_lineno]
    return "".join(lines)


def _is_ours(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id="CASES")]) | ast.AnnAssign(target=ast.Name(id="CASES")):
            return True
        case ast.FunctionDef(name="work" | "backward"):
            return True
    return False


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
