"""Symbols in place of a file's whole numbers: which shape tells them, and what is assumed of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import sympy
import torch
from torch._inductor import ir, tiling_utils
from torch._inductor.sizevars import SizeVarAllocator
from torch._inductor.virtualized import V
from torch.utils._sympy.functions import (
    CeilToInt,
    FloatPow,
    FloatTrueDiv,
    FloorDiv,
    FloorToInt,
    Mod,
    ToFloat,
    TruncToInt,
)

from kernelwright.model import Loading
from kernelwright.worker.generate.counting import counting_with_symbols
from kernelwright.worker.generate.expressions import spelled
from kernelwright.worker.generate.hints import choosing_by_hints
from kernelwright.worker.generate.symbols import Symbols, Unread, numbers_to_try
from kernelwright.worker.reference.derive import load_with_cases
from kernelwright.worker.reference.unmade import faked

Both = tuple[sympy.Symbol, sympy.Symbol]


@pytest.fixture
def symbols() -> Iterator[Symbols]:
    made = Symbols({"height": 64, "width": 32})
    with counting_with_symbols(made):
        yield made


@pytest.fixture
def both(symbols: Symbols) -> Both:
    height, width = (symbols.of(one) for one in symbols.numbers.values())
    return height, width


def said(symbols: Symbols) -> list[str]:
    names = dict(symbols.names)
    return sorted(spelled(one, names) for one in symbols.conditions())


@pytest.mark.parametrize(
    ("function", "value"), [(TruncToInt, 16), (FloorToInt, 16), (CeilToInt, 17), (lambda one: FloatPow(one, 0.5), 4.06)]
)
def test_expressions_of_the_host_code_need_no_module(both: Both, function: Any, value: float) -> None:
    height, _ = both
    text = spelled(function(FloatTrueDiv(ToFloat(height), 2.0)), {height: "height"})
    assert eval(text, {"__builtins__": {"int": int, "float": float}}, {"height": 33}) == pytest.approx(value, rel=1e-2)


def test_an_expression_with_other_functions_is_no_host_code(both: Both) -> None:
    with pytest.raises(RuntimeError, match="the host code has no log"):
        spelled(sympy.log(both[0]), {both[0]: "height"})


def test_what_follows_from_the_least_values_is_no_condition(symbols: Symbols, both: Both) -> None:
    height, width = both
    for one in (height * width >= 2, height * width - width >= 2, sympy.Ne(height * width, 1), height + 1 > 2):
        symbols.env.evaluate_expr(one)
    assert said(symbols) == []


def test_a_quotient_or_a_remainder_may_be_0(symbols: Symbols, both: Both) -> None:
    height, width = both
    symbols.env.evaluate_expr(sympy.Ne(Mod(height, 5), 0))
    assert len(said(symbols)) == 1
    symbols.env.evaluate_expr(sympy.Ge(Mod(height, 5) * width, 2))
    assert len(said(symbols)) == 2


def test_of_several_limits_the_strongest_counts(symbols: Symbols, both: Both) -> None:
    height, width = both
    symbols.env.evaluate_expr(height <= 880801)
    symbols.env.evaluate_expr(height <= 65535)
    assert said(symbols) == ["height <= 65535"]
    symbols.env.evaluate_expr(sympy.expand(height * (width + 1)) <= 2**31 - 1)
    assert said(symbols) == ["height <= 65535"], "the host code compares with 2**31 itself"


def test_a_side_after_a_window_is_one_symbol_in_every_form(symbols: Symbols, both: Both) -> None:
    height, width = both
    side = FloorDiv(height - 5, 2) + 1
    assert isinstance(side, sympy.Symbol)
    assert FloorDiv(height - 3, 2) == side
    assert FloorDiv(height + 1, 2) == side + 2
    assert FloorDiv(width - 5, 2) + 1 != side
    assert symbols.hint(side) == 30
    assert FloorDiv(sympy.expand(side * width), side) == width


def test_a_side_after_a_window_of_stride_1_takes_the_place_of_the_whole_side(symbols: Symbols, both: Both) -> None:
    height, _ = both
    side = FloorDiv(height - 3, 1) + 1
    assert isinstance(side, sympy.Symbol)
    assert symbols.of(symbols.numbers["height"]) == side + 2
    assert symbols.hint(height) == 64


def test_no_symbol_has_the_name_of_one_of_an_earlier_capture() -> None:
    """PyTorch names symbols by a hash below 100, and keeps what it computed of them by name."""
    sides = {f"side_{number}": 64 for number in range(40)}
    found: list[str] = []
    for _ in range(3):
        made = Symbols(sides)
        with counting_with_symbols(made):
            halves = [one // 2 for one in made.numbers.values()]
            assert {one.node.expr for one in halves} <= made.values.keys()
        found += map(str, made.values)
    assert len(set(found)) == len(found) == 240


def test_sizes_are_told_by_shapes(symbols: Symbols, both: Both) -> None:
    height, width = symbols.numbers.values()
    with faked(symbols.env):
        tensors = {"x": torch.empty(height), "y": torch.empty(height // width, 3)}
    sizes, _ = symbols.told(tensors, frozenset({"x", "y"}))
    assert sizes.shapes == (("height",), ("height_1", "3"))
    assert ("width", "height // height_1", ("height % height_1 == 0",)) in sizes.reads, (
        "only an exact quotient tells it"
    )


def test_a_dividend_is_told_by_its_quotient_where_nothing_is_left_over(symbols: Symbols) -> None:
    height, width = symbols.numbers.values()
    with faked(symbols.env):
        assert height % width == 0, "as the groups of a convolution divide its channels"
        tensors = {"weight": torch.empty(height // width, 3)}
    symbols.keep_untold(tensors)
    sizes, _ = symbols.told(tensors, frozenset({"weight"}))
    assert symbols.of(width) == 32, "no shape tells the divisor"
    assert ("height", "32 * height_1", ()) in sizes.reads


def test_no_size_is_computed_from_itself(symbols: Symbols) -> None:
    height, width = symbols.numbers.values()
    with faked(symbols.env):
        tensors = {"x": torch.empty(height // width, 3)}
    found = symbols.of(tensors["x"].shape[0])
    symbols.env._set_replacement(symbols.of(height), symbols.of(width) * found, "as a view with -1 requires")
    assert symbols.of(height) == symbols.of(width) * found
    symbols.keep_untold(tensors)
    sizes, _ = symbols.told(tensors, frozenset({"x"}))
    assert not any(name in text for name, text, _ in sizes.reads), "the divisor is part of the dividend"


def test_a_quotient_tells_one_factor_of_its_dividend_beside_the_other(symbols: Symbols) -> None:
    """As of two numbers of four bits in a byte. At most one multiple of the width is among two numbers in a row."""
    height, width = symbols.numbers.values()
    with faked(symbols.env):
        tensors = {"x": torch.empty(width), "packed": torch.empty(height * width // 2)}
    symbols.keep_untold(tensors)
    sizes, _ = symbols.told(tensors, frozenset({"x", "packed"}))
    assert ("height", "2 * height_1 // width", ("2 * height_1 % width == 0", "width >= 2")) in sizes.reads


def test_a_side_of_a_fixed_length_is_no_factor_of_a_dividend(symbols: Symbols) -> None:
    """It was divided by a side of length 1, on the condition that this is 8 or longer."""
    height, _ = symbols.numbers.values()
    with faked(symbols.env):
        tensors = {"x": torch.empty(1, 2), "part": torch.empty(height // 8)}
    symbols.keep_untold(tensors)
    sizes, _ = symbols.told(tensors, frozenset({*tensors}))
    assert not any("x.shape" in text for _, text, checks in sizes.reads for text in (text, *checks))
    assert not any("x.shape" in one for one in sizes.conditions)


def test_a_quotient_tells_what_its_dividend_has_beside_a_side_that_is_a_product() -> None:
    """The side is one, because forward has required that the block divides it."""
    symbols = Symbols({"height": 64, "width": 32, "block": 8})
    height, width, block = symbols.numbers.values()
    with counting_with_symbols(symbols), faked(symbols.env):
        scales = torch.empty(height * width // block)
        tensors = {"x": torch.empty(width), "packed": torch.empty(height * width // 2), "scales": scales}
        part = symbols.of(width // block)
    for side, product in ((width, block), (scales.shape[0], height)):
        symbols.env._set_replacement(symbols.of(side), symbols.of(product) * part, "as views require")
    symbols.keep_untold(tensors)
    sizes, _ = symbols.told(tensors, frozenset({*tensors}))
    assert {name: text for name, text, _ in sizes.reads}["height"].endswith(" // x.shape[0]")
    assert symbols.of(block).free_symbols


def test_a_dividend_with_a_rest_keeps_its_value_where_it_is_needed(symbols: Symbols) -> None:
    height, width = symbols.numbers.values()
    with faked(symbols.env):
        tensors = {"weight": torch.empty(height // width, 3)}
    symbols.keep_untold(tensors)
    assert symbols.of(height).free_symbols, "only the quotient is needed, and told"
    symbols.keeps_all = True
    symbols.keep_untold(tensors)
    assert symbols.of(height) == 64


def test_a_number_that_no_shape_tells_keeps_its_value(symbols: Symbols) -> None:
    height, width = symbols.numbers.values()
    with faked(symbols.env):
        tensors = {"x": torch.empty(height)}
    symbols.keep_untold(tensors)
    assert symbols.of(width) == 32
    assert symbols.of(height).free_symbols


def test_a_number_that_no_shape_tells_is_read_from_an_argument(symbols: Symbols) -> None:
    """As a chunk, which the constructor gets, and the length in chunks."""
    height, width = symbols.numbers.values()
    symbols.plain = {"levels[0]": width, "eps": 0.5}
    with faked(symbols.env):
        tensors = {"x": torch.empty(height)}
    symbols.keep_untold(tensors)
    sizes, say = symbols.told(tensors, frozenset({"x"}))
    assert ("width", "levels[0]", ()) in sizes.reads
    assert say(symbols.of(width)) == "width"


def test_a_side_that_nothing_tells_is_a_size_where_cases_differ_in_it() -> None:
    """As the places of a lattice, the third power of its side, and a list of neighbours."""
    known = {"x.shape[0]": ("512", "27"), "near.shape[0]": ("512", "27"), "near.shape[1]": ("27", "9")}
    symbols = Symbols({"side": 8}, differing=known)
    (side,) = symbols.numbers.values()
    with faked(symbols.env):
        tensors = symbols.keep_untold({"x": torch.empty(side**3, 3), "near": torch.empty(side**3, 27)})
    sizes, _ = symbols.told(tensors, frozenset({*tensors}))
    assert sizes.shapes == (("x_size0", "3"), ("x_size0", "near_size1"))
    assert (sizes.values["x_size0"], sizes.values["near_size1"]) == (512, 27)


def test_a_sum_of_sizes_that_no_shape_tells_is_one_size(symbols: Symbols) -> None:
    """As the rows of one table for many fields."""
    height, width = symbols.numbers.values()
    with faked(symbols.env):
        tensors = {"table": torch.empty(height + width + 1, 3)}
    symbols.keep_untold(tensors)
    sizes, say = symbols.told(tensors, frozenset({"table"}))
    [[rows, columns]] = sizes.shapes
    assert rows.isidentifier()
    assert (sizes.values[rows], columns) == (97, "3")
    assert say(symbols.of(height + width)) == f"-1 + {rows}"
    assert sizes.reads == sizes.conditions == ()


CENTRES = """
import torch

rows, width, count = 4096, 256, 50

class Model(torch.nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
        self.step = torch.linspace(0.0, 1.0, count)[1].item()

    def forward(self, x):
        return self.layer(x) * self.step

def get_inputs():
    return [torch.randn(rows, width)]

def get_init_inputs():
    return [width, count]

CASES = [dict(name="timed"), dict(name="small", small=True, rows=8, width=32)]
"""


def test_numbers_that_no_case_changes_are_the_first_to_stay_numbers(tmp_path: Path) -> None:
    (tmp_path / "centres.py").write_text(CENTRES)
    problem, _ = load_with_cases(str(tmp_path / "centres.py"), Loading(which="stated"))
    attempts = numbers_to_try(problem, problem.cases[0])
    assert attempts == [
        {"rows": 4096, "width": 256, "count": 50}, {"rows": 4096, "width": 256}, {"rows": 4096},
    ]  # fmt: skip


DRAWN = """
import math
import torch

rows, words = 64, 1000

class Model(torch.nn.Module):
    def forward(self, x, y, depth, window):
        return (x - y) * depth[:, None] * window

def get_inputs():
    depth = torch.linspace(0.5, 1.0, steps=rows) / int(rows)
    return [torch.randn(rows, words), torch.randn(rows, words) - math.log(words), depth, torch.hann_window(words)]

def get_init_inputs():
    return []
"""


def test_what_only_values_of_inputs_need_says_nothing_of_their_sizes(tmp_path: Path) -> None:
    (tmp_path / "drawn.py").write_text(DRAWN)
    problem, _ = load_with_cases(str(tmp_path / "drawn.py"), Loading(which="stated"))
    symbols = Symbols({"rows": 64, "words": 1000})
    case = msgspec.structs.replace(problem.cases[0], params=symbols.numbers)
    with faked(symbols.env), Unread(symbols.env):
        instance = problem.instance(case, seed=0, drawn_in=symbols.sizes_alone())
    rows, words = symbols.values
    expected = [[rows, words], [rows, words], [rows], [words]]
    assert [[symbols.of(side) for side in one.shape] for one in instance.inputs] == expected
    assert said(symbols) == []


def test_the_index_that_is_adjacent_in_memory_is_found_where_products_are_multiplied_out(symbols: Symbols) -> None:
    height, width = symbols.values
    image, row, column = indices = sympy.symbols("n0:3", integer=True, nonnegative=True)
    place = sympy.expand(image * (height + 1) * (width + 1) + row * (width + 1) + column)
    graph: Any = SimpleNamespace(sizevars=SimpleNamespace(shape_env=symbols.env))
    with choosing_by_hints(symbols), V.set_graph_handler(graph):
        found = tiling_utils.find_coalesced_var(place, dict(zip(indices, (4, height, width), strict=True)))
    assert found == column


def test_inductor_divides_sides_that_are_multiplied_out(symbols: Symbols) -> None:
    """It tiles a copy of images with channels last only where it can divide the numbers of all images by an image."""
    height, width = symbols.values
    pixels = sympy.expand((height + 1) * (width + 2))
    sizes = SizeVarAllocator(symbols.env)
    assert not sizes.statically_known_multiple_of(sympy.expand(3 * height * pixels), pixels)
    with choosing_by_hints(symbols):
        assert sizes.statically_known_multiple_of(sympy.expand(3 * height * pixels), pixels)
        assert sizes.statically_known_multiple_of(sympy.expand(3 * height * pixels), height)
        assert not sizes.statically_known_multiple_of(sympy.expand(3 * height * pixels + 1), pixels)
        assert not sizes.statically_known_multiple_of(pixels, sympy.expand(2 * pixels))


def test_the_order_of_strides_is_that_at_the_captured_size(symbols: Symbols) -> None:
    height, width = symbols.values
    graph: Any = SimpleNamespace(sizevars=SizeVarAllocator(symbols.env))
    pixels = (height + 1) * (width + 2)
    layout = ir.FixedLayout(torch.device("cpu"), torch.float32, [4, 4], [pixels * height * width, pixels])
    with choosing_by_hints(symbols), V.set_graph_handler(graph):
        assert layout.is_stride_ordered([1, 0])
        assert not layout.is_stride_ordered([0, 1])
