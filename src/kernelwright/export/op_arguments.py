"""The arguments of a problem's forward as those of an operator of PyTorch, and the candidate's call with them."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.errors import RequestError
from kernelwright.export.binding import bound_arguments, call_text, form_of
from kernelwright.export.subject import Subject
from kernelwright.model import CaseInfo, Scalar, TensorSpec

SCHEMA_TYPES = {bool: "bool", int: "int", float: "float", str: "str", type(None): "Tensor?"}


@dataclass(frozen=True)
class Arguments:
    """The arguments of the problem's forward in its first timed case. kinds: a value of SCHEMA_TYPES, or "Tensor".
    parameters: names of parameters and buffers. init: names of the constructor's arguments. fresh: indices of the
    outputs with separate memory. mutates: indices of the inputs that forward changes."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    parameters: tuple[str, ...]
    init: tuple[str, ...]
    has_init: bool
    fresh: tuple[int, ...]
    mutates: tuple[int, ...]

    @property
    def local(self) -> tuple[str, ...]:
        """The names of the arguments inside the generated functions."""
        return tuple(f"{name}_of_{self.names.index(name)}" if name in ASSIGNED else name for name in self.names)

    @property
    def tensors(self) -> tuple[str, ...]:
        """Those of the arguments that are tensors, by their names inside of functions."""
        return tuple(name for name, kind in zip(self.local, self.kinds, strict=True) if kind == "Tensor")


def arguments_of(subject: Subject) -> Arguments:
    """The arguments of the subject's problem. Raises `RequestError` if it cannot become an operator."""
    case = next(info for info in subject.problem.cases if info.case.timed)
    names = case.input_names
    if case.arguments or case.returns or case.keywords:
        raise RequestError(
            f"{subject.problem.name}'s forward has tensors in lists or dicts, or arguments by name only, and an "
            "operator of PyTorch takes and returns tensors one by one",
            "give each a separate argument in the problem, or use best_kernel.py as it is",
        )
    if len(names) != len(case.inputs) or not all(name.isidentifier() for name in names):
        raise RequestError(f"the arguments of {subject.problem.name}'s forward have no names: {names}")
    if any(name in READ for name in names):
        raise RequestError(
            f"an argument of {subject.problem.name}'s forward has a name that the operator needs: {', '.join(names)}",
            f"rename it; taken are {', '.join(sorted(READ))}",
        )
    if "graphs" in case.init_names:
        raise RequestError(
            f"{subject.problem.name}'s Model is constructed with an argument called graphs",
            "rename it; the package's Module has an argument of that name",
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
            f"{subject.problem.name}'s forward advances the integers of {counted[0]} in place, so repeated calls, "
            "as in a package's benchmark, would run past the end of other inputs",
            f"advance {counted[0]} in the caller of forward",
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


READ = {
    "self", "fallback", "rest", "named", "op", "run", "calm", "usable", "fits", "static", "transformed", "apart",
    "found_in", "wants_gradients", "wins_compiled", "is_compiling", "is_dynamo_compiling", "in_graph", "key_of",
    "ABSENT", "SCALARS", "Tensor", "literal_eval", "type", "int", "list", "tuple", "bool", "isinstance",
    "AttributeError", "TypeError", "Exception",
}  # fmt: skip
"""Every name that the generated functions read: an argument with the same name would hide it."""

ASSIGNED = {
    "state", "elements", "key", "wins", "parameters", "given", "wanted", "error", "value", "name",
    "held", "init", "tensor", "inputs",
}  # fmt: skip
"""Every name that the generated functions assign: an argument with the same name has another one inside of them."""


def plain(value: object) -> bool:
    """Whether constructor arguments are plain data; a tensor among them is a dict of the fields of its spec."""
    if isinstance(value, dict):
        return "stride" not in value and all(plain(one) for one in value.values())
    return all(plain(one) for one in value) if isinstance(value, list | tuple) else True


def kind_of(value: TensorSpec | Scalar | None) -> str:
    return "Tensor" if isinstance(value, TensorSpec) else SCHEMA_TYPES[type(value)]


def alike(info: CaseInfo, arguments: Arguments) -> bool:
    """Whether a case has arguments of these kinds."""
    return tuple(kind_of(value) for value in info.inputs) == arguments.kinds


def called(subject: Subject, arguments: Arguments) -> str:
    """The text of the call of the candidate's forward."""
    if form_of(subject.source) == "ModelNew":
        if not arguments.parameters:
            return "built.model.forward(*inputs)"
        return "built.with_parameters(PARAMETERS, parameters)(*inputs)"
    bound = bound_arguments(subject.source, arguments.names, arguments.parameters, arguments.init)
    places = {"input": "inputs", "parameter": "parameters", "init": "built.init"}
    return f"built.function({call_text(bound, lambda one: f'{places[one.origin]}[{one.index}]')})"
