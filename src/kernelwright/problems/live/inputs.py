"""Converts example inputs to a problem's inputs: named sizes, an expression for each input, and stored values.

Values of at most `STORED_BYTES` in total are stored, and the problem draws its inputs from them. Of larger inputs only
shapes and dtypes are used.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kernelwright.errors import ProblemError

STORED_BYTES = 64 << 20
"""Largest total size of stored inputs and buffers. The file is read for every draw and copied into every run."""


class Inputs(NamedTuple):
    """The inputs of a problem. names: of the arguments, in forward's order. sizes: parameters of get_inputs with the
    example's values. texts: the expressions that get_inputs returns. stored: tensors for `example.pt`; empty if they
    are too large. call: the arguments in forward's signature, such as "x, mask=mask". dtypes: torch's names of the
    tensors' dtypes."""

    names: tuple[str, ...]
    sizes: dict[str, int]
    texts: tuple[str, ...]
    stored: dict[str, Any]
    call: str
    dtypes: frozenset[str]


def bound_inputs(function: Callable[..., Any], given: object) -> tuple[dict[str, Any], str]:
    """Inputs by argument name, and the arguments of a call as text.

    given: one tensor, a sequence of positional arguments, or a mapping by name. Raises `ProblemError` if they do not
    fit the signature.
    """
    torch = sys.modules["torch"]
    positional: Sequence[Any] = ()
    named: Mapping[str, Any] = {}
    if isinstance(given, torch.Tensor):
        positional = (given,)
    elif isinstance(given, Mapping):
        named = given
    elif isinstance(given, list | tuple):
        positional = given
    else:
        raise ProblemError(
            f"example_inputs is a {type(given).__name__}", "give a tensor, a list of inputs, or a dict by argument name"
        )
    try:
        bound = inspect.signature(function).bind(*positional, **named).arguments
        kinds = {name: parameter.kind for name, parameter in inspect.signature(function).parameters.items()}
    except TypeError as error:
        raise ProblemError(f"forward cannot take the example inputs: {error}", "give one for each argument") from error
    except ValueError:  # a builtin function without a signature
        bound = {f"input_{position}": value for position, value in enumerate(positional)} | dict(named)
        kinds = dict.fromkeys(bound, inspect.Parameter.POSITIONAL_ONLY)
    inputs: dict[str, Any] = {}
    call: list[str] = []
    skipped = False
    for name, kind in kinds.items():
        if name not in bound:
            skipped = True
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            rest = {f"{name}_{position}": value for position, value in enumerate(bound[name])}
            inputs |= rest
            call += rest
        elif kind is inspect.Parameter.VAR_KEYWORD:
            inputs |= bound[name]
            call += [f"{key}={key}" for key in bound[name]]
        else:
            inputs[name] = bound[name]
            call.append(f"{name}={name}" if skipped or kind is inspect.Parameter.KEYWORD_ONLY else name)
    return inputs, ", ".join(call)


def read_inputs(inputs: Mapping[str, Any], call: str, sizes: Mapping[str, int], kept_bytes: int, drawn: bool) -> Inputs:
    """Convert inputs. call: see `Inputs`. sizes: named sizes of the module; an input dimension of the same value gets
    the same name. kept_bytes: size of the stored buffers. drawn: whether the module has parameters, which differ in
    every draw."""
    torch = sys.modules["torch"]
    tensors = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    for name, value in inputs.items():
        _refuse_unusual(name, value)
    names = {size: name for name, size in reversed([*sizes.items()]) if size > 1}
    for name, tensor in tensors.items():
        for dim, size in enumerate(tensor.shape):
            if size > 1:
                names.setdefault(int(size), _free(f"{name}_size{dim}", inputs, sizes))
    used = {int(size) for tensor in tensors.values() for size in tensor.shape if size > 1}
    bytes_ = kept_bytes + sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    stored = bytes_ <= STORED_BYTES and not any(tensor.is_meta for tensor in tensors.values())
    values = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()} if stored else {}
    shuffled = {name for name, tensor in values.items() if not _is_structured(tensor)}
    if not shuffled and not drawn:
        shuffled = {name for name, tensor in values.items() if not _ascends(tensor)}
    texts = []
    for name, value in inputs.items():
        if not isinstance(value, torch.Tensor):
            texts.append(
                repr(value) if not isinstance(value, float) or value - value == 0 else f"float({str(value)!r})"
            )
            continue
        shape = [names.get(int(size), str(int(size))) for size in value.shape]
        if stored and not _is_uniform(value):
            texts.append(f"{'drawn' if name in shuffled else 'kept'}({', '.join([repr(name), *shape])})")
        else:
            texts.append(_random(value, shape))
    values = {name: tensor for name, tensor in values.items() if not _is_uniform(tensor)}
    return Inputs(
        names=tuple(inputs), sizes={name: size for size, name in names.items() if size in used}, texts=tuple(texts),
        stored=values, call=call,
        dtypes=frozenset(str(tensor.dtype).removeprefix("torch.") for tensor in tensors.values()),
    )  # fmt: skip


def _refuse_unusual(name: str, value: Any) -> None:
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.is_nested or value.is_quantized:
            raise ProblemError(f"input {name} is no dense tensor ({value.layout})", "give dense tensors")
    elif not (value is None or type(value) in (bool, int, float, str)):
        raise ProblemError(
            f"input {name} is a {type(value).__name__}, expected a tensor, a number, a string or None",
            "give each tensor as a separate argument",
        )


def _free(name: str, *taken: Mapping[str, Any]) -> str:
    while any(name in names for names in taken):
        name += "_"
    return name


def _random(tensor: Any, shape: list[str]) -> str:
    """An expression that draws random values of the tensor's dtype, without the example's values."""
    torch = sys.modules["torch"]
    size = f"({', '.join(shape)}{',' if len(shape) == 1 else ''})"
    if tensor.dtype is torch.bool:
        return f"torch.rand({size}) < 0.5"
    if tensor.is_floating_point() or tensor.is_complex():
        plain = tensor.dtype.itemsize >= 2
        return f"torch.randn({size}, dtype={tensor.dtype})" if plain else f"torch.randn({size}).to({tensor.dtype})"
    low, high = (0, 2) if tensor.is_meta or not tensor.numel() else (int(tensor.min()), int(tensor.max()) + 1)
    return f"torch.randint({low}, {high}, {size}, dtype={tensor.dtype})"


def _is_uniform(tensor: Any) -> bool:
    """Whether all floating-point values are equal (ones, zeros). They cannot distinguish kernels, so only the shape is
    used."""
    if tensor.is_meta or tensor.numel() < 2 or not tensor.is_floating_point():
        return False
    return bool((tensor == tensor.flatten()[0]).all())


def _is_structured(tensor: Any) -> bool:
    """Whether the order of the values may matter: indices, masks, infinities, symmetric matrices, positions."""
    torch = sys.modules["torch"]
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.numel() < 2:
        return True
    if not bool(tensor.isfinite().all()) or _ascends(tensor):
        return True
    wide = tensor.to(torch.float64) if tensor.is_floating_point() else tensor
    if tensor.is_floating_point() and bool((wide == wide.round()).all()):
        return True
    return tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] and bool(torch.equal(tensor, tensor.mT))


def _ascends(tensor: Any) -> bool:
    if tensor.is_complex() or tensor.numel() < 2:
        return True
    flat = tensor.flatten()
    return bool((flat[1:] >= flat[:-1]).all())
