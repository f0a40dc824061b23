"""Builds the type of an interpreted value once for each dtype and shape, and finds once for each two types what an
operator makes of its operands.

Triton's interpreter builds the type of every result: the shape as a tuple of constants, the number of elements, a name.
For small blocks that took half of a replay's time. These attributes depend on dtype and shape only, so they are kept
and shared here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from triton.language import core
from triton.language.semantic import TritonSemantic
from triton.runtime.interpreter import TensorHandle

from kernelwright.worker.interpret.combine import refuse_many


def install() -> None:
    """Patch `triton.language` in this process; call it once."""
    core.block_type.__init__ = _block_type(core.block_type.__init__)
    core.tensor.__init__ = _tensor(core.tensor.__init__)
    core._unwrap_if_constexpr = _unless_plain(core._unwrap_if_constexpr)
    TritonSemantic.broadcast_impl_value = _broadcast(TritonSemantic.broadcast_impl_value)
    TritonSemantic.binary_op_type_checking_impl = _operands(TritonSemantic.binary_op_type_checking_impl)


def _block_type(build: Any) -> Any:
    """A block type gets its attributes from the first one of the same shape and name of the element type. Shapes other
    than a list or `tl.tuple` of ints or constants are left to Triton, which may refuse them."""
    known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def built(self: Any, element_ty: Any, shape: Any) -> None:
        values: Any = shape.values if type(shape) is core.tuple else shape if type(shape) is list else [None]
        sizes = [size.value if type(size) is core.constexpr else size for size in values]
        if any(type(size) is not int for size in sizes):
            build(self, element_ty, shape)
            return
        key = (element_ty.name, *sizes)
        if key not in known:
            build(self, element_ty, shape)
            known[key] = {name: value for name, value in vars(self).items() if name != "element_ty"}
        vars(self).update(known[key], element_ty=element_ty)

    return built


def _tensor(build: Any) -> Any:
    """A tensor gets its shape and its number of elements from the first one with a type of the same name."""
    known: dict[str, dict[str, Any]] = {}

    def built(self: Any, handle: Any, type: Any) -> None:
        if type.name not in known:
            build(self, handle, type)
            own = ("handle", "type", "dtype")
            known[type.name] = {name: value for name, value in vars(self).items() if name not in own}
        self.__dict__ = {**known[type.name], "handle": handle, "type": type, "dtype": type.scalar}

    return built


def _unless_plain(unwrap: Any) -> Any:
    """A value without the constants of the compiler's in it; most are no tuple, list or constant."""
    plain = {core.tensor, core.dtype, core.block_type, type(None), bool, int, float, str}
    return lambda value: value if type(value) in plain else unwrap(value)


def _broadcast(broadcast: Any) -> Any:
    """Two values in one shape, whose types are found once."""
    known: dict[tuple[str, str], tuple[Any, Any]] = {}

    def spread(self: Any, lhs: Any, rhs: Any) -> Any:
        types = known.get((lhs.type.name, rhs.type.name))
        if types is None:
            left, right = broadcast(self, lhs, rhs)
            known[lhs.type.name, rhs.type.name] = left.type, right.type
            return left, right
        return _spread(lhs, types[0]), _spread(rhs, types[1])

    return spread


def _spread(value: Any, type: Any) -> Any:
    if type.name == value.type.name:
        return value
    refuse_many(value.handle, value.type)
    data = np.empty(type.get_block_shapes(), value.handle.data.dtype)
    data[...] = value.handle.data
    return core.tensor(TensorHandle(data, value.handle.dtype.scalar), type)


def _operands(check: Any) -> Any:
    """The two operands of an elementwise operator, converted for each other. How that is done depends on their types,
    and on the value of a number of Python's, so it is found once. NumPy spreads small operands over large ones itself:
    they only get the type of the result here."""
    known: dict[tuple[Any, ...], tuple[Any, Any] | None] = {}

    def operands(self: Any, lhs: Any, rhs: Any, *flags: Any, **named: Any) -> Any:
        left = lhs.type.name if type(lhs) is core.tensor else (type(lhs), repr(lhs))
        right = rhs.type.name if type(rhs) is core.tensor else (type(rhs), repr(rhs))
        key = (left, right, flags, *named.items())
        if (ways := known.get(key)) is not None:
            return _given(lhs, ways[0]), _given(rhs, ways[1])
        left, right = check(self, lhs, rhs, *flags, **named)
        ways = _way(lhs, left), _way(rhs, right)
        known[key] = None if any(way is None for way in ways) else ways
        return left, right

    return operands


def _way(value: Any, made: Any) -> Any:
    """What `_given` makes of a value: a tensor, for a number; the type of the result, for a tensor of its elements;
    None, for one of others."""
    if type(value) is not core.tensor:
        number = made.handle.data.reshape(-1)[:1].copy()
        number.flags.writeable = False
        return core.tensor(TensorHandle(number, made.handle.dtype), made.type)
    return made.type if made.type.scalar == value.type.scalar else None


def _given(value: Any, way: Any) -> Any:
    if type(way) is core.tensor:
        return way
    if way.name == value.type.name:
        return value
    refuse_many(value.handle, value.type)
    return core.tensor(value.handle, way)
