"""Preparation of an instance: the file's Model and inputs are checked, named and moved to a device and dtype.

Constant parameters get random values here, and no parameter requires a gradient afterwards.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import torch
from torch import SymInt, Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.parameter import is_lazy

from kernelwright import codec
from kernelwright.errors import ProblemError
from kernelwright.worker.plan.structure import names_of, nested
from kernelwright.worker.reference.instance import Input, share_memory, unusual

REDRAWN_SPREAD = 0.1
"""Standard deviation of the random values added to a constant parameter: large enough that leaving the parameter out is
far above any tolerance, small enough that a norm weight of one stays near one."""


def settle(file: Path, module: nn.Module, device: str, wanted: torch.dtype | None, seed: int) -> tuple[str, ...]:
    """Prepare the Model in place: eval mode, tensor attributes as buffers, no gradients, random values for constant
    parameters, then device and dtype, one tensor at a time. Returns the names of the trained parameters.

    seed: of torch's generators before the Model was made. If they are as this seed leaves them, the Model has the same
    parameters for every seed (it reads them), and each trained one gets its values in another order.
    """
    module.eval()
    trained = tuple(name for name, one in module.named_parameters() if one.requires_grad)
    for holder in module.modules():
        for name in [name for name, value in vars(holder).items() if _is_state(value)]:
            value = vars(holder).pop(name)
            holder.register_buffer(name, value.detach(), persistent=False)
        for name, buffer in holder.named_buffers(recurse=False):
            if buffer._is_view():  # torch.compile asks for the dtype of the tensor that it is a view of
                holder.register_buffer(name, buffer.clone(), persistent=name not in holder._non_persistent_buffers_set)
    is_read = not any(isinstance(one, FakeTensor) for one in module.parameters()) and not _has_drawn(device, seed)
    for name, parameter in module.named_parameters():
        if is_lazy(parameter):
            raise ProblemError(f"{file}: {name} has no shape before the first call", "state the sizes of lazy modules")
        parameter.requires_grad_(False)
        has_values = not (parameter.is_meta or isinstance(parameter, FakeTensor)) and parameter.numel() > 0
        if has_values and (parameter.is_floating_point() or parameter.is_complex()):
            if is_read and name in trained and not _is_in_order(parameter):
                order = torch.randperm(parameter.numel(), device=parameter.device)
                parameter.copy_(parameter.flatten()[order].reshape(parameter.shape))
            value = parameter.flatten()[0]
            if bool((parameter == value).all()) and bool(value.isfinite()):
                parameter.add_(torch.randn_like(parameter), alpha=REDRAWN_SPREAD)
    for tensor in [*module.parameters(), *module.buffers()]:
        tensor.data = tensor.data.to(device, wanted if tensor.is_floating_point() else None)
    return trained


def _has_drawn(device: str, seed: int) -> bool:
    """Whether torch drew random numbers since its generators were given `seed`."""
    generators = [torch.default_generator]
    if torch.device(device).type == "cuda":
        generators.append(torch.cuda.default_generators[torch.device(device).index or 0])
    return any(not torch.equal(one.get_state(), torch.Generator(one.device).manual_seed(seed).get_state())
               for one in generators)  # fmt: skip


def _is_in_order(parameter: Tensor) -> bool:
    """Whether the places of the values mean something: they are whole numbers, or ascend."""
    flat = parameter.flatten()
    return not flat.is_complex() and bool((flat == flat.round()).all() or (flat[1:] >= flat[:-1]).all())


def _is_state(value: object) -> bool:
    """Whether an attribute is a float tensor of several elements, which a candidate receives like a buffer."""
    if not isinstance(value, Tensor) or type(value) not in (Tensor, FakeTensor):
        return False
    return value.is_floating_point() and bool(value.numel() > 1)


def prepared_input(file: Path, name: str, value: object, device: str, wanted: torch.dtype | None) -> Input:
    if isinstance(value, Tensor):
        if kind := unusual(value):
            raise ProblemError(f"{file}: get_inputs gives {kind} for {name}", "expected a dense tensor")
        return value.detach().to(device, wanted if value.is_floating_point() else None)
    if isinstance(value, SymInt):  # a number that is an input keeps its value
        return int(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ProblemError(
        f"{file}: get_inputs gives a {type(value).__name__} for {name}, expected a tensor, a number or None",
        "tensors and numbers may be nested in lists, tuples and dicts",
    )


def mutated_leaves(file: Path, listed: tuple[str, ...], inputs: dict[str, Input]) -> tuple[str, ...]:
    """Names of the tensor inputs that MUTATES lists, by their own name or by the argument that contains them.

    Raises `ProblemError` for names of other things, and for inputs whose memory is expanded or shared.
    """
    for name in listed:
        if not any(is_in(one, name) and isinstance(value, Tensor) for one, value in inputs.items()):
            raise ProblemError(
                f"{file}: MUTATES lists {name!r}, which is no tensor that get_inputs gives",
                f"tensors: {', '.join(one for one, value in inputs.items() if isinstance(value, Tensor))}",
            )
    mutates = tuple(
        one for one, value in inputs.items() if isinstance(value, Tensor) and any(is_in(one, name) for name in listed)
    )
    for name in mutates:
        tensor = inputs[name]
        assert isinstance(tensor, Tensor)
        if any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)):
            raise ProblemError(
                f"{file}: the input {name} is expanded, so that forward cannot change it",
                "give it memory: .contiguous()",
            )
        for other, value in inputs.items():
            if other != name and isinstance(value, Tensor) and share_memory(tensor, value):
                raise ProblemError(
                    f"{file}: the inputs {name} and {other} share memory, and forward changes {name}",
                    "give each its own memory: .clone()",
                )
    return mutates


def is_in(leaf: str, argument: str) -> bool:
    return leaf == argument or leaf.startswith(f"{argument}.")


def refuse_unsendable(file: Path, name: str, value: object) -> None:
    """Raise `ProblemError` for a constructor argument that JSON cannot hold: the recorder gets arguments as JSON, and
    tensors as shape and dtype."""
    if isinstance(value, Tensor):
        return
    try:
        codec.encode(without_objects(value))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ProblemError(
            f"{file}: get_init_inputs gives a {type(value).__name__} for {name}",
            "expected numbers, text, None, tensors, or lists, dicts and objects of numbers and text; "
            "Model can choose functions, dtypes and modules by a name",
        ) from error


def without_objects(value: Any) -> Any:
    """A constructor argument as it is sent: an object becomes a dict of its attributes, a member of an enum its
    value."""
    if isinstance(value, Enum):
        return without_objects(value.value)
    if isinstance(value, torch.SymInt):  # in place of a number, where code is generated for all sizes
        return value.node.hint
    if isinstance(value, dict):
        return {key: without_objects(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(without_objects, value))
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: without_objects(getattr(value, one.name)) for one in fields(value)}
    if hasattr(value, "__dict__") and not callable(value) and not isinstance(value, Tensor):
        return without_objects(vars(value))
    return value


def bind_arguments(
    file: Path, what: str, function: Callable[..., object], values: Sequence[object], named: Mapping[str, object]
) -> tuple[tuple[str, ...], list[Any], tuple[str, ...]]:
    """The arguments of `function`: all names (for `*rest`: rest_0, rest_1, …), all values, and the names of the last
    arguments, those that are passed by name."""
    try:
        bound = inspect.signature(function).bind(*values, **named)
    except TypeError as error:
        maker, count = "get_inputs" if what == "forward" else "get_init_inputs", len(values) + len(named)
        raise ProblemError(f"{file}: {what} cannot take the {count} values of {maker}: {error}") from error
    names: list[str] = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{name}_{position}" for position in range(len(value))]
        else:
            names += list(value) if kind is inspect.Parameter.VAR_KEYWORD else [name]
    return tuple(names), [*bound.args, *bound.kwargs.values()], tuple(bound.kwargs)


def leaves_of(file: Path, names: tuple[str, ...], arguments: list[Any]) -> tuple[tuple[str, ...], list[Any], str]:
    """Names and values of the leaves of forward's arguments, and how they are nested; "" if nothing is nested."""
    leaves: list[Any] = []
    try:
        structure = {name: nested(value, leaves) for name, value in zip(names, arguments, strict=True)}
    except ValueError as error:
        raise ProblemError(f"{file}: get_inputs gives {error}", "expected tensors and numbers") from error
    found = tuple(leaf for name, one in structure.items() for leaf in names_of(name, one))
    if len(set(found)) != len(found):
        raise ProblemError(f"{file}: two inputs would have one name: {', '.join(found)}", "take the dots out of keys")
    return found, leaves, "" if found == names else repr(structure)


def refuse_own_seed(file: Path, given: int) -> None:
    if torch.initial_seed() != given:
        raise ProblemError(
            f"{file}: get_inputs calls torch.manual_seed, so that every seed gives the same values",
            "remove that call: kernelwright seeds, and needs values that a candidate cannot foresee",
        )
