"""Builds the type of an interpreted value once for each dtype and shape.

Triton's interpreter builds the type of every result: the shape as a tuple of constants, the number of elements, a name.
For small blocks that took half of a replay's time. These attributes depend on dtype and shape only, so they are kept
and shared here.
"""

from __future__ import annotations

from typing import Any

from triton.language import core
from triton.language.semantic import TritonSemantic


def install() -> None:
    """Patch `triton.language` in this process; call it once."""
    core.block_type.__init__ = _block_type(core.block_type.__init__)
    core.tensor.__init__ = _tensor(core.tensor.__init__)
    TritonSemantic.broadcast_impl_value = _same_shape_first(TritonSemantic.broadcast_impl_value)


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
        vars(self).update(known[type.name], handle=handle, type=type, dtype=type.scalar)

    return built


def _same_shape_first(broadcast: Any) -> Any:
    """Two values of one shape, or two scalars, need no broadcast."""

    def broadcast_unless_same(self: Any, lhs: Any, rhs: Any) -> Any:
        is_block = lhs.type.is_block()
        if is_block == rhs.type.is_block() and (not is_block or lhs.type.shape.values == rhs.type.shape.values):
            return lhs, rhs
        return broadcast(self, lhs, rhs)

    return broadcast_unless_same
