"""Reductions and scans of the interpreter combine as those of a GPU."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from worker.interpreted import Interpreted, interpreted

TENTH = "tenth = tl.full((4096,), 0.1, tl.float32)"
LAST = "tl.store(y, tl.sum(tl.where(tl.arange(0, 4096) == 4095, c, 0.0)))"
STEP = 2.0**-24


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interpreted]:
    with interpreted(tmp_path_factory.mktemp("interpreted")) as made:
        yield made


def function(name: str, arguments: str, *body: str) -> str:
    return "\n    ".join([f"@triton.jit\ndef {name}({arguments}):", *body])


ADD = function("add", "a, b", "return a + b")
ROUNDED = {
    "a_scan": [TENTH, "c = tl.cumsum(tenth)", LAST],
    "a_scan_backwards": [TENTH, "c = tl.cumsum(tenth, reverse=True)",
                         "tl.store(y, tl.sum(tl.where(tl.arange(0, 4096) == 0, c, 0.0)))"],
    "a_sum_of_rows": ["tenths = tl.full((4096, 2), 0.1, tl.float32)",
                      "tl.store(y + tl.arange(0, 2), tl.sum(tenths, axis=0))"],
    "a_sum_of_columns": ["tenths = tl.full((2, 4096), 0.1, tl.float32)",
                         "tl.store(y + tl.arange(0, 2), tl.sum(tenths, axis=1))"],
    "a_reduction": [TENTH, "tl.store(y, tl.reduce(tenth, 0, add))"],
    "a_scan_by_a_function": [TENTH, "c = tl.associative_scan(tenth, 0, add)", LAST],
}  # fmt: skip


@pytest.mark.parametrize("body", ROUNDED.values(), ids=ROUNDED)
def test_rounding_grows_with_the_depth_of_a_tree(machine: Interpreted, body: list[str]) -> None:
    """One after the other, 4,096 numbers end 3.8e-5 of the sum away, since each addition rounds the same way."""
    one_by_one = np.cumsum(np.full(4096, 0.1, np.float32))[-1]
    exact = 4096 * float(np.float32(0.1))
    assert abs(one_by_one / exact - 1) > 100 * STEP
    ran = machine.run(*body, more=ADD)
    assert (ran.status, ran.y[0]) == ("passed", pytest.approx(exact, rel=24 * STEP))


AFFINE = function("after", "a, b, c, d", "return a * c, b * c + d")
BIGGEST = function("biggest", "a, b", "if a > b:", "    c = a", "else:", "    c = b", "return c")
POSITIVE = function("positive", "a, b", "c = a + b", "if c < 0:", "    c = 0.0", "return c")
CLIPPED = function("clipped", "a, b", "return tl.maximum(a + b, 0.0)")
TWO = function("two", "a, b, c, d", "if a > c:", "    e = a", "else:", "    e = c", "return e, b + d")
FUNCTIONS = "\n\n\n".join([ADD, AFFINE, BIGGEST, POSITIVE, CLIPPED, TWO])
PAIR = "one = tl.load(x + tl.arange(0, 16)) % 3 + 1"
ONES = "ones = tl.full((16,), 1.0, tl.float32)"
STORED = "tl.store(y + tl.arange(0, 16), {})"
NUMBERS = [number % 3 + 1.0 for number in range(16)]


def after(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """First n x + m, then n' x + m'."""
    return one[0] * other[0], one[1] * other[0] + other[1]


def test_a_scan_keeps_the_order_of_what_it_combines(machine: Interpreted) -> None:
    ran = machine.run(PAIR, ONES, "a, b = tl.associative_scan((one, ones), 0, after)", STORED.format("b"), more=AFFINE)
    expected = itertools.accumulate([(number, 1.0) for number in NUMBERS], after)
    assert (ran.status, ran.y) == ("passed", [second for _, second in expected])


def test_a_reduction_combines_halves_as_the_threads_of_a_gpu_do(machine: Interpreted) -> None:
    """One whose order matters gives what it gives for a block that lies in one warp: lanes 8, 4, 2 and 1 apart."""
    values = [(number, 1.0) for number in NUMBERS]
    in_order = functools.reduce(after, values)
    while (half := len(values) // 2) > 0:
        values = [after(one, other) for one, other in zip(values[:half], values[half:], strict=True)]
    assert values[0][1] != in_order[1]
    ran = machine.run(PAIR, ONES, "a, b = tl.reduce((one, ones), 0, after)", "tl.store(y, b)", more=AFFINE)
    assert (ran.status, ran.y[0]) == ("passed", values[0][1])


def test_a_reduction_whose_order_matters_shows_where_programs_are_reversed(machine: Interpreted) -> None:
    for call, is_same in (("tl.reduce((one, ones), 0, after)", False), ("tl.reduce((one, ones), 0, two)", True)):
        numbers = "one = tl.load(x + tl.arange(0, 16)) % 5 + 1"
        body = [numbers, ONES, f"a, b = {call}", "tl.store(y, b)"]
        usual, other = (machine.run(*body, order=order, more=FUNCTIONS) for order in ("forward", "reversed"))
        assert (usual.status, other.status) == ("passed", "passed")
        assert (usual.y[0] == other.y[0]) == is_same


@pytest.mark.parametrize("call", ["tl.associative_scan(w, 0, {})", "tl.reduce(w, 0, {}) + tl.zeros((16,), tl.float32)"])
def test_a_branch_changes_nothing_in_what_is_combined_with_what(machine: Interpreted, call: str) -> None:
    """A running sum that never falls below 0 depends on that: one after the other it would seem right."""
    w = "w = (tl.load(x + tl.arange(0, 16)) * 7) % 5 - 2"
    ran = machine.run(w, STORED.format(call.format("positive")), more=FUNCTIONS)
    other = machine.run(w, STORED.format(call.format("clipped")), more=FUNCTIONS)
    assert (ran.status, other.status, ran.y) == ("passed", "passed", other.y)
    one_by_one = itertools.accumulate((number * 7 % 5 - 2.0 for number in range(16)), lambda a, b: max(a + b, 0.0))
    assert ran.y[-1] != [*one_by_one][-1]


AXES = {
    "rows": ("tl.sum(wide, axis=0)", [24.0, 28.0, 32.0, 36.0]),
    "columns": ("tl.sum(wide, axis=1)", [6.0, 22.0, 38.0, 54.0]),
    "the_last_axis": ("tl.sum(wide, axis=-1)", [6.0, 22.0, 38.0, 54.0]),
    "an_axis_that_is_kept": ("tl.reshape(tl.sum(wide, axis=1, keep_dims=True), (4,))", [6.0, 22.0, 38.0, 54.0]),
    "columns_by_a_function": ("tl.reduce(wide, 1, add)", [6.0, 22.0, 38.0, 54.0]),
    "a_kept_axis_by_a_function": ("tl.reshape(tl.reduce(wide, 0, add, True), (4,))", [24.0, 28.0, 32.0, 36.0]),
    "all_axes_by_a_function": ("tl.reduce(wide, None, add) + tl.full((4,), 0.0, tl.float32)", [120.0] * 4),
    "all_axes_that_are_kept": ("tl.reshape(tl.reduce(wide, None, add, True) + tl.full((4, 1), 0.0, tl.float32), (4,))",
                               [120.0] * 4),
    "the_sum_that_keeps_all": ("tl.reshape(tl.sum(wide, keep_dims=True) + tl.full((4, 1), 0.0, tl.float32), (4,))",
                               [120.0] * 4),
    "a_scan_of_rows": ("tl.sum(tl.cumsum(wide, axis=0), axis=0)", [40.0, 50.0, 60.0, 70.0]),
    "a_product_of_rows": ("tl.max(tl.cumprod(wide % 3 + 1, axis=0), axis=0)", [6.0, 12.0, 18.0, 6.0]),
    "the_last_axis_with_a_branch": ("tl.reduce(wide, -1, biggest)", [3.0, 7.0, 11.0, 15.0]),
    "all_axes_with_a_branch": ("tl.reduce(wide, None, biggest) + tl.zeros((4,), tl.float32)", [15.0] * 4),
    "kept_axes_with_a_branch": ("tl.reshape(tl.reduce(wide, None, biggest, True) + tl.zeros((4, 1), tl.float32), (4,))",
                                [15.0] * 4),
    "a_pair_with_a_branch": ("tl.reduce((wide, wide), 1, two)[1]", [6.0, 22.0, 38.0, 54.0]),
    "a_scan_of_the_last_axis_with_a_branch": ("tl.sum(tl.associative_scan(15 - wide, -1, biggest), axis=1)",
                                              [60.0, 44.0, 28.0, 12.0]),
    "all_axes": ("tl.sum(wide) + tl.full((4,), 0.0, tl.float32)", [120.0] * 4),
}  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), AXES.values(), ids=AXES)
def test_each_axis_is_combined(machine: Interpreted, value: str, expected: list[float]) -> None:
    wide = "wide = tl.reshape(tl.load(x + tl.arange(0, 16)), (4, 4))"
    ran = machine.run(wide, f"tl.store(y + tl.arange(0, 4), {value})", more=FUNCTIONS)
    assert (ran.status, ran.y[:4]) == ("passed", expected)


def test_a_sum_in_half_precision_is_rounded_at_every_step(machine: Interpreted) -> None:
    """Its partial sums overflow, as on a GPU."""
    large = "large = tl.where(tl.arange(0, 16) % 8 < 4, 60000.0, -60000.0).to(tl.float16)"
    ran = machine.run(large, "tl.store(y, tl.sum(large).to(tl.float32))", "tl.store(y + 1, tl.sum(large * 0.5))")
    assert ran.status == "passed"
    assert math.isnan(ran.y[0]) or math.isinf(ran.y[0])
    assert ran.y[1] == 0.0


FILLS = function("filled", "a, b", "c = tl.full((16,), 0.0, tl.float32) + b", "return a + tl.max(c, axis=0)")


def test_a_function_that_fills_a_block_is_called_for_each_pair(machine: Interpreted) -> None:
    """Sixteen pairs and blocks of sixteen: without a check each pair would get the maximum of all."""
    pairs = "pairs = tl.reshape(tl.load(x + tl.arange(0, 32) % 16), (2, 16))"
    ran = machine.run(pairs, STORED.format("tl.reduce(pairs, 0, filled)"), more=FILLS)
    assert (ran.status, ran.y) == ("passed", [2.0 * number for number in range(16)])


def test_a_function_that_fills_a_block_of_known_type_is_called_for_each_pair(
    machine: Interpreted,
) -> None:
    rows = "rows = tl.reshape(tl.load(x + tl.arange(0, 64) // 4), (4, 16))"
    known = "block = tl.full((16,), 0.0, tl.float32) + tl.load(x)"
    least = FILLS.replace("return a + tl.max(c, axis=0)", "return tl.min(c)")
    ran = machine.run(rows, known, STORED.format("tl.reduce(rows, 0, filled)"), more=least)
    assert (ran.status, ran.y) == ("passed", [12.0 + number // 4 for number in range(16)])


def test_whole_numbers_wrap(machine: Interpreted) -> None:
    ran = machine.run("big = tl.full((16,), 1 << 30, tl.int32)", "tl.store(i, tl.sum(big).to(tl.int64))",
                      "tl.store(i + 1, tl.reduce(big, 0, add).to(tl.int64))", more=ADD)  # fmt: skip
    assert (ran.status, ran.i[:2]) == ("passed", [0, 0])
