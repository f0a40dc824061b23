"""Converts example inputs to a problem's inputs: the tensors in them, named sizes, an expression for each, and stored
values.

Values of at most `STORED_BYTES` in total are stored, and the problem draws its inputs from them. Of larger inputs only
shapes and dtypes are used.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kernelwright.errors import ProblemError
from kernelwright.problems.live.expressions import Expressions, Leaf

STORED_BYTES = 64 << 20
"""Largest total size of stored inputs. The file is read for every draw and copied into every run."""

Place = tuple[str, int]
"""A dimension of an input."""


class Call(NamedTuple):
    """A call of the live object. positional, named: its arguments. texts, named_texts: the same as expressions of the
    tensors in them. tensors: by the names in these expressions; the problem's inputs."""

    positional: tuple[Any, ...]
    named: dict[str, Any]
    texts: list[str]
    named_texts: dict[str, str]
    tensors: dict[str, Any]

    def flat(self) -> Call:
        """The call of the written problem: with the tensors, in their order."""
        return self._replace(positional=tuple(self.tensors.values()), named={})


def read_call(function: Callable[..., Any], given: object, named: Mapping[str, Any], written: Expressions) -> Call:
    """given: one tensor, a sequence of positional arguments, or a mapping by name. named: arguments by name beside
    positional ones. Raises `ProblemError` if they do not fit the signature, or cannot be written."""
    torch = sys.modules["torch"]
    if not isinstance(given, torch.Tensor | Mapping | list | tuple):
        raise ProblemError(
            f"example_inputs is a {type(given).__name__}", "give a tensor, a list of inputs, or a dict by argument name"
        )
    named = {**(given if isinstance(given, Mapping) else {}), **named}
    positional = (given,) if isinstance(given, torch.Tensor) else () if isinstance(given, Mapping) else tuple(given)
    names = [f"input_{place}" for place in range(len(positional))]
    with contextlib.suppress(ValueError):  # a builtin function without a signature
        signature = inspect.signature(function)
        try:
            signature.bind(*positional, **named)
        except TypeError as error:
            raise ProblemError(
                f"forward cannot take the example inputs: {error}", "give one for each argument"
            ) from error
        kinds = {name: one.kind for name, one in signature.parameters.items()}
        names = [name for name, kind in kinds.items() if kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD)]
        rest = next((name for name, kind in kinds.items() if kind is kind.VAR_POSITIONAL), "")
        names += [f"{rest}_{place}" for place in range(len(positional) - len(names))]
    leaves: dict[str, Leaf] = {}
    texts = [written.text(one, name, leaves) for name, one in zip(names, positional, strict=False)]
    named_texts = {name: written.text(one, name, leaves) for name, one in named.items()}
    tensors = {name: leaf.tensor for name, leaf in leaves.items()}
    if not tensors:
        raise ProblemError("no tensor is among the example inputs", "a kernel needs one")
    for name, tensor in tensors.items():
        if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
            raise ProblemError(f"input {name} is no dense tensor ({tensor.layout})", "give dense tensors")
    return Call(positional, named, texts, named_texts, tensors)


class Inputs(NamedTuple):
    """The inputs of a problem. sizes: parameters of get_inputs with the example's values. texts: the expressions that
    get_inputs returns. stored: tensors for `example.pt`; None if they are too large."""

    sizes: dict[str, int]
    texts: list[str]
    stored: dict[str, Any] | None


def places_of(tensors: Mapping[str, Any]) -> dict[Place, str]:
    """A name for each size of an input that may vary."""
    places = [(name, dim) for name, one in tensors.items() for dim in range(one.dim()) if one.shape[dim] > 1]
    return {place: "{}_size{}".format(*place) for place in places}


def read_inputs(tensors: Mapping[str, Any], names: Mapping[Place, str], drawn: bool) -> Inputs:
    """names: of the sizes that are parameters, by place; equal names are one parameter. drawn: whether values beside
    the inputs differ in every draw."""
    bytes_ = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    is_stored = bytes_ <= STORED_BYTES and not any(tensor.is_meta for tensor in tensors.values())
    kept = {name: one.detach().cpu().clone() for name, one in tensors.items() if is_stored and not _is_uniform(one)}
    shuffled = {name for name, tensor in kept.items() if not _is_structured(tensor)}
    if not shuffled and not drawn:
        shuffled = {name for name, tensor in kept.items() if not _ascends(tensor)}
    texts: list[str] = []
    for name, value in tensors.items():
        shape = [names.get((name, dim), str(int(size))) for dim, size in enumerate(value.shape)]
        how = "drawn" if name in shuffled else "kept"
        texts.append(f"{how}({', '.join([repr(name), *shape])})" if name in kept else _random(value, shape))
    sizes = {one: int(tensors[name].shape[dim]) for (name, dim), one in names.items()}
    return Inputs(sizes, texts, kept if is_stored else None)


def _random(tensor: Any, shape: list[str]) -> str:
    """An expression that draws random values of the tensor's dtype, without the example's values."""
    torch, size = sys.modules["torch"], f"({', '.join(shape)}{',' * (len(shape) == 1)})"
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
    is_real = tensor.is_floating_point()
    if not (is_real or tensor.is_complex()) or not bool(tensor.isfinite().all()) or _ascends(tensor):
        return True
    if is_real and bool((tensor.double() == tensor.double().round()).all()):
        return True
    return tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] and bool((tensor == tensor.mT).all())


def _ascends(tensor: Any) -> bool:
    flat = tensor.flatten()
    return tensor.numel() < 2 or (not tensor.is_complex() and bool((flat[1:] >= flat[:-1]).all()))
