"""Reductions and scans of interpreted values, combined in the shape of a tree.

A GPU combines n values in about log2(n) steps. Triton's interpreter combines them one after the other, so that the
rounding errors of a long block add up to many times those of a GPU, and calls a function of two numbers n - 1 times.
Here it is called for all pairs of a step at once: a value that is a number to the kernel then holds one number for each
pair. A function that decides by such a value (`if`) is called as Triton does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

Arrays = list[np.ndarray[Any, Any]]
Combine = Callable[[Arrays, Arrays], Arrays]


class ManyNumbers(Exception):
    """A kernel decides by a value that stands for many numbers here, or does something else with it than compute."""


def install() -> None:
    """Patch Triton's interpreter in this process; call it once."""
    reductions, scans = triton_interpreter.ReduceOps, triton_interpreter.ScanOps
    reductions.sum = _or_one_by_one(_summed, reductions.sum)
    reductions.generic_reduce = _or_one_by_one(_reduced, reductions.generic_reduce)
    scans.cumsum = _or_one_by_one(_scanned_by(np.add), scans.cumsum)
    scans.cumprod = _or_one_by_one(_scanned_by(np.multiply), scans.cumprod)
    scans.generic_scan = _or_one_by_one(_scanned, scans.generic_scan)
    triton_interpreter._patch_lang_tensor = _deciding_by_one(triton_interpreter._patch_lang_tensor)
    builder = triton_interpreter.InterpreterBuilder
    builder.create_splat = _spreading_one(builder.create_splat)


def reduced(combine: Combine, arrays: Arrays, axis: int) -> Arrays:
    """The arrays without an axis, whose values are combined. Only neighbours are, so their order is kept."""
    while (size := arrays[0].shape[axis]) > 1:
        if size % 2:
            raise ManyNumbers(f"a block with an axis of {size}")
        arrays = combine(
            [_part(array, axis, slice(0, None, 2)) for array in arrays],
            [_part(array, axis, slice(1, None, 2)) for array in arrays],
        )
    return [array.squeeze(axis) for array in arrays]


def scanned(combine: Combine, arrays: Arrays, axis: int) -> Arrays:
    """The values of each array combined with all before them along an axis."""
    arrays, size, step = [array.copy() for array in arrays], arrays[0].shape[axis], 1
    while step < size:
        made = combine(
            [_part(array, axis, slice(0, -step)) for array in arrays],
            [_part(array, axis, slice(step, None)) for array in arrays],
        )
        for array, new in zip(arrays, made, strict=True):
            array[_at(array, axis, slice(step, None))] = new
        step *= 2
    return arrays


def _part(array: Any, axis: int, part: slice) -> Any:
    return array[_at(array, axis, part)]


def _at(array: Any, axis: int, part: slice) -> tuple[slice, ...]:
    return tuple(part if number == axis else slice(None) for number in range(array.ndim))


def _by(function: Callable[..., Any], dtypes: list[Any]) -> Combine:
    """A kernel's function of two values (of two pairs, …). dtypes: Triton's, of the values."""

    def of(arrays: Arrays) -> list[Any]:
        handles = [triton_interpreter.TensorHandle(array, dtype) for array, dtype in zip(arrays, dtypes, strict=True)]
        return [tl.tensor(handle, dtype) for handle, dtype in zip(handles, dtypes, strict=True)]

    def combine(left: Arrays, right: Arrays) -> Arrays:
        result = function(*of(left), *of(right))
        values = [result] if len(left) == 1 else [*result]
        return [_as(getattr(getattr(value, "handle", None), "data", value), array)
                for value, array in zip(values, left, strict=True)]  # fmt: skip

    return combine


def _as(data: Any, array: Any) -> Any:
    """A copy of numbers in the dtype and the shape of `array`; one number counts for all."""
    return np.broadcast_to(np.asarray(data).astype(array.dtype), array.shape)


def _reduced(self: Any, values: tuple[Any, ...]) -> list[Any]:
    combine = _by(self.combine_fn.fn, [value.dtype for value in values])
    arrays = [value.handle.data for value in values]
    if self.axis is None:
        found = reduced(combine, [array.reshape(-1) for array in arrays], 0)
    else:
        found = reduced(combine, arrays, operator.index(self.axis) % arrays[0].ndim)
    return [_result(self, array, value) for array, value in zip(found, values, strict=True)]


def _summed(self: Any, value: Any) -> Any:
    """NumPy adds up in pairs of pairs, but only along the last axis of contiguous memory."""
    data = value.handle.data
    last = data.reshape(-1) if self.axis is None else np.ascontiguousarray(np.moveaxis(data, self.axis, -1))
    return _result(self, np.sum(last, axis=-1, dtype=data.dtype), value)


def _result(self: Any, array: Any, value: Any) -> Any:
    """What Triton's methods return. array: without the axis along which `value` was reduced."""
    if self.keep_dims:
        array = (
            np.reshape(array, (1,) * value.handle.data.ndim) if self.axis is None else np.expand_dims(array, self.axis)
        )
    return self.to_tensor(array, value.dtype)


def _scanned(self: Any, values: tuple[Any, ...]) -> list[Any]:
    dtypes = [value.dtype for value in values]
    return _scan(self, _by(self.combine_fn.fn, dtypes), values)


def _scanned_by(ufunc: np.ufunc) -> Callable[..., Any]:
    def made(self: Any, value: Any) -> list[Any]:
        return _scan(self, lambda left, right: [ufunc(left[0], right[0])], (value,))

    return made


def _scan(self: Any, combine: Combine, values: tuple[Any, ...]) -> list[Any]:
    arrays = [value.handle.data for value in values]
    axis = operator.index(self.axis) % arrays[0].ndim
    return [self.to_tensor(array, value.dtype)
            for value, array in zip(values, scanned(combine, arrays, axis), strict=True)]  # fmt: skip


def _or_one_by_one(at_once: Callable[..., Any], one_by_one: Callable[..., Any]) -> Callable[..., Any]:
    """`at_once`, or Triton's own method where that fails; from then on always that for the same function."""
    known: set[Any] = set()

    def combined(self: Any, values: Any) -> Any:
        if self.combine_fn not in known:
            try:
                return at_once(self, values)
            except Exception:  # noqa: BLE001 - what the function does wrong shows again, one by one
                known.add(self.combine_fn)
        return one_by_one(self, values)

    return combined


def _deciding_by_one(patch: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Triton's patch of `tl.tensor`, with a truth value that raises `ManyNumbers` for a number that is many here."""

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        is_true = tensor.__bool__

        def decided(self: Any) -> bool:
            _refuse_many(self.handle, self.type)
            return bool(is_true(self))

        scope.set_attr(tensor, "__bool__", decided)

    return patched


def _spreading_one(splat: Callable[..., Any]) -> Callable[..., Any]:
    """A block of one number; raises `ManyNumbers` for a number that is many here."""

    def spread(self: Any, block: Any, number: Any) -> Any:
        _refuse_many(number, number.dtype)
        return splat(self, block, number)

    return spread


def _refuse_many(handle: Any, kind: Any) -> None:
    if handle.data.size > 1 and not kind.is_block():
        raise ManyNumbers("a number that stands for many is not computed with, but decides or fills a block")
