"""Converts example inputs to a problem's inputs: the tensors in them, named sizes, an expression for each, and stored
values.

Values of at most `STORED_BYTES` in total are stored, and the problem draws its inputs from them. Of larger inputs only
shapes and dtypes are used.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
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
    texts: tuple[str, ...]
    named_texts: dict[str, str]
    tensors: dict[str, Any]

    def flat(self) -> Call:
        """The call of the written problem: with the tensors, in their order."""
        return self._replace(positional=tuple(self.tensors.values()), named={})


def read_call(function: Callable[..., Any], given: object, named: Mapping[str, Any], written: Expressions) -> Call:
    """given: one tensor, a sequence of positional arguments, or a mapping by name. named: arguments by name beside
    positional ones. Raises `ProblemError` if they do not fit the signature, or cannot be written."""
    torch = sys.modules["torch"]
    positional: Sequence[Any] = ()
    if isinstance(given, torch.Tensor):
        positional = (given,)
    elif isinstance(given, Mapping):
        named = {**given, **named}
    elif isinstance(given, list | tuple):
        positional = given
    else:
        raise ProblemError(
            f"example_inputs is a {type(given).__name__}", "give a tensor, a list of inputs, or a dict by argument name"
        )
    names = [f"input_{place}" for place in range(len(positional))]
    try:
        signature = inspect.signature(function)
        signature.bind(*positional, **named)
        names = _names(signature, len(positional))
    except TypeError as error:
        raise ProblemError(f"forward cannot take the example inputs: {error}", "give one for each argument") from error
    except ValueError:  # a builtin function without a signature
        pass
    leaves: dict[str, Leaf] = {}
    texts = tuple(written.text(one, name, leaves) for name, one in zip(names, positional, strict=True))
    named_texts = {name: written.text(one, name, leaves) for name, one in named.items()}
    tensors = {name: leaf.tensor for name, leaf in leaves.items()}
    if not tensors:
        raise ProblemError("no tensor is among the example inputs", "a kernel needs one")
    for name, tensor in tensors.items():
        if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
            raise ProblemError(f"input {name} is no dense tensor ({tensor.layout})", "give dense tensors")
    return Call(tuple(positional), dict(named), texts, named_texts, tensors)


def _names(signature: inspect.Signature, count: int) -> list[str]:
    """The names of the first `count` positional arguments; for `*rest`: rest_0, rest_1, …"""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in signature.parameters.values() if one.kind in kinds][:count]
    rest = next((one.name for one in signature.parameters.values() if one.kind is one.VAR_POSITIONAL), "")
    return names + [f"{rest}_{place}" for place in range(count - len(names))]


class Inputs(NamedTuple):
    """The inputs of a problem. sizes: parameters of get_inputs with the example's values. texts: the expressions that
    get_inputs returns. stored: tensors for `example.pt`; None if they are too large."""

    sizes: dict[str, int]
    texts: tuple[str, ...]
    stored: dict[str, Any] | None


def read_inputs(tensors: Mapping[str, Any], names: Mapping[Place, str], drawn: bool) -> Inputs:
    """names: of the sizes that are parameters, by place; equal names are one parameter. drawn: whether values beside
    the inputs differ in every draw."""
    torch = sys.modules["torch"]
    bytes_ = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    is_stored = bytes_ <= STORED_BYTES and not any(tensor.is_meta for tensor in tensors.values())
    values = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()} if is_stored else {}
    shuffled = {name for name, tensor in values.items() if not _is_structured(tensor)}
    if not shuffled and not drawn:
        shuffled = {name for name, tensor in values.items() if not _ascends(tensor)}
    texts: list[str] = []
    sizes: dict[str, int] = {}
    for name, value in tensors.items():
        shape = [names.get((name, dim), str(int(size))) for dim, size in enumerate(value.shape)]
        sizes |= {one: int(size) for one, size in zip(shape, value.shape, strict=True) if not one.isdigit()}
        if is_stored and not _is_uniform(value):
            texts.append(f"{'drawn' if name in shuffled else 'kept'}({', '.join([repr(name), *shape])})")
        else:
            texts.append(_random(torch, value, shape))
    stored = {name: tensor for name, tensor in values.items() if not _is_uniform(tensor)}
    return Inputs(sizes=sizes, texts=tuple(texts), stored=stored if is_stored else None)


def _random(torch: Any, tensor: Any, shape: list[str]) -> str:
    """An expression that draws random values of the tensor's dtype, without the example's values."""
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
