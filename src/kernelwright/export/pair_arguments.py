"""Generates arguments.py of a package whose problem states GRADIENTS: the calls of the forward and the backward.

`op_arguments` generates the file of all other packages.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from kernelwright.export.binding import bound_arguments
from kernelwright.export.op_arguments import Arguments, arguments_text, called, indented
from kernelwright.export.subject import Subject
from kernelwright.model import CaseInfo
from kernelwright.source import parse as syntax
from kernelwright.source.signatures import CallArgument


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
    backward: for each argument of `kernel_backward` its group, its index in the group and its keyword."""

    outputs: int
    gradients: tuple[int, ...]
    differentiated: tuple[bool, ...]
    saved: tuple[str, ...]
    backward: tuple[tuple[str, int, str | None], ...]


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
    return Pair(
        outputs=len(outputs),
        gradients=gradients,
        differentiated=tuple(name in info.gradients_of for name in (*arguments.names, *arguments.parameters)),
        saved=saved,
        backward=tuple((*origin(one, known), one.keyword) for one in bound),
    )


def origin(one: CallArgument, known: Sequence[tuple[str, int]]) -> tuple[str, int]:
    if one.origin == "input":
        return known[one.index]
    return ("parameters" if one.origin == "parameter" else "init", one.index)


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


def pair_arguments_text(subject: Subject, arguments: Arguments, pair: Pair) -> str:
    """The text of arguments.py. subject: of the forward alone."""
    tensors = [kind == "Tensor" for kind in arguments.kinds]
    read = {(group, place) for group, place, _ in pair.backward if group not in ("gradients", "init")}
    plain = tuple(sorted(place for group, place in read if group == "inputs" and not tensors[place]))
    kept = tuple(sorted(read - {("inputs", place) for place in plain}))
    runs = pair_runs(pair, called(subject, arguments))
    return arguments_text(subject, arguments, pair_constants(pair, kept, plain), runs)


def pair_runs(pair: Pair, forward_call: str) -> str:
    """Text of the functions that call the candidate."""
    given = [
        (f"{keyword}=" if keyword else "") + (f"built.init[{place}]" if group == "init" else f"{group}[{place}]")
        for group, place, keyword in pair.backward
    ]
    taken = [f"found = {forward_call}"]
    taken += ["return found[0]"] if pair.outputs == 1 else [f"return tuple(found[:{pair.outputs}])"]
    if not pair.saved:
        taken = [f"return {forward_call}"]
    return f'''def run(built, inputs, parameters):
    """Call the candidate's forward; what it saves is left."""
{indented(taken)}


def run_pair(built, inputs, parameters):
    """Call the candidate's forward: its outputs, then what it saves, as a list."""
    found = {forward_call}
    return list(found) if isinstance(found, (tuple, list)) else [found]


def run_backward(built, gradients, inputs, parameters, outputs, saved):
    """Call the candidate's backward: a gradient for each of DIFFERENTIATED that has one, as a list."""
    found = built.backward({", ".join(given)})
    return list(found) if isinstance(found, (tuple, list)) else [found]
'''


def pair_constants(pair: Pair, kept: tuple[tuple[str, int], ...], plain: tuple[int, ...]) -> str:
    return f'''PAIR = True
"""Whether the candidate brings a backward."""
OUTPUTS = {pair.outputs}
GRADIENTS = {pair.gradients!r}
"""The places of outputs that have a gradient."""
DIFFERENTIATED = {pair.differentiated!r}
"""For each input and then each parameter whether it has one."""
SAVED = {pair.saved!r}
"""What the forward returns after its outputs."""
KEPT = {kept!r}
"""The tensors that the backward reads, beside gradients: their group and the place in it."""
PLAIN = {plain!r}
"""The places of inputs that it reads and that are no tensors."""'''
