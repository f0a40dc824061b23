"""Reads a problem file's text and checks its syntax tree, which takes milliseconds.

Whether the problem works is known only after the worker has imported it. A name counts as defined if any module-level
statement may bind it, so that no working problem is refused.
"""

from __future__ import annotations

import ast
from pathlib import Path

from kernelwright.errors import ProblemError
from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bound_names
from kernelwright.textfile import read_text

REQUIRED = ("Model", "get_inputs", "get_init_inputs")


def read_problem_text(file: Path) -> str:
    """The text of the problem at `file`; raises `ProblemError` if it cannot be a problem."""
    if file.suffix != ".py":
        raise ProblemError(f"{file} is not a Python file", "a problem is a .py file, or a folder holding problem.py")
    try:
        text = read_text(file)
    except OSError as error:
        raise ProblemError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ProblemError(
            f"{file} is not text in UTF-8: byte {error.start} is {error.object[error.start]:#x}"
        ) from error
    try:
        tree = syntax.parse(text)
    except SyntaxError as error:
        raise ProblemError(syntax.complaint(error, file)) from error
    except ValueError as error:
        raise ProblemError(f"{file} is not Python source: {error}") from error
    bound = bound_names(tree.body)
    missing = [name for name in REQUIRED if name not in bound]
    if missing and "*" not in bound:
        raise ProblemError(
            f"{file} does not define {', '.join(missing)}",
            "a problem has a class Model(nn.Module) and the functions get_inputs() and get_init_inputs()"
            + ("" if "Model" in bound else written_from(tree, file.stem)),
        )
    return text


def written_from(tree: ast.Module, module: str) -> str:
    """How the Python API writes a problem from what a file without Model defines; "" where it defines neither a module
    of PyTorch nor a function. module: the file's name without suffix."""
    classes = [one.name for one in tree.body if isinstance(one, ast.ClassDef) and any(map(_is_module, one.bases))]
    functions = [one.name for one in tree.body if isinstance(one, ast.FunctionDef) and one.name not in REQUIRED]
    if not (classes or functions):
        return ""
    name = (classes or functions)[-1]
    maker, made = ("from_module", f"{name}(…)") if classes else ("from_function", name)
    return (
        f"; Python writes one with `from {module} import {name}` and "
        f"`kernelwright.Problem.{maker}({made}, [tensor, …])`, where the tensors are example inputs"
    )


def _is_module(base: ast.expr) -> bool:
    return ast.unparse(base).rpartition(".")[2] == "Module"


def states_cases(text: str) -> bool:
    """Whether a problem's text assigns CASES."""
    return "CASES" in bound_names(syntax.parse(text).body)
