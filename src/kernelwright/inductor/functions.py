"""Replacements for Inductor's helper functions, and for two of libdevice's, by their names in generated code.

A helper that is missing here ends a conversion with its name; other functions of libdevice stay calls. Only `product`
uses a reduction by a function, which Triton's interpreter computes element by element. `strict`, which torch passes
from 2.14 on, is never true: it would keep the sign of zeros among maxima.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

EXTREMES = """
def {larger}(a, b):
    return tl.{kind}imum(a, b, propagate_nan=tl.PropagateNan.ALL)

def {largest}(x, dim: tl.constexpr):
    found = tl.{kind}(x, dim)
    if x.dtype.is_floating():
        found = tl.where(tl.max((x != x).to(tl.int32), dim) > 0, float("nan"), found)
    return found

def {larger}_with_index(a, a_index, b, b_index):
    # NaN counts as {largest}; of equal values the first is taken.
    first = (a {than} b) | ((a != a) & (b == b))
    equal = (a == b) | ((a != a) & (b != b))
    first = first | (equal & (a_index < b_index))
    return tl.where(first, a, b), tl.where(first, a_index, b_index)

def {largest}_with_index(x, index, dim: tl.constexpr):
    found = {largest}(x, dim)
    top = tl.expand_dims(found, dim)
    is_top = (x == top) | ((x != x) & (top != top))
    return found, tl.min(tl.where(is_top, index, 2147483647), dim)
"""
"""Of maxima or minima."""

OTHERS = """
def largest_number(x, dim: tl.constexpr):
    return tl.max(x, dim)

def as_tensor(x):
    return x + tl.zeros((1,), tl.int1)

def any_of(x, dim: tl.constexpr):
    return tl.max((x != 0).to(tl.int32), dim) > 0

def multiply(a, b):
    return a * b

def product(x, dim: tl.constexpr):
    return tl.reduce(x, dim, multiply)

def selected(x, mask, dim: tl.constexpr, keep_dims: tl.constexpr = False):
    return tl.sum(tl.where(mask, x, 0), dim, keep_dims=keep_dims)

def floor_quotient(a, b):
    quotient = a // b
    return tl.where((a % b != 0) & ((a < 0) != (b < 0)), quotient - 1, quotient)

def floor_remainder(a, b):
    remainder = a % b
    return tl.where((remainder != 0) & ((a < 0) != (b < 0)), remainder + b, remainder)

def add_to_softmax(top, total, x, fast: tl.constexpr, strict: tl.constexpr = False):
    # total: of exp(values - top) so far.
    new_top = larger(top, x)
    empty = new_top == float("-inf")
    kept = tl.where(empty, 1.0, tl.exp(top - new_top))
    added = tl.where(empty, 1.0, tl.exp(x - new_top))
    return new_top, total * kept + added

def merge_softmax(top, total, other_top, other_total, fast: tl.constexpr, strict: tl.constexpr = False):
    new_top = larger(top, other_top)
    empty = new_top == float("-inf")
    kept = tl.where(empty, 1.0, tl.exp(top - new_top))
    added = tl.where(empty, 1.0, tl.exp(other_top - new_top))
    return new_top, total * kept + other_total * added

def softmax_of_parts(top, total, dim: tl.constexpr, fast: tl.constexpr, strict: tl.constexpr = False):
    new_top = largest(top, dim)
    wide = tl.expand_dims(new_top, dim)
    shift = tl.where(wide == float("-inf"), 0.0, top - wide)
    return new_top, tl.sum(total * tl.exp(shift), dim)

def add_block_to_softmax(top, total, x, mask, dim: tl.constexpr, fast: tl.constexpr, strict: tl.constexpr):
    x = tl.where(mask, x, float("-inf")).to(top.dtype)
    block_top, block_total = softmax_of_parts(x, tl.where(mask, 1.0, 0.0), dim, fast)
    return merge_softmax(top, total, block_top, block_total, fast)

def add_to_moments(x, mean, m2, count, first):
    new_count = count + 1
    delta = x - mean
    new_mean = mean + delta / new_count
    return new_mean, m2 + delta * (x - new_mean), new_count

def merge_moments(mean, m2, count, other_mean, other_m2, other_count):
    total = count + other_count
    share = tl.where(total == 0.0, 0.0, other_count / total)
    delta = other_mean - mean
    return mean + delta * share, m2 + other_m2 + delta * delta * count * share, total

def moments(mean, m2, count, dim: tl.constexpr):
    # Of parts: the mean of their means by their counts, then what each deviates from it.
    total = tl.sum(count, dim)
    share = count / tl.expand_dims(tl.where(total == 0.0, 1.0, total), dim)
    middle = tl.sum(mean * share, dim)
    delta = mean - tl.expand_dims(middle, dim)
    return middle, tl.sum(m2 + count * delta * delta, dim), total

def bucket(
    values, edges_ptr, count, numel, stride, first, dtype: tl.constexpr, right: tl.constexpr,
    order_ptr, order_stride, order_first,
):
    # The number of edges below each value, by halving; numel: of all edges. right: whether equal ones count.
    low = tl.zeros(values.shape, dtype)
    high = low + count
    rest = count + 1
    while rest > 1:
        middle = (low + high) // 2
        is_there = (middle < count) & (first + middle * stride < numel)
        at = middle
        if order_ptr is not None:
            at = tl.load(order_ptr + (order_first + middle * order_stride), mask=is_there, other=0)
        edge = tl.load(edges_ptr + (first + at * stride), mask=is_there, other=0)
        if right:
            is_above = values >= edge
        else:
            is_above = values > edge
        is_above = is_above | (values != values)
        low = tl.where(is_above & is_there, middle + 1, low)
        high = tl.where(is_above, high, middle)
        rest = (rest + 1) // 2
    return low

def beside(x, shape: tl.constexpr, side: tl.constexpr):
    # One of the two elements that a step of a sort compares, at the places of both.
    is_side = tl.arange(0, 2)[None, :, None] == side
    one = tl.sum(tl.where(is_side, tl.reshape(x, shape), 0), 1).to(x.dtype)
    return tl.reshape(tl.broadcast_to(one[:, None, :], shape), x.shape)

def compared(x, index, count, up, apart: tl.constexpr, descending: tl.constexpr):
    # A step of a sort. up: whether the first of two elements gets the one that comes first. NaN counts as the largest;
    # of equal values the first stays the first, and what is past the count comes last.
    shape: tl.constexpr = [x.numel // (2 * apart), 2, apart]
    left, right = beside(x, shape, 0), beside(x, shape, 1)
    left_index, right_index = beside(index, shape, 0), beside(index, shape, 1)
    if descending:
        swap = (right > left) | ((right != right) & (left == left))
    else:
        swap = (right < left) | ((left != left) & (right == right))
    equal = (left == right) | ((left != left) & (right != right))
    swap = swap | (equal & (right_index < left_index))
    if count is not None:
        swap = tl.where(left_index < count, swap & (right_index < count), right_index < left_index)
    is_left = tl.reshape(tl.broadcast_to((tl.arange(0, 2) == 0)[None, :, None], shape), x.shape)
    takes_right = (swap == up) == is_left
    return tl.where(takes_right, right, left), tl.where(takes_right, right_index, left_index)

def sorted_with_index(
    x, index, count, dim: tl.constexpr = None, stable: tl.constexpr = False, descending: tl.constexpr = False
):
    # A bitonic network over the last dimension.
    x, index = tl.broadcast(x, index)
    size: tl.constexpr = x.shape[len(x.shape) - 1]
    place = tl.reshape(tl.arange(0, x.numel), x.shape) % size
    for stage in tl.static_range(1, 17):
        if 2**stage <= size:
            for step in tl.static_range(0, stage):
                up = (place // 2**stage) % 2 == 0
                x, index = compared(x, index, count, up, 2 ** (stage - 1 - step), descending)
    return x, index

def is_nan(x):
    return x != x

def is_infinite(x):
    return tl.abs(x) == float("inf")
"""


def _functions(*texts: str) -> dict[str, str]:
    """The source of each function by name."""
    functions = [f"def {one.strip()}" for text in texts for one in f"\n{text}".split("\ndef ")[1:]]
    return {one.partition("(")[0].removeprefix("def "): one for one in functions}


TEXTS = _functions(
    EXTREMES.format(kind="max", larger="larger", largest="largest", than=">"),
    EXTREMES.format(kind="min", larger="smaller", largest="smallest", than="<"),
    OTHERS,
)

FUNCTIONS = {
    "triton_helpers.maximum": "larger", "triton_helpers.max2": "largest",
    "triton_helpers.maximum_with_index": "larger_with_index", "triton_helpers.max_with_index": "largest_with_index",
    "triton_helpers.max_with_first_index": "largest_with_index",  # from torch 2.15 on
    "triton_helpers.minimum": "smaller", "triton_helpers.min2": "smallest",
    "triton_helpers.minimum_with_index": "smaller_with_index", "triton_helpers.min_with_index": "smallest_with_index",
    "triton_helpers.min_with_first_index": "smallest_with_index",
    "triton_helpers.fmax2": "largest_number", "triton_helpers.promote_to_tensor": "as_tensor",
    "triton_helpers.bucketize_binary_search": "bucket",
    "triton_helpers.any": "any_of", "triton_helpers.prod": "product", "triton_helpers.select_one": "selected",
    "triton_helpers.div_floor_integer": "floor_quotient", "triton_helpers.remainder_integer": "floor_remainder",
    "triton_helpers.online_softmax_combine": "add_to_softmax",
    "triton_helpers.online_softmax_combine_with_sum": "merge_softmax",
    "triton_helpers.online_softmax_reduce": "softmax_of_parts",
    "triton_helpers.online_softmax_reduce_scalar_combine": "add_block_to_softmax",
    "triton_helpers.welford_reduce": "add_to_moments", "triton_helpers.welford_combine": "merge_moments",
    "triton_helpers.sort_with_index": "sorted_with_index",
    "triton_helpers.welford": "moments", "libdevice.isnan": "is_nan", "libdevice.isinf": "is_infinite",
}  # fmt: skip
"""The replacement of each function, by its generated name."""


def texts(helpers: Iterable[str]) -> list[str]:
    """The sources of the replacements of these functions, and of those that they call, callees first."""
    ordered: dict[str, str] = {}

    def add(name: str) -> None:
        for one in ast.walk(ast.parse(TEXTS[name])):
            if isinstance(one, ast.Name) and one.id in TEXTS:
                add(one.id)
        ordered[name] = f"@triton.jit\n{TEXTS[name]}"

    for helper in sorted(helpers):
        add(FUNCTIONS[helper])
    return [*ordered.values()]
