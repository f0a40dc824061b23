"""Replacements for Inductor's helper functions, and for two of libdevice's, by their names in generated code.

A helper that is missing here ends a conversion with its name; other functions of libdevice stay calls. Only `product`
uses a reduction by a function, which Triton's interpreter computes element by element. `strict`, which torch passes
from 2.14 on, is never true: it would keep the sign of zeros among maxima.
"""

from __future__ import annotations

Functions = dict[str, tuple[str, tuple[str, ...]]]


def _extremes(kind: str, larger: str, largest: str, than: str) -> Functions:
    """The functions for maxima or minima. larger, largest: the names of the replacements. than: the comparison."""
    with_index = (
        f"def {largest}_with_index(x, index, dim: tl.constexpr):\n"
        f"    found = {largest}(x, dim)\n"
        "    top = tl.expand_dims(found, dim)\n"
        "    is_top = (x == top) | ((x != x) & (top != top))\n"
        "    return found, tl.min(tl.where(is_top, index, 2147483647), dim)",
        (f"triton_helpers.{kind}2",),
    )
    return {
        f"triton_helpers.{kind}imum": (
            f"def {larger}(a, b):\n    return tl.{kind}imum(a, b, propagate_nan=tl.PropagateNan.ALL)",
            (),
        ),
        f"triton_helpers.{kind}2": (
            f"def {largest}(x, dim: tl.constexpr):\n"
            f"    found = tl.{kind}(x, dim)\n"
            "    if x.dtype.is_floating():\n"
            '        found = tl.where(tl.max((x != x).to(tl.int32), dim) > 0, float("nan"), found)\n'
            "    return found",
            (),
        ),
        f"triton_helpers.{kind}imum_with_index": (
            f"def {larger}_with_index(a, a_index, b, b_index):\n"
            f"    # NaN counts as {largest}; of equal values the first is taken.\n"
            f"    first = (a {than} b) | ((a != a) & (b == b))\n"
            "    equal = (a == b) | ((a != a) & (b != b))\n"
            "    first = first | (equal & (a_index < b_index))\n"
            "    return tl.where(first, a, b), tl.where(first, a_index, b_index)",
            (),
        ),
        f"triton_helpers.{kind}_with_index": with_index,
        f"triton_helpers.{kind}_with_first_index": with_index,  # from torch 2.15 on
    }


FUNCTIONS: Functions = {
    **_extremes("max", "larger", "largest", ">"),
    **_extremes("min", "smaller", "smallest", "<"),
    "triton_helpers.fmax2": ("def largest_number(x, dim: tl.constexpr):\n    return tl.max(x, dim)", ()),
    "triton_helpers.promote_to_tensor": ("def as_tensor(x):\n    return x + tl.zeros((1,), tl.int1)", ()),
    "triton_helpers.any": ("def any_of(x, dim: tl.constexpr):\n    return tl.max((x != 0).to(tl.int32), dim) > 0", ()),
    "triton_helpers.prod": (
        "def multiply(a, b):\n    return a * b\n\n\n"
        "@triton.jit\ndef product(x, dim: tl.constexpr):\n    return tl.reduce(x, dim, multiply)",
        (),
    ),
    "triton_helpers.select_one": (
        "def selected(x, mask, dim: tl.constexpr, keep_dims: tl.constexpr = False):\n"
        "    return tl.sum(tl.where(mask, x, 0), dim, keep_dims=keep_dims)",
        (),
    ),
    "triton_helpers.div_floor_integer": (
        "def floor_quotient(a, b):\n"
        "    quotient = a // b\n"
        "    return tl.where((a % b != 0) & ((a < 0) != (b < 0)), quotient - 1, quotient)",
        (),
    ),
    "triton_helpers.remainder_integer": (
        "def floor_remainder(a, b):\n"
        "    remainder = a % b\n"
        "    return tl.where((remainder != 0) & ((a < 0) != (b < 0)), remainder + b, remainder)",
        (),
    ),
    "triton_helpers.online_softmax_combine": (
        "def add_to_softmax(top, total, x, fast: tl.constexpr, strict: tl.constexpr = False):\n"
        "    # total: of exp(values - top) so far.\n"
        "    new_top = larger(top, x)\n"
        '    empty = new_top == float("-inf")\n'
        "    kept = tl.where(empty, 1.0, tl.exp(top - new_top))\n"
        "    added = tl.where(empty, 1.0, tl.exp(x - new_top))\n"
        "    return new_top, total * kept + added",
        ("triton_helpers.maximum",),
    ),
    "triton_helpers.online_softmax_combine_with_sum": (
        "def merge_softmax(top, total, other_top, other_total, fast: tl.constexpr, strict: tl.constexpr = False):\n"
        "    new_top = larger(top, other_top)\n"
        '    empty = new_top == float("-inf")\n'
        "    kept = tl.where(empty, 1.0, tl.exp(top - new_top))\n"
        "    added = tl.where(empty, 1.0, tl.exp(other_top - new_top))\n"
        "    return new_top, total * kept + other_total * added",
        ("triton_helpers.maximum",),
    ),
    "triton_helpers.online_softmax_reduce": (
        "def softmax_of_parts(top, total, dim: tl.constexpr, fast: tl.constexpr, strict: tl.constexpr = False):\n"
        "    new_top = largest(top, dim)\n"
        "    wide = tl.expand_dims(new_top, dim)\n"
        '    shift = tl.where(wide == float("-inf"), 0.0, top - wide)\n'
        "    return new_top, tl.sum(total * tl.exp(shift), dim)",
        ("triton_helpers.max2",),
    ),
    "triton_helpers.online_softmax_reduce_scalar_combine": (
        "def add_block_to_softmax(top, total, x, mask, dim: tl.constexpr, fast: tl.constexpr, strict: tl.constexpr):\n"
        '    x = tl.where(mask, x, float("-inf")).to(top.dtype)\n'
        "    block_top, block_total = softmax_of_parts(x, tl.where(mask, 1.0, 0.0), dim, fast)\n"
        "    return merge_softmax(top, total, block_top, block_total, fast)",
        ("triton_helpers.online_softmax_reduce", "triton_helpers.online_softmax_combine_with_sum"),
    ),
    "triton_helpers.welford_reduce": (
        "def add_to_moments(x, mean, m2, count, first):\n"
        "    new_count = count + 1\n"
        "    delta = x - mean\n"
        "    new_mean = mean + delta / new_count\n"
        "    return new_mean, m2 + delta * (x - new_mean), new_count",
        (),
    ),
    "triton_helpers.welford_combine": (
        "def merge_moments(mean, m2, count, other_mean, other_m2, other_count):\n"
        "    total = count + other_count\n"
        "    share = tl.where(total == 0.0, 0.0, other_count / total)\n"
        "    delta = other_mean - mean\n"
        "    return mean + delta * share, m2 + other_m2 + delta * delta * count * share, total",
        (),
    ),
    "triton_helpers.welford": (
        "def moments(mean, m2, count, dim: tl.constexpr):\n"
        "    # Of parts: the mean of their means by their counts, then what each deviates from it.\n"
        "    total = tl.sum(count, dim)\n"
        "    share = count / tl.expand_dims(tl.where(total == 0.0, 1.0, total), dim)\n"
        "    middle = tl.sum(mean * share, dim)\n"
        "    delta = mean - tl.expand_dims(middle, dim)\n"
        "    return middle, tl.sum(m2 + count * delta * delta, dim), total",
        (),
    ),
    "libdevice.isnan": ("def is_nan(x):\n    return x != x", ()),
    "libdevice.isinf": ('def is_infinite(x):\n    return tl.abs(x) == float("inf")', ()),
}
"""By generated name: the replacement's source, and the names of the functions that it calls."""


def own_name(helper: str) -> str:
    """The name of a helper's replacement: the last function in its source."""
    return FUNCTIONS[helper][0].rpartition("def ")[2].partition("(")[0]


def texts(helpers: set[str]) -> list[str]:
    """The sources of these functions and of those that they call, callees first."""
    ordered: list[str] = []

    def add(helper: str) -> None:
        text, called = FUNCTIONS[helper]
        for one in called:
            add(one)
        if text not in ordered:
            ordered.append(text)

    for helper in sorted(helpers):
        add(helper)
    return [f"@triton.jit\n{text}" for text in ordered]
