"""The two generated modules of an exported package: what forward takes, and the dispatching forward, unrolled.

The rest of the package is the same for every problem (`package/`). What a call pays for is written out,
argument by argument, because a loop over arguments costs as much as the lookup itself.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.errors import RequestError
from kernelwright.export.binding import bound_arguments, form_of
from kernelwright.export.subject import Subject
from kernelwright.model import CaseInfo, Scalar, TensorSpec

SCHEMA_TYPES = {bool: "bool", int: "int", float: "float", str: "str", type(None): "Tensor?"}

MODE_WORDS = re.compile(r"training|dropout|batch_?norm|instance_?norm|rrelu|alpha_dropout", re.IGNORECASE)
"""What makes a module behave otherwise in training; where the problem's text has one, the kernel is for eval() only. So
it is where a parameter was found dead, which it need not be in training."""


@dataclass(frozen=True)
class Arguments:
    """What the problem's forward takes, by its first timed case. kinds: SCHEMA_TYPES' values, "Tensor" for a tensor.
    fresh: the places of those outputs that have memory of their own. mutates: the places of inputs that it changes."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    parameters: tuple[str, ...]
    init: tuple[str, ...]
    has_init: bool
    fresh: tuple[int, ...]
    mutates: tuple[int, ...]


def arguments_of(subject: Subject) -> Arguments:
    """Raises `RequestError` for a problem that an operator cannot have as it is."""
    if subject.problem.gradients:
        raise RequestError(
            f"{subject.problem.name} states GRADIENTS; a package of a forward with its backward cannot be made yet",
            "call kernel_function and kernel_backward of the candidate from a torch.autograd.Function",
        )
    case = next(info for info in subject.problem.cases if info.case.timed)
    names = case.input_names
    if case.arguments or case.returns or case.keywords:
        raise RequestError(
            f"{subject.problem.name}'s forward has tensors in lists or dicts, or arguments by name only, and an "
            "operator of PyTorch takes and returns tensors one by one",
            "give each an argument of its own in the problem, or use best_kernel.py as it is",
        )
    if len(names) != len(case.inputs) or not all(name.isidentifier() for name in names):
        raise RequestError(f"the arguments of {subject.problem.name}'s forward have no names: {names}")
    if any(name in RESERVED for name in names):
        raise RequestError(
            f"an argument of {subject.problem.name}'s forward has a name that the operator needs: {', '.join(names)}",
            f"rename it; taken are {', '.join(sorted(RESERVED))}",
        )
    if "graphs" in case.init_names:
        raise RequestError(
            f"{subject.problem.name}'s Model is constructed with an argument called graphs",
            "rename it; the package's Module has one of its own",
        )
    if not any(isinstance(value, TensorSpec) for value in case.inputs):
        raise RequestError(f"{subject.problem.name} takes no tensor", "an operator needs one to know its device")
    if not plain(list(case.init)):
        raise RequestError(
            f"{subject.problem.name}'s Model is constructed with a tensor", "export it as kernelbench instead"
        )
    given = dict(zip(names, case.inputs, strict=True))
    counted = [name for name in case.restored if "int" in getattr(given[name], "dtype", "")]
    if counted:
        raise RequestError(
            f"{subject.problem.name}'s forward counts on in {counted[0]}, and calls in a row, by which a package is "
            "timed, would run past its end",
            "let the caller change it",
        )
    returned = len(case.outputs) - len(case.mutates)
    return Arguments(
        names=names,
        kinds=tuple(kind_of(value) for value in case.inputs),
        parameters=tuple(case.parameters),
        init=case.init_names,
        has_init=any(info.init for info in subject.problem.cases),
        fresh=tuple(place for place in range(returned) if not (case.lies_in and case.lies_in[place])),
        mutates=tuple(names.index(name) for name in case.mutates),
    )


RESERVED = {
    "self", "rest", "named", "state", "elements", "key", "wins", "parameters", "init", "fallback", "built", "given",
    "held", "op", "run", "calm", "found_in", "static", "usable", "wins_compiled", "is_compiling", "is_dynamo_compiling",
    "key_of", "in_graph", "ABSENT", "SCALARS", "Tensor", "literal_eval", "type", "int", "list", "tuple", "isinstance",
    "AttributeError", "TypeError", "Exception", "error", "apart",
}  # fmt: skip
"""Every name that the generated functions use themselves: an argument called so would take its place."""


def plain(value: object) -> bool:
    """Whether constructor arguments are plain data; a tensor arrives as the fields of its spec."""
    if isinstance(value, dict):
        return "stride" not in value and all(plain(one) for one in value.values())
    return all(plain(one) for one in value) if isinstance(value, list | tuple) else True


def kind_of(value: TensorSpec | Scalar | None) -> str:
    return "Tensor" if isinstance(value, TensorSpec) else SCHEMA_TYPES[type(value)]


def alike(info: CaseInfo, arguments: Arguments) -> bool:
    """Whether a case takes what the others take."""
    return tuple(kind_of(value) for value in info.inputs) == arguments.kinds


# --- arguments.py ---------------------------------------------------------------------------------------------


def arguments_text(subject: Subject, arguments: Arguments) -> str:
    """Names, the operator's schema, and how the candidate is called."""
    entries = [
        f"{kind}(a{place}!) {name}" if place in arguments.mutates else f"{kind} {name}"
        for place, (kind, name) in enumerate(zip(arguments.kinds, arguments.names, strict=True))
    ]
    entries += ["Tensor[] parameters"] * bool(arguments.parameters) + ["str init"] * arguments.has_init
    extra = ["parameters"] * bool(arguments.parameters) + ["init"] * arguments.has_init
    packed = ["*inputs", *["list(parameters)"] * bool(arguments.parameters), *["init_text"] * arguments.has_init]
    single = len(arguments.fresh) == 1
    result = "Tensor" if single else "Tensor[]" if arguments.fresh else "()"
    literal = "\nfrom ast import literal_eval\n" if arguments.has_init else ""
    literal += "\nfrom torch.autograd.graph import increment_version\n" if arguments.mutates else ""
    return f'''"""What {subject.problem.name}'s forward takes, and how the candidate is called. Generated."""

from __future__ import annotations
{literal}
NAMESPACE = "{subject.package}"
NAME = "{subject.name}"
SCHEMA = "({", ".join(entries)}) -> {result}"
TENSORS = {tuple(kind == "Tensor" for kind in arguments.kinds)!r}
PARAMETERS = {arguments.parameters!r}
SINGLE = {single}
FRESH = {arguments.fresh!r}
"""The places of outputs that have memory of their own; the others are inputs that were changed."""
MUTATES = {arguments.mutates!r}
"""The places of inputs that are changed."""
AUTOTUNE = {subject.autotune!r}
"""Which config of each kernel under triton.autotune was verified; the others are not tried."""


def parted(given):
    """The operator's arguments as inputs, parameters and constructor arguments."""
    {tuple_text([*arguments.names, *extra])} = given
    held = {"parameters" if arguments.parameters else "[]"}
    return {tuple_text(arguments.names)}, held, {"literal_eval(init)" if arguments.has_init else "[]"}


def operator_arguments(inputs, parameters, init_text):
    """The inverse of `parted`; init_text: the constructor arguments as Python's text of a list."""
    return {tuple_text(packed)}


def run(built, inputs, parameters):
    """Call the candidate's host code."""
{indented(run_lines(subject, arguments))}
'''


def tuple_text(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def run_lines(subject: Subject, arguments: Arguments) -> list[str]:
    """The body of `run`. Autograd is told of tensors that were changed."""
    call = called(subject, arguments)
    if not arguments.mutates:
        return [f"return {call}"]
    return [
        f"result = {call}",
        "for place in MUTATES:",
        "    if not inputs[place].is_inference():",
        "        increment_version(inputs[place])",
        "return result",
    ]


def called(subject: Subject, arguments: Arguments) -> str:
    if form_of(subject.source) == "ModelNew":
        if not arguments.parameters:
            return "built.model.forward(*inputs)"
        return "built.with_parameters(PARAMETERS, parameters)(*inputs)"
    bound = bound_arguments(subject.source, arguments.names, arguments.parameters, arguments.init)
    places = {"input": "inputs", "parameter": "parameters", "init": "built.init"}
    given = [(f"{one.keyword}=" if one.keyword else "") + f"{places[one.origin]}[{one.index}]" for one in bound]
    return f"built.function({', '.join(given)})"


# --- forward.py -----------------------------------------------------------------------------------------------


def forward_text(subject: Subject, arguments: Arguments) -> str:
    """The forward that a program calls: what it costs is measured by the package's own benchmark."""
    names = arguments.names
    tensors = [name for name, kind in zip(names, arguments.kinds, strict=True) if kind == "Tensor"]
    scalars = [name for name in names if name not in tensors]
    parts = [
        f"{name}.shape, {name}.dtype, {name}.get_device()" if name in tensors else f"type({name}), {name}"
        for name in names
    ]
    constants = [f"{name}.shape, {name}.dtype" if name in tensors else name for name in names]
    constants += ["*[tensor.dtype for tensor in parameters]"] * bool(arguments.parameters)
    given = ", ".join(names)
    listed = tuple_text(names)
    absent = " or ".join(f"{name} is ABSENT" for name in names)
    has_modes = bool(MODE_WORDS.search(subject.problem_text) or subject.evaluation.dead)
    eval_only = "not self.training and " if has_modes else ""
    scalar_check = "".join(f"type({name}) in SCALARS and " for name in scalars)
    held = "tuple([found_in(self, name) for name in self.fast_state.names])" if arguments.parameters else "()"
    operands = [*names, *["list(parameters)"] * bool(arguments.parameters)]
    operands += ["self.fast_state.init_text"] * arguments.has_init
    held_now = "parameters" if arguments.parameters else "()"
    attempt = f"""try:
    return run(state.kernel, {listed}, {held_now})
except Exception as error:
    if not state.refused(error, key_of({given})):
        raise
    wins = False"""
    if arguments.mutates:  # what a refusal left half changed, PyTorch would change once more
        changed = [names[place] for place in arguments.mutates]
        others = [name for name in tensors if name not in changed]
        attempt = f"""if apart({tuple_text(changed)}, ({"".join(f"{name}, " for name in others)}*{held_now})):
    return run(state.kernel, {listed}, {held_now})"""
    if arguments.parameters:
        attempt = f"""parameters = state.parameters(self)
if state.parameters_fit(parameters, key_of({given}), {tensors[0]}.get_device()):
{textwrap.indent(attempt, "    ")}"""
    called = textwrap.indent(attempt, 12 * " ")
    are_tensors = " and ".join(f"isinstance({name}, Tensor) and static({name})" for name in tensors)
    usable = " and ".join(f"usable({name})" for name in tensors)
    in_graph = f"""    if {eval_only}{are_tensors}:
        parameters = {held}
        key = ({tensors[0]}.device.index, {", ".join(constants)})
        if wins_compiled(self.fast_state, {tuple_text(tensors)}, parameters, key):
            return op.call({", ".join(operands)})
"""
    if arguments.mutates:
        in_graph = ""
    found_in = "found_in, " if arguments.parameters and not arguments.mutates else ""
    imported = (
        f"apart, calm, {found_in}usable" if arguments.mutates else f"calm, {found_in}static, usable, wins_compiled"
    )
    return f'''"""The forward of {subject.problem.name}, which chooses: the kernel or PyTorch. Generated.

A call that goes to PyTorch pays for one comparison where it is small, else for one lookup. The rule: whatever is not
what was measured, goes to PyTorch.
"""

from __future__ import annotations

from torch import Tensor
from torch.compiler import is_compiling, is_dynamo_compiling

from . import op{"  # noqa: F401 - it defines the operator" if arguments.mutates else ""}
from .arguments import run
from .dispatch import {imported}

ABSENT = object()
SCALARS = (bool, int, float, str, type(None))


def key_of({given}):
    """What the answer for a call is kept under."""
    return ({", ".join(parts)})


def in_graph(fallback, self, {given}):
    """While a graph is made: {"PyTorch's" if arguments.mutates else "the operator, or PyTorch's"} own operations."""
{in_graph}    return fallback(self, {given})


def dispatching(fallback):
    """A forward that calls the kernel where it wins, and otherwise `fallback`, which takes the same arguments."""

    def forward(self, {", ".join(f"{name}=ABSENT" for name in names)}, *rest, **named):
        if rest or named or {absent}:
            given = [value for value in {listed} if value is not ABSENT]
            return fallback(self, *given, *rest, **named)
        if is_dynamo_compiling():
            return in_graph(fallback, self, {given})
        state = self.fast_state
        try:
            elements = {tensors[0]}.numel()
            if type(elements) is int and elements < state.least:  # no symbol, on which a comparison would be a guard
                return fallback(self, {given})
            wins = {scalar_check}state.known.get(({", ".join(parts)}))
        except (AttributeError, TypeError):  # no tensor where one was expected, or sizes that are not known yet
            return fallback(self, {given})
        if wins is None:
            wins = state.decide({listed}, key_of({given}))
        if wins and {eval_only}{usable} and calm():
{called}
        if wins and is_compiling():
            return in_graph(fallback, self, {given})
        return fallback(self, {given})

    return forward
'''


def indented(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
