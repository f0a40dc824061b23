"""The exporter `kernelbench`: one file with a class ModelNew, for KernelBench's scripts to check and time.

The file runs the kernel on every input and has no fallback. ModelNew has the reference's constructor and parameters, so
that both get the same weights from the same seed; of a candidate's own ModelNew that holds if its layers are made like
the reference's. If the kernel requires dense inputs, others are copied first, or refused if it changes them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernelwright.errors import RequestError
from kernelwright.export.binding import bound_arguments, call_text, form_of
from kernelwright.export.op_arguments import arguments_of
from kernelwright.export.subject import Subject
from kernelwright.report.evaluation import constant_texts, library_text
from kernelwright.source import parse as syntax
from kernelwright.templates import rendered
from kernelwright.text.escape import comment

LEFT_OUT = ("get_inputs", "get_init_inputs", "work", "backward", "CASES", "MUTATES")
"""Names of a problem's file that the Model does not need."""


def kernelbench_files(subject: Subject) -> dict[str, str]:
    """The file `NAME_model_new.py`. Raises `RequestError` for a problem that states GRADIENTS."""
    if subject.problem.gradients:
        raise RequestError(
            f"{subject.problem.name} states GRADIENTS, and KernelBench's scripts call a forward only",
            "export it as op, the package that has both",
        )
    made = f"candidate {subject.candidate.id}, made by kernelwright {subject.environment.kernelwright}"
    remarks = [library_text(subject.evaluation), *constant_texts(subject.evaluation.constant)]
    header = "".join(map(comment, (f"{subject.problem.title}: {made}", *remarks)))
    text = rendered(
        "kernelwright.export",
        "package/model_new.py.j2",
        header=header,
        source=subject.source.rstrip(),
        wrapped=wrapped(subject) if form_of(subject.source) == "kernel_function" else None,
        lays_out=bool(subject.evaluation.serves),
        mutates=any(info.mutates for info in subject.problem.cases),
    )
    return {f"{subject.name}_model_new.py": text}


def wrapped(subject: Subject) -> dict[str, str]:
    """The parts of a ModelNew that calls kernel_function: a subclass of the reference's Model with another forward."""
    arguments = arguments_of(subject)
    bound = bound_arguments(subject.source, arguments.names, arguments.parameters, arguments.init)
    values: dict[str, Callable[[int], str]] = {
        "input": lambda place: arguments.names[place],
        "parameter": lambda place: f"_of(self, {arguments.parameters[place]!r})",
        "init": lambda place: f"self._init[{place}]",
    }
    return {
        "names": ", ".join(arguments.names),
        "given": call_text(bound, lambda one: values[one.origin](one.index)),
        "reference": reference_lines(subject.problem_text),
    }


def reference_lines(text: str) -> str:
    """The problem's statements as a function body, so that imports and constants stay local to it."""
    tree = syntax.parse(text)
    kept = [node for node in tree.body if not isinstance(node, ast.Expr) and not set(names_of(node)) & set(LEFT_OUT)]
    body = ast.unparse(ast.Module(body=kept, type_ignores=[]))
    return "\n".join(f"    {line}" if line else "" for line in body.splitlines())


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
