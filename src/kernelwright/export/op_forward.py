"""Generates forward.py of an exported package: a forward that dispatches each call to the kernel or to PyTorch.

The checks of a call are written out for each argument, because a loop over arguments costs as much as the lookup. The
package's benchmark includes that cost.
"""

from __future__ import annotations

import re
import textwrap

from kernelwright.export.op_arguments import Arguments, tuple_text
from kernelwright.export.subject import Subject

MODE_WORDS = re.compile(r"training|dropout|batch_?norm|instance_?norm|rrelu|alpha_dropout", re.IGNORECASE)
"""Words for modules that behave differently in training. If the problem's text has one, the kernel is used in eval()
only; also if a parameter was found dead, because it may have an effect in training."""


ALONE = """\
kernel or PyTorch. Generated.

A call that goes to PyTorch pays for one comparison where it is small, else for one lookup. The rule: whatever is not
what was measured, goes to PyTorch."""

WITH_BACKWARD = """\
kernels or PyTorch. Generated.

A call that wants no gradient takes the forward's kernel where that wins. One that wants a gradient of every tensor for
which the backward's kernel has one takes both where both together win. Whatever is not what was measured goes to
PyTorch, forward and backward."""


def forward_text(subject: Subject, arguments: Arguments, has_backward: bool) -> str:
    """The text of forward.py. subject: of the forward alone, also of a candidate with a backward. There a call that
    requires all judged gradients uses the operator, whose derivative is `kernel_backward`; one that requires some of
    them uses PyTorch."""
    eval_only = eval_only_text(subject)
    mutates = bool(arguments.mutates)
    found_in = "found_in, " if arguments.parameters and not mutates else ""
    imported = f"apart, calm, {found_in}usable" if mutates else f"calm, {found_in}static, usable, wins_compiled"
    if has_backward:
        imported = f"calm, fits, {found_in}static, transformed, wants_gradients, wins_compiled"
    given = ", ".join(arguments.local)
    wanted = " wanted: whether it wants gradients." if has_backward else ""
    return f'''"""The forward of {subject.title}, which chooses: the {WITH_BACKWARD if has_backward else ALONE}
"""

from __future__ import annotations

from torch import Tensor
from torch.compiler import is_compiling, is_dynamo_compiling

from . import op{"  # noqa: F401 - it defines the operator" if mutates else ""}
from .arguments import run
from .dispatch import {imported}

ABSENT = object()
SCALARS = (bool, int, float, str, type(None))


def key_of({given}{", wanted=False" if has_backward else ""}):
    """What the answer for a call is kept under.{wanted}"""
    return ({"wanted, " if has_backward else ""}{key_text(arguments)})


def in_graph(fallback, self, {given}):
    """While a graph is made: {"PyTorch's" if mutates else "the operator, or PyTorch's"} own operations."""
{in_graph_text(arguments, eval_only, has_backward)}    return fallback(self, {given})


{dispatching_text(arguments, eval_only, has_backward)}'''


def is_live(subject: Subject) -> bool:
    """Whether the problem was written from a live module."""
    return "def call_of(" in subject.problem_text


def tensors_of(arguments: Arguments) -> list[str]:
    return [name for name, kind in zip(arguments.local, arguments.kinds, strict=True) if kind == "Tensor"]


def renamed_text(arguments: Arguments) -> str:
    """Text that gives arguments their names inside of the forward; "" if these are the same."""
    pairs = [pair for pair in zip(arguments.local, arguments.names, strict=True) if pair[0] != pair[1]]
    return f"        {', '.join(one for one, _ in pairs)} = {', '.join(one for _, one in pairs)}\n" if pairs else ""


def key_text(arguments: Arguments) -> str:
    """Text of the key of a call: the properties of each argument that decide whether the kernel is faster."""
    tensors = tensors_of(arguments)
    return ", ".join(
        f"{name}.shape, {name}.dtype, {name}.get_device()" if name in tensors else f"type({name}), {name}"
        for name in arguments.local
    )


def eval_only_text(subject: Subject) -> str:
    """Text of the condition "in eval()" if the module may behave differently in training, else "". Of a live module the
    problem does not have the text."""
    has_modes = bool(MODE_WORDS.search(subject.problem_text) or subject.evaluation.dead or is_live(subject))
    return "not self.training and " if has_modes else ""


def parameters_text(arguments: Arguments) -> str:
    """Text that lists the parameters while a graph is compiled."""
    return "tuple([found_in(self, name) for name in self.fast_state.names])" if arguments.parameters else "()"


def constants_text(arguments: Arguments) -> str:
    """Text of the properties that decide, for a graph, whether the kernel is faster."""
    tensors = tensors_of(arguments)
    constants = [f"{name}.shape, {name}.dtype" if name in tensors else name for name in arguments.local]
    return ", ".join([*constants, *["*[tensor.dtype for tensor in parameters]"] * bool(arguments.parameters)])


def operands_text(arguments: Arguments) -> str:
    """Text of the operator's arguments."""
    operands = [*arguments.local, *["list(parameters)"] * bool(arguments.parameters)]
    return ", ".join([*operands, *["self.fast_state.init_text"] * arguments.has_init])


def in_graph_text(arguments: Arguments, eval_only: str, has_backward: bool) -> str:
    """Text of the operator's call in a graph; "" for a kernel that changes inputs, because graphs then use PyTorch."""
    if arguments.mutates:
        return ""
    tensors = tensors_of(arguments)
    are_tensors = " and ".join(f"isinstance({name}, Tensor) and static({name})" for name in tensors)
    asked, known, wanted, call = "", "", "", "call"
    if has_backward:
        asked = f"\n        wanted = wants_gradients({tuple_text(arguments.local)}, parameters)"
        known, wanted, call = "wanted is not None and ", ", wanted", "served"
    return f"""    if {eval_only}{are_tensors}:
        parameters = {parameters_text(arguments)}{asked}
        key = ({tensors[0]}.device.index, {constants_text(arguments)})
        if {known}wins_compiled(self.fast_state, {tuple_text(tensors)}, parameters, key{wanted}):
            return op.{call}({operands_text(arguments)})
"""


def dispatching_text(arguments: Arguments, eval_only: str, has_backward: bool) -> str:
    """Text of the function that makes the forward."""
    names, tensors = arguments.local, tensors_of(arguments)
    given, listed = ", ".join(names), tuple_text(names)
    scalar_check = "".join(f"type({name}) in SCALARS and " for name in names if name not in tensors)
    kernel, wins = "the kernel where it wins", f"{scalar_check}state.known.get(({key_text(arguments)}))"
    asked, decided = "", f"key_of({given})"
    usable = " and ".join(f"usable({name})" for name in tensors) + " and calm()"
    if has_backward:
        kernel, wins = "the kernels where they win", f"wanted is not None and {scalar_check}state.known.get(key)"
        asked = f"""parameters = state.parameters(self)
            wanted = wants_gradients({listed}, parameters)
            key = key_of({given}, wanted)
            """
        decided = 'key, "training" if wanted else "eager"'
        usable = " and ".join(f"fits({name})" for name in tensors) + " and calm() and not transformed()"
    return f'''def dispatching(fallback):
    """A forward that calls {kernel}, and otherwise `fallback`, which takes the same arguments."""

    def forward(self, {", ".join(f"{name}=ABSENT" for name in arguments.names)}, *rest, **named):
{renamed_text(arguments)}        if rest or named or {" or ".join(f"{name} is ABSENT" for name in names)}:
            given = [value for value in {listed} if value is not ABSENT]
            return fallback(self, *given, *rest, **named)
        if is_dynamo_compiling():
            return in_graph(fallback, self, {given})
        state = self.fast_state
        try:
            elements = {tensors[0]}.numel()
            if type(elements) is int and elements < state.least:  # no symbol, on which a comparison would be a guard
                return fallback(self, {given})
            {asked}wins = {wins}
        except (AttributeError, TypeError):  # no tensor where one was expected, or sizes that are not known yet
            return fallback(self, {given})
        if wins is None:
            wins = state.decide({listed}, {decided})
        if wins and {eval_only}{usable}:
{textwrap.indent(attempt_text(arguments, has_backward), 12 * " ")}
        if wins and is_compiling():
            return in_graph(fallback, self, {given})
        return fallback(self, {given})

    return forward
'''


def attempt_text(arguments: Arguments, has_backward: bool) -> str:
    """Text of the kernel's call. For a kernel that changes inputs there is no fallback after a refusal: PyTorch would
    change inputs again that the kernel had partly changed."""
    given, listed = ", ".join(arguments.local), tuple_text(arguments.local)
    has_parameters, tensors = has_backward or arguments.parameters, tensors_of(arguments)
    parameters = "parameters" if has_parameters else "()"
    called, key = f"return run(state.kernel, {listed}, {parameters})", f"key_of({given})"
    device = f"{tensors[0]}.get_device()"
    if arguments.mutates:
        changed = [arguments.local[place] for place in arguments.mutates]
        others = [name for name in tensors if name not in changed]
        text = f"""if apart({tuple_text(changed)}, ({"".join(f"{name}, " for name in others)}*{parameters},)):
    {called}"""
    else:
        remark = "" if has_backward else "  # a refusal may have any type; whatever is none is raised again"
        if has_backward:
            called, key = f"if wanted:\n    return op.direct(state.kernel, {listed}, parameters)\n{called}", "key"
        text = f"""try:
{textwrap.indent(called, "    ")}
except Exception as error:{remark}
    if not state.refused(error, {key}):
        raise
    wins = False"""
    if not has_parameters:
        return text
    if has_backward:
        return f"if state.parameters_fit(parameters, key, {device}, fits):\n{textwrap.indent(text, '    ')}"
    fit = f"parameters = state.parameters(self)\nif state.parameters_fit(parameters, {key}, {device}):"
    return f"{fit}\n{textwrap.indent(text, '    ')}"
