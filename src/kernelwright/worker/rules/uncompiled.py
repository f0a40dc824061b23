"""Refusals in place of a kernel's branches that break a rule. Pure syntax.

Triton compiles no branch whose condition is a constant that is false, and published kernels name there what they do not
need. The refusal is a `static_assert`, so a launch that would compile the branch fails.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelwright.source import parse as syntax
from kernelwright.source.bindings import imported_name, imported_paths
from kernelwright.source.branches import Branch
from kernelwright.source.edits import edited
from kernelwright.source.kernels import in_kernels, jit_functions
from kernelwright.worker.rules.imports import Finding

REFUSED = "not judged: "
"""The beginning of the message of a refusal; what follows is the finding."""


@dataclass(frozen=True)
class Uncompiled:
    """The source with refusals, the findings that they replace, and "line N: condition" for each branch."""

    source: str
    findings: tuple[Finding, ...] = ()
    conditions: tuple[str, ...] = ()


def without_broken(source: str, findings: Sequence[Finding]) -> Uncompiled:
    """`source` with a refusal in place of each branch of a kernel that has one of `findings`. Unchanged if a finding in
    a kernel is in no branch."""
    tree = syntax.parse(source)
    language = imported_name("triton.language", imported_paths(tree))
    found = list(_of_kernels(tree, findings))
    replaced = {id(branch.nodes[0]): (branch, finding) for finding, branch in reversed(found) if branch is not None}
    if language is None or any(branch is None for _, branch in found):
        return Uncompiled(source)
    edits = [branch.replaced(f"{language}.static_assert(False, {REFUSED + str(finding)!r})")
             for branch, finding in replaced.values()]  # fmt: skip
    conditions = [str(branch) for branch, _ in replaced.values()]
    return Uncompiled(edited(source, edits), tuple(finding for finding, _ in found), tuple(conditions[::-1]))


def _of_kernels(tree: ast.Module, findings: Sequence[Finding]) -> Iterator[tuple[Finding, Branch | None]]:
    """The findings in kernels, each with the innermost branch that has it."""
    inside = in_kernels(tree)
    launched = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in inside}
    for function in (kernel.node for kernel in jit_functions(tree)):
        branches = [*_branches(function)]
        if function.name not in launched:
            branches.insert(0, Branch(tuple(function.body), f"{function.name}() is called"))
        for finding in findings:
            if function.lineno <= finding.line <= (function.end_lineno or 0):
                yield finding, next((one for one in reversed(branches) if _is_in(finding, one)), None)


def _is_in(finding: Finding, branch: Branch) -> bool:
    return branch.line <= finding.line <= (branch.nodes[-1].end_lineno or 0)


def _branches(function: ast.FunctionDef) -> Iterator[Branch]:
    """Both sides of every `if` of a kernel; outer ones before inner ones."""
    for node in ast.walk(function):
        if isinstance(node, ast.If):
            test, first = ast.unparse(node.test), node.orelse[0] if node.orelse else None
            yield Branch(tuple(node.body), test)
            if first is not None:
                is_elif = isinstance(first, ast.If) and first.col_offset == node.col_offset
                yield Branch(tuple(node.orelse), f"not ({test})", is_elif)
