"""Whether two traces are the same problem: the same operators run on the same tensors with the same arguments, and only
sizes of tensors differ.

`SIZES` lists the arguments that are sizes, by operator. Axes, strides, paddings, dilations, groups, windows, factors
and flags are not sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from kernelwright.worker.reference.trace import Call, Seen, Trace

UPSAMPLED = ("nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "bicubic2d", "trilinear3d")

SIZES = {
    "view": {"size"}, "_unsafe_view": {"size"}, "reshape": {"size", "shape"}, "expand": {"size"},
    "repeat": {"repeats"}, "as_strided": {"size", "stride", "storage_offset"}, "_reshape_alias": {"size", "stride"},
    "new_zeros": {"size"}, "new_ones": {"size"}, "new_full": {"size"}, "new_empty": {"size"},
    "new_empty_strided": {"size", "stride"}, "empty_strided": {"size", "stride"},
    "arange": {"start", "end"}, "tril_indices": {"row", "col"}, "triu_indices": {"row", "col"}, "sum_to_size": {"size"},
    "split": {"split_size"}, "split_with_sizes": {"split_sizes"}, "unflatten": {"sizes"},
    "native_layer_norm": {"normalized_shape"}, "layer_norm": {"normalized_shape"}, "rms_norm": {"normalized_shape"},
    "_fused_rms_norm": {"normalized_shape"}, "native_group_norm": {"N", "C", "HxW"},
    "_native_multi_head_attention": {"embed_dim"}, "_transformer_encoder_layer_fwd": {"embed_dim"},
    **{f"upsample_{kind}": {"output_size"} for kind in UPSAMPLED},
    # What autograd calls for these operators.
    "native_layer_norm_backward": {"normalized_shape"}, "_fused_rms_norm_backward": {"normalized_shape"},
    "native_group_norm_backward": {"N", "C", "HxW"}, "embedding_dense_backward": {"num_weights"},
    "slice_backward": {"input_sizes"}, "select_backward": {"input_sizes"}, "unfold_backward": {"input_sizes"},
    "diagonal_backward": {"input_sizes"}, "value_selecting_reduction_backward": {"sizes"},
    "convolution_backward": {"bias_sizes"},
    **{f"upsample_{kind}_backward": {"output_size", "input_size"} for kind in UPSAMPLED},
}  # fmt: skip
"""Arguments that are sizes and may differ, by operator, beside those of `_is_made`. The values 0, 1 and -1 are no sizes
and have to stay."""

PARTS = {
    "slice": ("start", "end"), "narrow": ("start", "length"), "select": ("index",),
    "slice_backward": ("start", "end"), "select_backward": ("index",), "roll": ("shifts",),
}  # fmt: skip
"""Arguments that are places in the dimension `dim`, or in those of `dims`: they may differ as the dimension does, or as
the size of an input, such as the number of places that are drawn."""

LINKED = {"randint": ("low", "high"), "full": ("fill_value",), "random_": ("from", "to")}
"""Arguments that limit or set values. One that equals a size (the number of classes, the length of a table) has to
follow that size; other limits of random numbers may change as a size does, and those of get_inputs at will."""

OPERAND = "other"
"""The second operand. A number may change as a size does, its root or its inverse; in get_inputs, as fills, at will."""

PUT = {"scalar_tensor": "s", "masked_fill": "value", "masked_fill_": "value"}
"""A number that takes the place of elements, such as an index past the last one. It may change as an operand does."""

SCALED = ("mul", "div")
"""Operators whose operands are factors, such as the number of terms by which a sum is divided."""

RANDOM_FILLS = {"uniform_": {"from", "to"}, "normal_": {"mean", "std"}}
"""Arguments that an initialisation computes from the sizes of a parameter; they may differ."""


PARTED = ("cat", "split", "split_with_sizes")
"""Operators that join tensors along a dimension, or cut one."""

NORMS = ("native_group_norm", "native_layer_norm")
LEAST_NORMALISED = 8
"""The fewest elements for one mean and deviation. A norm over one element gives 0, over two elements 1 and -1, whatever
their values: the result would not depend on the input."""

COUNTS = ("head", "group", "kernel", "stride", "pad", "dilat", "window", "patch", "expert", "depth_mult")
"""Constructor arguments with one of these in their name, and no "dim", are counts, not sizes, and have to stay. The
operators may not show a change of them, for example behind a view."""


class OtherFactor(str):
    """A difference in a number that is an operand, in words."""


def difference(base: Trace, other: Trace) -> str:
    """How `other` differs from `base` in more than sizes, in words; "" if they are the same problem."""
    return next(_differences(base, other), "")


def _differences(base: Trace, other: Trace) -> Iterator[str]:
    if base.given.keys() != other.given.keys():
        yield "there would be other inputs, parameters or outputs"
    for name, spec in base.given.items():
        if why := _shape_difference((spec.dtype, spec.shape), (other.given[name].dtype, other.given[name].shape)):
            yield f"{name} {why}"
    for one, two in zip(base.calls, other.calls, strict=False):
        if one.operator != two.operator:
            yield f"{two.operator} would be called in place of {one.operator}"
        yield from _call_differences(one, two, base, other)
    if len(base.calls) != len(other.calls):
        yield f"{len(other.calls)} operators would be called instead of {len(base.calls)}"
    for name, value in base.plain.items():
        found = other.plain.get(name)
        is_count = name.startswith("argument ") and any(part in name.lower() for part in COUNTS) and "dim" not in name
        if value != found and (is_count or not name.startswith("argument ") or type(value) is not type(found)):
            yield f"{name} would be {found!r} instead of {value!r}"


def _call_differences(one: Call, two: Call, base: Trace, other: Trace) -> Iterator[str]:
    name = one.operator
    if one.arguments.keys() != two.arguments.keys() or len(one.made) != len(two.made):
        yield f"{name} would be called with other arguments"
        return
    for argument, value in one.arguments.items():
        found = two.arguments[argument]
        if argument in RANDOM_FILLS.get(name, ()) or not _differs(value, found):
            continue
        if (argument in SIZES.get(name, ()) or _is_made(one, two, argument)) and _are_sizes(value, found):
            continue
        is_place = argument in PARTS.get(name, ())
        if is_place and (_same_place(one, two, argument) or _is_linked(value, found, base, other)):
            continue
        is_own = argument in (OPERAND, PUT.get(name)) or (argument in LINKED.get(name, ()) and not _links(value, base))
        if one.draws and is_own and not isinstance(value, Seen):
            continue
        if argument in LINKED.get(name, ()) and _is_linked(value, found, base, other):
            continue
        is_linked = argument in LINKED.get(name, ()) and name != "full"
        may_scale = is_linked or argument in (OPERAND, PUT.get(name))
        if may_scale and _is_scaled(value, found, base, other):
            continue
        kind = OtherFactor if argument in (OPERAND, "shifts") else str
        yield kind(f"{name} would get {argument} = {_shown(found)} instead of {_shown(value)}")
    for argument in LINKED.get(name, ()):
        value, found = one.arguments.get(argument), two.arguments.get(argument)
        if value == found and not _is_linked(value, found, base, other):
            yield f"{name} would still get {argument} = {value}, which is no size any more"
    for argument in PARTS.get(name, ()):
        if _is_inside(one, argument) and not _is_inside(two, argument):
            yield f"{name} would get {argument} = {two.arguments[argument]}, which is not inside the dimension any more"
    if name == "convolution":
        taps, others = one.arguments["weight"].shape[2:], two.arguments["weight"].shape[2:]
        if taps != others:
            yield f"the kernel of a convolution would have the extent {_shown(others)} instead of {_shown(taps)}"
    if name in PARTED and len(set(_parts(one))) == 1 < len(set(_parts(two))):
        yield f"the parts of {name} would have the sizes {_shown(_parts(two))} instead of {_shown(_parts(one))}"
    if name == "native_group_norm":
        sizes = [(call.arguments["C"], call.arguments["group"]) for call in (one, two)]
        if any(channels % groups for channels, groups in sizes):
            yield "the channels of a group norm would not be a multiple of its groups"
    if _channels_of_group(two) == 1 != _channels_of_group(one):
        yield f"each group of {name} would have one channel instead of {_channels_of_group(one)}"
    if name in NORMS:
        before_count, count = _normalised(one), _normalised(two)
        if count < min(before_count, LEAST_NORMALISED):
            yield f"{name} would normalise {count} elements at a time instead of {before_count}"
    for before, after in zip(one.made, two.made, strict=True):
        if before.number != after.number:
            yield f"{name} would return a different tensor"
        elif why := _shape_difference(before[1:], after[1:]):
            yield f"the result of {name} {why}"


def _parts(call: Call) -> tuple[int, ...]:
    """The sizes of the parts that one of PARTED joins or cuts, along its dimension. In a rotation of halves they are
    equal, and kernels compute one half from the other."""
    parts = call.arguments["tensors"] if call.operator == "cat" else call.made
    dim = call.arguments.get("dim", 0)
    return tuple(part.shape[dim] for part in parts if len(part.shape) == len(call.made[0].shape))


def _channels_of_group(call: Call) -> int | None:
    """Channels per group of a group norm, or output channels per group of a convolution (transposed: input channels).
    None for other operators."""
    known = call.arguments
    if call.operator == "native_group_norm":
        return int(known["C"] // known["group"])
    return int(known["weight"].shape[0] // known["groups"]) if call.operator == "convolution" else None


def _normalised(call: Call) -> int:
    """How many elements of a norm share one mean and one deviation."""
    known = call.arguments
    if call.operator == "native_group_norm":
        return int(known["C"] * known["HxW"] // known["group"])
    return math.prod(known["normalized_shape"])


def _differs(value: Any, found: Any) -> bool:
    """Whether an argument differs. For tensors: another number, dtype or rank, or a changed dimension of 0 or 1."""
    if isinstance(value, Seen) and isinstance(found, Seen):
        return value.number != found.number or bool(_shape_difference(value[1:], found[1:]))
    if isinstance(value, tuple) and isinstance(found, tuple):
        return len(value) != len(found) or any(map(_differs, value, found))
    return type(value) is not type(found) or value != found


def _shape_difference(before: tuple[Any, Sequence[int]], after: tuple[Any, Sequence[int]]) -> str:
    """How dtypes and shapes differ, in words; "" if only sizes above 1 do. A size of 1 is different: it broadcasts."""
    if before[0] != after[0]:
        return f"would be of {after[0]} instead of {before[0]}"
    one, two = before[1], after[1]
    if len(one) != len(two) or any((a <= 1 or b <= 1) and a != b for a, b in zip(one, two, strict=True)):
        return f"would be {_shown(tuple(two))} instead of {_shown(tuple(one))}"
    return ""


def _is_made(one: Call, two: Call, argument: str) -> bool:
    """Whether an argument of an operator that reads no tensor is a side of what it makes, or all sides, both times."""
    if any(isinstance(value, Seen) for value in one.arguments.values()) or not one.made:
        return False
    pairs = [(one.made[0].shape, two.made[0].shape), *zip(one.made[0].shape, two.made[0].shape, strict=False)]
    return (one.arguments[argument], two.arguments[argument]) in pairs


def _are_sizes(value: Any, found: Any) -> bool:
    if isinstance(value, tuple) and isinstance(found, tuple):
        return len(value) == len(found) and all(map(_are_sizes, value, found))
    return type(value) is type(found) is int and bool(value == found or min(value, found) > 1)


def _is_inside(call: Call, argument: str) -> bool:
    """Whether a position is inside its dimension, so that it leaves a part of it out."""
    return all(type(place) is int and 0 < abs(place) < size for size, place in _places(call, argument))


def _places(call: Call, argument: str) -> list[tuple[int, Any]]:
    """The sizes of the dimensions that a call of PARTS divides, and the places in them."""
    source = next(value for value in call.arguments.values() if isinstance(value, Seen))
    shape = call.arguments.get("input_sizes", source.shape)  # of a backward: what the place is in
    place, dim = call.arguments.get(argument), call.arguments.get("dims", call.arguments.get("dim", 0))
    pairs = zip(dim, place, strict=False) if isinstance(place, tuple) else [(dim, place)]
    return [(shape[side], one) for side, one in pairs]


def _same_place(one: Call, two: Call, argument: str) -> bool:
    """Whether a position is the same share of its dimension, or has the same distance from the dimension's end."""
    pairs = [*zip(_places(one, argument), _places(two, argument), strict=False)]
    return bool(pairs) and all(_same_share(*before, *after) for before, after in pairs)


def _same_share(size: int, place: Any, other: int, found: Any) -> bool:
    if not type(place) is type(found) is int or (place > 0) != (found > 0) or (place < 0) != (found < 0):
        return False
    place, found = min(place, size), min(found, other)
    return bool(size - place == other - found or abs(place * other - found * size) < max(size, other))


def _is_linked(value: Any, found: Any, base: Trace, other: Trace) -> bool:
    """Whether an argument that was a size (or one more) of an input or parameter still is. An argument that was no size
    has to stay."""
    if type(value) is not int or type(found) is not int:
        return bool(value == found)
    if not (links := _links(value, base)):
        return bool(value == found)
    return any(other.given[name].shape[dim] + offset == found for name, dim, offset in links)


def _links(value: Any, base: Trace) -> list[tuple[str, int, int]]:
    """The sides of inputs and parameters that an argument equals, or exceeds by one: name, dimension and difference."""
    return [(name, dim, offset) for name in _read(base) for dim, size in enumerate(base.given[name].shape)
            for offset in ([0, 1] if value > 1 else []) if size + offset == value]  # fmt: skip


def _is_scaled(value: Any, found: Any, base: Trace, other: Trace) -> bool:
    """Whether a number is a size of any tensor, or one more or less, as the last index; or changed as one of an
    input, parameter or constructor's argument, or of a product of adjacent ones, of its root, or the inverse of
    these: as the factor of a mean, or the scale of an attention."""
    if not {type(value), type(found)} <= {int, float}:
        return False
    shapes = [(base.given[name].shape, other.given[name].shape) for name in _read(base)]
    shapes += [((one,), (other.plain[name],)) for name, one in base.plain.items()
               if name.startswith("argument ") and type(one) is type(other.plain.get(name)) is int]  # fmt: skip
    made = [(a.shape, b.shape) for one, two in zip(base.calls, other.calls, strict=False)
            for a, b in zip(one.made, two.made, strict=False)]  # fmt: skip
    for one, two in (*shapes, *made):
        if any(a != b and a - value == b - found in (-1, 0, 1) for a, b in zip(one, two, strict=False)):
            return True
    for one, two in shapes:
        for first, last in itertools.combinations(range(len(one) + 1), 2):
            a, b = math.prod(one[first:last]), math.prod(two[first:last])
            for power in (1, 0.5):
                left, right = a**power, b**power
                if a != b and (math.isclose(value * right, found * left) or math.isclose(value * left, found * right)):
                    return True
    return False


def _read(traced: Trace) -> list[str]:
    """The names of the inputs and parameters among what is given."""
    return [name for name in traced.given if not name.startswith("output ")]


def factors(traced: Trace, every: bool = False) -> list[Any]:
    """The numbers that the operators of SCALED get. every: that all operators get as operands, and shifts."""
    found = [one.arguments.get(OPERAND, one.arguments.get("shifts"))
             for one in traced.calls if every or one.operator in SCALED]  # fmt: skip
    return [one for one in found if not isinstance(one, Seen)]


def growth(before: Trace, after: Trace) -> str:
    """The first dimension of an operator's output that is larger in `after`, in words; "" if none is."""
    for one, two in zip(before.calls, after.calls, strict=True):
        for seen, found in zip(one.made, two.made, strict=True):
            for size, larger in zip(seen.shape, found.shape, strict=True):
                if larger > size:
                    return f"a dimension in {one.operator} would grow from {size} to {larger}"
    return ""


def _shown(value: Any) -> str:
    if isinstance(value, Seen):
        return f"a tensor {_shown(value.shape)}"
    if isinstance(value, tuple) and value and all(type(one) is int for one in value):
        return "×".join(map(str, value))
    return repr(value)
