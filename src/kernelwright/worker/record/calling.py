"""The arguments of host code: inputs, parameters and constructor arguments of a case, as tensors without values.

A candidate gets the reference's parameters, by name or by a name that means the same. A parameter that the reference
does not have is refused when a kernel or copy uses it.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch

from kernelwright.model import TensorSpec
from kernelwright.source.parameter_names import meant
from kernelwright.worker.plan.case_shape import CaseShape
from kernelwright.worker.plan.structure import arguments_from
from kernelwright.worker.record.trace import Refused


def meta(spec: TensorSpec) -> torch.Tensor:
    dtype = getattr(torch, spec.dtype)
    if not spec.offset:
        return torch.empty_strided(spec.shape, spec.stride, dtype=dtype, device="meta")
    reach = spec.offset + sum((size - 1) * stride for size, stride in zip(spec.shape, spec.stride, strict=True)) + 1
    storage = torch.empty(reach, dtype=dtype, device="meta")
    return storage.as_strided(spec.shape, spec.stride, spec.offset)


def adopt(model: torch.nn.Module, parameters: dict[str, torch.Tensor]) -> None:
    """Replace the parameters and buffers of a candidate's module by those of the reference that it means; refuses
    another shape under the same name.

    Those that the reference does not have stay, and are refused when a kernel or copy uses them.
    """
    own = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
    names = meant(own, {name: tuple(one.shape) for name, one in parameters.items()})
    for name, tensor in own:
        if name not in names:
            continue
        given = parameters[names[name]]
        if tuple(tensor.shape) != tuple(given.shape):
            raise Refused(f"the parameter {name} has shape {tuple(tensor.shape)}, the reference's {tuple(given.shape)}")
        holder, leaf = model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        setattr(holder, leaf, torch.nn.Parameter(given, requires_grad=False) if is_parameter else given)


def forward_arguments(case: CaseShape, inputs: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The positional and keyword arguments of forward."""
    arguments = arguments_from(case.arguments, case.input_names, inputs)
    named = {name: arguments.pop(name) for name in case.keywords}
    return list(arguments.values()), named


def bind_arguments(
    call: Any, case: CaseShape, inputs: list[Any], parameters: dict[str, torch.Tensor], init: list[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of `kernel_function`, matched by name: arguments of forward, then parameters (dots as underscores,
    or a unique last part), then constructor arguments. An argument with another name takes the next input that no name
    matches if it has no default or the default None, and otherwise keeps its default.

    `*args` gets the inputs and parameters that no name matches, in order. `**kwargs` gets constructor arguments, and
    without `*args` also these inputs and parameters (a parameter under each of its names). With `*args` and without
    `**kwargs`, constructor arguments follow the parameters.
    """
    named: dict[str, Any] = dict(zip(case.init_names, init, strict=False))
    leaves = [name.rpartition(".")[2] for name in parameters]
    named |= {
        name.rpartition(".")[2]: t for name, t in parameters.items() if leaves.count(name.rpartition(".")[2]) == 1
    }
    named |= {name.replace(".", "_"): tensor for name, tensor in parameters.items()}
    by_input = arguments_from(case.arguments, case.input_names, inputs)
    named |= by_input
    wanted = [p for p in inspect.signature(call).parameters.values() if p.kind is not p.VAR_KEYWORD]
    taken = {p.name for p in wanted if p.kind is not p.VAR_POSITIONAL}
    unnamed = [name for name in by_input if name not in taken]
    positional = any(p.kind is p.VAR_POSITIONAL for p in wanted)
    by_name = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(call).parameters.values())
    aliases = {name: [name.replace(".", "_"), *_unique_leaf(name, leaves)] for name in parameters}
    loose = {name: tensor for name, tensor in parameters.items() if not taken & set(aliases[name])}
    options = {name: value for name, value in zip(case.init_names, init, strict=False) if name not in taken}
    if by_name and not positional:
        options |= {alias: tensor for name, tensor in loose.items() for alias in aliases[name]}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter in wanted:
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += [*(by_input[name] for name in unnamed), *loose.values(), *([] if by_name else options.values())]
            unnamed = []
            continue
        if parameter.name in named:
            value = named[parameter.name]
        elif unnamed and parameter.default in (parameter.empty, None):
            value = by_input[unnamed.pop(0)]
        elif parameter.default is not parameter.empty:
            value = parameter.default
        else:
            known = ", ".join(named)
            raise Refused(f"kernel_function has an argument {parameter.name!r}, the problem has only: {known}")
        if parameter.kind is parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    if by_name:
        kwargs |= options | {name: by_input[name] for name in unnamed}
    return args, kwargs


def _unique_leaf(name: str, leaves: list[str]) -> list[str]:
    """The last part of a parameter's name; [] if another parameter has it or if it is the whole name."""
    leaf = name.rpartition(".")[2]
    return [leaf] if leaves.count(leaf) == 1 and leaf != name.replace(".", "_") else []
