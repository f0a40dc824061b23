"""The arguments of a candidate's backward, for the package of a problem that states GRADIENTS."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from kernelwright.export.binding import bound_arguments, call_text
from kernelwright.export.op_arguments import Arguments
from kernelwright.export.subject import Subject
from kernelwright.model import CaseInfo
from kernelwright.source import parse as syntax
from kernelwright.source.signatures import CallArgument

INIT = "built.init"
"""The group of the constructor's arguments, as the package has it."""


def is_floating(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def forward_case(info: CaseInfo) -> CaseInfo:
    """A case without gradients: without the output gradients, which are its last inputs, and without the gradients of
    inputs and parameters, which are its last outputs."""
    if not info.gradients_of:
        return info
    outputs = info.outputs[: len(info.outputs) - len(info.gradients_of)]
    taken = sum(is_floating(output.dtype) for output in outputs)
    count = len(info.inputs) - taken
    return msgspec.structs.replace(
        info, inputs=info.inputs[:count], input_names=info.input_names[:count], outputs=outputs
    )


def forward_subject(subject: Subject) -> Subject:
    """The subject with cases of the forward alone, for all parts of a package that do not need `Pair`."""
    cases = tuple(forward_case(info) for info in subject.problem.cases)
    return replace(subject, problem=msgspec.structs.replace(subject.problem, cases=cases))


@dataclass(frozen=True)
class Pair:
    """A forward and its backward. outputs: number of outputs. gradients: indices of the outputs that have a gradient.
    differentiated: for each input and then each parameter, whether it has a gradient. saved: names of the saved values.
    kept: the tensors that `kernel_backward` takes beside gradients, by their group and the index in it. plain: indices
    of the other inputs that it takes. given: its arguments, as text."""

    outputs: int
    gradients: tuple[int, ...]
    differentiated: tuple[bool, ...]
    saved: tuple[str, ...]
    kept: tuple[tuple[str, int], ...]
    plain: tuple[int, ...]
    given: str


def pair_of(subject: Subject, arguments: Arguments) -> Pair:
    """subject: with all inputs and outputs, gradients included. arguments: those of its forward. Raises `RequestError`
    if `kernel_backward` cannot be called."""
    info = next(info for info in subject.problem.cases if info.case.timed)
    outputs = forward_case(info).outputs
    gradients = tuple(place for place, output in enumerate(outputs) if is_floating(output.dtype))
    saved = saved_names(subject.source)
    groups = {
        "gradients": [f"grad_{number}" for number in range(len(gradients))],
        "inputs": list(arguments.names),
        "saved": list(saved),
        "outputs": [f"output_{place}" for place in range(len(outputs))],
    }
    known = [(group, place) for group, names in groups.items() for place in range(len(names))]
    names = [name for group in groups.values() for name in group]
    bound = bound_arguments(subject.source, names, arguments.parameters, arguments.init, "kernel_backward")
    read = {place for one in bound if (place := origin(one, known))[0] not in ("gradients", INIT)}
    plain = sorted(place for group, place in read if group == "inputs" and arguments.kinds[place] != "Tensor")
    return Pair(
        outputs=len(outputs),
        gradients=gradients,
        differentiated=tuple(name in info.gradients_of for name in (*arguments.names, *arguments.parameters)),
        saved=saved,
        kept=tuple(sorted(read - {("inputs", place) for place in plain})),
        plain=tuple(plain),
        given=call_text(bound, lambda one: "{}[{}]".format(*origin(one, known))),
    )


def origin(one: CallArgument, known: Sequence[tuple[str, int]]) -> tuple[str, int]:
    if one.origin == "input":
        return known[one.index]
    return ("parameters" if one.origin == "parameter" else INIT, one.index)


def saved_names(source: str) -> tuple[str, ...]:
    """The names in the candidate's `SAVED`; () if it has none."""
    for node in reversed(syntax.parse(source).body):
        if isinstance(node, ast.Assign) and any(is_saved(target) for target in node.targets):
            return tuple(ast.literal_eval(node.value))
        if isinstance(node, ast.AnnAssign) and is_saved(node.target) and node.value is not None:
            return tuple(ast.literal_eval(node.value))
    return ()


def is_saved(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == "SAVED"
