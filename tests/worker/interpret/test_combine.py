"""Reductions and scans of the interpreter round as those of a GPU, and keep the order of what they combine."""

from __future__ import annotations

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
    assert (ran.status, ran.y[0]) == ("passed", pytest.approx(exact, rel=12 * STEP))


AFFINE = function("after", "a, b, c, d", "return a * c, b * c + d")
BIGGEST = function("biggest", "a, b", "if a > b:", "    c = a", "else:", "    c = b", "return c")
COUNTED = function("counted", "a, b", "return a + b + 1.0")
PAIR = "one = tl.load(x + tl.arange(0, 16)) % 3 + 1"
STORED = "tl.store(y + tl.arange(0, 16), {})"


def affine(numbers: list[float]) -> list[tuple[float, float]]:
    """x -> n x + 1, one after the other."""
    found = [(numbers[0], 1.0)]
    for number in numbers[1:]:
        found.append((found[-1][0] * number, found[-1][1] * number + 1.0))
    return found


NUMBERS = [number % 3 + 1.0 for number in range(16)]


def test_what_is_combined_keeps_its_order(machine: Interpreted) -> None:
    ones = "ones = tl.full((16,), 1.0, tl.float32)"
    ran = machine.run(PAIR, ones, "a, b = tl.associative_scan((one, ones), 0, after)", STORED.format("b"), more=AFFINE)
    assert (ran.status, ran.y) == ("passed", [second for _, second in affine(NUMBERS)])
    ran = machine.run(PAIR, ones, "a, b = tl.reduce((one, ones), 0, after)", "tl.store(y, b)", more=AFFINE)
    assert (ran.status, ran.y[0]) == ("passed", affine(NUMBERS)[-1][1])


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
    "all_axes": ("tl.sum(wide) + tl.full((4,), 0.0, tl.float32)", [120.0] * 4),
}  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), AXES.values(), ids=AXES)
def test_each_axis_is_reduced(machine: Interpreted, value: str, expected: list[float]) -> None:
    wide = "wide = tl.reshape(tl.load(x + tl.arange(0, 16)), (4, 4))"
    ran = machine.run(wide, f"tl.store(y + tl.arange(0, 4), {value})", more=ADD)
    assert (ran.status, ran.y[:4]) == ("passed", expected)


def test_a_function_that_decides_is_called_for_each_pair(machine: Interpreted) -> None:
    ran = machine.run(PAIR, "tl.store(y, tl.reduce(one, 0, biggest))", more=BIGGEST)
    assert (ran.status, ran.y[0]) == ("passed", 3.0)
    ran = machine.run(PAIR, STORED.format("tl.associative_scan(one, 0, biggest)"), more=BIGGEST)
    assert (ran.status, ran.y) == ("passed", [1.0, 2.0, *[3.0] * 14])


def test_a_function_is_called_once_for_each_pair_of_a_tree(machine: Interpreted) -> None:
    ran = machine.run("tl.store(y, tl.reduce(tl.zeros((16,), tl.float32), 0, counted))", more=COUNTED)
    assert (ran.status, ran.y[0]) == ("passed", 15.0)


FILLS = function("filled", "a, b", "c = tl.full((16,), 0.0, tl.float32) + b", "return a + tl.max(c, axis=0)")


def test_a_function_that_fills_a_block_is_called_for_each_pair(machine: Interpreted) -> None:
    """Sixteen pairs and blocks of sixteen: without a check each pair would get the maximum of all."""
    pairs = "pairs = tl.reshape(tl.load(x + tl.arange(0, 32) % 16), (2, 16))"
    ran = machine.run(pairs, STORED.format("tl.reduce(pairs, 0, filled)"), more=FILLS)
    assert (ran.status, ran.y) == ("passed", [2.0 * number for number in range(16)])


def test_whole_numbers_wrap(machine: Interpreted) -> None:
    ran = machine.run("big = tl.full((16,), 1 << 30, tl.int32)", "tl.store(i, tl.sum(big).to(tl.int64))",
                      "tl.store(i + 1, tl.reduce(big, 0, add).to(tl.int64))", more=ADD)  # fmt: skip
    assert (ran.status, ran.i[:2]) == ("passed", [0, 0])
