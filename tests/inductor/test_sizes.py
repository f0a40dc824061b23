"""Expressions of sizes from their values."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kernelwright.inductor.faults import NotConverted
from kernelwright.inductor.sizes import Sizes

SIDES = (32, 26, 21, 24, 20)
"""None of them has the remainder 1 by 3, so that (side - 1) // 3 and (side - 2) // 3 are equal."""


def sizes(others: Sequence[int]) -> Sizes:
    """Of a window of three on every third place, at sides with one code, and at other sides with another. A window of
    five is among the numbers that the file keeps."""
    return Sizes(
        {"x": [(side,) for side in SIDES]}, [{"side": side, "window": 5} for side in SIDES], {3},
        [[((side - 1) // 3,)] for side in SIDES], [({"x": (side,)}, [((side - 1) // 3,)]) for side in others],
    )  # fmt: skip


@pytest.mark.parametrize("others", [(31,), (31, 16)])
def test_a_dimension_of_the_result_is_right_at_sizes_with_other_code_too(others: tuple[int, ...]) -> None:
    made = sizes(others)
    number = tuple((side - 1) // 3 for side in SIDES)
    assert made.solve({"hole": number}) == {"hole": "side_1"}
    assert "side_1 = (side - 1) // 3" in made.lines("side_1")
    alone = sizes(())
    alone.solve({"hole": number})
    assert "side_1 = (side - 2) // 3" in alone.lines("side_1"), "what the window of five suggests"


def test_inputs_that_are_put_together_have_the_sum_of_their_dimensions() -> None:
    others, more = (8, 9, 7, 5, 6), (40, 31, 37, 33, 35)
    shapes = {"x": [(side,) for side in SIDES], "y": [(n,) for n in others], "z": [(n,) for n in more]}
    made = Sizes(shapes, [{"a": a, "b": b, "c": c} for a, b, c in zip(SIDES, others, more, strict=True)], set())
    two = tuple(a + 2 * b for a, b in zip(SIDES, others, strict=True))
    three = tuple(sum(one) for one in zip(SIDES, others, more, strict=True))
    product = tuple(n * a for n, a in zip(three, SIDES, strict=True))
    found = made.solve({"two": two, "three": three, "product": product})
    assert {name: made.spelled(text) for name, text in found.items()} == {
        "two": "a + 2 * b", "three": "a + b + c", "product": "a * (a + b + c)"
    }  # fmt: skip


def test_a_fraction_of_a_dimension_and_one_over_it_are_computed() -> None:
    made = sizes(())
    found = made.solve({"share": tuple(0.15 / side for side in SIDES), "part": tuple(0.7 * side for side in SIDES)})
    assert found == {"share": "0.15 / side", "part": "0.7 * side"}
    with pytest.raises(NotConverted, match="no known size gives the number"):
        made.solve({"hole": tuple(0.15 / side + 1e-9 for side in SIDES)})
    heights = (31, 27, 22, 20, 29)
    both = Sizes({"x": [*zip(heights, SIDES, strict=True)]}, [{"height": h} for h in heights], set())
    assert both.solve({"hole": tuple(0.15 / (h * side) for h, side in zip(heights, SIDES, strict=True))}) == {
        "hole": "0.15 / (height * x_size1)"
    }


@pytest.mark.parametrize(
    ("shapes", "read", "compared"),
    [
        ({"x": [(2 * side,) for side in SIDES], "y": [(side,) for side in SIDES]}, "side, = y.shape", "(2 * side,)"),
        ({"x": [(2 * side, side) for side in SIDES]}, "side = x.shape[1]", "(2 * side, side)"),
    ],
)
def test_a_multiple_of_a_later_dimension_is_written_as_one(
    shapes: dict[str, list[tuple[int, ...]]], read: str, compared: str
) -> None:
    made = Sizes(shapes, [{"side": side} for side in SIDES], set())
    assert made.solve({"hole": tuple(6 * side for side in SIDES)}) == {"hole": "6 * side"}
    lines = made.lines("")
    assert lines.index(read) < lines.index(f"if tuple(x.shape) != {compared}:")


def test_dimensions_that_are_equal_only_where_the_code_is_the_same_fit_nothing() -> None:
    sides = (30, 34, 27, 24, 22)
    made = Sizes(
        {"x": [(side,) for side in sides]}, [{"side": side} for side in sides], {3},
        [[(side // 3, (side + 1) // 3)] for side in sides], [({"x": (32,)}, [(10, 11)])],
    )  # fmt: skip
    with pytest.raises(NotConverted):
        made.solve({"hole": tuple(side // 3 for side in sides)})


def test_shapes_that_do_not_fit_the_compared_ones_say_nothing() -> None:
    made = Sizes(
        {"x": [(side, side) for side in SIDES]}, [{"side": side} for side in SIDES], {3},
        [[((side - 1) // 3,)] for side in SIDES], [({"x": (31, 30)}, [(10,)])],
    )  # fmt: skip
    assert made._known_at({"x": (31, 30)}) is None
    with pytest.raises(NotConverted):
        made.solve({"hole": tuple((side - 1) // 3 for side in SIDES)})


def test_sizes_that_are_computed_from_others_are_known_elsewhere_too() -> None:
    made = sizes((31,))
    made.solve({"hole": tuple((side - 1) // 3 for side in SIDES)})
    assert made._known_at({"x": (31,)}) == {"side": 31, "side_1": 10}


def window_of(sides: Sequence[int], stride: int, shift: int) -> str:
    """The definition of a size (side + shift) // stride that is found from its values at these sides."""
    made = Sizes({"x": [(side,) for side in sides]}, [{"side": side} for side in sides], set())
    return made.lines(made.solve({"hole": tuple((side + shift) // stride for side in sides)})["hole"])[-1]


def test_a_padding_may_be_larger_than_the_window() -> None:
    assert window_of(SIDES, stride=2, shift=1) == "side_1 = (side + 1) // 2"
    assert window_of(SIDES, stride=2, shift=9) == "side_1 = (side + 9) // 2", "a window of three, padded by five"


def test_of_two_windows_with_a_large_padding_none_is_guessed() -> None:
    with pytest.raises(NotConverted, match=r"the number 6 is \(side \+ 3\) // 2 or \(side \+ 9\) // 3"):
        window_of((9, 8, 7), stride=2, shift=3)


@pytest.mark.parametrize(("sides", "restrictions"), [((2048, 2011, 2018, 1980), 0), ((2046, 2013, 1991, 1980), 1)])
def test_kernels_are_for_multiples_only_where_no_compared_size_leaves_a_remainder(
    sides: tuple[int, ...], restrictions: int
) -> None:
    """One size without a remainder does not show it, and the timed size, 2048, may have one."""
    made = Sizes({"x": [(side,) for side in sides]}, [{"side": side, "window": 11} for side in sides], {11})
    ((_, name),) = made.solve({"hole": tuple(side // 11 for side in sides)}).items()
    assert f"{name} = side // 11" in made.lines(name)
    assert made.restrictions == restrictions
