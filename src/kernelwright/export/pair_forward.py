"""Generates forward.py of a package whose problem states GRADIENTS: a forward that uses the kernels or PyTorch.

`op_forward` generates the file of all other packages. A call without gradients uses the forward's kernel. A call that
requires all judged gradients uses the operator, whose derivative is `kernel_backward`. All other calls use PyTorch.
"""

from __future__ import annotations

from kernelwright.export.op_arguments import Arguments, tuple_text
from kernelwright.export.op_forward import (
    constants_text,
    eval_only_text,
    key_text,
    operands_text,
    parameters_text,
    renamed_text,
    tensors_of,
)
from kernelwright.export.subject import Subject


def pair_forward_text(subject: Subject, arguments: Arguments) -> str:
    """The text of forward.py. subject: of the forward alone."""
    names, tensors = arguments.local, tensors_of(arguments)
    given, listed, first = ", ".join(names), tuple_text(names), tensors[0]
    scalar_check = "".join(f"type({name}) in SCALARS and " for name in names if name not in tensors)
    operands, eval_only = operands_text(arguments), eval_only_text(subject)
    are_tensors = " and ".join(f"isinstance({name}, Tensor) and static({name})" for name in tensors)
    fitting = " and ".join(f"fits({name})" for name in tensors)
    found_in = "found_in, " if arguments.parameters else ""
    return f'''"""The forward of {subject.title}, which chooses: the kernels or PyTorch. Generated.

A call that wants no gradient takes the forward's kernel where that wins. One that wants a gradient of every tensor for
which the backward's kernel has one takes both where both together win. Whatever is not what was measured goes to
PyTorch, forward and backward.
"""

from __future__ import annotations

from torch import Tensor
from torch.compiler import is_compiling, is_dynamo_compiling

from . import op
from .arguments import run
from .dispatch import calm, fits, {found_in}static, transformed, wants_gradients, wins_compiled

ABSENT = object()
SCALARS = (bool, int, float, str, type(None))


def key_of({given}, wanted=False):
    """What the answer for a call is kept under. wanted: whether it wants gradients."""
    return (wanted, {key_text(arguments)})


def in_graph(fallback, self, {given}):
    """While a graph is made: the operator, or PyTorch's own operations."""
    if {eval_only}{are_tensors}:
        parameters = {parameters_text(arguments)}
        wanted = wants_gradients({listed}, parameters)
        key = ({first}.device.index, {constants_text(arguments)})
        if wanted is not None and wins_compiled(self.fast_state, {tuple_text(tensors)}, parameters, key, wanted):
            return op.served({operands})
    return fallback(self, {given})


def dispatching(fallback):
    """A forward that calls the kernels where they win, and otherwise `fallback`, which takes the same arguments."""

    def forward(self, {", ".join(f"{name}=ABSENT" for name in arguments.names)}, *rest, **named):
{renamed_text(arguments)}        if rest or named or {" or ".join(f"{name} is ABSENT" for name in names)}:
            given = [value for value in {listed} if value is not ABSENT]
            return fallback(self, *given, *rest, **named)
        if is_dynamo_compiling():
            return in_graph(fallback, self, {given})
        state = self.fast_state
        try:
            elements = {first}.numel()
            if type(elements) is int and elements < state.least:  # no symbol, on which a comparison would be a guard
                return fallback(self, {given})
            parameters = state.parameters(self)
            wanted = wants_gradients({listed}, parameters)
            key = key_of({given}, wanted)
            wins = wanted is not None and {scalar_check}state.known.get(key)
        except (AttributeError, TypeError):  # no tensor where one was expected, or sizes that are not known yet
            return fallback(self, {given})
        if wins is None:
            wins = state.decide({listed}, key, "training" if wanted else "eager")
        if wins and {eval_only}{fitting} and calm() and not transformed():
            if state.parameters_fit(parameters, key, {first}.get_device(), fits):
                try:
                    if wanted:
                        return op.direct(state.kernel, {listed}, parameters)
                    return run(state.kernel, {listed}, parameters)
                except Exception as error:
                    if not state.refused(error, key):
                        raise
                    wins = False
        if wins and is_compiling():
            return in_graph(fallback, self, {given})
        return fallback(self, {given})

    return forward
'''
