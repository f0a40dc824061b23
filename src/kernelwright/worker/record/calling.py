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
from kernelwright.source.signatures import bind
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


def trained(tensor: torch.Tensor) -> torch.nn.Parameter:
    """A parameter as it is after a first step of training."""
    made = torch.nn.Parameter(tensor)
    made.grad = torch.empty_like(tensor)
    return made


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
        if is_parameter:
            is_trained = torch.is_grad_enabled() and given.is_floating_point()
            given = trained(given) if is_trained else torch.nn.Parameter(given, requires_grad=False)
        setattr(holder, leaf, given)


def forward_arguments(case: CaseShape, inputs: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The positional and keyword arguments of forward."""
    arguments = arguments_from(case.arguments, case.input_names, inputs)
    named = {name: arguments.pop(name) for name in case.keywords}
    return list(arguments.values()), named


def bind_arguments(
    call: Any, case: CaseShape, inputs: list[Any], parameters: dict[str, torch.Tensor], init: list[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The positional and keyword arguments of a function of a candidate, see `signatures.bind`."""
    signature = inspect.signature(call)
    by_name = arguments_from(case.arguments, case.input_names, inputs)
    try:
        found = bind(signature, [*by_name], [*parameters], case.init_names[: len(init)])
    except ValueError as error:
        raise Refused(str(error)) from error
    defaults = [one.default for one in signature.parameters.values()]
    groups = {"input": [*by_name.values()], "parameter": [*parameters.values()], "init": init, "default": defaults}
    values = [(one.keyword, groups[one.origin][one.index]) for one in found]
    return [one for name, one in values if name is None], {name: one for name, one in values if name is not None}
