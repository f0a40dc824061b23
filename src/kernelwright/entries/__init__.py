"""Candidates with another entry than `kernel_function` and `ModelNew`: each form is a module, and a line of `ENTRIES`.

    custom_kernel    custom_kernel(data), as submissions to GPU MODE have it
    solve            solve(input, output, N), which writes into given outputs
    autograd_function    a torch.autograd.Function, for problems that state GRADIENTS

A form adds the function that the recorder calls, behind the file's own lines, which keep their numbers. Pure syntax:
nothing is run, and the written text is checked, recorded and judged like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernelwright.entries import autograd_function, custom_kernel, solve
from kernelwright.model import ProblemInfo
from kernelwright.source import parse as syntax
from kernelwright.source.bindings import bindings

ENTRIES: dict[str, Callable[[ast.Module, ProblemInfo], str | None]] = {
    "custom_kernel": custom_kernel.entry,
    "solve": solve.entry,
    "torch.autograd.Function": autograd_function.entry,
}
"""By name of a form, a function from a file to the text of its entry for a problem; None for a file of another form.
Raises `NotCalled` for a file of its form that the problem cannot call."""


NAMES = frozenset({"ModelNew", "kernel_function", custom_kernel.NAME, solve.NAME})


def has_entry(tree: ast.Module) -> bool:
    """Whether a file has the form of a candidate, for some problem."""
    return bool(NAMES & {one.name for one in bindings(tree)} or autograd_function.classes_of(tree))


def with_entry(source: str, problem: ProblemInfo) -> str:
    """The source with an entry; unchanged where it has one, has none of the forms, or does not parse. Raises
    `NotCalled`."""
    try:
        tree = syntax.parse(source)
    except (SyntaxError, ValueError):
        return source
    if {"ModelNew", "kernel_function"} & {one.name for one in bindings(tree)}:
        return source
    text = next((text for write in ENTRIES.values() if (text := write(tree, problem)) is not None), None)
    return source if text is None else f"{source.rstrip()}\n\n\n{text}\n"
