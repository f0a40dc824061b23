"""The rules for candidates whose kernels are written in Triton."""

from __future__ import annotations

import ast
import dataclasses

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import Binding, bindings
from kernelwright.worker.rules import extract, static
from kernelwright.worker.rules.imports import Finding

SERVES = "SERVES"
"""The name by which a module declares that it supports dense inputs only: `SERVES = "dense"`. It narrows the inputs on
which the candidate is judged, and those that an export passes to the kernel."""


def check(source: str) -> extract.Kernels:
    """The kernels of `source`, and every rule that its host code or its kernels break; raises SyntaxError."""
    kernels = extract.extract(source)
    serves_dense, wrong = _declared(syntax.parse(source))
    findings = (*static.check(source), *wrong, *kernels.findings)
    return dataclasses.replace(kernels, findings=findings, serves_dense=serves_dense)


def why_not_judged(on_gpu: bool) -> str:
    """Always "": every machine can judge Triton kernels, on a GPU or in the CPU interpreter."""
    return ""


def _declared(tree: ast.Module) -> tuple[bool, list[Finding]]:
    """Whether the module declares dense inputs, and a finding if the declaration is wrong."""
    found = [binding for binding in bindings(tree) if binding.name == SERVES]
    match found:
        case [] | [Binding(value=ast.Constant(value="dense"))]:
            return bool(found), []
        case _:
            return False, [Finding(found[-1].line, f'{SERVES} is to be bound once, to "dense"')]
