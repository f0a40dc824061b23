"""Candidates with another entry than `kernel_function` and `ModelNew`: each form is a module, and a line of `ENTRIES`.

    custom_kernel    custom_kernel(data), as submissions to GPU MODE have it
    solve            solve(input, output, N), which writes into given outputs
    autograd_function    a torch.autograd.Function, for problems that state GRADIENTS
    output_code      Inductor's output_code.py, which is converted

A form adds the function that the recorder calls, behind the file's own lines, which keep their numbers; the last one
writes another file. Pure syntax: nothing is run, and the text is checked, recorded and judged like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from kernelwright.entries import autograd_function, custom_kernel, output_code, solve
from kernelwright.entries.called import NotCalled
from kernelwright.model import ProblemInfo
from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bindings


class Entry(NamedTuple):
    """write: from a file and a problem to the text of an entry; None for a file of another form. Raises `NotCalled` for
    a file of its form that the problem cannot call. is_whole: whether the text replaces the file."""

    write: Callable[[ast.Module, ProblemInfo], str | None]
    is_whole: bool = False


ENTRIES = {
    "custom_kernel": Entry(custom_kernel.entry),
    "solve": Entry(solve.entry),
    "torch.autograd.Function": Entry(autograd_function.entry),
    "output_code.py": Entry(output_code.converted, is_whole=True),
}
"""The forms, by name."""

NAMES = frozenset({"ModelNew", "kernel_function", custom_kernel.NAME, solve.NAME})


def has_entry(tree: ast.Module) -> bool:
    """Whether a file has the form of a candidate, for some problem."""
    named = NAMES & {one.name for one in bindings(tree)}
    return bool(named or autograd_function.classes_of(tree) or dict(output_code.kernel_sources(tree)))


def with_entry(source: str, problem: ProblemInfo) -> str:
    """The source with an entry; unchanged where it has one, has none of the forms, or does not parse. Raises
    `NotCalled`."""
    try:
        tree = syntax.parse(source)
        named = {"ModelNew", "kernel_function"} & {one.name for one in bindings(tree)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    if named:
        return source
    for name, form in ENTRIES.items():
        try:
            text = form.write(tree, problem)
        except RecursionError as error:
            raise NotCalled(f"the file is nested too deeply to look for {name}: write kernel_function") from error
        if text is not None:
            return text if form.is_whole else f"{source.rstrip()}\n\n\n{text}\n"
    return source
