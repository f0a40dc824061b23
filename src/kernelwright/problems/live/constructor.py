"""Finds the arguments with which a live module was constructed, from its attributes, and checks them.

A module does not store its constructor arguments. Each is taken from the attribute with its name, else from its
default. Then the class is constructed again with these arguments, and the new module must have the same parameters,
buffers and plain attributes.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from kernelwright.errors import ProblemError

PLAIN = (type(None), bool, int, float, str)
HINT = "pass arguments={…} with the values that it was constructed with"


class Construction(NamedTuple):
    """How to construct a module. positional and named: arguments of the class. cast: torch's name of the dtype to which
    all floating-point parameters were cast afterwards; None if they were not. buffers: by name, the buffers whose
    values differ from those that the constructor makes."""

    positional: tuple[Any, ...]
    named: dict[str, Any]
    cast: str | None = None
    buffers: dict[str, Any] = {}  # noqa: RUF012 - never changed


def construction_of(module: Any, given: Mapping[str, object]) -> Construction:
    """The construction of `module`. given: arguments by name from the caller. Raises `ProblemError` if the others
    cannot be found, or the class constructed again differs."""
    positional, named = _arguments(module, given)
    torch = sys.modules["torch"]
    name = type(module).__name__
    try:
        with torch.random.fork_rng(devices=[]):
            made = type(module)(*copy.deepcopy(positional), **copy.deepcopy(named))
    except Exception as error:  # the class is the user's and may raise anything
        shown = ", ".join(named)
        raise ProblemError(
            f"{name}({shown}) cannot be constructed again: {type(error).__name__}: {error}", HINT
        ) from error
    _same_attributes(module, made)
    _same_shapes(name, module, made)
    return Construction(positional, named, _cast(name, module, made), _changed_buffers(module, made))


def _arguments(module: Any, given: Mapping[str, object]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    nn = sys.modules["torch"].nn
    children = module._modules
    if type(module) is nn.Sequential:
        unnamed = list(children) == [str(position) for position in range(len(children))]
        return (tuple(children.values()) if unnamed else (OrderedDict(children),)), {}
    if type(module) is nn.ModuleList:
        return (list(children.values()),), {}
    if type(module) is nn.ModuleDict:
        return (dict(children),), {}
    parameters = list(inspect.signature(type(module).__init__).parameters.values())[1:]
    named: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name in given:
            continue
        found = _attribute(module, parameter)
        if found is not parameter.empty:
            named[parameter.name] = found
        elif parameter.default is parameter.empty:
            raise ProblemError(
                f"{type(module).__name__} was constructed with {parameter.name!r}, and keeps no attribute of that name",
                f"pass arguments={{{parameter.name!r}: …}}",
            )
    return (), {**named, **given}


def _attribute(module: Any, parameter: inspect.Parameter) -> Any:
    """The argument's value in an attribute of the module; `Parameter.empty` if there is none."""
    for name in (parameter.name, f"_{parameter.name}"):
        if name in vars(module):
            return vars(module)[name]
        if name in module._modules:
            return module._modules[name]
        if isinstance(parameter.default, bool) and name in module._parameters:  # bias=True
            return module._parameters[name] is not None
    return parameter.empty


def _same_attributes(module: Any, made: Any) -> None:
    """Raise `ProblemError` if the two modules differ in a submodule's class, hooks, forward or a plain attribute."""
    internal = set(vars(sys.modules["torch"].nn.Module()))
    others = dict(made.named_modules())
    top = type(module).__name__
    for path, part in module.named_modules():
        where = f"{top}.{path}" if path else top
        other = others.get(path)
        if type(other) is not type(part):
            now = type(part).__name__
            raise ProblemError(f"{where} is a {now}, and {top} as constructed has {type(other).__name__} there", HINT)
        for kind in ("_forward_hooks", "_forward_pre_hooks"):
            if len(getattr(part, kind)) != len(getattr(other, kind)):
                raise ProblemError(f"{where} has forward hooks, which a problem cannot hold", "remove them first")
        if "forward" in vars(part) and "forward" not in vars(other):
            raise ProblemError(f"the forward of this {where} was replaced", "define a class with the new forward")
        for name in sorted((set(vars(part)) | set(vars(other))) - internal):
            value, second = vars(part).get(name), vars(other).get(name)
            if _is_plain(value) and _is_plain(second) and repr(value) != repr(second):
                raise ProblemError(f"{where}.{name} is {value!r}, and {second!r} when constructed again", HINT)


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple | set):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_plain(part) for item in value.items() for part in item)
    return isinstance(value, PLAIN)


def _tensors(module: Any) -> dict[str, Any]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _same_shapes(name: str, module: Any, made: Any) -> None:
    shapes = {key: tuple(tensor.shape) for key, tensor in _tensors(module).items()}
    others = {key: tuple(tensor.shape) for key, tensor in _tensors(made).items()}
    for key in sorted(set(shapes) | set(others)):
        if shapes.get(key) != others.get(key):
            raise ProblemError(
                f"{name}.{key} has shape {shapes.get(key)}, and {others.get(key)} when constructed again", HINT
            )


def _cast(name: str, module: Any, made: Any) -> str | None:
    others = _tensors(made)
    pairs = {(tensor.dtype, others[key].dtype) for key, tensor in _tensors(module).items()}
    if all(now == before for now, before in pairs):
        return None
    now = {dtype for dtype, _ in pairs if dtype.is_floating_point}
    if len(now) != 1 or any(dtype != before for dtype, before in pairs if not before.is_floating_point):
        raise ProblemError(
            f"{name} has parameters of {', '.join(sorted(map(str, now)))}, not as its constructor makes them",
            "cast the whole module to one dtype",
        )
    return str(now.pop()).removeprefix("torch.")


def _changed_buffers(module: Any, made: Any) -> dict[str, Any]:
    torch = sys.modules["torch"]
    others = dict(made.named_buffers())
    return {
        name: buffer.detach().cpu().clone()
        for name, buffer in module.named_buffers()
        if not torch.equal(buffer.cpu(), others[name].to("cpu", buffer.dtype))
    }
