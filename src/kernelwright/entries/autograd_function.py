"""A `torch.autograd.Function`, the entry for problems that state GRADIENTS: its forward and its backward.

The class itself becomes `kernel_function`; the recorder calls both with a context. What else the file does with the
class, such as a module around `.apply`, is not used.
"""

from __future__ import annotations

import ast

from kernelwright.entries.called import NotCalled
from kernelwright.model import ProblemInfo
from kernelwright.source.bindings import dotted, imported_paths

BASES = frozenset({"torch.autograd.Function", "torch.autograd.function.Function"})
METHODS = ("forward", "backward")


def classes_of(tree: ast.Module) -> list[ast.ClassDef]:
    """The autograd functions of a file, at module level."""
    paths = imported_paths(tree)
    return [node for node in tree.body if isinstance(node, ast.ClassDef)
            and any(dotted(base, paths) in BASES for base in node.bases)]  # fmt: skip


def entry(tree: ast.Module, problem: ProblemInfo) -> str | None:
    if not problem.gradients:
        return None
    if not (classes := classes_of(tree)):
        return None
    if len(classes) > 1:
        names = ", ".join(one.name for one in classes)
        raise NotCalled(f"line {classes[1].lineno}: the file has several autograd functions ({names}): state the one "
                        f"that is meant, as in kernel_function = {classes[-1].name}")  # fmt: skip
    (found,) = classes
    defined = {one.name for one in found.body if isinstance(one, ast.FunctionDef)}
    if missing := [name for name in METHODS if name not in defined]:
        raise NotCalled(
            f"line {found.lineno}: {found.name} has no {missing[0]}, and the problem states GRADIENTS: define it, or "
            "write kernel_function and kernel_backward"
        )
    return f"kernel_function = {found.name}"
