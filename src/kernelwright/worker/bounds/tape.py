"""The tape: the ATen operators that a forward calls, each with the memory that it reads and writes.

It keeps values of whole-number tensors only, because they may be indices, and only of tensors that have values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.worker.bounds.flop import flop_of, operands
from kernelwright.worker.reference.instance import operator_name, version_of

COPIES = frozenset({"clone", "_to_copy", "contiguous"})
"""Operators whose output has the values of their input."""


@dataclass(frozen=True)
class View:
    """A tensor as a part of a storage. shape, stride and offset in elements. values: a tensor on the same memory, for
    whole numbers only; None if they are not known."""

    storage: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype
    version: int
    values: Tensor | None = field(default=None, compare=False)

    def known(self) -> Tensor | None:
        """The values at the time of the call; None if they are not known or were changed since."""
        if self.values is None or version_of(self.values) != self.version:
            return None
        return self.values.as_strided(self.shape, self.stride, self.offset)


@dataclass(frozen=True)
class Step:
    """One call of an operator. name: without its overload. arguments: by the names of its schema, a `View` for each
    tensor. written: names of the arguments that it changes in place. flop, dtype: of a product and its operands; 0 and
    "" for other operators."""

    func: Any
    name: str
    is_pointwise: bool
    arguments: dict[str, Any]
    written: tuple[str, ...]
    outputs: tuple[View, ...]
    flop: int
    dtype: str

    def tensors(self) -> Iterator[View]:
        """Every tensor among the arguments, in their order."""
        for value in self.arguments.values():
            yield from (one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, View))


def is_strided(value: object) -> bool:
    """Whether a value is a strided tensor. Sparse tensors are not followed."""
    return isinstance(value, Tensor) and value.layout is torch.strided


class Tape(TorchDispatchMode):
    """A mode that records every operator as a `Step`. nbytes: the size of each storage."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self.nbytes: dict[int, int] = {}
        self.units: dict[int, int] = {}
        """Bytes of the smallest element of each storage, over all its views."""
        self.alive: dict[int, StorageWeakRef] = {}
        """Weak references to all storages: while one exists, no other storage gets the same number."""
        self.drawn: dict[int, Tensor] = {}
        """Values for storages of fake tensors, from `draw`."""
        self.narrow: dict[int, torch.dtype] = {}
        """The narrower dtype from which the values of a storage were copied."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "prim":
            return func(*args, **kwargs)
        with self:
            made = func.decompose(*args, **kwargs)
        if made is not NotImplemented:
            return made
        names = [argument.name for argument in func._schema.arguments]
        arguments = {name: self._seen(value) for name, value in [*zip(names, args, strict=False), *kwargs.items()]}
        product = operands(func, args)
        dtype = self._multiplied(product) if any(map(is_strided, product)) else ""
        made = func(*args, **kwargs)
        produced = made if isinstance(made, list | tuple) else (made,)
        outputs = tuple(self.view(one) for one in produced if is_strided(one))
        changed = [a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        name = operator_name(func)
        step = Step(
            func=func, name=name, is_pointwise=torch.Tag.pointwise in func.tags,
            arguments=arguments, written=tuple(changed),
            outputs=outputs, flop=flop_of(func, args, kwargs, made) if dtype else 0, dtype=dtype,
        )  # fmt: skip
        self.steps.append(step)
        self._widened(step)
        return made

    def view(self, tensor: Tensor) -> View:
        """`tensor` as a part of its storage."""
        reference = StorageWeakRef(tensor.untyped_storage())
        storage = reference.cdata
        self.alive.setdefault(storage, reference)
        self.nbytes[storage] = tensor.untyped_storage().nbytes()
        self.units[storage] = min(self.units.get(storage, tensor.element_size()), tensor.element_size())
        is_whole = not (tensor.is_floating_point() or tensor.is_complex())
        has_values = is_whole and not tensor.is_meta and not isinstance(tensor, FakeTensor)
        return View(
            storage=storage, shape=tuple(tensor.shape), stride=tuple(tensor.stride()),
            offset=int(tensor.storage_offset()), dtype=tensor.dtype,
            version=version_of(tensor), values=tensor if has_values else self.drawn.get(storage),
        )  # fmt: skip

    def draw(self, tensor: Tensor, values: Tensor) -> None:
        """Give values to a tensor that has none, and to its views. Ignored if shape, strides or dtype differ."""
        if (tensor.shape, tensor.stride(), tensor.dtype) == (values.shape, values.stride(), values.dtype):
            self.drawn[self.view(tensor).storage] = values

    def _seen(self, value: Any) -> Any:
        if is_strided(value):
            return self.view(value)
        return [self._seen(one) for one in value] if isinstance(value, list | tuple) else value

    def _widened(self, step: Step) -> None:
        """Note the storages whose values were copied from a narrower dtype."""
        for name in step.written:
            if isinstance(target := step.arguments.get(name), View):
                self.narrow.pop(target.storage, None)
        if step.name in COPIES and step.outputs:
            source = next(step.tensors())
            if source.storage != step.outputs[0].storage:
                dtype = self.narrow.get(source.storage, source.dtype)
                if dtype.itemsize <= step.outputs[0].dtype.itemsize and dtype is not torch.bool:
                    self.narrow[step.outputs[0].storage] = dtype

    def _multiplied(self, product: tuple[Tensor, ...]) -> str:
        """The dtype that a product needs: the widest of the narrowest dtypes that hold its operands' values.

        bfloat16 values that were cast to float32 multiply just as exactly in bfloat16 on tensor cores, which add up in
        float32.
        """
        views = [self.view(operand) for operand in product if is_strided(operand)]
        dtypes = [self.narrow.get(view.storage, view.dtype) for view in views]
        return str(max(dtypes, key=lambda dtype: dtype.itemsize)).removeprefix("torch.")
